"""Rows side by side: what metrics share is worked out once, and every metric keeps the same promises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.metrics import METRICS, SCORE, Chunk, Columns, Target, default_metrics

steady = examples(60)

texts = st.text("ab1, *小明。\n\u3000\u0301😀", max_size=12)
targets = st.builds(
    lambda answers, keywords, needles, prefix, language: Target(
        tuple(answers), tuple(map(tuple, keywords)), tuple(needles), prefix, language
    ),
    st.lists(texts, min_size=1, max_size=3),
    # Of a regular expression these are literals, but for the asterisk.
    st.lists(st.lists(st.text("ab1小明", min_size=1, max_size=3), min_size=1, max_size=2), max_size=3),
    st.lists(texts, max_size=3),
    st.none() | texts,
    st.sampled_from(["en", "zh"]),
)
chunks = st.lists(st.tuples(texts, targets), max_size=5)


@pytest.mark.parametrize("metric", METRICS)
@steady
@given(rows=chunks)
def test_every_score_is_between_0_and_100_or_null(metric: str, rows: list[tuple[str, Target]]) -> None:
    found = METRICS[metric].of(Chunk([text for text, _ in rows], [target for _, target in rows]))
    assert all(len(column) == len(rows) for column in found.values())
    assert all(score is None or 0 <= score <= 100 for score in found[SCORE])


@pytest.mark.parametrize("metric", METRICS)
@steady
@given(rows=chunks)
def test_a_row_is_judged_alike_alone_and_among_others(metric: str, rows: list[tuple[str, Target]]) -> None:
    together = METRICS[metric].of(Chunk([text for text, _ in rows], [target for _, target in rows]))
    alone = [METRICS[metric].of(Chunk([text], [target])) for text, target in rows]
    for key, column in together.items():
        assert column == [one[key][0] for one in alone]


@steady
@given(
    texts=st.lists(st.text("ab1 ,.中文字é😀", max_size=12), min_size=16, max_size=24),
    reference=st.text("ab1 .中文字é😀", min_size=1, max_size=8),
    other=st.text("ab1中", max_size=4),
)
@pytest.mark.parametrize("metric", [name for name in METRICS if name != "keyword_regex"])
def test_many_rows_of_one_target_are_judged_as_each_alone(
    metric: str, texts: list[str], reference: str, other: str
) -> None:
    target = Target((reference, other), (("a1", "中"), ("b",)), (reference, "b"))
    together = METRICS[metric].of(Chunk(texts, [target] * len(texts)))
    alone = [METRICS[metric].of(Chunk([text], [target])) for text in texts]
    for key, column in together.items():
        assert column == [one[key][0] for one in alone]


def test_the_metrics_computed_by_default_are_those_of_the_design() -> None:
    assert default_metrics() == ["keyword", "exact", "edit", "char_f1", "cdme", "cdme_trim", "cdme_multi"]
    assert [name for name, metric in METRICS.items() if metric.kind == "strict"] == [
        "keyword", "keyword_regex", "exact", "edit", "char_f1", "word_f1",
    ]  # fmt: skip


def test_what_a_target_needs_is_worked_out_once_for_all_its_rows() -> None:
    seen: list[Target] = []

    def note(target: Target) -> int:
        seen.append(target)
        return len(seen)

    one, equal = Target(("a",)), Target(("a",))
    assert Chunk(["x"] * 4, [one, equal, one, one]).once(note) == [1, 2, 1, 1]
    assert seen == [one, equal]


def test_a_metric_that_others_build_on_is_computed_once() -> None:
    calls: list[Chunk] = []

    def metric(chunk: Chunk) -> Columns:
        calls.append(chunk)
        return {SCORE: [1.0]}

    chunk = Chunk(["x"], [Target(("a",))])
    assert chunk.shared(metric) is chunk.shared(metric)
    assert calls == [chunk]
    assert Chunk(["x"], [Target(("a",))]).shared(metric) == {SCORE: [1.0]}
    assert len(calls) == 2


def test_a_part_of_a_chunk_holds_its_rows_and_nothing_worked_out_for_others() -> None:
    first, second = Target(("a",), (("a",),)), Target(("b",), (("b",),))
    whole = Chunk(["A", "B", "C"], [first, second, first])
    assert whole.folded == ["a", "b", "c"]
    assert whole.shared(METRICS["cdme"].of)[SCORE] == [0, 0, 0]
    part = whole.only([1, 2])
    assert (part.texts, part.targets, part.folded) == (["B", "C"], [second, first], ["b", "c"])
    assert part.hits == [("b",), (None,)]
    assert len(part.shared(METRICS["cdme"].of)[SCORE]) == 2


def test_hits_name_the_first_member_of_a_group_that_the_text_holds() -> None:
    target = Target(("-",), (("Cat", "Dog"), ("1,024",), ("art",)))
    assert Chunk(["dog and CAT", "a heart of 1024", ""], [target] * 3).hits == [
        ("cat", None, None),
        (None, "1024", None),
        (None, None, None),
    ]


def test_packed_texts_hold_no_white_space() -> None:
    assert Chunk([" a\u3000b\x1cc\n"], [Target(("a",))]).packed == ["abc"]
