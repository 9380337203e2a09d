"""Golden model file of schema 1, read by tests/test_storage.py: later versions must load it.

    cd tests/golden && python make_model.py

It is never made again: a new schema gets a new file beside this one.
"""

import json
from pathlib import Path

import numpy as np

from bbclust import BBC
from bbclust.datasets import load_iris

FOLDER = Path(__file__).parent


def main():
    import pandas as pd

    X = load_iris().data
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    model = BBC(3, n_replicas=40, prior_scale=1.5, votes="all", random_state=7)
    model.fit(pd.DataFrame(X, columns=names))
    model.save(FOLDER / "model_schema_1.bbc")
    rows = pd.DataFrame(X[::5], columns=names)
    expected = {
        "feature_names": names,
        "parameters": {k: v for k, v in model.get_params().items() if v is not None},
        "rows": rows.to_numpy().tolist(),
        "votes": np.round(model.predict_proba(rows) * 40).astype(int).tolist(),
        "mean_entropy": model.mean_entropy_,
        "pairwise_entropy": model.pairwise_entropy_.tolist(),
        "worst_pair": model.worst_pair_,
        "cluster_shares": model.cluster_shares_.tolist(),
        "centers_interval": model.centers_interval(0.9).tolist(),
        "prior_means": model.prior_.means.tolist(),
        "prior_covariances": model.prior_.covariances.tolist(),
    }
    (FOLDER / "model_schema_1.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
