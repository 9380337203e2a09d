"""Calls that are disturbed, how they are, and what must hold afterwards.

A target has ``trial(draw)``, which disturbs something once and says in a word how it ended; it
raises if a promise was broken.
"""

from __future__ import annotations

import ctypes
import hashlib
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from children import limit_memory

from bbclust import BBC, KSelector, load_model
from bbclust.datasets import load_iris
from bbclust.priors import ElicitedPrior

Draw = np.random.Generator
IRIS = load_iris().data
MB = 2**20


class BrokenPromiseError(Exception):
    """Something did not hold after a fault."""


class Target(Protocol):
    def trial(self, draw: Draw) -> str: ...

    def close(self) -> None: ...


class Plain:
    """A target with nothing to close."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def close(self) -> None:
        pass


def demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise BrokenPromiseError(otherwise)


def digest(value: Any) -> str:
    """What tells a result from any other, to the bit."""
    hasher = hashlib.sha256()
    _feed(hasher, value)
    return hasher.hexdigest()


def _feed(hasher: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        hasher.update(
            f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
        )
    elif isinstance(value, dict):
        for key in value:
            _feed(hasher, (key, value[key]))
    elif isinstance(value, list | tuple):
        for one in value:
            _feed(hasher, one)
    elif hasattr(value, "__dataclass_fields__"):
        _feed(hasher, {name: getattr(value, name) for name in value.__dataclass_fields__})
    else:
        hasher.update(repr(value).encode())


def state_of(model: Any) -> str:
    """Digest of what a model has published; "unfitted" if that is nothing."""
    if isinstance(model, KSelector):
        names = ("scores_", "best_k_", "curves_", "mc_confidence_", "labels_")
    else:
        names = ("memberships_", "labels_", "replica_centers_", "entropy_", "n_votes_")
    found = {name: getattr(model, name) for name in names if hasattr(model, name)}
    there = sorted(name for name in vars(model) if name.endswith("_"))  # half of a fit shows here
    return digest([there, found]) if there else "unfitted"


def quiet(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def model_of(**more: Any) -> BBC:
    return BBC(**{"n_clusters": 3, "n_replicas": 300, "random_state": 0, "n_jobs": 2, **more})


def selector_of(**more: Any) -> KSelector:
    quick = BBC(n_replicas=20, n_init=1)
    settings = {"k_range": (2, 3, 4), "null_reference": 2, "n_resamples": 2, "random_state": 0}
    return KSelector(quick, **{**settings, **more})


# --- calls ----------------------------------------------------------------------------------------


class Call:
    """A public call: ``run()`` on a model of its own, and what it gives undisturbed.

    Attributes
    ----------
    name : str
    seconds : float
        What it takes alone.
    """

    def __init__(self, name: str, model: Any, run: Callable[[Any], Any]) -> None:
        self.name, self._model, self._run = name, model, run
        alone = deepcopy(model)
        self.before = state_of(alone)
        began = time.perf_counter()
        result = quiet(lambda: run(alone))
        self.seconds = time.perf_counter() - began
        self.after, self.result = state_of(alone), self._digest(result, alone)

    @staticmethod
    def _digest(result: Any, model: Any) -> str:
        return state_of(model) if result is model else digest(result)

    def disturbed(
        self, fault: Callable[[Callable[[], Any]], Any], allowed: tuple[type, ...]
    ) -> str:
        """Run under a fault: ended as alone, or by an allowed error with everything as before."""
        model = deepcopy(self._model)
        try:
            result = fault(lambda: quiet(lambda: self._run(model)))
        except allowed as error:
            demand("\n" not in str(error), f"{self.name}: not one sentence: {error}")
            now = state_of(model)
            demand(
                now in (self.before, self.after), f"{self.name}: the model is neither old nor new"
            )
            fresh = deepcopy(self._model)
            again = quiet(lambda: self._run(fresh))
            demand(self._digest(again, fresh) == self.result, f"{self.name}: another result later")
            if now == self.before and self.before != self.after:
                result = quiet(lambda: self._run(model))
                demand(
                    self._digest(result, model) == self.result, f"{self.name}: not the same again"
                )
            return f"stopped ({type(error).__name__}), as before"
        demand(state_of(model) == self.after, f"{self.name}: another state")
        demand(self._digest(result, model) == self.result, f"{self.name}: another result")
        return "ended as alone"


def make_calls(folder: Path, X: Any = IRIS) -> list[Call]:
    """Every public call that takes a while, on small data."""
    fitted = quiet(lambda: model_of().fit(X))
    chosen = quiet(lambda: selector_of().fit(X))
    path = folder / "stored.bbc"
    fitted.save(path)

    def saved(model: BBC) -> bytes:
        model.save(folder / "saved.bbc")
        return (folder / "saved.bbc").read_bytes()

    def with_checkpoint(selector: KSelector) -> KSelector:
        return selector.set_params(checkpoint=folder / "checkpoint").fit(X)

    return [
        Call("fit", model_of(), lambda model: model.fit(X)),
        Call("fit again", fitted, lambda model: model.set_params(n_clusters=4).fit(X)),
        Call("fit float32", model_of(), lambda model: model.fit(X.astype(np.float32))),
        Call("fit trimmed", model_of(trim=0.1), lambda model: model.fit(X)),
        Call("add_replicas", fitted, lambda model: model.add_replicas(300)),
        Call("select", selector_of(), lambda model: model.fit(X)),
        Call("select again", chosen, lambda model: model.set_params(k_range=(2, 3)).fit(X)),
        Call("select with a checkpoint", selector_of(), with_checkpoint),
        Call("predict", fitted, lambda model: model.predict(X)),
        Call("predict_proba", fitted, lambda model: model.predict_proba(X)),
        Call("save", fitted, saved),
        Call("load_model", fitted, lambda model: state_of(load_model(path))),
        Call("prior_conflict", fitted, lambda model: digest(model.prior_conflict())),
        Call("component_probabilities", fitted, lambda model: model.component_probabilities()),
        Call("partition_posterior", fitted, lambda model: digest(model.partition_posterior())),
        Call("cluster_stability", fitted, lambda model: digest(model.cluster_stability())),
        Call("variable_importance", fitted, lambda model: digest(model.variable_importance())),
        Call("centers_interval", fitted, lambda model: model.centers_interval()),
    ]


class _Calls(Plain):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.calls = make_calls(folder)

    def pick(self, draw: Draw) -> Call:
        shutil.rmtree(self.folder / "checkpoint", ignore_errors=True)
        return self.calls[draw.integers(len(self.calls))]

    def check_files(self) -> None:
        drafts = list(self.folder.rglob(".draft-*"))
        demand(not drafts, f"a draft is left: {drafts[:1]}")


class Interrupted(_Calls):
    """SIGINT at a random moment, once or twice, as from a keyboard."""

    def trial(self, draw: Draw) -> str:
        call = self.pick(draw)
        moments = np.sort(draw.uniform(0, 1.2 * call.seconds, size=1 + (draw.random() < 0.2)))

        def fault(run: Callable[[], Any]) -> Any:
            done = threading.Event()

            def press() -> None:
                began = time.perf_counter()
                for moment in moments:
                    if done.wait(max(0.0, moment - (time.perf_counter() - began))):
                        return
                    os.kill(os.getpid(), signal.SIGINT)

            presser = threading.Thread(target=press)
            presser.start()
            try:
                return run()
            finally:
                done.set()
                presser.join()

        try:
            outcome = call.disturbed(fault, (KeyboardInterrupt,))
        except KeyboardInterrupt:  # the second one, after the first had been dealt with
            outcome = "stopped twice"
        self.check_files()
        return outcome


class Starved(_Calls):
    """Less memory than a call needs, or just enough.

    Thousands of rows, so that calls need megabytes; what was freed is given back to the system
    first (``faults.py`` gives its children a fixed threshold for that).
    """

    def __init__(self, folder: Path) -> None:
        Plain.__init__(self, folder)
        generator = np.random.default_rng(0)
        X = generator.normal(size=(4000, 8)) + 4 * generator.integers(3, size=(4000, 1))
        self.calls = make_calls(folder, X)

    def trial(self, draw: Draw) -> str:
        call = self.pick(draw)
        allowed = int(10 ** draw.uniform(3, 7.5))
        ctypes.CDLL(None).malloc_trim(0)
        soft = resource.getrlimit(resource.RLIMIT_AS)

        def fault(run: Callable[[], Any]) -> Any:
            limit_memory(allowed)
            try:
                return run()
            finally:
                resource.setrlimit(resource.RLIMIT_AS, soft)

        try:
            outcome = call.disturbed(fault, (MemoryError, OSError))
        except RuntimeError as error:  # as Python and C++ say it of threads
            demand("thread" in str(error) or "Resource temporarily" in str(error), str(error))
            outcome = "stopped (no thread to be had)"
        self.check_files()
        return outcome


# --- disks ----------------------------------------------------------------------------------------


def can_mount() -> bool:
    with tempfile.TemporaryDirectory() as place:
        mounted = _mount(Path(place), MB)
        if mounted:
            _unmount(Path(place))
        return mounted


def _mount(place: Path, size: int) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _unmount(place: Path) -> None:
    subprocess.run(["umount", str(place)], capture_output=True, check=False)


class _Disk(Plain):
    """A folder on a disk of its own, if one can be mounted, which can be full."""

    SIZE = 8 * MB

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.disk = folder / "disk"
        self.disk.mkdir()
        self.mounted = _mount(self.disk, self.SIZE)

    def close(self) -> None:
        if self.mounted:
            _unmount(self.disk)

    @contextmanager
    def full(self, left: int) -> Iterator[None]:
        """Within, there is room for so many bytes."""
        if self.mounted:
            filler = self.disk / "filler"
            free = shutil.disk_usage(self.disk).free
            filler.write_bytes(bytes(max(0, free - left)))
            try:
                yield
            finally:
                filler.unlink()
            return
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (left, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


class FullDisk(_Disk):
    """save, write_report and checkpoints on a disk that has room for a part."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        from bbclust.report import write_report

        self.old = quiet(lambda: model_of().fit(IRIS))
        self.new = quiet(lambda: model_of(n_clusters=4, n_replicas=2000).fit(IRIS))
        self.alone = state_of(quiet(lambda: selector_of().fit(IRIS)))
        self.writers: dict[str, Callable[[Path], Any]] = {
            "model": lambda path: self.new.save(path),
            "report": lambda path: write_report(self.new, IRIS, path),
        }

    def trial(self, draw: Draw) -> str:
        kind = draw.integers(3)
        if kind == 2:
            return self._checkpoint(draw)
        name = ("model", "report")[kind]
        path = self.disk / f"{name}.file"
        path.write_bytes(b"what was there before")
        # A report has a megabyte, a model tens of kilobytes.
        left = int(draw.integers(0, (60_000, 1_500_000)[kind]))
        try:
            with self.full(left):
                quiet(lambda: self.writers[name](path))
        except OSError as error:
            demand("\n" not in str(error), "not one sentence")
            demand(path.read_bytes() == b"what was there before", f"the earlier {name} is gone")
            outcome = f"{name}: one sentence, the earlier file stays"
        else:
            outcome = f"{name}: there was room"
            demand(path.stat().st_size > 1000, f"half a {name}")
        left_over = sorted(one.name for one in self.disk.iterdir())
        demand(left_over == [path.name], f"left over: {left_over}")
        path.unlink()
        return outcome

    def _checkpoint(self, draw: Draw) -> str:
        folder = self.disk / "checkpoint"
        outcome = "checkpoint: there was room"
        try:
            with self.full(int(draw.integers(0, 200_000))):
                quiet(lambda: selector_of(checkpoint=folder).fit(IRIS))
        except OSError as error:
            demand("\n" not in str(error), "not one sentence")
            outcome = "checkpoint: one sentence, then on to the same result"
        drafts = list(folder.rglob(".draft-*")) if folder.exists() else []
        demand(not drafts, f"left over: {drafts[:1]}")
        found = quiet(lambda: selector_of(checkpoint=folder).fit(IRIS))
        demand(state_of(found) == self.alone, "another result")
        shutil.rmtree(folder)
        return outcome


