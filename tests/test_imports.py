"""What `import bbclust` brings, and what it does not."""

import ast
import importlib
import importlib.metadata
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import bbclust

# Raises ImportError for packages that only extras need, as if they were not installed, and
# notes who asks for them once scikit-learn (which may try pandas itself) has been imported.
WITHOUT_EXTRAS = """
import sys

EXTRAS = {"matplotlib", "bokeh", "dask", "distributed", "typer", "rich", "polars", "pandas",
          "pyarrow", "jinja2", "kmedoids"}


class Absent:
    asked_for = []

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            self.asked_for.append(name)
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Absent())
import sklearn.datasets
import sklearn.utils.validation
Absent.asked_for.clear()
"""


def run_python(program):
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_asks_for_no_package_of_an_extra():
    assert run_python(WITHOUT_EXTRAS + "from bbclust import *; print(Absent.asked_for)") == "[]"


def test_import_loads_no_package_of_an_extra_that_scikit_learn_does_not_load():
    program = """
import sys
import sklearn

extras = {"matplotlib", "bokeh", "dask", "typer", "polars", "pandas"}
before = extras & sys.modules.keys()
from bbclust import *

print(sorted(extras & sys.modules.keys() - before), sorted(before - {"pandas"}))
"""
    assert run_python(program) == "[] []"


def test_fitting_arrays_needs_no_package_of_an_extra():
    program = """
import numpy as np
from bbclust import BBC
from bbclust.datasets import load_iris

X = load_iris().data
model = BBC(3, random_state=0).fit(X, sample_weight=np.arange(150) % 3 + 1)
print(model.predict(X).shape, model.transform(X.tolist()).shape, Absent.asked_for)
"""
    assert run_python(WITHOUT_EXTRAS + program) == "(150,) (150, 3) []"


def test_public_names_are_those_of_all():
    assert len(set(bbclust.__all__)) == len(bbclust.__all__)
    for name in bbclust.__all__:
        assert not isinstance(getattr(bbclust, name), ModuleType), name
    shown = {name for name in dir(bbclust) if not isinstance(getattr(bbclust, name), ModuleType)}
    assert shown == set(bbclust.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = bbclust.nonsense


@pytest.mark.measures
def test_import_waits_for_nothing():
    program = """
import sys
import bbclust

print(sorted({"numpy", "scipy", "sklearn", "narwhals"} & sys.modules.keys()))
"""
    assert run_python(program) == "[]"


@pytest.mark.parametrize("first", ["bbclust", "bbclust.stages.entropies", "bbclust.estimators.bbc"])
def test_a_function_is_not_hidden_by_the_module_of_its_name(first):
    program = f"""
import {first}
from bbclust import entropy
import bbclust

print(callable(entropy), entropy is bbclust.entropy)
"""
    assert run_python(program) == "True True"


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (
            "bbclust",
            "BBC BagClust1 BagClust2 FuzzyCMeans KSelector entropy pairwise_entropy load_model "
            "gap_statistic proper_bayesian_bootstrap",
        ),
        (
            "bbclust.priors",
            "ElicitedPrior MixturePrior StudentMixturePrior KernelPrior SamplerPrior ModelPrior",
        ),
        ("bbclust.datasets", "load_iris make_paper_dataset make_uniform_square"),
    ],
)
def test_promised_names_exist(module, names):
    for name in names.split():
        assert hasattr(importlib.import_module(module), name), name


def test_version_is_that_of_the_package():
    assert bbclust.__version__ == importlib.metadata.version("bbclust")


def test_a_summary_needs_no_package_of_an_extra():
    program = """
import bbclust
from bbclust.datasets import load_iris

X = load_iris().data
summary = bbclust.report.summarize(bbclust.report.gather(bbclust.BBC(3).fit(X), X))
print(summary["answer"]["n_clusters"], Absent.asked_for)
"""
    assert run_python(WITHOUT_EXTRAS + program) == "3 []"


ROOT = Path(__file__).parent.parent
SCRIPTS = [
    path.relative_to(ROOT).as_posix()
    for folder in ("benchmarks", "docs", "tests/golden")
    for path in sorted((ROOT / folder).rglob("*.py"))
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_import_what_is_there(script):
    for node in ast.walk(ast.parse((ROOT / script).read_text())):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("bbclust"):
            continue
        module = importlib.import_module(node.module)
        for alias in node.names:
            assert hasattr(module, alias.name), f"{node.module}.{alias.name}"
