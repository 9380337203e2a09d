"""Tables of rows, and parts of them."""

import numpy as np
from numpy.testing import assert_array_equal

from bbclust.stages.table import make_table


def test_weights_of_a_part_have_mean_one():
    table = make_table(np.arange(8.0).reshape(4, 2), np.array([0.4, 0.8, 1.2, 1.6]))
    part = table.part(np.array([1, 3]))
    assert_array_equal(part.weights, [2 / 3, 4 / 3])
    assert_array_equal(part.rows + part.center, [[2.0, 3.0], [6.0, 7.0]])


def test_a_part_of_equal_rows_has_no_weights():
    assert make_table(np.arange(8.0).reshape(4, 2)).part(np.array([0, 2])).weights is None
