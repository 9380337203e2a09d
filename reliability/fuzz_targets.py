"""What is done with hostile inputs, and what may come of it.

A target has ``trial(draw)``: it makes an input, gives it to the package as a user would, and
returns in a word what came of it. Whatever else it raises has broken a promise.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Protocol

import hostile_bytes as hostile
import numpy as np
from hostile_bytes import Draw, below, word

from bbclust import BBC, BagClust1, KSelector, load_model
from bbclust.datasets import load_iris
from bbclust.io.archive import ArchiveError

IRIS = load_iris()
ROWS = IRIS.data[::3]
QUICK = {"n_replicas": 20, "n_init": 1, "votes": "all", "random_state": 0}


class BrokenPromiseError(Exception):
    """Something came out that must not."""


class Target(Protocol):
    """Makes inputs from random numbers and tries them."""

    def trial(self, draw: Draw) -> str: ...


def one_sentence(error: BaseException) -> str:
    """The outcome of a refusal, if it is a sentence that a person can read."""
    text = str(error)
    if not re.fullmatch(r"\S[^\n]*[.?]", text) or len(text) > 20_000:
        raise BrokenPromiseError(f"not a sentence: {text[:300]!r}") from error
    return "refused"


@contextlib.contextmanager
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# --- model files ----------------------------------------------------------------------------------

QUESTIONS: tuple[Callable[[Any], Any], ...] = (
    lambda model: model.predict(ROWS[:5]),
    lambda model: model.predict_proba(ROWS[:5]),
    lambda model: model.transform(ROWS[:5]),
    lambda model: model.centers_interval(),
    lambda model: model.center_distances(),
    lambda model: model.centers_region(),
    lambda model: model.cluster_stability(),
    lambda model: model.variable_importance(ROWS[:20]),
    lambda model: model.mean_entropy_interval(),
    lambda model: model.max_pair_doubt_interval(),
    lambda model: model.component_probabilities(ROWS[:5]),
    lambda model: model.prior_conflict(),
    lambda model: list(model.replica_labels(ROWS[:5])),
    repr,
)


class ModelFiles:
    """Files for ``load_model``; what is loaded is asked everything."""

    def __init__(self, folder: Path) -> None:
        self.path, self.again = folder / "model.bbc", folder / "again.bbc"
        gaps = ROWS.copy()
        gaps[::7, 1] = np.nan
        models = (
            (BBC(3, **QUICK).fit(ROWS), "float64"),
            (BBC(2, **QUICK).fit(ROWS), "float32"),
            (BBC(3, missing="draw", **QUICK).fit(gaps), "float64"),
            (BagClust1(3, n_replicas=20, random_state=0).fit(ROWS), "float64"),
        )
        self.intact = []
        for model, precision in models:
            metadata = {"by": ["somebody", 1], "scaling": {"kind": "none"}}
            model.save(self.path, precision=precision, metadata=metadata)
            self.intact.append(self.path.read_bytes())

    def trial(self, draw: Draw) -> str:
        data = self.intact[below(draw, len(self.intact))]
        self.path.write_bytes(hostile.hostile_archive(draw, data, self.intact))
        try:
            model = load_model(self.path)
        except ArchiveError as error:
            return one_sentence(error)
        for _ in range(3):
            with no_warnings(), np.errstate(all="ignore"):
                try:
                    QUESTIONS[below(draw, len(QUESTIONS))](model)
                except ValueError as error:
                    one_sentence(error)
                except AttributeError as error:  # what files need not hold, such as rows
                    if "has no attribute" not in str(error):
                        one_sentence(error)
        self.again.unlink(missing_ok=True)
        model.save(self.again)
        load_model(self.again)
        return "opened"


# --- checkpoints ----------------------------------------------------------------------------------


class Checkpoints:
    """Folders for ``KSelector(checkpoint=...)`` in which one file is not what it was."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.good, self.victim = folder / "c", folder / "good", folder / "victim"
        self.result = self._fit(self.good)
        self.names = sorted(
            str(path.relative_to(self.good)) for path in self.good.rglob("*") if path.is_file()
        )
        self.intact = [(self.good / name).read_bytes() for name in self.names]
        self._reset()

    def _reset(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.good, self.folder)
        self.victim.write_bytes(b"not to be touched")

    def _fit(self, checkpoint: Path) -> KSelector:
        quick = BBC(n_replicas=10, n_init=1, votes="all")
        with no_warnings(), np.errstate(all="ignore"):
            return KSelector(
                quick,
                k_range=(2, 3),
                prior_scales=(1.0,),
                null_reference=0,
                n_resamples=0,
                refit=False,
                checkpoint=checkpoint,
                random_state=0,
            ).fit(ROWS)

    def trial(self, draw: Draw) -> str:
        at = below(draw, len(self.names))
        path = self.folder / self.names[at]
        kind = below(draw, 10)
        try:
            if kind == 0:
                path.unlink()
                path.symlink_to(self.victim)
            elif kind == 1:
                other = self.intact[below(draw, len(self.intact))]
                path.write_bytes(other)  # the file of another cell
            else:
                path.write_bytes(hostile.hostile_archive(draw, self.intact[at], self.intact))
            try:
                found = self._fit(self.folder)
            except ValueError as error:
                return one_sentence(error)
            if self.victim.read_bytes() != b"not to be touched":
                raise BrokenPromiseError("a file outside of the folder was overwritten by a link")
            same = found.scores_ == self.result.scores_ and found.best_k_ == self.result.best_k_
            if not same and kind < 2:
                raise BrokenPromiseError("a file of another place changed the result")
            return "same result" if same else "read as edited"
        finally:
            for name, data in zip(self.names, self.intact, strict=True):
                place = self.folder / name
                if place.is_symlink() or not place.exists() or place.read_bytes() != data:
                    self._reset()
                    break


