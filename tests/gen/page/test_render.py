"""The page as a file: rows drawn with marks in place, figures that are sums over rows, bounded and reproducible."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from changed_rows import rows_of
from drawn_pages import RECIPE, built, data_in, data_of
from hostile import HOSTILE, SURROGATES
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

import niah_gen
from niah_gen.checks.hashes import verify
from niah_gen.errors import NiahError
from niah_gen.page import render
from niah_gen.page.drawing import drawn
from niah_gen.page.render import SCRIPTS, STYLES, write_page
from niah_score.contract import COLUMNS, open_dataset
from niah_score.html import as_json

V1 = Path(__file__).parents[2] / "contract" / "v1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("render"))


def test_the_sums_of_every_combination_equal_those_of_its_rows(folder: Path) -> None:
    rows = rows_of(folder)
    data = data_of(folder)
    assert data["ids"]["id"] == [row["id"] for row in rows]
    assert (data["lengths"], data["depths"]) == ([900, 1500], [0, 50, 100])
    filters = {one["name"]: one["values"] for one in data["filters"]}
    assert [*filters] == ["control", "language", "corpus", "needle_id"]
    assert filters["control"] == ["absent", "no_context", None]
    assert [number for _, number, _ in data["rows"]] == list(range(1, len(rows) + 1))
    values = [data["lengths"], data["depths"], *filters.values()]
    for number, code in enumerate(zip(*data["sums"]["codes"], strict=True)):
        own = [row for row, of in zip(rows, data["ids"]["combination"], strict=True) if of == number]
        (coordinates,) = {(row["length"], row["depth_percent"], *(row[name] for name in filters)) for row in own}
        assert tuple(of[place] for of, place in zip(values, code, strict=True)) == coordinates
        tokens = [row["prompt_tokens"] for row in own]
        off = [row["needle_depths"][0] - row["depth_percent"] for row in own if row["control"] is None]
        farthest = [round(points, 3) for points in sorted(off, key=lambda points: float(abs(points)))[-1:]]
        assert {name: column[number] for name, column in data["sums"].items() if name != "codes"} == {
            "rows": len(own), "least": min(tokens), "most": max(tokens), "leaks": 0,
            "room": min(row["length"] - (200 if row["control"] is None else 0) - row["prompt_tokens"] for row in own),
            "passes": max(row["haystack_passes"] for row in own),
            "off": farthest[0] if farthest else None,
        }  # fmt: skip


def test_a_page_has_limits_and_still_covers_every_kind_and_cell(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = data_of(folder)
    monkeypatch.setattr(render, "MOST_ROWS", 12)
    monkeypatch.setattr(render, "MOST_COMBINATIONS", 20)
    data = data_of(folder)
    assert set(data["left_out"]) == {"language", "corpus", "needle_id"}  # the needle names the language
    assert sum(data["sums"]["rows"]) == sum(whole["sums"]["rows"]) == len(data["ids"]["id"]) == 26
    codes = list(zip(*data["sums"]["codes"], strict=True))
    assert {codes[k][:2] for k, _, _ in data["rows"]} == {(a, b) for a in range(2) for b in range(3)}
    assert {codes[k][2] for k, _, _ in data["rows"]} == {0, 1, 2}
    assert len(data["rows"]) == 12
    for k, number, row in data["rows"]:
        assert (data["ids"]["id"][number - 1], data["ids"]["combination"][number - 1]) == (row["id"], k)
    monkeypatch.setattr(render, "LARGEST", 16_000)
    monkeypatch.setattr(render, "MOST_IDS", 25)
    data = data_of(folder)
    assert (0 < len(data["rows"]) < 12, data["ids"]) == (True, None)


def test_the_page_is_reproducible_and_the_same_from_any_format(folder: Path, tmp_path: Path) -> None:
    assert write_page(folder, tmp_path / "a.html") == (tmp_path / "a.html", 26, 26)
    write_page(folder, tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    one, other = data_in((tmp_path / "a.html").read_bytes()), data_of(niah_gen.build(RECIPE, tmp_path / "parquet"))
    assert (one["dataset"].pop("formats"), other["dataset"].pop("formats")) == (["jsonl"], ["parquet"])
    assert one == other
    manifest = open_dataset(folder).manifest
    assert [corpus[:3] for corpus in one["corpora"]] == [[c.name, c.license, c.source] for c in manifest.corpora]
    assert {name: one["dataset"][name] for name in ("name", "digest8", "rows", "tokens", "tokenizer")} == {
        "name": "drawn", "digest8": manifest.digest8, "rows": 26, "tokens": manifest.tokens, "tokenizer": "cl100k_base",
    }  # fmt: skip
    # Of the first schema, whose rows lack some columns.
    assert write_page(V1, tmp_path / "v1.html")[1:] == (open_dataset(V1).manifest.rows,) * 2


def test_writing_over_files_or_into_the_dataset_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "page.html"
    out.write_text("mine")
    for path, overwrite, message in (
        (out, False, "exists; name another file with --out, or use --overwrite"),
        (tmp_path, False, "is a folder; name a file in it"),
        (folder / "page.html", True, "lies in the dataset"),
    ):
        with pytest.raises(NiahError, match=message):
            write_page(folder, path, overwrite=overwrite)
    assert out.read_text() == "mine"
    write_page(folder, out, overwrite=True)
    assert out.read_bytes().startswith(b"<!doctype html>")
    assert verify(folder)[1] == []
    monkeypatch.chdir(tmp_path)
    assert write_page(folder)[0] == Path(f"drawn-{folder.name[-8:]}.html")
    monkeypatch.chdir(folder)
    with pytest.raises(NiahError, match="lies in the dataset"):
        write_page(folder)


def test_every_script_and_style_is_part_of_the_page() -> None:
    folder = Path(niah_gen.__file__).parent / "page"
    assert {path.name for path in folder.iterdir() if path.suffix in (".js", ".css")} == {*SCRIPTS, *STYLES}


CHARS = st.characters() | st.sampled_from("\u2028\u202e😀é\u0301文 ")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """A key and its value among three near-equal ones, the twin without it, and one with the question alone."""
    recipe = {
        "task": "key-values",
        "lengths": [1500],
        "depths": [50],
        "languages": ["en"],
        "controls": ["absent", "no_context"],
        "options": {"keys": 4},
    }
    return [dict(row) for row in niah_gen.iter_rows(recipe)]


def test_needle_near_misses_and_question_are_marked_at_their_places(rows: list[dict[str, Any]]) -> None:
    row = rows[0]
    drawing = drawn(row, 1300)
    for kind, message, start, end, number, depth, sound in drawing["marks"]:
        text = row["prompt"][start:end]
        if kind == "question":
            assert text == row["question"]
        else:
            at = row["needles"].index(text)
            assert (kind, number) == (("needle", 1) if at == 0 else ("near miss", None))
            assert depth == round(row["needle_depths"][at], 2)
        assert (message, sound) == (0, True)
    assert [mark[2] for mark in drawing["marks"]] == sorted(mark[2] for mark in drawing["marks"])
    pieces = drawing["messages"][0][2]
    marked = [piece[1] for piece in pieces if isinstance(piece, list)]
    assert sorted(marked) == sorted([*row["needles"], row["question"]])
    assert (drawing["tokens"], drawing["budget"]) == (row["prompt_tokens"], 1300)


@examples(100)
@given(
    content=st.text(CHARS, max_size=900),
    ends=st.lists(st.tuples(st.integers(-5, 1000), st.integers(-5, 600)), max_size=12),
)
def test_pieces_and_gaps_add_up_to_every_prompt(content: str, ends: list[tuple[int, int]]) -> None:
    spans = [{"start": start, "end": start + length} for start, length in ends]
    drawing = drawn({"prompt": content, "needle_spans": spans, "needles": []}, None)
    at = 0
    for piece in drawing["messages"][0][2]:
        text = piece[1] if isinstance(piece, list) else piece
        if isinstance(piece, list):
            assert drawing["marks"][piece[0]].start <= at <= at + len(text) <= drawing["marks"][piece[0]].end
        assert isinstance(text, int) or content[at : at + len(text)] == text
        at += text if isinstance(text, int) else len(text)
    assert at == len(content) == drawing["messages"][0][1]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([*HOSTILE, *SURROGATES]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["start", "end", "role", "content"]), inner)
    ),
    max_leaves=6,
)


@examples(100)
@given(row=st.dictionaries(st.sampled_from(COLUMNS), VALUES))
def test_a_row_with_values_of_any_type_is_drawn_without_an_error(row: dict[str, Any]) -> None:
    text = as_json(drawn(row, None))
    assert json.loads(text)["messages"] is not None
    text.encode()
