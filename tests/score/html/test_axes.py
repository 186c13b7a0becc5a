"""The places of values on a grid: one each, until there are too many to draw."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.html.axes import MOST, axis_of


@examples(80)
@given(st.sets(st.floats(0, 100), max_size=200), st.booleans())
def test_every_value_has_a_place_in_order_with_a_label_that_covers_it(numbers: set[float], none: bool) -> None:
    values = [*sorted(numbers), *([None] if none else [])]
    axis = axis_of(values)
    assert len(axis.places) == len(values)
    assert axis.places == sorted(axis.places)
    assert set(axis.places) == set(range(len(axis.labels)))
    assert axis.grouped == (len(numbers) > MOST)
    for value, place in zip(values, axis.places, strict=True):
        label = axis.labels[place]
        if isinstance(label, list):
            assert value is not None
            assert label[0] <= value <= label[1]
        else:
            assert label == value