# --- tables ---------------------------------------------------------------------------------------


def intact_tables() -> dict[str, bytes]:
    """Tables of every kind that the command reads."""
    import gzip

    import polars as pl
    import xlsxwriter

    n = 30
    frame = pl.DataFrame(
        {
            "name": [f"row {i}" for i in range(n)],
            "kind": [("red", "green", "=1+1")[i % 3] for i in range(n)],
            "x": [float(np.sin(i)) for i in range(n)],
            "y": [i % 5 for i in range(n)],
            "z": [None if i == 3 else i / 7 for i in range(n)],
        }
    )
    found: dict[str, bytes] = {"t.csv": frame.write_csv().encode()}
    found["t.tsv"] = frame.write_csv(separator="\t").encode()
    found["t.jsonl"] = frame.write_ndjson().encode()
    found["t.json"] = json.dumps(frame.to_dicts()).encode()
    for name, write in (("t.parquet", frame.write_parquet), ("t.arrow", frame.write_ipc)):
        buffer = io.BytesIO()
        write(buffer)
        found[name] = buffer.getvalue()
    buffer = io.BytesIO()
    frame.write_ipc_stream(buffer)
    found["t.stream"] = buffer.getvalue()
    buffer = io.BytesIO()
    np.save(buffer, frame.select("x", "y").to_numpy())
    found["t.npy"] = buffer.getvalue()
    buffer = io.BytesIO()
    np.savez(buffer, X=frame.select("x", "y").to_numpy(), label=np.arange(n))
    found["t.npz"] = buffer.getvalue()
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"strings_to_formulas": False}) as workbook:
        frame.write_excel(workbook, "one")
    found["t.xlsx"] = buffer.getvalue()
    found["t.csv.gz"] = gzip.compress(found["t.csv"], mtime=0)
    found["t.zip"] = hostile.zipped([("data/t.csv", found["t.csv"]), ("read.me", b"hello")])
    return found


