"""Shares in words: none and all are said of none and all only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbclust.percentages import percent


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0%"),
        (1, "100%"),
        (0.5, "50%"),
        (0.125, "12%"),
        (1 / 3 + 1 / 3 + 1 / 3, "100%"),
        (0.1 + 0.2 + 0.7 - 1e-16, "100%"),
        (19_913 / 20_000, "99.6%"),
        (87 / 20_000, "0.4%"),
        (1 / 20_000, "0.01%"),
        (19_999 / 20_000, "over 99.99%"),
        (1e-6, "under 0.01%"),
        (1 - 1e-6, "over 99.99%"),
    ],
)
def test_shares_in_percent(share, text):
    assert percent(share) == text


@given(st.integers(1, 10**9), st.data())
def test_some_are_never_said_to_be_none_or_all(total, data):
    some = data.draw(st.integers(0, total))
    said = percent(some / total)
    assert (said == "0%") == (some == 0)
    assert (said == "100%") == (some == total)
    assert "100" not in said or some == total