# --- the command ----------------------------------------------------------------------------------

COMMAND = "import sys; from bbclust.cli import main; print('ready', flush=True); main()"
OPTIONS = ("--k", "2:3", "--n-replicas", "20", "--n-resamples", "1", "--null-reference", "2",
           "--jobs", "1", "--quiet")  # fmt: skip


class _Analyze(_Disk):
    """``bbclust analyze`` in a process of its own, and what it writes undisturbed."""

    SIZE = 32 * MB

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.table = folder / "rows.csv"
        lines = ["a,b,c,d", *(",".join(f"{x:.1f}" for x in row) for row in IRIS)]
        self.table.write_text("\n".join(lines) + "\n")
        began = time.perf_counter()
        code, said = self.analyze("alone")
        demand(code == 0, said)
        self.seconds = time.perf_counter() - began
        self.alone = self.files("alone")
        shutil.rmtree(self.disk / "alone")

    def start(self, out: str, *more: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", COMMAND, "analyze", str(self.table), *OPTIONS]
        process = subprocess.Popen(
            [*command, "--out", out, *more],
            cwd=self.disk,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        process.stdout.readline()  # ready
        return process

    def analyze(self, out: str, *more: str) -> tuple[int, str]:
        with self.start(out, *more) as process:
            said = process.communicate()[1]
        return process.returncode, said

    def files(self, out: str) -> dict[str, str]:
        names = sorted((self.disk / out).iterdir())
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in names}

    def ended(self, code: int, said: str, codes: tuple[int, ...]) -> str:
        """Check what is there after the first run, and that --resume ends as alone."""
        demand(code in (0, *codes), f"exit code {code}: {said[-300:]}")
        demand("Traceback" not in said, f"a traceback: {said[-300:]}")
        there = (self.disk / "out").exists()
        demand(there == (code == 0), f"exit code {code}, and the results are there: {there}")
        if code:
            lines = [line for line in said.splitlines() if line.startswith("bbclust: ")]
            demand(len(lines) == 1 or code == -signal.SIGKILL, f"not one sentence: {said[-300:]}")
            again, said = self.analyze("out", "--resume")
            demand(again == 0, f"--resume: {said[-300:]}")
        demand(self.files("out") == self.alone, "other files than alone")
        left = sorted(path.name for path in self.disk.iterdir())
        demand(left == ["out"], f"left over: {left}")
        shutil.rmtree(self.disk / "out")
        return "ended as alone" if code == 0 else "one sentence, then --resume to the same files"


class InterruptedCommand(_Analyze):
    """Ctrl-C, or SIGKILL, while the command runs."""

    def trial(self, draw: Draw) -> str:
        number = signal.SIGKILL if draw.random() < 0.3 else signal.SIGINT
        with self.start("out") as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=draw.uniform(0, 1.0) * self.seconds)
            with suppress(ProcessLookupError):
                process.send_signal(number)
            said = process.communicate()[1]
        # A second Ctrl-C is not sent; one that comes while Python ends may end it by the signal.
        return self.ended(process.returncode, said, (130, -signal.SIGKILL))