class _Reading:
    """Reads a file as ``bbclust analyze`` does, with random options, up to the numbers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "tables"
        self.folder.mkdir(exist_ok=True)
        self.intact = intact_tables()

    def read(self, draw: Draw, name: str, data: bytes) -> str:
        from bbclust.cli.input.columns import Wanted
        from bbclust.cli.input.delimited import Dialect
        from bbclust.cli.input.preparation import Source, prepare
        from bbclust.cli.output.errors import CommandError, os_sentence

        path = self.folder / name
        path.write_bytes(data)
        dialect = Dialect(header=(None, None, True, False)[below(draw, 4)])
        missing = ("error", "drop", "draw")[below(draw, 3)]
        wanted = Wanted(one_hot=bool(draw.random() < 0.3))
        source = Source(str(path), dialect, wanted, missing, with_columns=bool(draw.integers(2)))
        scale = ("standard", "robust", "none")[below(draw, 3)]
        try:
            with no_warnings():
                prepared = prepare(source, scale)
                prepared.details()
        except CommandError as error:
            return one_sentence(error)
        except OSError as error:
            return one_sentence(ValueError(os_sentence(error)))
        finally:
            path.unlink()
        if not np.isfinite(prepared.X[~np.isnan(prepared.X)]).all():
            raise BrokenPromiseError("a table with infinite numbers")
        return "read"


class DamagedTables(_Reading):
    """Tables of every kind, damaged outside or, if packed, inside."""

    def trial(self, draw: Draw) -> str:
        names = list(self.intact)
        name = names[below(draw, len(names))]
        data, others = self.intact[name], list(self.intact.values())
        if data.startswith(b"PK") and draw.random() < 0.6:
            data = hostile.damaged_inside(draw, data)
        elif name == "t.csv.gz" and draw.random() < 0.6:
            import gzip

            data = gzip.compress(hostile.damaged(draw, self.intact["t.csv"], others), mtime=0)
        else:
            data = hostile.damaged(draw, data, others)
        if draw.random() < 0.1:
            name = names[below(draw, len(names))]
        return self.read(draw, name, data)


class HostileTables(_Reading):
    """Tables that are whole, and made to hurt."""

    def trial(self, draw: Draw) -> str:
        kind = draw.random()
        if kind < 0.35:
            return self.read(draw, "t.csv", hostile.csv_table(draw))
        if kind < 0.55:
            return self.read(draw, "t.json", hostile.json_table(draw))
        if kind < 0.8:
            data = hostile.npy(draw)
            if draw.random() < 0.3:
                data = hostile.zipped([("X.npy", data), ("y.npy", hostile.npy(draw))])
            return self.read(draw, "t", data)
        if kind < 0.95:
            return self.read(draw, "t", self._workbook(draw))
        return self.read(draw, "t", hostile.csv_table(draw) + draw.bytes(below(draw, 3)))

    def _workbook(self, draw: Draw) -> bytes:
        """A workbook with a sheet of anything."""
        members = dict(hostile.members_of(self.intact["t.xlsx"]))
        place = ("A1", "XFD1048576", "ZZZ9999999", "B2", "A0", "1A", "")
        cells = []
        for _ in range(below(draw, 20)):
            at = place[below(draw, len(place))]
            kind = ("n", "s", "str", "b", "e", "d", "inlineStr", "?")[below(draw, 8)]
            value = ("1", "0", "99999999999", "-1", "&xxe;", "1e999", "x")[below(draw, 7)]
            formula = "<f>1+1</f>" if draw.random() < 0.2 else ""
            cells.append(f'<c r="{at}" t="{kind}">{formula}<v>{value}</v></c>')
        laughs = "".join(f'<!ENTITY x{i} "{f"&x{i - 1};" * 10 if i else "ha"}">' for i in range(12))
        evil = f'<!DOCTYPE x [<!ENTITY xxe SYSTEM "file:///etc/passwd">{laughs}]>'
        head = evil if draw.random() < 0.3 else ""
        body = f'<sheetData><row r="1">{"".join(cells)}</row></sheetData>'
        extent = f'<dimension ref="A1:{place[below(draw, len(place))]}"/>'
        sheet = f'<?xml version="1.0"?>{head}<worksheet>{extent}{body}</worksheet>'
        members["xl/worksheets/sheet1.xml"] = sheet.encode()
        return hostile.zipped(list(members.items()))


class BombsAndExtents(_Reading):
    """Archives that unpack to much, and tables that are large in one direction."""

    def trial(self, draw: Draw) -> str:
        if draw.random() < 0.5:
            return self.read(draw, "t", hostile.bomb(draw, self.intact["t.csv"]))
        return self.read(draw, "t", hostile.wide_or_long(draw))


# --- reports --------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Tags and scripts of a page, as a browser would find them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.scripts: list[str] = []
        self._open: str | None = None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.tags.append((tag, dict(attributes)))
        self._open = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = None

    def handle_data(self, data: str) -> None:
        if self._open == "script":
            self.scripts[-1] += data


class Reports:
    """Reports in which every text is a stranger's."""

    def __init__(self, folder: Path) -> None:
        from bbclust.report import gather, render

        X = ROWS
        with no_warnings():
            selector = KSelector(
                BBC(n_replicas=20, n_init=1, votes="all"),
                k_range=(2, 3),
                null_reference=0,
                random_state=0,
            ).fit(X)
            self.full = gather(
                selector,
                X,
                columns=IRIS.feature_names,
                ids=[f"flower {i}" for i in range(len(X))],
                truth=[f"class {i % 3}" for i in range(len(X))],
                source="iris.csv",
                set_aside={"colour": "text"},
                audit=[_audited("colour", "text")],
                notes=["A note."],
            )
            plain = Page(render(self.full))
        self.tags = {tag for tag, _ in plain.tags}
        self.n_scripts = len(plain.scripts)
        self.own = [script for script in plain.scripts if not _is_json(script)]

    def trial(self, draw: Draw) -> str:
        self.check(self.page(draw))
        return "page without a script of a stranger"

    def page(self, draw: Draw) -> str:
        """A report with texts of strangers in every place where a text can stand."""
        from bbclust.report import render

        n, d = self.full.X.shape

        def text() -> str:
            return "".join(word(draw) for _ in range(1 + below(draw, 3)))

        strange = replace(
            self.full,
            columns=tuple(f"{text()}{j}" for j in range(d)),
            ids=[text() for _ in range(n)],
            id_name=text(),
            truth=[text() for _ in range(n)],
            truth_name=text(),
            source=text(),
            scaling=text(),
            set_aside={text(): text() for _ in range(3)},
            audit=[_audited(text(), text())],
            settings={text(): {text(): text()}},
            versions={**self.full.versions, text(): text()},
            fingerprint=text(),
            notes=[text(), text()],
            files={text(): text()},
        )
        with no_warnings():
            return render(strange)

    def check(self, html: str) -> None:
        """What must hold of a page, whatever its texts are."""
        html.encode("utf-8")
        page = Page(html)
        if {tag for tag, _ in page.tags} - self.tags:
            raise BrokenPromiseError(f"tags {sorted({tag for tag, _ in page.tags} - self.tags)}")
        if any(name.startswith("on") for _, found in page.tags for name in found):
            raise BrokenPromiseError("an attribute that is a script")
        if any(
            str(found.get(name, "")).strip().lower().startswith(("javascript:", "data:text"))
            for _, found in page.tags
            for name in ("href", "src", "action")
        ):
            raise BrokenPromiseError("a link that is a script")
        if len(page.scripts) != self.n_scripts:
            raise BrokenPromiseError(f"{len(page.scripts)} scripts, not {self.n_scripts}")
        if [script for script in page.scripts if not _is_json(script)] != self.own:
            raise BrokenPromiseError("a script that is not the page's own")


