"""Results appear whole or not at all, and nothing of somebody else's is touched."""

import errno
import os
from contextlib import suppress

import pytest

from bbclust.cli.output.errors import CommandError, one_sentence, os_sentence
from bbclust.cli.output.resuming import identity_of, resumable
from bbclust.cli.output.workspace import new_directory, new_file
from bbclust.io import whole_file as whole_files
from bbclust.io.whole_file import whole_file


def write(out, text="new", *, then=None, **options):
    with new_directory(out, **{"force": False, **options}) as work:
        (work.files / "summary.json").write_text(text)
        if then is not None:
            then(work)


def fail(work):
    raise ZeroDivisionError


def content(directory):
    return {path.name: path.read_text() for path in directory.iterdir()}


def test_a_directory_appears_at_the_end_of_the_block_and_not_before(tmp_path):
    out = tmp_path / "deep" / "out"
    with new_directory(out, force=False) as work:
        (work.files / "summary.json").write_text("whole")
        assert not out.exists()
    assert content(out) == {"summary.json": "whole"}
    assert os.listdir(out.parent) == ["out"]


def test_a_failure_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError):
        write(tmp_path / "a" / "b" / "out", then=fail)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_keeps_finished_parts_which_resume_finds(tmp_path):
    def interrupt(work):
        work.checkpoint.mkdir()
        (work.checkpoint / "1.cell").write_text("done")
        raise KeyboardInterrupt

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        write(out, then=interrupt)
    assert os.listdir(tmp_path) == ["out.partial"]
    assert os.listdir(tmp_path / "out.partial") == ["checkpoint"]
    with pytest.raises(CommandError, match="go on with it by --resume"):
        write(out)
    with new_directory(out, force=False, resume=True) as work:
        assert (work.checkpoint / "1.cell").read_text() == "done"
    assert os.listdir(tmp_path) == ["out"]


def test_force_forgets_finished_parts(tmp_path):
    out = tmp_path / "out"
    (tmp_path / "out.partial" / "checkpoint").mkdir(parents=True)
    (tmp_path / "out.partial" / "checkpoint" / "1.cell").write_text("done")
    with new_directory(out, force=True) as work:
        assert not work.has_finished_parts()


def test_the_draft_of_a_part_is_not_a_finished_part(tmp_path):
    with new_directory(tmp_path / "out", force=False) as work:
        work.checkpoint.mkdir()
        with whole_file(work.checkpoint / "k2.cell") as draft:
            draft.write_text("half")
            assert not work.has_finished_parts()
        assert work.has_finished_parts()


def test_resume_without_an_earlier_run_begins(tmp_path):
    write(tmp_path / "out", resume=True)
    assert content(tmp_path / "out") == {"summary.json": "new"}


