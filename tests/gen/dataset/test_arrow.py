"""Arrow tables of drafted rows: what is written equals the row, down to its digest; and the ids of rows."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from each import each
from filler import OddText, Write
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.dataset.arrow import Scratch, column, table
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.assemble import Assembler, PendingRow
from niah_gen.rows.ids import row_id
from niah_gen.rows.plan import make_plan
from niah_score.contract import COLUMNS, ROW_ID, PromptForm, Truth, prompt_digest, row_digest, row_schema

steady = examples(200)


def drafts_of(recipe: dict[str, Any]) -> list[PendingRow]:
    plan = make_plan(load_recipe(recipe))
    return list(Assembler(plan).pending_rows(plan.cells))


@pytest.fixture(params=["native", "gkamradt", "opencompass", "odd"])
def drafts(
    request: pytest.FixtureRequest, form: PromptForm, odd_text: OddText, write_texts: Write, tmp_path: Path
) -> list[PendingRow]:
    """Rows of each placement; the `odd` ones contain broken, control and astral characters."""
    small: dict[str, Any] = {"lengths": [500, 900], "depths": [0, 31.4, 100], "guide": False, "form": form}
    if request.param == "native":
        return drafts_of(small)
    if request.param == "odd":
        rng = random.Random(5)
        corpus = write_texts(tmp_path / "texts", [f"Text {number}. {odd_text(rng, 120)}" for number in range(3)])
        needles = [f"{odd_text(rng, 4)} fact" for _ in range(2)]
        needle = {
            "needles": needles,
            "question": '"Which"\n\\\0?',
            "answers": ['a"b', "中"],
            "keywords": [["x"], ["y", "z"]],
        }
        return drafts_of({**small, "placement": "opencompass", "corpora": [str(corpus)], "needles": [needle]})
    return drafts_of({**small, "placement": request.param, "corpora": ["zh_articles"], "needles": ["velden-archive"]})


@pytest.fixture(params=["text", "chat"])
def form(request: pytest.FixtureRequest) -> PromptForm:
    """Both forms of a prompt."""
    return "chat" if request.param == "chat" else "text"


def test_a_table_reads_back_as_its_rows(drafts: list[PendingRow], form: PromptForm) -> None:
    written = table(drafts, form, Scratch(0))
    written.validate(full=True)
    assert written.schema.equals(row_schema(form), check_metadata=True)
    assert tuple(written.column_names) == COLUMNS
    assert written.to_pylist() == [draft.row() for draft in drafts]
    assert all(written.column(name).num_chunks == 1 for name in COLUMNS)


def test_a_reused_scratch_buffer_keeps_the_rows_of_groups_apart(drafts: list[PendingRow], form: PromptForm) -> None:
    scratch = Scratch(1 << 16)
    for group in (drafts, drafts[:1], drafts[1:3], drafts[::-1]):
        assert table(group, form, scratch).to_pylist() == [draft.row() for draft in group]


def test_an_empty_table_has_the_schema(form: PromptForm) -> None:
    empty = table([], form, Scratch(0))
    assert empty.num_rows == 0
    assert empty.schema.equals(row_schema(form))


def test_a_draft_has_the_digest_of_its_row(drafts: list[PendingRow]) -> None:
    for draft in drafts:
        assert draft.digest() == row_digest(draft.row())
    assert len({draft.digest() for draft in drafts}) == len(drafts)


def test_the_digest_and_size_of_a_prompt_are_right(drafts: list[PendingRow], form: PromptForm) -> None:
    for draft in drafts:
        row = draft.row()
        assert row["prompt_sha256"] == prompt_digest(row["prompt"])
        prompt = row["prompt"]
        contents = [prompt] if isinstance(prompt, str) else [message["content"] for message in prompt]
        assert draft.bytes == sum(len(content.encode()) for content in contents)
        assert (row["context_message"] >= 0) == (form == "chat")


def test_every_column_of_the_contract_is_filled(drafts: list[PendingRow]) -> None:
    always_null = {"part", "control", "answer_prefix", "target_span", "target_token_span"}
    for draft in drafts:
        row = draft.row()
        assert tuple(row) == COLUMNS
        assert {name for name, value in row.items() if value is None} <= always_null | {"leak"}


# Single columns -----------------------------------------------------------------------------------------------------

texts = st.text(max_size=6)
whole = st.integers(-(2**31), 2**31 - 1)
spans = st.fixed_dictionaries({"start": whole, "end": whole})
KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "text": (pa.string(), texts),
    "large text": (pa.large_string(), texts),
    "whole numbers": (pa.int32(), whole),
    "long numbers": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "numbers": (pa.float64(), st.floats(allow_nan=False)),
    "lists": (pa.list_(pa.string()), st.lists(texts, max_size=3)),
    "lists of lists": (pa.list_(pa.list_(pa.string())), st.lists(st.lists(texts, max_size=3), max_size=3)),
    "spans": (row_schema("text").field("target_span").type, spans),
    "lists of spans": (row_schema("text").field("needle_spans").type, st.lists(spans, max_size=3)),
}


@each("name", KINDS)
def test_any_column_reads_back_with_and_without_nulls(name: str) -> None:
    kind, strategy = KINDS[name]

    @examples(60)
    @given(values=st.lists(strategy, max_size=6) | st.lists(st.none() | strategy, max_size=20))
    def reads_back(values: list[Any]) -> None:
        written = column(values, kind)
        written.validate(full=True)
        assert written.type == kind
        assert written.to_pylist() == values
        assert written.null_count == values.count(None)

    reads_back()


def test_scratch_grows_for_what_does_not_fit() -> None:
    scratch = Scratch(4)
    assert scratch.fill([b"ab", memoryview(b"cd")], 4).to_pybytes() == b"abcd"
    assert scratch.fill([b"x" * 100], 100).to_pybytes() == b"x" * 100
    assert scratch.fill([], 0).to_pybytes() == b""


# Row ids ------------------------------------------------------------------------------------------------------------

names = st.one_of(
    st.text(min_size=1, max_size=80),
    st.sampled_from(
        ["a", "a_b", "a/b", "x/a_b", "a.b", "小明-internship", "小红-internship", "cdme/zh_finance", "n" * 90, "n" * 91]
    ),
    st.text("ab-_/.小", min_size=1, max_size=12),
)
depths = st.one_of(
    st.floats(0, 100), st.integers(0, 1000).map(lambda tenth: tenth / 10), st.sampled_from([0.0, 0.04, 99.96, 100.0])
)
coordinates = st.tuples(
    names, st.integers(1, 2**31 - 1) | st.sampled_from([1000, 8000]), depths, names, st.integers(0, 99_999)
)


def truth_of(corpus: str, length: int, depth: float, needle: str, repeat: int, **changes: object) -> Truth:
    truth: dict[str, Any] = dict.fromkeys(Truth.__annotations__)
    truth |= {
        "corpus": corpus, "length": length, "depth_percent": depth, "needle_id": needle, "repeat": repeat,
        "prompt_sha256": "0" * 64, "question": "What?", "answers": ["That."], "keywords": [["that"]], **changes,
    }  # fmt: skip
    return truth  # type: ignore[return-value]


@steady
@given(coordinates=coordinates)
def test_an_id_keeps_its_alphabet_and_maximum_length_for_any_names(
    coordinates: tuple[str, int, float, str, int],
) -> None:
    _, length, depth, _, repeat = coordinates
    identifier = row_id("abcdef01", truth_of(*coordinates))
    assert ROW_ID.fullmatch(identifier)
    assert len(identifier) <= 64
    assert identifier.startswith("abcdef01-")
    assert f"-{length}-d{round(depth * 10):04d}-" in identifier
    assert f"-r{repeat}-" in identifier
    assert row_id("abcdef01", truth_of(*coordinates)) == identifier


@steady
@given(cells=st.lists(coordinates, min_size=2, max_size=12, unique=True))
def test_no_two_cells_share_an_id_even_with_the_same_prompt(cells: list[tuple[str, int, float, str, int]]) -> None:
    """A control without context has one prompt at every depth and length: only the coordinates tell the rows apart."""
    assert len({row_id("abcdef01", truth_of(*cell)) for cell in cells}) == len(cells)


def test_cells_whose_ids_would_be_spelled_alike_have_distinct_ids() -> None:
    long = "very-long-corpus-name-that-goes-on-and-on"
    pairs: list[tuple[tuple[str, float, str], tuple[str, float, str]]] = [
        ((long + "-1", 0.0, "n"), (long + "-2", 0.0, "n")),
        (("c", 0.0, long + "-1"), ("c", 0.0, long + "-2")),
        (("c", 33.3, "n"), ("c", 33.333, "n")),
        (("c", 0.0, "小明"), ("c", 0.0, "小红")),
        (("a/same", 0.0, "n"), ("b/same", 0.0, "n")),
        (("a_b", 0.0, "n"), ("a.b", 0.0, "n")),
    ]
    for one, other in pairs:
        ids = {row_id("abcdef01", truth_of(name, 8000, depth, needle, 0)) for name, depth, needle in (one, other)}
        assert len(ids) == 2, (one, other)


def test_names_with_hyphens_cannot_be_read_as_other_coordinates() -> None:
    """`a` + `n-5-d0000-m` and `a-5-d0000-n` + `m` are spelled the same."""
    one = row_id("abcdef01", truth_of("a", 5, 0.0, "n-5-d0000-m", 0))
    other = row_id("abcdef01", truth_of("a-5-d0000-n", 5, 0.0, "m", 0))
    assert one != other


@each("field", ["prompt_sha256", "question", "answers", "keywords"])
def test_a_change_of_prompt_or_truth_changes_the_id(field: str) -> None:
    changed: dict[str, Any] = {
        "prompt_sha256": "1" * 64,
        "question": "Who?",
        "answers": ["It."],
        "keywords": [["it"]],
    }
    cell = ("corpus", 8000, 50.0, "needle", 0)
    assert row_id("abcdef01", truth_of(*cell)) != row_id("abcdef01", truth_of(*cell, **{field: changed[field]}))


def test_the_metric_and_the_output_limit_do_not_affect_the_id() -> None:
    cell = ("corpus", 8000, 50.0, "needle", 0)
    assert row_id("abcdef01", truth_of(*cell)) == row_id("abcdef01", truth_of(*cell, metric="edit", max_new_tokens=5))


def test_a_readable_id_spells_out_its_cell() -> None:
    identifier = row_id("3f9c2a1b", truth_of("en_essays", 8000, 47.5, "velden-archive", 3))
    assert identifier.rsplit("-", 1)[0] == "3f9c2a1b-en_essays-8000-d0475-velden-archive-r3"
    assert len(identifier.rsplit("-", 1)[1]) == 12


def test_a_row_without_needle_and_depth_has_an_id_too() -> None:
    identifier = row_id("3f9c2a1b", truth_of("en_essays", 8000, 0.0, "", 0, needle_id=None, depth_percent=None))
    assert ROW_ID.fullmatch(identifier)
    assert "-d0000-" in identifier


def test_ids_of_a_dataset_are_unique_and_begin_with_the_family_digest() -> None:
    recipe = load_recipe({"lengths": [600, 900], "depths": {"steps": 7}, "repeats": 3, "corpora": ["en_essays"]})
    plan = make_plan(recipe)
    ids = [draft.truth["id"] for draft in Assembler(plan).pending_rows(plan.cells)]
    assert len(set(ids)) == len(ids) == 2 * 7 * 3 * 3
    assert {identifier[:8] for identifier in ids} == {plan.parts[0].family}
