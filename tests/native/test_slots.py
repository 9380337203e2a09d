"""A row that is drawn again is found where it is, however many replicas came before."""

import ctypes

import numpy as np
import pytest
from native_code import compiled


@pytest.fixture(scope="module")
def count_wrong_places(tmp_path_factory):
    function = compiled("slots.cpp", tmp_path_factory.mktemp("native")).count_wrong_places
    function.restype = ctypes.c_int64
    return function


@pytest.mark.parametrize("room", [1, 2, 3, 7, 20, 41, 42, 63, 64, 100, 127])
def test_places_are_right_when_the_numbers_run_out(count_wrong_places, room):
    n_replicas, n = 300, 50
    rows = np.random.default_rng(room).integers(n, size=(n_replicas, room))
    arguments = (ctypes.c_int64(number) for number in (n, room, n_replicas))
    assert count_wrong_places(*arguments, rows.ctypes.data_as(ctypes.c_void_p)) == 0
