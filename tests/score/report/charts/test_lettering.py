"""Texts are broken into lines that fit, and lose nothing unless they are cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.report.charts.lettering import width_of, wrapped


@examples(60)
@given(st.text("aW -/_.", max_size=80), st.floats(0.3, 5))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces_unless_cut(text: str, room: float) -> None:
    lines = wrapped(text, 9, room, 100)
    assert all(width_of(line, 9) <= room or len(line) <= 2 for line in lines)
    if not lines[-1].endswith("…"):
        assert "".join("".join(lines).split()) == "".join(text.split())
    assert len(wrapped(text, 9, room, 2)) <= 2
