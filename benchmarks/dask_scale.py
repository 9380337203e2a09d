"""What a Dask cluster on this machine does with tables of up to 100,000,000 rows.

python benchmarks/dask_scale.py PART [--rows N] [--folder DIRECTORY] [--out FILE.json]

Parts, each of which writes its own entry of the JSON file:

large       fit and write memberships of 10^8 rows by two workers of 1 GiB: peak memory, workers
            that were killed, and whether a sample of 10^6 rows has the memberships that the same
            replica centres give in memory
kills       SIGKILL of a worker at ten random moments: are all results those of the undisturbed run?
workers     two workers against one on the same partitioned table
overhead    DaskBBC with two workers against BBC with two threads on a table in memory
partitions  peak memory of workers from 10 to 1,000 partitions of one size
sizes       time of each stage from 10^5 to 10^8 rows
all         all of them, one after the other

At full size each takes a few minutes on two quiet cores. Tables (1.6 GB for 10^8 rows) are made by
dask_make_table.py in --folder, by default a temporary directory that is removed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import platform
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import distributed
import numpy as np
import pyarrow.parquet as pq
from dask_make_table import COLUMNS, make_group, make_table
from distributed import Client, LocalCluster, get_task_stream
from distributed.diagnostics.plugin import SchedulerPlugin

from bbclust import BBC, load_model
from bbclust._native import engine
from bbclust.dask import DaskBBC
from bbclust.dask.cluster.client import PATIENCE
from bbclust.dask.partitioned.parquet import RowGroups, rows_of_row_groups

K = 5
GROUP = 1_000_000
MEMORY = "1GiB"
FULL_ROWS = {
    "large": 100_000_000,
    "kills": 10_000_000,
    "workers": 48_000_000,  # of fewer, a fit takes seconds, and starting tasks a part of them
    "overhead": 1_000_000,
    "partitions": 50_000_000,
    "sizes": 100_000_000,
}


def say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def table_of(folder: Path, n_rows: int, group: int = GROUP) -> Path:
    """A table of blobs in the folder, made if it is not there."""
    path = folder / f"blobs-{n_rows}-{group}.parquet"
    if not path.exists():
        say(f"making {path.name}")
        make_table(path, n_rows, group)
    return path


def pieces_of(path: Path) -> list[RowGroups]:
    """Every row group as a partition."""
    with pq.ParquetFile(path) as file:
        groups = range(file.metadata.num_row_groups)
        lengths = [file.metadata.row_group(i).num_rows for i in groups]
    return [RowGroups(str(path.absolute()), (i,), n) for i, n in enumerate(lengths)]


def rows_in(path: Path, n_partitions: int | None = None) -> Any:
    return rows_of_row_groups(pieces_of(path)[:n_partitions], COLUMNS, "float32")


class Deaths(SchedulerPlugin):
    """Counts workers that leave."""

    def __init__(self) -> None:
        self.count = 0

    def remove_worker(self, scheduler: Any, worker: str, **_: Any) -> None:
        self.count += 1


@contextmanager
def cluster_of(n_workers: int) -> Iterator[tuple[Client, Deaths]]:
    """Workers with one thread and 1 GiB each, which are restarted when they die."""
    deaths = Deaths()
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=MEMORY,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(n_workers)
        cluster.scheduler.add_plugin(deaths)
        yield client, deaths


def peak_memory(client: Client) -> list[int]:
    """Largest resident size that each worker process has had, in bytes."""
    return sorted(client.run(_peak_of_process).values())


def _peak_of_process() -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


def moved_bytes(client: Client) -> int:
    """Bytes that workers have received from each other."""
    return sum(client.run(_received).values())


def _received(dask_worker: Any) -> int:
    return sum(one["total"] for one in dask_worker.transfer_incoming_log)


def digest_of(model: DaskBBC, client: Client) -> str:
    """SHA-256 of centres, entropies and the memberships of all rows."""
    digest = hashlib.sha256()
    for name in ("reference_centers_", "replica_centers_", "pairwise_entropy_"):
        digest.update(np.ascontiguousarray(getattr(model, name)).data)
    if isinstance(model.memberships_, np.ndarray):
        digest.update(model.memberships_.data)
        return digest.hexdigest()
    blocks = model.memberships_.to_delayed().ravel()
    for part in client.gather(client.compute([dask.delayed(_digest)(block) for block in blocks])):
        digest.update(part)
    return digest.hexdigest()


def _digest(block: np.ndarray) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(block).data).digest()


# --- parts ----------------------------------------------------------------------------------------


def large(folder: Path, n_rows: int) -> dict[str, Any]:
    path, out = table_of(folder, n_rows), folder / "memberships"
    shutil.rmtree(out, ignore_errors=True)
    with cluster_of(2) as (client, deaths):
        began = time.monotonic()
        model = DaskBBC(K, random_state=0, client=client, verbose=1).fit(rows_in(path))
        fitted = time.monotonic()
        say(f"fitted in {fitted - began:.0f} s, writing memberships")
        model.write_memberships(out)
        written = time.monotonic()
        peak, moved, killed = peak_memory(client), moved_bytes(client), deaths.count
    say(f"written in {written - fitted:.0f} s, comparing a sample")
    different, n_sample = compare_sample(model, path, out, folder, min(1_000_000, n_rows))
    shutil.rmtree(out)
    return {
        "rows": n_rows,
        "file_bytes": path.stat().st_size,
        "partitions": len(pieces_of(path)),
        "memory_limit": MEMORY,
        "fit_seconds": fitted - began,
        "write_seconds": written - fitted,
        "workers_killed": killed,
        "peak_bytes": peak,
        "moved_bytes": moved,
        "sampled_rows": n_sample,
        "different_memberships": different,
    }


def compare_sample(
    model: DaskBBC, path: Path, out: Path, folder: Path, size: int
) -> tuple[int, int]:
    """Rows of a random sample whose written memberships are not those of the saved model."""
    model.save(folder / "model.bbc")
    local = load_model(folder / "model.bbc").set_params(n_jobs=2)
    pieces = pieces_of(path)
    n_rows = sum(piece.n_rows for piece in pieces)
    numbers = np.sort(np.random.default_rng(1).choice(n_rows, size, replace=False))
    rows, written, first = [], [], 0
    for piece, part in zip(pieces, sorted(out.glob("*.parquet")), strict=True):
        mine = numbers[(numbers >= first) & (numbers < first + piece.n_rows)] - first
        with pq.ParquetFile(piece.path) as file:
            table = file.read_row_group(piece.groups[0], columns=list(COLUMNS))
        rows.append(np.column_stack([column.to_numpy()[mine] for column in table.columns]))
        names = [f"membership_{k}" for k in range(K)]
        table = pq.read_table(part, columns=names)
        written.append(np.column_stack([column.to_numpy()[mine] for column in table.columns]))
        first += piece.n_rows
    expected = local.predict_proba(np.concatenate(rows))
    different = (expected != np.concatenate(written)).any(axis=1)
    return int(different.sum()), len(different)


def kills(folder: Path, n_rows: int, n_kills: int = 10) -> dict[str, Any]:
    in_memory = make_group(n_rows // 20, seed=0, place=0)
    path = table_of(folder, n_rows, min(GROUP, n_rows // 10))
    tables = {"partitioned": rows_in(path), "in memory": in_memory}
    dice, found = random.Random(0), {}
    with cluster_of(2) as (client, deaths):
        for kind, table in tables.items():

            def run(table: Any = table) -> str:
                return digest_of(DaskBBC(K, random_state=0, client=client).fit(table), client)

            run()  # the first run of a cluster takes longer
            began = time.monotonic()
            expected = run()
            seconds = time.monotonic() - began
            say(f"{kind}: undisturbed {seconds:.1f} s")
            moments: list[float] = []
            n_same = 0
            while len(moments) < n_kills:
                client.wait_for_workers(2, timeout=120)
                moment, before = dice.uniform(0, seconds), deaths.count
                victim = dice.choice(sorted(client.run(os.getpid).values()))
                timer = threading.Timer(moment, os.kill, (victim, signal.SIGKILL))
                timer.start()
                same = run() == expected
                timer.cancel()
                timer.join()
                if deaths.count == before:
                    continue  # the run was faster than the undisturbed one
                moments.append(moment)
                n_same += same
                say(f"{kind}: killed after {moment:.1f} s, {'same' if same else 'ANOTHER'} result")
            found[kind] = {
                "rows": len(in_memory) if kind == "in memory" else n_rows,
                "undisturbed_seconds": seconds,
                "moments": moments,
                "kills": len(moments),
                "same_results": n_same,
            }
    return found


def workers(folder: Path, n_rows: int, repetitions: int = 3) -> dict[str, Any]:
    table = rows_in(table_of(folder, n_rows, min(GROUP, n_rows // 40)))
    seconds: dict[int, list[float]] = {1: [], 2: []}
    digests = set()
    for _ in range(repetitions):
        for n_workers, times in seconds.items():
            with cluster_of(n_workers) as (client, _deaths):
                DaskBBC(K, n_replicas=8, random_state=0, client=client).fit(
                    table.blocks[:n_workers]
                )
                began = time.monotonic()
                model = DaskBBC(K, random_state=0, client=client).fit(table)
                digests.add(digest_of(model, client))
                times.append(time.monotonic() - began)
            say(f"{n_workers} worker{'s'[: n_workers > 1]}: {times[-1]:.1f} s")
    return {
        "rows": n_rows,
        "one_worker_seconds": seconds[1],
        "two_workers_seconds": seconds[2],
        "speed_up": min(seconds[1]) / min(seconds[2]),
        "same_result": len(digests) == 1,
    }


def overhead(folder: Path, n_rows: int, repetitions: int = 3) -> dict[str, Any]:
    table = make_group(n_rows, seed=0, place=0)
    settings = {"n_clusters": K, "n_replicas": 200, "random_state": 0}
    local, remote, digests = [], [], set()
    with cluster_of(2) as (client, _):
        DaskBBC(K, random_state=0, client=client).fit(table[:1000])  # workers import it
        for _ in range(repetitions):
            began = time.monotonic()
            mine = BBC(**settings, n_jobs=2).fit(table)
            local.append(time.monotonic() - began)
            say(f"local {local[-1]:.1f} s")
            began = time.monotonic()
            model = DaskBBC(**settings, client=client).fit(table)
            remote.append(time.monotonic() - began)
            say(f"two workers {remote[-1]:.1f} s")
            digests |= {_digest(one.memberships_) for one in (mine, model)}
        peak = peak_memory(client)
    return {
        "rows": n_rows,
        "replicas": settings["n_replicas"],
        "local_seconds": local,
        "dask_seconds": remote,
        "overhead": min(remote) / min(local) - 1,
        "same_result": len(digests) == 1,
        "peak_bytes": peak,
    }


def partitions(folder: Path, n_rows: int) -> dict[str, Any]:
    largest, rows = 1000, []
    path = table_of(folder, n_rows, group=n_rows // largest)
    for count in (10, 30, 100, 300, 1000):
        with cluster_of(2) as (client, deaths):
            before = peak_memory(client)
            table = rows_in(path, count)
            began = time.monotonic()
            model = DaskBBC(K, random_state=0, client=client).fit(table)
            digest_of(model, client)
            rows.append(
                {
                    "partitions": count,
                    "rows": int(table.shape[0]),
                    "seconds": time.monotonic() - began,
                    "peak_before_bytes": before,
                    "peak_bytes": peak_memory(client),
                    "moved_bytes": moved_bytes(client),
                    "workers_killed": deaths.count,
                }
            )
        say(f"{count} partitions: peak {max(rows[-1]['peak_bytes']) / 2**20:.0f} MiB")
    return {"rows_per_partition": n_rows // largest, "by_partitions": rows}


class Timed(DaskBBC):
    """Keeps the time of every stage of a partitioned fit."""

    def _stage(self, name: str) -> None:
        now = time.monotonic()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self.mark
        self.mark = now

    def _fit_partitions(self, *arguments: Any) -> list[str]:
        self.seconds: dict[str, float] = {}
        self.n_passes, self.mark = 0, time.monotonic()
        return super()._fit_partitions(*arguments)

    def _tell(self, what: str) -> None:
        if "partitions" in what:
            self._stage("count")
        elif "clustered" in what:
            self._stage("sample")
        else:
            self.n_passes += 1
            self._stage("passes")

    def _run(self, run: Any, *arguments: Any) -> Any:
        drawn = run.__self__._drawn  # on their way with what the prior is made of
        distributed.wait([*drawn.rows, drawn.evaluation, drawn.sample])
        self._stage("moments and draws")
        found = super()._run(run, *arguments)
        self._stage("replicas")
        return found


def sizes(folder: Path, n_rows: int) -> dict[str, Any]:
    found = []
    for size in sorted({n_rows, *(10**e for e in range(5, 10) if 10**e < n_rows)}):
        path, out = table_of(folder, size, min(GROUP, size // 4)), folder / "memberships"
        with cluster_of(2) as (client, deaths):
            model = Timed(K, random_state=0, client=client)
            model.fit(rows_in(path, 2))  # the first run of a cluster takes longer
            shutil.rmtree(out, ignore_errors=True)
            before = moved_bytes(client)
            with get_task_stream(client) as stream:
                model.fit(rows_in(path))
                model.mark = time.monotonic()
                model.write_memberships(out)
                model._stage("votes, written")
            shutil.rmtree(out)
            found.append(
                {
                    "rows": size,
                    "partitions": len(pieces_of(path)),
                    "lloyd_passes": model.n_passes,
                    "seconds": model.seconds,
                    "tasks": tasks_of(stream.data),
                    "moved_bytes": moved_bytes(client) - before,
                    "peak_bytes": peak_memory(client),
                    "workers_killed": deaths.count,
                }
            )
        say(f"{size:,} rows: {sum(model.seconds.values()):.1f} s {model.seconds}")
    return {
        "workers": 2,
        "clusters": K,
        "columns": len(COLUMNS),
        "bytes_per_number": 4,
        "replicas": 200,
        "draws": 10_000,
        "prior_weight": 0.5,
        "by_rows": found,
    }


def tasks_of(stream: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Number and seconds of tasks by what they do."""
    found: dict[str, dict[str, float]] = defaultdict(lambda: {"tasks": 0, "seconds": 0.0})
    for task in stream:
        name = re.match(r"[a-z_]+(-[a-z_]+)*", str(task["key"]).lstrip("('"))
        one = found[re.sub(r"(-[a-f]+)?-?$", "", name[0]) if name else "other"]
        one["tasks"] += 1
        one["seconds"] += sum(
            part["stop"] - part["start"]
            for part in task["startstops"]
            if part["action"] == "compute"
        )
    return dict(found)


