"""The HTML file around each page: no text ends its data block, nothing is loaded, and every value has its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from each import each
from hostile import HOSTILE, SURROGATES
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

import niah_gen.page
import niah_score.html
import niah_score.report.page
from niah_score.html import MOST, SCRIPTS, STYLES, as_json, axis_of, document
from niah_score.report.page import render

FOLDERS = [Path(room.__path__[0]) for room in (niah_score.html, niah_score.report.page, niah_gen.page)]


@examples(60)
@given(st.text(st.characters()) | st.sampled_from([*HOSTILE, *SURROGATES]))
def test_no_text_ends_its_data_block_or_is_changed_in_it(text: str) -> None:
    written = as_json({"x": [text], text: 1})
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == {"x": [text], text: 1}
    written.encode()


def test_numbers_that_json_lacks_are_refused() -> None:
    with pytest.raises(ValueError):
        as_json({"x": float("nan")})


def test_placeholders_inside_the_data_are_not_filled() -> None:
    page = document(as_json({"x": "@SCRIPT@ @POLICY@"}), "niah_score.report.page", (), (), "no script").decode()
    assert '{"x":"@SCRIPT@ @POLICY@"}' in page
    assert page.count("<script") == 2


def test_every_file_is_in_the_pages() -> None:
    for folder, used in zip(FOLDERS, ((SCRIPTS, STYLES), (render.SCRIPTS, render.STYLES)), strict=False):
        assert {path.name for path in folder.iterdir() if path.suffix in (".js", ".css")} == {*used[0], *used[1]}


@each("folder", FOLDERS)
def test_the_sources_load_nothing_from_outside_and_parse_no_text_as_markup(folder: Path) -> None:
    sources = [path for path in sorted(folder.iterdir()) if path.suffix in (".js", ".css", ".html")]
    assert sources
    for path in sources:
        text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        for sink in (
            "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser",
            "createContextualFragment", "setTimeout(", "javascript:", "://", "url(", "@import", "fetch(",
            "XMLHttpRequest", "WebSocket", "import(", "localStorage", "cookie",
        ):  # fmt: skip
            assert sink not in text, f"{path.name}: {sink}"


@examples(80)
@given(st.sets(st.floats(0, 100), max_size=200), st.booleans())
def test_every_value_has_a_place_in_order_with_a_label_that_covers_it(numbers: set[float], none: bool) -> None:
    values = [*sorted(numbers), *([None] if none else [])]
    axis = axis_of(values)
    assert axis.places == sorted(axis.places)
    assert set(axis.places) == set(range(len(axis.labels)))
    assert axis.grouped == (len(numbers) > MOST)
    for value, place in zip(values, axis.places, strict=True):
        label = axis.labels[place]
        assert label[0] <= value <= label[1] if isinstance(label, list) else label == value
