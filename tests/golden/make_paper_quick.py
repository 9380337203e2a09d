"""Make paper_quick.json: what a quick run of the reproduction gives for any seed.

python -m tests.golden.make_paper_quick

Takes half an hour. Needed again only when a study or a method changes what it computes: other
random numbers are within the tolerances.
"""

from __future__ import annotations

import json
from pathlib import Path

from reproduction import run
from reproduction.expectations import N_SEEDS, make_tolerances, used
from reproduction.results import shortened
from reproduction.studies import STUDIES

GOLDEN = Path(__file__).with_name("paper_quick.json")


def main() -> None:
    compared = [name for name, study in STUDIES.items() if study.expect is not None]
    runs = []
    for seed in range(1, N_SEEDS + 1):
        runs.append(run(compared, seed=seed, n_jobs=-1))
        print(f"{seed} of {N_SEEDS} seeds", flush=True)
    shares = used(runs)
    most = max(shares, key=lambda name: shares[name])
    print(f"No seed used more than {shares[most]:.2f} of a tolerance made by the others ({most}).")
    tolerances = shortened(make_tolerances(runs))
    lines = ",\n".join(f"  {json.dumps(name)}: {value}" for name, value in tolerances.items())
    GOLDEN.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
