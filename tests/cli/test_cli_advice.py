"""Advice can be followed: sentences name options of the command that was typed, and no others."""

import re
from inspect import signature

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from bbclust import BBC, KSelector
from bbclust.cli import app as commands
from bbclust.cli.option_groups import ungroup
from bbclust.cli.output.advice import drop_other_options, speak_of_options
from bbclust.cli.output.files import _speak_of_options

ROWS = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat([[0], [6]], 20, axis=0)
TABLE = pl.DataFrame(ROWS, schema=["a", "b", "c"])
COMMANDS = ("analyze", "fit", "select", "predict", "compare", "report")


def run(*arguments):
    return CliRunner().invoke(commands.app, [str(argument) for argument in arguments])


def offered(command):
    return set(signature(ungroup(getattr(commands, command))).parameters)


def options_named(sentence):
    return {name.replace("-", "_") for name in re.findall(r"--([a-z][a-z-]*)", sentence)}


@pytest.fixture
def files(tmp_path):
    TABLE.write_csv(tmp_path / "t.csv")
    BBC(2, n_replicas=50, random_state=0).fit(TABLE).save(tmp_path / "model.bbc")
    return tmp_path


@pytest.mark.parametrize("command", ["predict", "report"])
@pytest.mark.parametrize(
    "cells", ["a,b,c\n1,2,x\n", "a,b,c\n1,2,\n2,,3\n", "a,b,c\n1,,\n1,2,inf\n", "a,b,c\n1,2,abc\n"]
)
def test_bad_cells_give_no_advice_that_the_command_does_not_take(files, command, cells):
    (files / "bad.csv").write_text(cells)
    result = run(command, files / "model.bbc", files / "bad.csv", "--out", files / "out.html")
    assert result.exit_code == 2
    assert options_named(result.stderr) <= offered(command)
    result = run(command, files / "model.bbc", files / "bad.csv", "--missing", "drop")
    assert options_named(result.stderr) <= offered(command)


def test_a_fit_with_few_votes_names_the_options_that_help(files):
    out = files / "out"
    result = run("fit", files / "t.csv", "--k", 2, "--n-replicas", 5, "--out", out)
    assert "raise --n-replicas, or set --votes all" in result.stdout
    out = files / "other"
    result = run("analyze", files / "t.csv", "--k", 2, "--n-replicas", 5, "--fast", "--out", out)
    assert "raise --n-replicas." in result.stdout
    assert "votes=" not in result.stdout
    assert "n_replicas" not in result.stdout


def library_sentences():
    """What the library refuses, in its own words."""
    refused = [
        lambda: BBC(2, n_replicas=0).fit(ROWS),
        lambda: BBC(2, n_init=-1).fit(ROWS),
        lambda: BBC(2, prior_weight=2).fit(ROWS),
        lambda: BBC(2, prior_scale=0).fit(ROWS),
        lambda: BBC(2, n_jobs=0).fit(ROWS),
        lambda: BBC(5, n_draws=3).fit(ROWS),
        lambda: BBC(2, resampling="rubin", n_draws=5).fit(ROWS),
        lambda: BBC(50).fit(ROWS),
        lambda: BBC(2).fit(ROWS * 1e300),
        lambda: KSelector(k_range=range(50, 60)).fit(ROWS),
        lambda: KSelector(criterion="none").fit(ROWS),
        lambda: KSelector(null_reference=1).fit(ROWS),
        lambda: KSelector(n_resamples=-1).fit(ROWS),
        lambda: KSelector(prior_scales=(-1.0,)).fit(ROWS),
        lambda: BBC(2, random_state=0).fit(ROWS).predict(ROWS, min_confidence=2),
    ]
    for call in refused:
        with pytest.raises(ValueError, match=r"\.$") as caught:
            call()
        yield str(caught.value)


def test_no_parameter_of_python_is_left_in_what_the_library_refuses():
    parameters = {*BBC().get_params(deep=False), *KSelector().get_params(deep=False)}
    words = "|".join(name for name in parameters | {"min_confidence"} if "_" in name)
    for sentence in library_sentences():
        for command in COMMANDS:
            said = speak_of_options(sentence, offered(command))
            assert not re.search(rf"\b({words})\b", said), said
            assert "=" not in said
            assert "None" not in said
            assert not re.search(r"\bX\b", said), said
            advice = said.rpartition(": ")[2] if ": " in said else ""
            assert options_named(advice) <= offered(command), said


def test_names_of_columns_are_not_taken_for_parameters_or_options():
    for sentence in (
        "Row 1, column 'n_draws' holds 'x': correct it.",
        "Row 1, column 'X' has no number: correct it.",
        "Column '--exclude' holds text: correct it.",
    ):
        assert speak_of_options(sentence, {"k"}) == sentence
        assert drop_other_options(sentence, set()) == sentence


def test_sentences_of_an_answer_keep_their_words():
    """Votes are a parameter, and also what replicas cast."""
    said = ["All votes agree on 3 of the rows.", "More may fit: try k_range='auto'."]
    answer = {"sentences": list(said), "choice": {"doubts": said[1]}}
    _speak_of_options(answer)
    assert answer["sentences"] == [said[0], "More may fit: try --k auto."]
    assert answer["choice"]["doubts"] == "More may fit: try --k auto."
