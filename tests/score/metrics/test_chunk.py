"""Rows judged together: what fast versions share is computed once, and different targets stay separate."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.metrics import METRICS, Chunk, ScoreColumns, Target, judge_all
from niah_score.text import finds, first_standing, fold
from niah_score.text.voiding import stands


def test_what_a_target_needs_is_computed_once_for_all_its_rows() -> None:
    seen: list[Target] = []

    def note(target: Target) -> int:
        seen.append(target)
        return len(seen)

    one, equal = Target(("a",)), Target(("a",))
    assert Chunk(["x"] * 4, [one, equal, one, one]).once(note) == [1, 2, 1, 1]
    assert seen == [one, equal]


def test_a_metric_that_others_build_on_is_computed_once() -> None:
    calls: list[Chunk] = []

    def many(chunk: Chunk) -> ScoreColumns:
        calls.append(chunk)
        return ScoreColumns([1.0], {})

    chunk = Chunk(["x"], [Target(("a",))])
    assert chunk.shared(many) is chunk.shared(many)
    assert calls == [chunk]
    assert Chunk(["x"], [Target(("a",))]).shared(many).values == [1.0]
    assert len(calls) == 2


def test_a_part_of_a_chunk_has_only_its_own_rows_and_results() -> None:
    first, second = Target(("a",), (("a",),)), Target(("b",), (("b",),))
    whole = Chunk(["A", "B", "C"], [first, second, first])
    assert whole.folded == ["a", "b", "c"]
    assert judge_all(METRICS["cdme"], whole).values == [0, 0, 0]
    part = whole.only([1, 2])
    assert (part.texts, part.targets, part.folded) == (["B", "C"], [second, first], ["b", "c"])
    assert part.hits == [(0,), (None,)]
    assert judge_all(METRICS["cdme"], part).values == [0, 0]


def test_hits_are_where_a_text_states_each_fact() -> None:
    target = Target(("-",), (("Cat", "Dog"), ("1,024",), ("art",)))
    assert Chunk(
        ["dog and CAT", "a heart of 1024", "", "not a cat; one thousand and twenty-four"], [target] * 4
    ).hits == [
        (8, None, None),
        (None, 11, None),
        (None, None, None),
        (None, 11, None),
    ]


# What may mislead the search for a fact: other values, joined numbers, negations, rejects, pairs.
PIECES = (
    "417",
    "1,417",
    "4-1-7",
    "four hundred and seventeen",
    "four seventeen",
    "drawer",
    "not",
    "no",
    "isn't",
    "or",
    "512",
    ",",
    ".",
    ";",
    "but",
    "feet",
    "metres",
    "thousand",
    "2 thousand",
    "1千",
    "二",
    "百",
    "八十三",
    "283",
    "不是",
    "而是",
    "，",
    "或",
    "turquoise",
    "turquoise-blue",
    "19:52",
    "7:52",
    "pm",
    "in the morning",
    "下午",
    "7点52分",
    "£4.35",
    "$",
    "4.35",
    "pounds",
    "23 February",
    "2月23日",
    "腊月十七",
    "the upper team",
    "the lower team",
    "lilac",
    "except",
    "wrong",
    "is",
    "is not",
    "or",
    "more than",
    "but that is another",
    "不是",
    "还是",
    "half past seven",
    "eight minutes to eight",
    "in the evening",
    "may",
    "us",
    "to",
    "1 hundred",
    "or in drawer",
)
TARGETS = (
    Target(("-",), (("417", "four hundred and seventeen"), ("turquoise",))),
    Target(("-",), (("283",),), keyword_kinds=("number",), rejects=(("metres", "$"),)),
    Target(
        ("-",),
        (("19:52", "the 7:52"), ("19:30",), ("£4.35",), ("23 February",)),
        rejects=(("in the morning",), (), ("$",), ()),
    ),
    Target(("-",), (("lilac",),), keyword_kinds=("pair:the upper team",), rejects=(("the lower team",),)),
    Target(("-",), (("417",), ("腊月十七",)), keyword_kinds=("text", "lunar_date")),
)


@examples(200)
@given(
    texts=st.lists(st.lists(st.sampled_from(PIECES), max_size=7).map(" ".join), min_size=1, max_size=5),
    target=st.sampled_from(TARGETS),
)
def test_hits_of_many_texts_are_those_of_each_text_alone(texts: list[str], target: Target) -> None:
    for text, hits in zip(map(fold, texts), Chunk(texts, [target] * len(texts)).hits, strict=True):
        for group, place in zip(target.groups, hits, strict=True):
            assert (place is None) == (first_standing(text, group) is None)
            assert place is None or any(
                find.start == place and stands(text, find, group) for find in finds(text, group)
            )


def test_spaceless_texts_contain_no_white_space() -> None:
    assert Chunk([" a\u3000b\x1cc\n"], [Target(("a",))]).spaceless == ["abc"]
