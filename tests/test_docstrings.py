"""Docstrings of the public names: complete, true to the signatures, and with examples."""

import inspect
import re
from functools import cached_property
from importlib import import_module
from typing import NamedTuple

import pytest
from numpydoc.docscrape import NumpyDocString

MODULES = ("", ".baselines", ".dask", ".datasets", ".plots", ".priors", ".report")

# "As those of :class:`~bbclust.BBC`", "See :meth:`plot`": what is said there is not repeated.
ELSEWHERE = re.compile(r"(?:As (?:those )?of|See) :(?:class|func|meth):`~?([\w.]+)`")
DEFAULT = re.compile(r"\bdefault(?:=|: | )(.+)|(\S+) by default")
MAY_BE_LEFT_OUT = re.compile(r"\boptional\b|^ignored$")
ARRAY = re.compile(r"(?:array-like|ndarrays?)\b")


# Methods that ``fit``, ``save``, ``load_model``, the engine and ``from_estimator`` call, so that an
# example need not. Those who implement them find an example in the protocol.
CALLED_FOR_THE_USER = {
    "engine_mixture",
    "from_plain_data",
    "log_density",
    "number_clusters",
    "plot",
    "prepare",
    "prepare_scales",
    "sample_parts",
    "to_plain_data",
}


class Public(NamedTuple):
    """A public name, what it is, and for a member its class."""

    name: str
    thing: object
    owner: type | None


class Described(NamedTuple):
    """What a docstring says of one parameter."""

    type: str
    text: str


def public_names():
    """The names of every ``__all__``, and the methods and properties of the classes among them."""
    seen = set()
    for suffix in MODULES:
        module = import_module(f"bbclust{suffix}")
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing) and thing not in seen:
                seen.add(thing)
                yield Public(f"{module.__name__}.{name}", thing, None)
                if inspect.isclass(thing):
                    yield from members(f"{module.__name__}.{name}", thing, seen)


def members(name, cls, seen):
    """Methods and properties that bbclust defines, those of base classes too, each once."""
    for member in dir(cls):
        function = function_of(inspect.getattr_static(cls, member))
        if member.startswith("_") or not inspect.isfunction(function):
            continue
        if function.__module__.startswith("bbclust") and function not in seen:
            seen.add(function)
            yield Public(f"{name}.{member}", inspect.getattr_static(cls, member), cls)


def function_of(thing):
    """The function behind a method or property; the thing itself if it is neither."""
    if isinstance(thing, property):
        return thing.fget
    if isinstance(thing, cached_property):
        return thing.func
    if isinstance(thing, classmethod | staticmethod):
        return thing.__func__
    return thing


def is_property(thing):
    return isinstance(thing, property | cached_property)


def docstring(public):
    """The docstring, which a method may have from the class above."""
    if public.owner is None:
        return inspect.getdoc(public.thing) or ""
    return inspect.getdoc(getattr(public.owner, public.name.rpartition(".")[2])) or ""


def parameters_of(thing):
    """Parameters by name, without self and cls."""
    parameters = inspect.signature(function_of(thing)).parameters
    return {name: one for name, one in parameters.items() if name not in ("self", "cls")}


def described_in(doc, sections):
    """What some sections say, by name; names that share an entry share its text."""
    return {
        name.strip().lstrip("*"): Described(entry.type, " ".join(entry.desc))
        for section in sections
        for entry in doc[section]
        for name in entry.name.split(",")
    }


def has_fields(thing):
    """Whether a class has its parameters as attributes: a dataclass or a named tuple."""
    return hasattr(thing, "__dataclass_fields__") or hasattr(thing, "_fields")


def is_protocol(thing):
    """Whether users implement it, and nobody makes one."""
    return getattr(thing, "_is_protocol", False)


def mistakes_in_parameters(public, doc):
    if is_protocol(public.thing) or is_property(public.thing):
        return
    parameters = parameters_of(public.thing)
    described = described_in(doc, ["Parameters", "Other Parameters"])
    for name in described.keys() - parameters.keys():
        yield f"{name} is documented and not in the signature"
    if has_fields(public.thing):
        described = described_in(doc, ["Attributes"]) | described
    for name, parameter in parameters.items():
        if name not in described:
            yield f"{name} is not documented"
        elif parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            yield from mistakes_in_parameter(public, name, parameter.default, described[name])


def mistakes_in_parameter(public, name, default, described):
    elsewhere = ELSEWHERE.match(described.text)
    if not described.type and elsewhere:
        other = parameters_of(resolved(elsewhere[1], public)).get(name)
        if other is None:
            yield f"{name} is said to be as that of {elsewhere[1]}, which has none"
        elif other.default != default:
            yield f"{name} is {default!r} by default, and {other.default!r} in {elsewhere[1]}"
        return
    if not described.type:
        yield f"{name} has no type"
    if ARRAY.match(described.type) and "shape" not in described.type:
        yield f"{name} has no shape"
    said = DEFAULT.search(described.type)
    if said:
        value = said[1] or said[2]
        if default is inspect.Parameter.empty or not is_value(value, default):
            yield f"{name} is {default!r} by default, and documented as {value}"
    elif default is not inspect.Parameter.empty and not MAY_BE_LEFT_OUT.search(described.type):
        yield f"{name} is {default!r} by default, which is not documented"


def resolved(path, public):
    """What a cross-reference means: a name of bbclust, or of the class itself."""
    if "." not in path:
        here = public.owner or import_module(public.thing.__module__)
        return inspect.getattr_static(here, path)
    module, _, name = path.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError:
        return inspect.getattr_static(resolved(module, public), name)