def _is_json(script: str) -> bool:
    try:
        json.loads(script)
    except ValueError:
        return False
    return True


def _audited(name: str, reason: str) -> dict[str, Any]:
    finding = {"kind": "label", "sure": False, "reason": reason}
    seen = {"column": name, "type": reason, "distinct": 0.5, "gaps": 0.0, "part": "set aside"}
    return {**seen, "looks_like": [finding]}


# --- the command ----------------------------------------------------------------------------------


class Commands:
    """``bbclust fit``, ``predict`` and ``report`` on tables and models of strangers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "command"
        self.folder.mkdir(exist_ok=True)
        self.reports = Reports(folder)
        rows = "".join(
            f"row {i},{('red', 'blue')[i % 2]},{np.sin(i):.3f},{i % 5}\n" for i in range(30)
        )
        table = self.folder / "table.csv"
        table.write_text("name,kind,x,y\n" + rows)
        options = ["--n-replicas", "20", "--categories", "one-hot", "--quiet"]
        code, said = self.call("fit", str(table), "--k", "2", *options, "--out", "fitted")
        if code:
            raise BrokenPromiseError(said)
        self.model = (self.folder / "fitted" / "model.bbc").read_bytes()
        self.table = table.read_bytes()

    def call(self, *arguments: str) -> tuple[int, str]:
        """What the console script runs: its exit code, and what it says on standard error."""
        import os

        from bbclust.cli import main

        before, sys.argv = sys.argv, ["bbclust", *arguments]
        here = os.getcwd()
        os.chdir(self.folder)
        said, code = io.StringIO(), 0
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                main()
        except SystemExit as left:
            code = int(left.code or 0)
        finally:
            sys.argv = before
            os.chdir(here)
        return code, said.getvalue()

    def trial(self, draw: Draw) -> str:
        for name in ("out", "out.partial"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for name in ("out.xlsx", "out.html", "model.bbc"):
            (self.folder / name).unlink(missing_ok=True)
        kind = below(draw, 4)
        if kind == 0:
            (self.folder / "t.csv").write_bytes(hostile.csv_table(draw))
            options = ("--n-replicas", "10", "--with-columns", "--missing", "drop", "--out", "out")
            code, said = self.call("fit", "t.csv", "--k", "2", *options)
        else:
            edit = hostile.hostile_archive(draw, self.model, [self.model])
            (self.folder / "model.bbc").write_bytes(edit if kind < 3 else self.model)
            table = self.table if kind < 3 else _among_numbers(draw)
            (self.folder / "t.csv").write_bytes(table)
            if kind == 1:
                code, said = self.call("report", "model.bbc", "t.csv", "--out", "out.html")
            else:
                out = ("--out", "out.xlsx", "--with-columns")
                code, said = self.call("predict", "model.bbc", "t.csv", *out)
        return self._judge(code, said)

    def _judge(self, code: int, said: str) -> str:
        if "Traceback" in said or code not in (0, 2):
            raise BrokenPromiseError(f"exit code {code}: {said[-300:]}")
        if code == 2:
            lines = [line for line in said.splitlines() if line.startswith("bbclust: ")]
            if len(lines) != 1:
                raise BrokenPromiseError(f"not one sentence: {said[-300:]}")
            left = [
                name for name in ("out", "out.xlsx", "out.html") if (self.folder / name).exists()
            ]
            if left:
                raise BrokenPromiseError(f"{left[0]} is there after a failure")
            return "refused"
        for page in (self.folder / "out.html", self.folder / "out" / "report.html"):
            if page.exists():
                check_own_scripts(page.read_text("utf-8"), self.reports)
        workbook = self.folder / "out.xlsx"
        if workbook.exists():
            with zipfile.ZipFile(workbook) as archive:
                sheets = [name for name in archive.namelist() if "worksheets/sheet" in name]
                if any(b"<f>" in archive.read(name) for name in sheets):
                    raise BrokenPromiseError("a text became a formula of the workbook")
        return "done"


def check_own_scripts(html: str, reports: Reports) -> None:
    """No script, tag or attribute that other reports do not have."""
    page = Page(html)
    if [script for script in page.scripts if not _is_json(script)] != reports.own:
        raise BrokenPromiseError("a script that is not the page's own")
    if any(name.startswith("on") for _, found in page.tags for name in found):
        raise BrokenPromiseError("an attribute that is a script")
    if {tag for tag, _ in page.tags} & {"img", "iframe", "object", "embed", "base"}:
        raise BrokenPromiseError("a tag of a stranger")


def _among_numbers(draw: Draw) -> bytes:
    """A table for the model of this target, with names and categories of strangers."""
    import polars as pl

    n = 1 + below(draw, 20)
    return (
        pl.DataFrame(
            {
                "name": [word(draw) for _ in range(n)],
                "kind": [word(draw) for _ in range(n)],
                "x": draw.normal(size=n),
                "y": draw.normal(size=n),
                word(draw) or "other": [word(draw) for _ in range(n)],
            }
        )
        .write_csv()
        .encode()
    )


TARGETS: dict[str, Callable[[Path], Target]] = {
    "model files": ModelFiles,
    "checkpoint files": Checkpoints,
    "damaged tables": DamagedTables,
    "hostile tables": HostileTables,
    "bombs and extents": BombsAndExtents,
    "reports": Reports,
    "commands": Commands,
}