class FullDiskForCommand(_Analyze):
    """The same on a disk that has room for a part of the results."""

    def trial(self, draw: Draw) -> str:
        if not self.mounted:
            return "not tried: no disk can be mounted"
        with self.full(int(10 ** draw.uniform(3, 6.3))):
            code, said = self.analyze("out")
        return self.ended(code, said, (2,))


# --- parts of the user ----------------------------------------------------------------------------


class PlannedError(Exception):
    """What a part of the user raises."""


class _Failing:
    """Raises at the j-th call."""

    def __init__(self, at: int) -> None:
        self.left = at

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise PlannedError("planned")


class FailingPrior(_Failing):
    """The elicited prior, until it fails: when it is prepared, or when it is drawn from."""

    def prepare(self, X: Any, reference: Any, scale: float) -> Any:
        self.step()
        prepared, step = ElicitedPrior().prepare(X, reference, scale), self.step

        class Drawn:
            def sample(self, n: int, generator: Any) -> Any:
                step()
                return prepared.sample(n, generator)

        return Drawn()


class FailingParts(Plain):
    """A callback, prior or clusterer that raises at its j-th call: its error, and nothing else."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.fitted = quiet(lambda: model_of(n_replicas=40).fit(IRIS))
        self.before = state_of(self.fitted)

    def trial(self, draw: Draw) -> str:
        kind, at = draw.integers(4), int(draw.integers(60))
        part = _Failing(at)
        model: Any = deepcopy(self.fitted)
        name = ("callback", "prior", "clusterer", "callback of a selection")[kind]
        if kind == 0:
            model.set_params(n_replicas=2000, callbacks=lambda done, total: part.step())
        elif kind == 1:
            model.set_params(prior=FailingPrior(at))
        elif kind == 2:
            from sklearn.base import BaseEstimator, ClusterMixin

            class Shared(ClusterMixin, BaseEstimator):
                def __init__(self, n_clusters: int = 3) -> None:
                    self.n_clusters = n_clusters

                def fit_predict(self, X: Any, y: Any = None) -> Any:
                    part.step()
                    return (np.argsort(np.argsort(X[:, 0])) * self.n_clusters // len(X)).astype(int)

            model.set_params(clusterer=Shared(3))
        else:
            model = selector_of(callbacks=lambda done, total: part.step())
        before = state_of(model)
        try:
            quiet(lambda: model.fit(IRIS))
        except PlannedError:
            demand(state_of(model) == before, f"{name}: the model is not as it was")
            return f"{name}: its own error, the model as before"
        except (ValueError, RuntimeError) as error:
            demand("planned" in str(error) and "\n" not in str(error), f"{name}: {error}")
            demand(state_of(model) == before, f"{name}: the model is not as it was")
            return f"{name}: its own error in a sentence, the model as before"
        if kind == 2 and model.n_failed_:  # promised: such replicas have no vote, and are counted
            demand(model.n_failed_ <= 40, f"{model.n_failed_} failed replicas are counted")
            return f"{name}: replicas without a vote, which are counted"
        return f"{name}: ended before it failed"


# --- kills ----------------------------------------------------------------------------------------


def _save_on_and_on(folder: str, ready: Any) -> None:
    small, large = (load_model(Path(folder) / name) for name in ("small.bbc", "large.bbc"))
    ready.set()
    while True:
        small.save(Path(folder) / "model.bbc")
        large.save(Path(folder) / "model.bbc")


def _select_once(folder: str, ready: Any) -> None:
    ready.set()
    quiet(lambda: selector_of(checkpoint=Path(folder) / "checkpoint").fit(IRIS))


class _Killed(Plain):
    """A process that is forked from one where everything is imported, and killed."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["fault_targets"])

    def kill(self, work: Callable[..., None], after: float) -> None:
        ready = self.context.Event()
        process = self.context.Process(target=work, args=(str(self.folder), ready))
        process.start()
        demand(ready.wait(600), "the process did not begin")
        process.join(after)
        process.kill()
        process.join()