def test_earlier_results_are_replaced_with_force_only(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    write(out, "old")  # an empty directory holds nothing that could be lost
    with pytest.raises(CommandError, match="the directory exists: say --force"):
        write(out, "new")
    assert content(out) == {"summary.json": "old"}
    write(out, "new", force=True)
    assert content(out) == {"summary.json": "new"}
    assert os.listdir(tmp_path) == ["out"]


def test_a_failure_with_force_leaves_the_earlier_results(tmp_path):
    out = tmp_path / "out"
    write(out, "old")
    with pytest.raises(ZeroDivisionError):
        write(out, "new", then=fail, force=True)
    assert content(out) == {"summary.json": "old"}
    assert os.listdir(tmp_path) == ["out"]


def test_a_failure_of_the_last_move_brings_the_earlier_results_back(tmp_path, monkeypatch):
    def refuse(path, target):
        if path.name == "files":
            raise OSError(errno.EIO, "Input/output error")
        os.rename(path, target)

    out = tmp_path / "out"
    write(out, "old")
    monkeypatch.setattr("pathlib.Path.rename", refuse)
    with pytest.raises(OSError, match="Input/output error"):
        write(out, "new", force=True)
    assert content(out) == {"summary.json": "old"}
    assert os.listdir(tmp_path) == ["out"]


def test_a_move_that_was_killed_half_way_is_undone_by_the_next_run(tmp_path):
    out = tmp_path / "out"
    write(out, "old")
    (tmp_path / "out.partial").mkdir()
    out.rename(tmp_path / "out.partial" / "replaced")
    with pytest.raises(CommandError, match="the directory exists"):
        write(out, "new")
    assert content(out) == {"summary.json": "old"}
    write(out, "new", force=True)
    assert content(out) == {"summary.json": "new"}
    assert os.listdir(tmp_path) == ["out"]


def test_files_of_others_beside_the_results_are_left_alone(tmp_path):
    (tmp_path / "out.partial").mkdir()
    (tmp_path / "out.partial" / "thesis.docx").write_text("ten years")
    write(tmp_path / "out")
    with pytest.raises(ZeroDivisionError):
        write(tmp_path / "out", then=fail, force=True)
    assert content(tmp_path / "out.partial") == {"thesis.docx": "ten years"}


def test_files_of_others_are_never_replaced(tmp_path):
    out = tmp_path / "out"
    write(out, "old")
    (out / "thesis.docx").write_text("ten years")
    with pytest.raises(CommandError, match=r"'thesis.docx', which bbclust did not write"):
        write(out, "new", force=True)
    assert content(out) == {"summary.json": "old", "thesis.docx": "ten years"}


def test_a_file_is_no_directory(tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(CommandError, match="this is a file"):
        write(tmp_path / "out", force=True)


def write_file(path, text, *, force=False, then=None):
    with new_file(path, force=force) as temporary:
        assert temporary.suffix == path.suffix
        temporary.write_text(text)
        if then is not None:
            then(temporary)


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "rows.csv"
    with pytest.raises(ZeroDivisionError):
        write_file(path, "half", then=fail)
    assert list(tmp_path.iterdir()) == []
    write_file(path, "whole")
    assert content(tmp_path) == {"rows.csv": "whole"}
    with pytest.raises(CommandError, match="the file exists: say --force"):
        write_file(path, "again")
    write_file(path, "again", force=True)
    assert content(tmp_path) == {"rows.csv": "again"}
    with pytest.raises(CommandError, match="this is a directory"):
        write_file(tmp_path, "", force=True)


def test_a_new_file_has_the_permissions_of_any_other(tmp_path):
    (tmp_path / "other").write_text("")
    with new_file(tmp_path / "rows.csv", force=False) as temporary:
        temporary.write_text("")
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (errno.ENOSPC, "The disk is full at 'out/x': free some space and run again."),
        (errno.EFBIG, "The disk is full at 'out/x': free some space and run again."),
        (errno.EROFS, "The disk of 'out/x' is read-only: give another place with --out."),
        (errno.EACCES, "no permission to open or write 'out/x'"),
        (errno.EIO, "Input/output error: 'out/x'."),
    ],
)
def test_what_the_system_refuses_is_said_in_words(code, sentence):
    assert sentence in os_sentence(OSError(code, os.strerror(code), "out/x"))


@pytest.mark.parametrize(
    ("failure", "code", "sentence"),
    [
        (CommandError("one\n  sentence."), 2, "bbclust: one sentence.\n"),
        (OSError(errno.ENOSPC, "No space"), 2, "bbclust: The disk is full: free some space"),
        (MemoryError(), 2, "bbclust: The memory of this machine does not suffice"),
        (KeyboardInterrupt(), 130, "bbclust: Interrupted.\n"),
    ],
)
def test_failures_end_with_a_sentence_and_a_code(capsys, failure, code, sentence):
    with pytest.raises(SystemExit) as caught, one_sentence():
        raise failure
    assert caught.value.code == code
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith(sentence)
    assert errors.count("\n") == 1


def test_mistakes_of_ours_keep_their_traceback():
    with pytest.raises(KeyError), one_sentence():
        raise KeyError


def test_what_a_run_belongs_to_is_replaced_whole_and_its_drafts_go(tmp_path, monkeypatch):
    """A kill while it is written would part finished cells from what they belong to."""
    settings = {"command": {}, "scaling": {"kind": "none"}}
    out, identity = tmp_path / "out", identity_of(settings, "1")
    with suppress(KeyError), resumable(out, identity, force=False, resume=False) as work:
        work.checkpoint.mkdir()
        (work.checkpoint / "k2.cell").write_text("")
        (work.partial / ".draft-0123-run.json").write_text("{")
        raise KeyError
    before = work.identity.read_bytes()

    def killed(*arguments):
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(whole_files.os, "replace", killed)
        with pytest.raises(SystemExit), resumable(out, identity, force=False, resume=True):
            pass
    assert work.identity.read_bytes() == before
    with resumable(out, identity, force=False, resume=True):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
