"""Calls of the compiled engine with arrays and numbers that do not fit: it answers or refuses.

Every call runs in a child process. A signal, a call that does not end, or a report of a sanitizer
is a failure, with the number of the case: ``fuzz_engine.py --case NUMBER`` repeats it.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

Arguments = dict[str, Any]
CASES_PER_CHILD = 200
# Calls are of a few dozen rows. Beside other work, and with a sanitizer, they may take seconds.
SECONDS_PER_CASE = 60

# --- calls that fit ---


class Sizes:
    """Sizes of a small problem; both types of rows."""

    def __init__(self, g: np.random.Generator) -> None:
        self.n, self.d = int(g.integers(1, 70)), int(g.integers(1, 20))
        self.K, self.B, self.E = (int(g.integers(1, most)) for most in (7, 5, 9))
        self.dtype = g.choice([np.float32, np.float64])


def rows_of(g: np.random.Generator, s: Sizes) -> np.ndarray:
    return g.normal(size=(s.n, s.d)).astype(s.dtype)


def key(g: np.random.Generator) -> Arguments:
    return {"seed": int(g.integers(2**63)), "stage": 5, "start": 1, "replica": 3}


def draws(g: np.random.Generator, s: Sizes, *, incomplete: bool) -> Arguments:
    C = int(g.integers(1, 4))
    ranks = g.integers(0, s.d + 1, size=C)
    rows = rows_of(g, s)
    weights = None if g.random() < 0.5 else g.gamma(1.0, size=s.n)
    gaps = missing(g, s) if incomplete and g.random() < 0.5 else None
    if gaps is not None:
        rows[gaps[5] >= 0] = np.nan
    return {
        "seed": 1,
        "resampling": int(g.integers(3)),
        "weighting": int(g.integers(2)),
        "n_draws": int(g.integers(1, 90)),
        "prior_weight": float(g.choice([0.0, 0.3, 0.9])),
        "rows": rows,
        "row_weights": weights,
        "row_cumulative": None if weights is None else np.cumsum(weights) / weights.sum(),
        "n_whole": s.n,
        "row_numbers": None,
        "mixture_cumulative": np.arange(1, C + 1) / C,
        "mixture_means": g.normal(size=(C, s.d)),
        "factor_rows": g.normal(size=(int(ranks.sum()), s.d)),
        "factor_offsets": np.concatenate([[0], np.cumsum(ranks)]).astype(np.int64),
        "missing": gaps,
    }


def missing(g: np.random.Generator, s: Sizes) -> tuple[Any, ...]:
    P, places = int(g.integers(1, 4)), np.full(s.n, -1, dtype=np.int32)
    of_rows = np.flatnonzero(g.random(s.n) < 0.4)
    places[of_rows] = np.arange(len(of_rows))
    patterns = (g.random((P, s.d)) < 0.5).astype(np.uint8)
    covariances = np.stack([np.eye(s.d)] * s.K)
    cumulative = np.tile(np.arange(1, s.K + 1) / s.K, (len(of_rows), 1))
    pattern = g.integers(P, size=len(of_rows)).astype(np.int32)
    first = g.integers(2**63, size=len(of_rows)).astype(np.uint64)
    means = g.normal(size=(s.K, s.d))
    room = int(g.choice([0, 2**20]))
    return (7, 0, means, covariances, patterns, places, pattern, cumulative, first, room)


def replicas(g: np.random.Generator, s: Sizes) -> Arguments:
    votes = s.n if g.random() < 0.8 else 0
    given = g.random() < 0.3
    of_draws = draws(g, s, incomplete=True)
    counted = of_draws["n_draws"] * s.B
    return {
        **of_draws,
        "given": g.normal(size=(counted, s.d)).astype(s.dtype) if given else None,
        "given_offsets": np.arange(s.B + 1) * of_draws["n_draws"] if given else None,
        "reference_centers": g.normal(size=(s.K, s.d)),
        "reference_labels": g.integers(s.K, size=s.n).astype(np.int32),
        "vote_on_all": bool(g.random() < 0.5),
        "evaluation_rows": g.integers(s.n, size=s.E),
        "n_init": int(g.integers(3)),
        "max_iter": int(g.integers(1, 20)),
        "tolerance": 0.0,
        "first": int(g.integers(100)),
        "n_threads": int(g.integers(1, 4)),
        "votes": np.zeros((votes, s.K), dtype=np.int32),
        "centers": np.empty((s.B, s.K, s.d)),
        "occupied": np.empty((s.B, s.K), dtype=np.uint8),
        "margin": np.empty(s.B),
        "inertia": np.empty(s.B),
        "n_iter": np.empty(s.B, dtype=np.int32),
        "evaluation_labels": np.empty((s.B, s.E), dtype=np.int16),
    }


def points(g: np.random.Generator, s: Sizes) -> Arguments:
    return {"rows": rows_of(g, s), "weights": g.gamma(1.0, size=s.n)}


def moments(g: np.random.Generator, s: Sizes) -> Arguments:
    gaps = missing(g, s)
    return {
        "rows": g.normal(size=(s.n, s.d)),
        "weights": g.gamma(1.0, size=s.n),
        "labels": g.integers(s.K, size=s.n).astype(np.int32),
        "place": gaps[5],
        "pattern": gaps[6],
        "patterns": gaps[4],
        "prior_rows": s.d + 1.0,
        "ridge": 1e-9,
        "max_iter": 5,
        "tolerance": 0.0,
        "n_threads": 2,
        "means": np.empty((s.K, s.d)),
        "covariances": np.empty((s.K, s.d, s.d)),
        "expected": np.empty((s.K, s.d, s.d)),
    }


def shares(g: np.random.Generator, s: Sizes) -> Arguments:
    gaps = missing(g, s)
    return {
        "rows": g.normal(size=(s.n, s.d)),
        "weights": np.full(s.K, 1 / s.K),
        "means": gaps[2],
        "covariances": gaps[3],
        "pattern": g.integers(len(gaps[4]), size=s.n).astype(np.int32),
        "patterns": gaps[4],
        "n_threads": 2,
        "cumulative": np.empty((s.n, s.K)),
    }


def memberships(g: np.random.Generator, s: Sizes) -> Arguments:
    return {
        "memberships": g.dirichlet(np.ones(s.K), size=s.n),
        "weights": None if g.random() < 0.5 else g.gamma(1.0, size=s.n),
        "by_membership": bool(g.random() < 0.5),
        "means": np.empty((s.K, s.K)),
    }


def labels_of(g: np.random.Generator, s: Sizes) -> np.ndarray:
    return g.integers(-1, s.K, size=(s.B, s.E)).astype(np.int16)


FUNCTIONS: dict[str, Callable[[np.random.Generator, Sizes], Arguments]] = {
    "best_isa": lambda g, s: {},
    "keep_memory": lambda g, s: {},
    "release_memory": lambda g, s: {},
    "random_words": lambda g, s: {**key(g), "words": np.empty(s.n, dtype=np.uint64)},
    "standard_normals": lambda g, s: {**key(g), "values": np.empty(s.n, dtype=s.dtype)},
    "standard_gammas": lambda g, s: {
        "seed": 1, "stage": 3, "replica": 0, "shape": 0.7, "values": np.empty(s.n)
    },
    "drawn_rows": lambda g, s: {
        "seed": 1, "replica": 0, "n_draws": s.n, "prior_weight": 0.3, "n": 50
    },
    "count_prior_draws": lambda g, s: {
        "seed": 1, "replica": 0, "n_draws": s.n, "prior_weight": 0.3
    },
    "align": lambda g, s: {
        "overlap": g.integers(50, size=(s.K, s.K)),
        "distance": g.gamma(1.0, size=(s.K, s.K)),
        "to_reference": np.empty(s.K, dtype=np.int32),
    },
    "weighted_gram": lambda g, s: {
        "rows": g.normal(size=(s.n, s.d)), "weights": np.ones(s.n), "gram": np.zeros((s.d, s.d))
    },
    "semidefinite_factor": lambda g, s: {"matrix": np.eye(s.d)},
    "count_labels": lambda g, s: {
        "labels": labels_of(g, s), "counts": np.zeros((s.E, s.K), dtype=np.int32)
    },
    "sum_moves": lambda g, s: {
        "labels": labels_of(g, s), "moves": np.ones((s.E, s.K + 1)), "moved": np.empty(s.B)
    },
    "mean_pairwise_entropy": memberships,
    "draw_replica": lambda g, s: {**draws(g, s, incomplete=True), "given": None, "replica": 2},
    "run_replicas": replicas,
    "seed_centers": lambda g, s: {**points(g, s), **key(g), "centers": np.empty((s.K, s.d))},
    "lloyd": lambda g, s: {
        **points(g, s), "centers": g.normal(size=(s.K, s.d)), "max_iter": 20, "tolerance": 0.0,
        "labels": np.empty(s.n, dtype=np.int32),
    },
    "kmeans": lambda g, s: {
        **points(g, s), "seed": 1, "n_starts": 3, "max_iter": 20, "tolerance": 0.0,
        "n_threads": 2, "centers": np.empty((s.K, s.d)), "labels": np.empty(s.n, dtype=np.int32),
    },
    "vote_by_centers": lambda g, s: {
        "rows": rows_of(g, s), "centers": g.normal(size=(s.B, s.K, s.d)),
        "occupied": (g.random((s.B, s.K)) < 0.8).astype(np.uint8),
        "missing": missing(g, s) if g.random() < 0.5 else None, "first_replica": 0,
        "n_threads": 2, "votes": np.zeros((s.n, s.K), dtype=np.int32),
    },
    "cluster_moments": lambda g, s: {
        "rows": rows_of(g, s), "origin": g.normal(size=s.d), "centers": g.normal(size=(s.K, s.d)),
        "about": g.normal(size=(s.K, s.d)), "counts": np.zeros(s.K, dtype=np.int64),
        "sums": np.zeros((s.K, s.d)),
        "products": np.zeros((s.K if g.random() < 0.5 else 0, s.d, s.d)),
    },
    "complete_rows": lambda g, s: {
        "rows": rows_of(g, s), "missing": missing(g, s), "replica": 1,
        "completed": np.empty((s.n, s.d), dtype=s.dtype),
    },
    "missing_moments": moments,
    "observed_lloyd": lambda g, s: {
        "rows": g.normal(size=(s.n, s.d)), "weights": np.ones(s.n), "max_iter": 10,
        "centers": g.normal(size=(s.K, s.d)), "labels": np.empty(s.n, dtype=np.int32),
    },
    "component_shares": shares,
}  # fmt: skip

# --- what is changed ---

EXTREME = (-(2**63), -1, 0, 1, 2**31, 2**32 + 1, 2**62, 2**63 - 1, 2**64 - 1, 2**70)
# As many as are asked for are computed: a number that fits is work, not a mistake.
WORK = {"n_draws", "n_init", "n_starts", "max_iter"}
NOT_FINITE = (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0)
DTYPES = (np.float32, np.float64, np.int16, np.int32, np.int64, np.uint8, np.uint64, np.complex128)


def change(g: np.random.Generator, name: str, value: Any) -> Any:
    """Another value in the place of one that fits."""
    if isinstance(value, tuple) and value:
        if g.random() < 0.1:
            return value[: g.integers(len(value))]
        parts, at = list(value), int(g.integers(len(value)))
        parts[at] = change(g, name, parts[at])
        return tuple(parts)
    if isinstance(value, np.ndarray):
        if value.size > 2**30 or 0 in value.shape:  # was changed before
            return None
        return CHANGES[g.integers(len(CHANGES))](g, value)
    if value is None or isinstance(value, bool) or g.random() < 0.1:
        other = [None, "x", True, np.zeros(3), np.zeros((2, 2)), (), object()]
        return other[g.integers(len(other))]
    if isinstance(value, float):
        return float(g.choice([*NOT_FINITE, -1.0, 0.0, 1.0, 2.0]))
    extreme = EXTREME[g.integers(len(EXTREME))]
    return extreme if name not in WORK or extreme != 2**31 else -5


def other_length(g: np.random.Generator, a: np.ndarray) -> np.ndarray:
    axis = int(g.integers(a.ndim))
    size = int(g.choice([0, max(a.shape[axis] - 1, 0), a.shape[axis] + 1, 3 * a.shape[axis] + 1]))
    shape = (*a.shape[:axis], size, *a.shape[axis + 1 :])
    return np.resize(a, shape) if a.size else np.zeros(shape, dtype=a.dtype)


def endless(g: np.random.Generator, a: np.ndarray) -> np.ndarray:
    """Of more elements than memory has, or of as many rows of nothing."""
    huge = int(g.choice([2**31, 2**32, 2**40, 2**48]))
    if a.ndim > 1 and g.random() < 0.7:
        return np.empty((huge, 0, *a.shape[2:]), dtype=a.dtype)
    return np.broadcast_to(np.zeros(1, dtype=a.dtype), (2**48, *a.shape[1:]))


def other_values(g: np.random.Generator, a: np.ndarray) -> np.ndarray:
    """NaN and infinity, or numbers of rows that there are not."""
    changed = a.copy()
    if not a.size:
        return changed
    where = g.random(a.shape) < g.choice([0.1, 0.5, 1.0])
    if a.dtype.kind in "fc":
        with np.errstate(over="ignore"):
            changed[where] = np.array(NOT_FINITE)[g.integers(len(NOT_FINITE))]
    else:
        limits = np.iinfo(a.dtype)
        some = [limits.min, limits.max, limits.max // 2, 0, len(a), max(limits.min, -2)]
        changed[where] = min(some[g.integers(len(some))], limits.max)
    return changed


def read_only(g: np.random.Generator, a: np.ndarray) -> np.ndarray:
    changed = a.copy()
    changed.flags.writeable = False
    return changed


CHANGES: tuple[Callable[[np.random.Generator, np.ndarray], Any], ...] = (
    other_length,
    other_length,
    other_length,
    other_values,
    other_values,
    other_values,
    endless,
    read_only,
    lambda g, a: a[..., None],
    lambda g, a: a.ravel(),
    lambda g, a: a[::-1],
    lambda g, a: np.repeat(a, 2, axis=-1)[..., ::2],
    lambda g, a: np.asfortranarray(a),
    lambda g, a: a.T,
    lambda g, a: a[:0],
    lambda g, a: a.astype(DTYPES[g.integers(len(DTYPES))]),
    lambda g, a: a.tolist(),
    lambda g, a: None,
)


def call(engine: ModuleType, case: int) -> str:
    """One call with up to three arguments changed; what it came to."""
    g = np.random.default_rng(case)
    name = list(FUNCTIONS)[g.integers(len(FUNCTIONS))]
    with np.errstate(all="ignore"):
        arguments = FUNCTIONS[name](g, Sizes(g))
        for _ in range(g.integers(4) if arguments else 0):
            which = list(arguments)[g.integers(len(arguments))]
            arguments[which] = change(g, which, arguments[which])
    try:
        getattr(engine, name)(**arguments)
    except (TypeError, ValueError, OverflowError, MemoryError, RuntimeError, IndexError):
        return f"{name} refused"
    return f"{name} answered"


# --- children ---


def engine_in_use() -> ModuleType:
    from bbclust import _native

    return _native._in_use.get()


def run_cases(first: int, count: int) -> None:
    """Cases one after the other; each is named before it is tried."""
    warnings.simplefilter("ignore")  # of casts
    engine = engine_in_use()
    for case in range(first, first + count):
        print(f"case {case}", flush=True)
        faulthandler.dump_traceback_later(SECONDS_PER_CASE, exit=True)
        print(call(engine, case), flush=True)
    faulthandler.cancel_dump_traceback_later()


def run_in_threads(first: int, count: int) -> None:
    """The same from four threads at once."""
    engine = engine_in_use()
    print(f"case {first} --threads", flush=True)
    faulthandler.dump_traceback_later(count * SECONDS_PER_CASE / 4, exit=True)
    workers = [
        threading.Thread(
            target=lambda t=t: [call(engine, case) for case in range(first + t, first + count, 4)]
        )
        for t in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    faulthandler.cancel_dump_traceback_later()


AFTER_FORK = """
import os, signal, sys, threading
import numpy as np
from bbclust import BBC
X = np.random.default_rng(0).normal(size=(400, 3))
fit = lambda: BBC(3, n_replicas=20, n_jobs=2, random_state=0).fit(X).labels_
mine = fit()
busy = threading.Thread(target=lambda: BBC(4, n_replicas=100, n_jobs=2, random_state=0).fit(X))
if sys.argv[1] == "during":
    busy.start()
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(0 if (fit() == mine).all() else 3)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
busy.is_alive() and busy.join()
sys.exit(0 if code == 0 else 1)
"""

AT_EXIT = """
import sys, threading, time
import numpy as np
from bbclust import BBC
X = np.random.default_rng(0).normal(size=(3000, 6))
def work():
    while True:
        BBC(5, n_replicas=int(sys.argv[2]), n_jobs=2, random_state=0).fit(X)
