"""Whether two versions give the same results, to the bit: record with one, compare with the other.

    python benchmarks/same_results.py record before.json --models before-models
    python benchmarks/same_results.py record after.json --load before-models
    python benchmarks/same_results.py compare before.json after.json

A recording holds a digest of every fitted attribute of a fixed set of runs: all modes of BBC,
KSelector, BagClust, both ways of Dask, the command line, and what model files predict. Only public
names are used, so that any two versions can be compared. Digests depend on the machine: record both
on the same one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans

from bbclust import (
    BBC,
    BagClust1,
    BagClust2,
    FuzzyCMeans,
    KSelector,
    gap_statistic,
    load_model,
    proper_bayesian_bootstrap,
)
from bbclust.baselines import compare_baselines
from bbclust.datasets import load_iris, make_paper_dataset
from bbclust.priors import (
    ElicitedPrior,
    KernelPrior,
    MixturePrior,
    ModelPrior,
    SamplerPrior,
    StudentMixturePrior,
)

IRIS = load_iris().data


def blobs(n: int, d: int, k: int, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    centers = generator.normal(scale=4, size=(k, d))
    return centers[generator.integers(k, size=n)] + generator.normal(size=(n, d))


def halves(points: np.ndarray) -> np.ndarray:
    return (points[:, 0] > points[:, 0].mean()).astype(int)


def normal_draws(n: int, generator: np.random.Generator) -> np.ndarray:
    return generator.normal(3.0, 2.0, size=(n, 4))


EXPERT = MixturePrior([1, 2], [[5, 3, 1.5, 0.2], [6, 3, 5, 1.7]], [np.eye(4) * 0.2, np.eye(4)])
WEIGHTS = np.random.default_rng(1).integers(0, 3, size=len(IRIS)).astype(float)

MODELS: dict[str, Callable[[], Any]] = {
    "BBC": lambda: BBC(3, random_state=0).fit(IRIS),
    "BBC two threads": lambda: BBC(3, n_jobs=2, random_state=0).fit(IRIS),
    "BBC K=1": lambda: BBC(1, random_state=0).fit(IRIS),
    "BBC K=2": lambda: BBC(2, random_state=3).fit(IRIS),
    "BBC K=12": lambda: BBC(12, random_state=3).fit(IRIS),
    "BBC K=n": lambda: BBC(8, random_state=3, n_replicas=400).fit(IRIS[50:58]),
    "BBC float32": lambda: BBC(3, random_state=0).fit(IRIS.astype(np.float32)),
    "BBC far": lambda: BBC(3, random_state=0).fit(IRIS + 1e6),
    "BBC rubin": lambda: BBC(3, resampling="rubin", random_state=0).fit(IRIS),
    "BBC efron": lambda: BBC(3, resampling="efron", random_state=0).fit(IRIS),
    "BBC resample": lambda: BBC(3, weighting="resample", random_state=0).fit(IRIS),
    "BBC all votes": lambda: BBC(3, votes="all", random_state=0).fit(IRIS),
    "BBC few draws": lambda: BBC(3, n_draws=60, random_state=0).fit(IRIS),
    "BBC few draws, drawn": lambda: BBC(3, n_draws=60, votes="drawn", random_state=0).fit(IRIS),
    "BBC no prior": lambda: BBC(3, prior_weight=0, random_state=0).fit(IRIS),
    "BBC scale": lambda: BBC(3, prior_scale=3, prior_weight=0.8, random_state=0).fit(IRIS),
    "BBC weights": lambda: BBC(3, random_state=0).fit(IRIS, sample_weight=WEIGHTS),
    "BBC rubin weights": lambda: BBC(3, resampling="rubin", random_state=0).fit(
        IRIS, sample_weight=WEIGHTS
    ),
    "BBC labels": lambda: BBC(3, random_state=0).fit(IRIS, reference_labels=np.arange(150) // 50),
    "BBC auto": lambda: BBC(3, n_replicas="auto", mc_tol=0.01, random_state=0).fit(IRIS),
    "BBC added": lambda: BBC(3, n_replicas=50, random_state=0).fit(IRIS).add_replicas(70),
    "BBC one replica": lambda: BBC(3, n_replicas=1, random_state=0).fit(IRIS),
    "BBC tight": lambda: BBC(3, tol=0, n_init=0, max_iter=50, random_state=0).fit(IRIS),
    "BBC 6,000 rows": lambda: BBC(6, n_replicas=60, random_state=0).fit(blobs(6_000, 5, 6)),
    "BBC 30,000 rows": lambda: BBC(5, n_replicas=30, random_state=0).fit(blobs(30_000, 3, 5)),
    "BBC KMeans": lambda: BBC(3, n_replicas=40, clusterer=KMeans(n_init=2), random_state=0).fit(
        IRIS
    ),
    "BBC KMeans all": lambda: BBC(
        3, n_replicas=40, clusterer=KMeans(n_init=2), votes="all", random_state=0
    ).fit(IRIS, sample_weight=WEIGHTS + 1),
    "BBC agglomerative": lambda: BBC(
        3, n_replicas=60, clusterer=AgglomerativeClustering(), random_state=0
    ).fit(IRIS),
    "BBC DBSCAN": lambda: BBC(n_replicas=60, clusterer=DBSCAN(eps=0.6), random_state=0).fit(IRIS),
    "BBC function": lambda: BBC(2, n_replicas=60, clusterer=halves, random_state=0).fit(IRIS),
    "prior shrunk": lambda: BBC(3, prior=ElicitedPrior("shrunk"), random_state=0).fit(IRIS),
    "prior tied": lambda: BBC(3, prior=ElicitedPrior("tied"), random_state=0).fit(IRIS),
    "prior mixture": lambda: BBC(3, prior=EXPERT, random_state=0).fit(IRIS),
    "prior student": lambda: BBC(3, prior=StudentMixturePrior(df=5), random_state=0).fit(IRIS),
    "prior kernel": lambda: BBC(3, prior=KernelPrior(), random_state=0).fit(IRIS),
    "prior sampler": lambda: BBC(3, prior=SamplerPrior(normal_draws), random_state=0).fit(IRIS),
    "prior model": lambda: BBC(
        3, prior=ModelPrior(BBC(3, random_state=5).fit(IRIS[::2])), random_state=0
    ).fit(IRIS),
    "BagClust1": lambda: BagClust1(3, random_state=0).fit(IRIS),
    "BagClust1 added": lambda: (
        BagClust1(3, n_replicas=30, random_state=0).fit(IRIS).add_replicas(20)
    ),
    "BagClust2": lambda: BagClust2(3, random_state=0).fit(IRIS),
    "BagClust2 few": lambda: BagClust2(4, random_state=0).fit(blobs(400, 3, 4)),
    "FuzzyCMeans": lambda: FuzzyCMeans(3, random_state=0).fit(IRIS),
}

SELECTORS: dict[str, Callable[[], Any]] = {
    "KSelector": lambda: KSelector(random_state=0).fit(IRIS),
    "KSelector two threads": lambda: KSelector(n_jobs=2, random_state=0).fit(IRIS),
    "KSelector all": lambda: KSelector(
        k_range=range(2, 6), null_reference=3, n_resamples=3, random_state=1
    ).fit(make_paper_dataset(2, random_state=0).data),
    "KSelector pairwise": lambda: KSelector(
        criterion="pairwise", k_range=range(2, 7), random_state=1
    ).fit(make_paper_dataset(3, random_state=0).data),
    "KSelector mean": lambda: KSelector(
        criterion="mean", k_range=range(2, 7), random_state=1, n_draws=80
    ).fit(make_paper_dataset(5, random_state=0).data),
    "KSelector auto": lambda: KSelector(k_range="auto", random_state=1).fit(blobs(800, 3, 12)),
    "KSelector weights": lambda: KSelector(k_range=range(2, 5), random_state=1).fit(
        IRIS, sample_weight=WEIGHTS
    ),
    "KSelector sample": lambda: KSelector(k_range=range(2, 6), random_state=1).fit(
        blobs(12_000, 3, 4)
    ),
    "KSelector KMeans": lambda: KSelector(
        BBC(clusterer=KMeans(n_init=1), n_replicas=20), k_range=[2, 3], random_state=1
    ).fit(IRIS),
    "KSelector rubin": lambda: KSelector(
        BBC(resampling="rubin", n_replicas=50), k_range=[2, 3, 4], random_state=1
    ).fit(IRIS),
    "KSelector kernel": lambda: KSelector(
        BBC(prior=KernelPrior(), n_replicas=50), k_range=[2, 3, 4], random_state=1
    ).fit(IRIS),
}


def on_dask() -> Iterator[tuple[str, Callable[[], Any]]]:
    import dask.array as da

    from bbclust.dask import DaskBBC, DaskKSelector

    large = blobs(9_000, 3, 4)
    partitioned = da.from_array(large, chunks=(1_700, 3))
    some = {"n_replicas": 40, "random_state": 0}
    yield "DaskBBC in memory", lambda: DaskBBC(4, **some).fit(large)
    yield "DaskBBC KMeans", lambda: DaskBBC(3, clusterer=KMeans(n_init=1), **some).fit(IRIS)
    yield "DaskBBC added", lambda: DaskBBC(4, **some).fit(large).add_replicas(30)
    yield "DaskBBC auto", lambda: DaskBBC(3, n_replicas="auto", random_state=0).fit(IRIS)
    yield "DaskBBC partitioned", lambda: DaskBBC(4, **some).fit(partitioned)
    yield (
        "DaskBBC partitioned added",
        lambda: DaskBBC(4, block_size=7, **some).fit(partitioned).add_replicas(30),
    )
    yield (
        "DaskBBC partitioned auto",
        lambda: DaskBBC(4, n_replicas="auto", mc_tol=0.02, random_state=0).fit(partitioned),
    )
    yield (
        "DaskBBC partitioned kernel",
        lambda: DaskBBC(4, prior=KernelPrior(), **some).fit(partitioned),
    )
    yield (
        "DaskKSelector in memory",
        lambda: DaskKSelector(k_range=[2, 3, 4], n_resamples=2, random_state=0).fit(IRIS),
    )
    yield (
        "DaskKSelector partitioned",
        lambda: DaskKSelector(k_range=[3, 4], random_state=0).fit(partitioned),
    )


MODEL_RESULTS = [
    "labels_",
    "memberships_",
    "entropy_",
    "mean_entropy_",
    "mean_entropy_se_",
    "pairwise_entropy_",
    "max_pairwise_entropy_",
    "max_pair_doubt_se_",
    "worst_pair_",
    "mc_trace_",
    "n_votes_",
    "membership_se_",
    "reference_labels_",
    "reference_centers_",
    "cluster_centers_",
    "cluster_shares_",
    "replica_centers_",
    "variance_ratio_",
    "replica_n_iter_",
    "alignment_margin_",
    "n_replicas_",
    "n_undrawn_",
    "n_abstentions_",
    "n_abstained_votes_",
    "n_failed_",
    "n_iter_",
    "dissimilarity_",
    "objective_",
]
SELECTOR_RESULTS = [
    "best_k_",
    "tied_k_",
    "best_k_by_",
    "curves_",
    "scores_",
    "scores_se_",
    "mc_confidence_",
    "confidence_",
    "cluster_tendency_",
    "impossible_k_",
    "n_draws_",
    "n_sample_",
    "labels_",
]


def digest(value: Any) -> str:
    """A short digest of arrays, numbers, words, and what is made of them."""
    if hasattr(value, "compute"):
        value = value.compute()
    if isinstance(value, dict):
        text = json.dumps({str(k): digest(v) for k, v in value.items()}, sort_keys=True).encode()
    elif isinstance(value, list | tuple):
        text = json.dumps([digest(v) for v in value]).encode()
    elif isinstance(value, np.ndarray | np.generic):
        array = np.ascontiguousarray(value)
        text = f"{array.dtype.str}{array.shape}".encode() + array.tobytes()
    else:
        text = repr(value).encode()
    return hashlib.sha256(text).hexdigest()[:16]


def results_of(model: Any, names: list[str]) -> dict[str, str]:
    return {name: digest(getattr(model, name)) for name in names if hasattr(model, name)}


def answers_of(model: Any) -> dict[str, str]:
    """What a fitted model says when it is asked."""
    questions: dict[str, Callable[[], Any]] = {
        "predict": lambda: model.predict(IRIS[::3] + 0.05),
        "predict_proba": lambda: model.predict_proba(IRIS[::3] + 0.05),
        "confident": lambda: model.predict(IRIS[::3] + 0.05, min_confidence=0.9),
        "replica_labels": lambda: list(model.replica_labels(IRIS[::10]))[:20],
        "comembership": lambda: model.comembership([[0, 1], [60, 130], [3, 149]]),
        "top_memberships": lambda: model.top_memberships(1).toarray(),
        "centers_interval": lambda: model.centers_interval(0.9),
        "centers_region": lambda: model.centers_region(0.8).radii,
        "center_distances": lambda: model.center_distances(0.9).lower,
        "variable_importance": lambda: model.variable_importance().bits,
        "prior_conflict": lambda: model.prior_conflict().statement,
        "prior": lambda: model.prior_.describe(),
    }
    answers = {}
    for name, ask in questions.items():
        try:
            answers[name] = digest(ask())
        except (AttributeError, TypeError, ValueError) as error:
            answers[name] = f"{type(error).__name__}: {error}"[:100]
    return answers


def command_line(folder: Path) -> dict[str, str]:
    """Digests of the files that ``bbclust analyze`` and the other commands write."""
    table = folder / "table.csv"
    header = "name,a,b,c,d\n"
    rows = (f"row {i}," + ",".join(map(str, row)) for i, row in enumerate(IRIS))
    table.write_text(header + "\n".join(rows) + "\n")
    found: dict[str, str] = {}
    commands = {
        "analyze": ["analyze", table, "--seed", "3", "--k", "2:5", "--fast"],
        "fit": ["fit", table, "--k", "3", "--seed", "3"],
        "select": ["select", table, "--k", "2:4", "--seed", "3", "--fast"],
    }
    for name, arguments in commands.items():
        out = folder / name
        command = [sys.executable, "-m", "bbclust", *map(str, arguments), "--out", str(out)]
        subprocess.run(command, check=True, capture_output=True)
        for file in sorted(out.glob("*.csv")):
            found[f"{name} {file.name}"] = digest(file.read_bytes())
        for file in sorted(out.glob("*.bbc")):
            found[f"{name} {file.name}"] = digest(load_model(file).predict_proba(IRIS))
    return found


def record(path: Path, models: Path | None, load: Path | None, dask: bool) -> None:
    recorded: dict[str, dict[str, str]] = {}
    warnings.simplefilter("ignore")
    for name, make in MODELS.items():
        model = make()
        recorded[name] = results_of(model, MODEL_RESULTS)
        if hasattr(model, "n_features_in_") and model.n_features_in_ == 4:
            recorded[name] |= answers_of(model)
        if models is not None and hasattr(model, "save"):
            models.mkdir(exist_ok=True)
            try:
                model.save(models / f"{name}.bbc")
            except ValueError:
                continue
        print(name, flush=True)
    for name, make in SELECTORS.items():
        recorded[name] = results_of(make(), SELECTOR_RESULTS)
        print(name, flush=True)
    recorded["other"] = {
        "bootstrap": digest(
            [
                tuple(r)
                for r in proper_bayesian_bootstrap(
                    IRIS, EXPERT, n_replicas=3, n_draws=50, random_state=0
                )
            ]
        ),
        "gap": digest(repr(gap_statistic(IRIS, k_values=range(1, 5), random_state=0))),
        "baselines": digest(repr(compare_baselines(IRIS, k_values=range(2, 5), random_state=0))),
    }
    if dask:
        for name, make in on_dask():
            model = make()
            names = SELECTOR_RESULTS if "Selector" in name else MODEL_RESULTS
            recorded[name] = results_of(model, names)
            print(name, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        recorded["command line"] = command_line(Path(folder))
    if load is None and models is not None:
        load = models
    if load is not None:
        recorded["model files"] = {
            file.stem: digest(load_model(file).predict_proba(IRIS))
            for file in sorted(load.glob("*.bbc"))
            if load_model(file).n_features_in_ == 4
        }
    path.write_text(json.dumps(recorded, indent=1))


def compare(before: Path, after: Path) -> None:
    one, other = json.loads(before.read_text()), json.loads(after.read_text())
    same = different = 0
    for name in sorted(one.keys() | other.keys()):
        first, second = one.get(name, {}), other.get(name, {})
        differing = [
            key for key in first.keys() | second.keys() if first.get(key) != second.get(key)
        ]
        same += len(first.keys() & second.keys()) - len(
            [key for key in differing if key in first and key in second]
        )
        different += len(differing)
        if differing:
            print(f"{name}: {', '.join(sorted(differing))}")
    print(f"{same} results are the same, {different} differ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, dest="command")
    recording = commands.add_parser("record")
    recording.add_argument("path", type=Path)
    recording.add_argument("--models", type=Path, help="folder to save models into")
    recording.add_argument("--load", type=Path, help="folder of models to load")
    recording.add_argument("--no-dask", action="store_true")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "record":
        record(arguments.path, arguments.models, arguments.load, not arguments.no_dask)
    else:
        compare(arguments.before, arguments.after)


if __name__ == "__main__":
    main()
