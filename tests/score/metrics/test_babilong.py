"""babilong: the target must be the only label that the answer names before its first full stop."""

from __future__ import annotations

import published_answers as published
from each import each
from hypothesis import given
from hypothesis import strategies as st
from judged import value
from properties import examples

PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")


def judged(answer: str, target: str, *others: str) -> float:
    return float(value("babilong", answer, target, decoys=tuple((name,) for name in others)))


@examples(200)
@given(
    answer=st.lists(
        st.sampled_from([*PLACES, "Garden", ".", "<context>", "the", "Question", "<example>", ","]), max_size=8
    ).map(" ".join),
    target=st.sampled_from([*PLACES, "garden,office", "a,b"]),
    question=st.sampled_from(["Where is Mary?", "Where was it before the kitchen?"]),
)
def test_babilong_agrees_with_the_published_formula(answer: str, target: str, question: str) -> None:
    if target in question:
        return  # refused when a dataset is built
    own = set(target.split(","))
    others = [name for name in PLACES if name not in own | {target} and name not in question]
    labels = [*PLACES, *own]
    assert judged(answer, target, *others) == 100 * published.babilong(answer, target, question, labels)


@each(
    ("answer", "expected"),
    [
        ("The most recent location of Mary is office.", 100),
        ("OFFICE", 100),
        ("office. Before, it was the kitchen", 100),
        ("the office or the kitchen", 0),
        ("kitchen", 0),
        ("Mr. Holt is in the office", 0),
        ("", 0),
    ],
)
def test_only_text_before_the_first_full_stop_counts(answer: str, expected: float) -> None:
    assert judged(answer, "office", "kitchen", "garden") == expected


def test_every_item_of_a_list_must_be_named() -> None:
    assert judged("apple and milk", "apple,milk", "football") == 100
    assert judged("apple", "apple,milk", "football") == 0
    assert judged("apple, milk, football", "apple,milk", "football") == 0