PARTS = {
    "large": large,
    "kills": kills,
    "workers": workers,
    "overhead": overhead,
    "partitions": partitions,
    "sizes": sizes,
}


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    info = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*:\s*(.*)", info)
    return {
        "cpu": model[1] if model else platform.machine(),
        "cores": os.cpu_count(),
        "instruction_set": engine.ISA,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "dask": dask.__version__,
    }


def keep(out: Path, part: str, found: dict[str, Any]) -> None:
    """Put the figures of a part into the file, beside those of the others."""
    known = json.loads(out.read_text()) if out.exists() else {}
    known[part] = {**found, "machine": machine()}
    out.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--rows", type=int, help="by default those of the full size")
    parser.add_argument("--folder", type=Path, help="for tables; kept, and used again")
    parser.add_argument("--out", type=Path, help="JSON file to keep the figures in")
    arguments = parser.parse_args()
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB", **PATIENCE})
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if arguments.folder is None else arguments.folder
        folder.mkdir(parents=True, exist_ok=True)
        for part in PARTS if arguments.part == "all" else [arguments.part]:
            say(f"{part} ...")
            began = time.monotonic()
            found = PARTS[part](folder, arguments.rows or FULL_ROWS[part])
            found["total_seconds"] = time.monotonic() - began
            print(json.dumps({part: found}, indent=1))
            if arguments.out is not None:
                keep(arguments.out, part, found)


if __name__ == "__main__":
    main()
