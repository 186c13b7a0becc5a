"""Rows side by side: what fast versions share is computed once, and rows of other targets keep apart."""

from __future__ import annotations

from niah_score.metrics import METRICS, Chunk, ScoreColumns, Target, judge_all


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

    def many(chunk: Chunk) -> ScoreColumns:
        calls.append(chunk)
        return ScoreColumns([1.0], {})

    chunk = Chunk(["x"], [Target(("a",))])
    assert chunk.shared(many) is chunk.shared(many)
    assert calls == [chunk]
    assert Chunk(["x"], [Target(("a",))]).shared(many).values == [1.0]
    assert len(calls) == 2


def test_a_part_of_a_chunk_holds_its_rows_and_nothing_worked_out_for_others() -> None:
    first, second = Target(("a",), (("a",),)), Target(("b",), (("b",),))
    whole = Chunk(["A", "B", "C"], [first, second, first])
    assert whole.folded == ["a", "b", "c"]
    assert judge_all(METRICS["cdme"], whole).values == [0, 0, 0]
    part = whole.only([1, 2])
    assert (part.texts, part.targets, part.folded) == (["B", "C"], [second, first], ["b", "c"])
    assert part.hits == [("b",), (None,)]
    assert judge_all(METRICS["cdme"], part).values == [0, 0]


def test_hits_name_the_first_member_of_a_group_that_the_text_holds() -> None:
    target = Target(("-",), (("Cat", "Dog"), ("1,024",), ("art",)))
    assert Chunk(["dog and CAT", "a heart of 1024", ""], [target] * 3).hits == [
        ("cat", None, None),
        (None, "1024", None),
        (None, None, None),
    ]


def test_spaceless_texts_hold_no_white_space() -> None:
    assert Chunk([" a\u3000b\x1cc\n"], [Target(("a",))]).spaceless == ["abc"]