class KilledWhileSaving(_Killed):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        quiet(lambda: model_of(n_replicas=20).fit(IRIS)).save(folder / "small.bbc")
        quiet(lambda: model_of(n_replicas=4000).fit(IRIS)).save(folder / "large.bbc")
        self.whole = [(folder / name).read_bytes() for name in ("small.bbc", "large.bbc")]
        (folder / "model.bbc").write_bytes(self.whole[0])

    def trial(self, draw: Draw) -> str:
        self.kill(_save_on_and_on, draw.uniform(0, 0.5))
        demand((self.folder / "model.bbc").read_bytes() in self.whole, "half a file")
        load_model(self.folder / "model.bbc")
        names = {path.name for path in self.folder.iterdir()}
        drafts = {name for name in names if name.startswith(".draft-")}
        demand(names - drafts == {"small.bbc", "large.bbc", "model.bbc"}, f"left over: {names}")
        for name in drafts:
            (self.folder / name).unlink()
        return "a whole file, and a hidden draft" if drafts else "a whole file"


class KilledInSelection(_Killed):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        began = time.perf_counter()
        self.alone = state_of(quiet(lambda: selector_of().fit(IRIS)))
        self.seconds = time.perf_counter() - began

    def trial(self, draw: Draw) -> str:
        shutil.rmtree(self.folder / "checkpoint", ignore_errors=True)
        for _ in range(draw.integers(1, 3)):
            self.kill(_select_once, draw.uniform(0, self.seconds))
        found = quiet(lambda: selector_of(checkpoint=self.folder / "checkpoint").fit(IRIS))
        demand(state_of(found) == self.alone, "another result")
        return "on to the same result"