threading.Thread(target=work, daemon=True).start()
time.sleep(float(sys.argv[1]))
"""


def child(*command: str, seconds: float) -> subprocess.CompletedProcess[str] | None:
    """A process of its own; None if it did not end in time, and was ended."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None


def last_case(output: str) -> str:
    named = [line for line in output.splitlines() if line.startswith("case ")]
    return named[-1] if named else "no case"


def fuzz(record: Any, first: int, end: float) -> None:
    """Children with cases, until the time is over."""
    while time.monotonic() < end:
        record.count("processes with calls")
        threads = (first // CASES_PER_CHILD) % 4 == 3
        options = ["--case", str(first), "--count", str(CASES_PER_CHILD)]
        seconds = CASES_PER_CHILD * SECONDS_PER_CASE
        found = child(
            sys.executable, __file__, *options, *(["--threads"] if threads else []), seconds=seconds
        )
        output = "" if found is None else found.stdout
        for line in output.splitlines():
            if line.endswith((" answered", " refused")):
                record.count(f"calls {line.split()[1]}")
        if threads:
            record.count("calls from four threads", CASES_PER_CHILD)
        if found is None or found.returncode != 0:
            how = "did not end" if found is None else ended_by(found)
            record.fail(f"{last_case(output)} {how}")
            print(record.failures[-1], flush=True)
        first += CASES_PER_CHILD


def ended_by(found: subprocess.CompletedProcess[str]) -> str:
    code = found.returncode
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
    return f"{how}: {found.stderr.strip()[-1500:]}"


def try_forks_and_exits(record: Any, g: np.random.Generator) -> None:
    """Children of fork, and interpreters that end during a fit."""
    for when in ("after", "during") * 3:
        record.count("forks after or during a fit")
        found = child(sys.executable, "-c", AFTER_FORK, when, seconds=180)
        if found is None or found.returncode != 0:
            record.fail(f"fork {when} a fit: {'no end' if found is None else ended_by(found)}")
    for _ in range(20):
        delay, replicas = g.uniform(0.0, 0.6), int(g.choice([2, 2000]))
        record.count("interpreters ended during a fit")
        found = child(sys.executable, "-c", AT_EXIT, str(delay), str(replicas), seconds=120)
        if found is None or found.returncode != 0:
            how = "no end" if found is None else ended_by(found)
            record.fail(f"interpreter ended after {delay:.3f} s, {replicas} replicas: {how}")


def main() -> None:
    from record import Record, arguments

    parser = arguments(__doc__, "fuzz_engine", minutes=10)
    parser.add_argument("--case", type=int, help="repeat this case")
    parser.add_argument("--count", type=int, default=1, help="and those after it")
    parser.add_argument("--threads", action="store_true", help="from four threads")
    options = parser.parse_args()
    if options.case is not None:
        run = run_in_threads if options.threads else run_cases
        run(options.case, options.count)
        return
    record = Record("Calls of the compiled engine with arguments that do not fit")
    bound = {name for name in dir(engine_in_use()) if name.islower() and not name.startswith("_")}
    for name in sorted(bound ^ set(FUNCTIONS)):
        record.fail(f"{name} is not called by this check, or not in the engine.")
    record.count("functions of the engine", len(bound))
    try_forks_and_exits(record, np.random.default_rng(options.seed))
    fuzz(record, options.seed * 10_000_000, time.monotonic() + 60 * options.minutes)
    record.write(options.json)
    print(record.counts, *record.failures, sep="\n")
    sys.exit(bool(record.failures))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONFAULTHANDLER", "1")
    main()
