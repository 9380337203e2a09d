"""Memory that one call of the engine leaves for the next."""

import ctypes

import pytest
from native_code import compiled

LARGE = 3 << 20
SMALL = 1 << 10


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    library = compiled("kept_memory.cpp", tmp_path_factory.mktemp("native"))
    library.take.restype = library.allocate.restype = ctypes.c_void_p
    library.take.argtypes = library.allocate.argtypes = [ctypes.c_size_t]
    library.deallocate.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.writes_of_others.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_size_t]
    return library


def give_back(library, size):
    """A block that was allocated and let go."""
    block = library.allocate(size)
    library.deallocate(block, size)
    return block


def test_nothing_is_kept_unless_somebody_wants_it(library):
    give_back(library, LARGE)
    assert library.take(LARGE) is None


def test_the_next_to_ask_for_the_same_size_gets_it_once(library):
    library.begin()
    block = give_back(library, LARGE)
    assert library.allocate(LARGE) == block
    assert library.take(LARGE) is None
    library.deallocate(block, LARGE)
    library.end()
    assert library.take(LARGE) is None


def test_small_blocks_are_not_kept(library):
    library.begin()
    give_back(library, SMALL)
    assert library.take(SMALL) is None
    library.end()


def test_another_size_lets_all_go(library):
    library.begin()
    give_back(library, LARGE)
    library.deallocate(library.allocate(2 * LARGE), 2 * LARGE)
    assert library.take(LARGE) is None
    library.end()


def test_it_is_kept_until_the_last_one_has_left(library):
    library.begin()
    library.begin()
    block = give_back(library, LARGE)
    library.end()
    assert library.allocate(LARGE) == block
    library.deallocate(block, LARGE)
    library.end()
    library.begin()
    assert library.take(LARGE) is None
    library.end()


def test_threads_do_not_share_a_block(library):
    assert library.writes_of_others(4, 50, 1 << 20) == 0