# --- many at once ---------------------------------------------------------------------------------


def _fit_of(seed: int) -> str:
    return state_of(quiet(lambda: model_of(n_replicas=100, random_state=seed).fit(IRIS)))


def _put_fit(seed: int, results: Any) -> None:
    results.put((seed, _fit_of(seed)))


class FiftyAtOnce(_Killed):
    """Fifty fits in threads, then in processes: the bits of each alone."""

    def trial(self, draw: Draw) -> str:
        seeds = [int(seed) for seed in draw.integers(2**31, size=50)]
        alone = {seed: _fit_of(seed) for seed in seeds}
        if draw.random() < 0.5:
            with ThreadPoolExecutor(50) as pool, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = dict(zip(seeds, pool.map(_fit_of, seeds), strict=True))
            kind = "threads"
        else:
            results = self.context.Queue()
            processes = [
                self.context.Process(target=_put_fit, args=(seed, results)) for seed in seeds
            ]
            for process in processes:
                process.start()
            found = dict(results.get(timeout=800) for _ in seeds)
            for process in processes:
                process.join()
            kind = "processes"
        demand(found == alone, f"{kind}: other bits than alone")
        return f"{kind}: the bits of each alone"


# --- time -----------------------------------------------------------------------------------------


class ClockGoesBack(_Calls):
    """Every clock of Python jumps, mostly back, whenever it is asked."""

    def trial(self, draw: Draw) -> str:
        call = self.pick(draw)
        jumps = random.Random(int(draw.integers(2**32)))

        def wrong() -> float:
            return 1e9 - 1e6 * jumps.random()

        clocks = ("time", "monotonic", "perf_counter", "process_time")

        def fault(run: Callable[[], Any]) -> Any:
            right = {name: getattr(time, name) for name in clocks}
            for name in clocks:
                setattr(time, name, wrong)
            try:
                return run()
            finally:
                for name, clock in right.items():
                    setattr(time, name, clock)

        return call.disturbed(fault, ())


TARGETS: dict[str, Callable[[Path], Target]] = {
    "Ctrl-C in a call": Interrupted,
    "Ctrl-C in the command": InterruptedCommand,
    "too little memory": Starved,
    "full disk": FullDisk,
    "full disk for the command": FullDiskForCommand,
    "parts of the user that fail": FailingParts,
    "killed while saving": KilledWhileSaving,
    "killed in a selection": KilledInSelection,
    "fifty at once": FiftyAtOnce,
    "a clock that goes back": ClockGoesBack,
}