def is_value(said, default):
    """Whether the words of a docstring are this value."""
    try:
        value = eval(said, {"__builtins__": {}}, {"range": range, "inf": float("inf")})
    except (SyntaxError, NameError):
        return False
    return value == default and isinstance(value, bool) == isinstance(default, bool)


def mistakes_in_returns(public, doc):
    function = function_of(public.thing)
    if inspect.isclass(function) or is_property(public.thing):
        return
    returned = inspect.signature(function).return_annotation
    sections = doc["Returns"] or doc["Yields"]
    if returned in (None, "None"):
        if sections:
            yield "Returns is documented, and nothing is returned"
    elif not sections:
        yield "Returns is missing"
    for entry in sections:
        if ARRAY.match(entry.type) and "shape" not in entry.type:
            yield "what is returned has no shape"


def examples_of(doc):
    """Lines of code in the examples."""
    return "\n".join(line for line in doc.splitlines() if line.lstrip().startswith((">>>", "...")))


def examples_of_class(cls):
    """Examples of a class and of all its members, with what it has from base classes."""
    bases = [base for base in cls.__mro__ if base.__module__.startswith(("bbclust", __name__))]
    things = [thing for base in bases for thing in (base, *map(function_of, vars(base).values()))]
    return "\n".join(examples_of(inspect.getdoc(thing) or "") for thing in things)


def mistakes_in_examples(public):
    if public.owner is None:
        if not examples_of(docstring(public)):
            yield "there is no example"
        return
    name = public.name.rpartition(".")[2]
    implemented = is_protocol(public.owner)
    if is_property(public.thing) or (name in CALLED_FOR_THE_USER and not implemented):
        return
    used = rf"def {name}\(" if implemented else rf"\.{name}\("
    if not re.search(used, examples_of_class(public.owner)):
        yield f"no example of the class shows {name}"


def mistakes(public):
    """What is wrong with a docstring, in words."""
    doc = docstring(public)
    if not doc:
        return ["there is no docstring"]
    parsed = NumpyDocString(doc)
    return [
        *mistakes_in_parameters(public, parsed),
        *mistakes_in_returns(public, parsed),
        *mistakes_in_examples(public),
    ]


@pytest.mark.parametrize("public", list(public_names()), ids=lambda public: public.name)
def test_docstring_is_complete_and_true(public):
    assert mistakes(public) == []


def test_there_are_public_names_of_every_kind():
    names = {public.name for public in public_names()}
    assert {
        "bbclust.BBC",
        "bbclust.BBC.predict",
        "bbclust.BBC.has_rows_of_fit",
        "bbclust.priors.Prior.prepare",
        "bbclust.priors.GaussianMixture.from_plain_data",
        "bbclust.datasets.load_iris",
    } <= names


# Docstrings with mistakes on purpose: the checks must find them, and nothing else.


def without_docstring(n): ...


def with_other_parameters(X, n: int = 3) -> float:
    """Mean of some rows.

    Parameters
    ----------
    X : array-like of shape (n, d)
    m : int, default=3

    Returns
    -------
    float

    Examples
    --------
    >>> with_other_parameters([[1.0]])
    """


def with_other_defaults(n: int = 3, log: bool = True, name: str = "a", size=None) -> None:
    """Do something.

    Parameters
    ----------
    n : int, default=4
    log : bool, default 1
    name : str
    size : int

    Examples
    --------
    >>> with_other_defaults()
    """


def without_types_and_shapes(X, y, n=None):
    """Rows.

    Parameters
    ----------
    X : array-like
    y
    n
        As of :func:`bbclust.baselines.silhouette`.

    Returns
    -------
    ndarray
    """


def without_returns(X) -> int:
    """Number of rows.

    Parameters
    ----------
    X : array-like of shape (n, d)

    Examples
    --------
    >>> without_returns([[1.0]])
    """


def without_mistakes(X, y=None, k_values=range(2, 11), *, seed=None, n: int = 2**31) -> float:
    """Mean of some rows.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : ignored
    k_values
        As of :func:`bbclust.baselines.silhouette`.
    seed : int, optional
    n : int, default=2**31

    Returns
    -------
    float

    Examples
    --------
    >>> without_mistakes([[1.0]])
    """


class Fitted:
    """A model.

    Examples
    --------
    >>> Fitted().fit([[1.0]])
    """

    def fit(self, X) -> "Fitted":
        """Cluster.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        self
        """

    def predict(self) -> None:
        """Label."""

    @property
    def size(self):
        return 1


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (without_docstring, ["there is no docstring"]),
        (
            with_other_parameters,
            ["m is documented and not in the signature", "n is not documented"],
        ),
        (
            with_other_defaults,
            [
                "n is 3 by default, and documented as 4",
                "log is True by default, and documented as 1",
                "name is 'a' by default, which is not documented",
                "size is None by default, which is not documented",
            ],
        ),
        (
            without_types_and_shapes,
            [
                "X has no shape",
                "y has no type",
                "n is said to be as that of bbclust.baselines.silhouette, which has none",
                "what is returned has no shape",
                "there is no example",
            ],
        ),
        (without_returns, ["Returns is missing"]),
        (without_mistakes, []),
    ],
)
def test_mistakes_in_docstrings_are_found(function, found):
    assert mistakes(Public(function.__name__, function, None)) == found


def test_members_without_docstring_or_example_are_found():
    fit, predict, size = (
        Public(f"Fitted.{name}", inspect.getattr_static(Fitted, name), Fitted)
        for name in ("fit", "predict", "size")
    )
    assert mistakes(fit) == []
    assert mistakes(predict) == ["no example of the class shows predict"]
    assert mistakes(size) == ["there is no docstring"]
