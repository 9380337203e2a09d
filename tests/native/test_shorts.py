"""Labels from numbers of 16 bits are those of single precision, where centres are as near too."""

import ctypes
import platform

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from native_code import compiled

from bbclust._native import ISAS

FLAGS = {
    "portable": (),
    "avx2": ("-mavx2", "-mfma", "-mbmi2"),
    "avx512": (
        *("-mavx2", "-mfma", "-mbmi2", "-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl"),
        "-mavx512vnni",
    ),
}


@pytest.fixture(scope="module", params=ISAS)
def library(request, tmp_path_factory):
    flags = FLAGS[request.param] if platform.machine() in ("x86_64", "AMD64") else ()
    return compiled("shorts.cpp", tmp_path_factory.mktemp("native"), flags)


def labels(library, points, centers, in_use=None):
    """By 16 bits, None if these cannot hold the points, and by single precision."""
    points = np.ascontiguousarray(points, dtype=np.float32)
    centers = np.ascontiguousarray(centers, dtype=np.float64)
    (n, d), K = points.shape, len(centers)
    in_use = np.ones(K, np.uint8) if in_use is None else in_use.astype(np.uint8)
    found = [np.full(n, -1, np.float32) for _ in range(2)]
    library.find_nearest.restype = ctypes.c_bool
    pointer = [array.ctypes.data_as(ctypes.c_void_p) for array in (points, centers, in_use, *found)]
    held = library.find_nearest(
        pointer[0],
        ctypes.c_int64(n),
        ctypes.c_int(d),
        pointer[1],
        pointer[2],
        ctypes.c_int(K),
        pointer[3],
        pointer[4],
    )
    return (found[0] if held else None), found[1]


def ties(generator, n, d, n_clusters, apart):
    """Points half way between two centres, and a little off."""
    centers = generator.normal(size=(n_clusters, d))
    one, other = generator.integers(n_clusters, size=(2, n))
    middle = (centers[one] + centers[other]) / 2
    return middle + apart * generator.normal(size=(n, d)), centers


@pytest.mark.parametrize("apart", [0.0, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize(("d", "n_clusters"), [(4, 2), (5, 7), (16, 3), (33, 20), (64, 50)])
def test_points_half_way_between_centres(library, d, n_clusters, apart):
    points, centers = ties(np.random.default_rng(0), 1000, d, n_clusters, apart)
    by_shorts, by_floats = labels(library, points, centers)
    np.testing.assert_array_equal(by_shorts, by_floats)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 700),
    d=st.integers(4, 80),
    n_clusters=st.integers(1, 60),
    unit=st.integers(-30, 30),
    offset=st.sampled_from([0.0, 1.0, 1e3, 1e6]),
    far=st.sampled_from([1.0, 1e2, 1e5]),
    reach=st.sampled_from([1.0, 0.01, 100.0]),
)
@settings(max_examples=60, deadline=None)
def test_any_points_and_centres(library, seed, n, d, n_clusters, unit, offset, far, reach):
    """In any unit, off the origin, with a point far out, with centres far in or out."""
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(n, d)) + offset
    points[0] *= far
    centers = reach * points[generator.integers(n, size=n_clusters)]
    centers += generator.normal(scale=0.1, size=centers.shape)
    in_use = generator.random(n_clusters) < 0.9
    in_use[0] = True
    by_shorts, by_floats = labels(library, 2.0**unit * points, 2.0**unit * centers, in_use)
    if by_shorts is not None:
        np.testing.assert_array_equal(by_shorts, by_floats)
    assert set(by_floats.astype(int)) <= set(np.flatnonzero(in_use))


def test_thousands_of_features(library):
    """The longest points and centres, on opposite sides: whole numbers must not wrap."""
    for d in (1000, 4096):
        points = np.array([[1.0], [-1.0], [0.999]]) * np.ones(d)
        by_shorts, by_floats = labels(library, points, np.array([[1.0], [-1.0]]) * np.ones(d))
        np.testing.assert_array_equal(by_shorts, [0, 1, 0])
        np.testing.assert_array_equal(by_floats, [0, 1, 0])


def test_points_without_a_unit_are_left_to_single_precision(library):
    for points in (np.zeros((20, 5)), np.full((20, 5), 1e-25), np.full((20, 5), 1e25)):
        assert labels(library, points, points[:2])[0] is None
