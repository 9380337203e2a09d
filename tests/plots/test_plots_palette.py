"""Colours: told apart by all eyes, and the same for the same rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from bbclust.plots import colors_across_k
from bbclust.plots.palette import (
    DOUBT,
    INK,
    MARKERS,
    SERIES,
    cluster_color,
    cluster_marker,
    faded,
    own_colors,
)

# What eyes see that lack one kind of cone, as maps of linear red, green and blue
# (Machado, Oliveira and Fernandes 2009, severity 1).
EYES = {
    "normal": np.eye(3),
    "no red cones": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green cones": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue cones": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]])


def cielab(colors, eyes):
    rgb = np.array([to_rgb(color) for color in colors])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(EYES[eyes]).T, 0, 1)
    xyz = seen @ TO_XYZ.T / TO_XYZ.sum(axis=1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], 1)


@pytest.mark.parametrize("eyes", EYES)
def test_any_two_colours_are_told_apart_by_all_eyes(eyes):
    lab = cielab(SERIES, eyes)
    apart = np.linalg.norm(lab[:, None] - lab[None], axis=2)
    assert apart[~np.eye(len(SERIES), dtype=bool)].min() > 16


@pytest.mark.parametrize("eyes", EYES)
def test_doubt_gets_darker_all_the_way_for_all_eyes(eyes):
    lightness = cielab(DOUBT(np.linspace(0, 1, 101)), eyes)[:, 0]
    assert (np.diff(lightness) < 0).all()


def test_a_hundred_clusters_have_signs_of_their_own():
    assert len({(cluster_color(k), cluster_marker(k)) for k in range(112)}) == 112
    assert len(SERIES) * len(MARKERS) == 112


def test_colours_fade_to_white():
    np.testing.assert_allclose(faded(INK, 0.0), to_rgb(INK))
    np.testing.assert_allclose(faded(INK, [0.5, 1.0, 7.0])[1:], 1.0)
    np.testing.assert_allclose(faded(INK, 0.5), (np.array(to_rgb(INK)) + 1) / 2)


def test_clusters_have_the_colour_of_their_number_unless_told_otherwise():
    assert own_colors(3, None) == (0, 1, 2)
    assert own_colors(2, np.array([4, 1])) == (4, 1)
    with pytest.raises(ValueError, match="colors has 2 numbers for 3 clusters"):
        own_colors(3, (0, 1))


# --- across K -------------------------------------------------------------------------------------


def as_rows(sizes, names=None):
    return np.repeat(range(len(sizes)) if names is None else names, sizes)


def test_the_larger_part_of_a_split_cluster_keeps_its_colour():
    assert colors_across_k([as_rows((6, 4)), as_rows((2, 4, 4), (2, 0, 1))]) == [(0, 1), (0, 1, 2)]


def test_colours_follow_the_rows_when_clusters_are_renumbered():
    assert colors_across_k([as_rows((5, 3, 2)), as_rows((5, 3, 2), (2, 0, 1))])[1] == (1, 2, 0)


def test_as_many_rows_as_possible_keep_their_colour():
    # Rows of clusters 0, 1 go to 0: 3, 4 and to 1: 0, 3. Cluster 0 would take 1's colour (4 rows);
    # together, keeping both colours saves 3 + 3.
    before, after = as_rows((3, 4, 3), (0, 1, 1)), as_rows((3, 4, 3), (0, 0, 1))
    assert colors_across_k([before, after])[1] == (0, 1)


def test_a_cluster_without_rows_in_common_gets_a_new_colour():
    before = np.array([1, 1, 1, 1])  # cluster 0 has no rows: nobody inherits from it
    assert colors_across_k([before, np.array([0, 0, 1, 2])]) == [(0, 1), (1, 2, 3)]


def test_noise_has_no_colour_to_pass_on():
    before, after = np.array([0, 0, 1, -1, -1, -1]), np.array([1, 1, 0, 0, 0, -1])
    assert colors_across_k([before, after]) == [(0, 1), (1, 0)]


def test_colours_that_are_no_longer_used_come_again():
    partitions = [np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0]), np.array([0, 0, 0, 1])]
    assert colors_across_k(partitions) == [(0, 1), (0,), (0, 1)]


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_every_partition_has_as_many_colours_as_clusters(first, second, seed):
    generator = np.random.default_rng(seed)
    partitions = [
        np.concatenate([np.arange(k), generator.integers(k, size=30 - k)]) for k in (first, second)
    ]
    colors = colors_across_k(partitions)
    assert [len(set(indices)) for indices in colors] == [first, second]
    renamed = generator.permutation(second)
    again = colors_across_k([partitions[0], renamed[partitions[1]]])[1]
    rows = np.array(colors[1])[partitions[1]]
    kept = (rows == np.array(colors[0])[partitions[0]]).sum()
    kept_again = (
        np.array(again)[renamed[partitions[1]]] == np.array(colors[0])[partitions[0]]
    ).sum()
    assert kept == kept_again
