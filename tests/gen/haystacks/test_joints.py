"""Joints: where sentences from elsewhere can be inserted into a text, and which sentences cannot."""

from __future__ import annotations

import random

from each import each
from filler import OddText
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.haystacks.joints import (
    Joint,
    ends_paragraph,
    find_joint,
    inside_ends,
    inside_text,
    unfit,
    whole_paragraphs,
)
from niah_gen.haystacks.sentences import Sentences, keep, sentences_of
from niah_gen.tokenizers.find import find_tokenizer

CL100K = find_tokenizer("cl100k_base")


def sentences(document: str) -> Sentences:
    return sentences_of([keep(document, CL100K, sentence_ends)], 1, 0, 0, CL100K)


def numbered(*sizes: int) -> Sentences:
    """Paragraphs with these numbers of sentences."""
    count = iter(range(1000))
    return sentences("\n\n".join(" ".join(f"It is {next(count)} now." for _ in range(size)) for size in sizes))


def joined(text: Sentences, count: int, joint: Joint, texts: list[str]) -> str:
    at, end = (int(text.places[place]) for place in (joint.place, count))
    return text.text.text(0, at) + inside_text(count, joint, texts) + text.text.text(at, end)


def test_a_paragraph_ends_where_the_text_continues_on_a_new_line() -> None:
    text = numbered(2, 1, 3)
    assert [place for place in range(1, 7) if ends_paragraph(text, place)] == [2, 3, 6]


def test_a_later_paragraph_with_fewer_than_four_sentences_is_left_out() -> None:
    text = numbered(6, 9)
    assert [whole_paragraphs(text, count) for count in range(1, 16)] == [
        1,
        2,
        3,
        4,
        5,
        6,
        6,
        6,
        6,
        10,
        11,
        12,
        13,
        14,
        15,
    ]


def test_a_joint_is_the_last_paragraph_end_with_four_sentences_after_it() -> None:
    text = numbered(3, 3, 3, 3)
    assert [find_joint(text, count, " ", sentence_ends).place for count in (12, 11, 10, 9, 7)] == [6, 6, 6, 3, 3]


def test_without_a_paragraph_end_a_joint_is_a_sentence_end() -> None:
    text = numbered(50)
    assert [find_joint(text, count, " ", sentence_ends) for count in (50, 6, 5, 3, 2)] == [
        Joint(46, " "), Joint(2, " "), Joint(1, " "), Joint(1, " "), Joint(1, " "),
    ]  # fmt: skip


def test_sentences_inserted_before_a_single_one_get_their_own_lines() -> None:
    text = numbered(9)
    joint = find_joint(text, 1, " ", sentence_ends)
    assert joined(text, 1, joint, ["One.", "Two."]) == "One.\nTwo.\nIt is 0 now."
    assert inside_ends(joint, ["One.", "Two."]).tolist() == [4, 9]


def test_without_a_joining_space_a_joint_after_a_full_stop_is_a_new_line() -> None:
    text = sentences("他说完就走了。He left.\n今天下雨。他没有带伞。一直下。到晚上。")
    joint = find_joint(text, 6, "", sentence_ends)
    assert joint == Joint(2, "\n")
    assert joined(text, 6, joint, ["天晴了。"]).startswith("他说完就走了。He left.\n天晴了。\n今天下雨。")
    assert find_joint(
        sentences("下雨。他走了。\n今天下雨。他没有带伞。一直下。到晚上。"), 6, "", sentence_ends
    ) == Joint(2, "")


@each(
    ("text", "why"),
    [
        ("and so on.", "small letters go on with the sentence before"),
        ("The U.S.", "an abbreviation ends none"),
        ("One. Two.", "two sentences are not one"),
        ("No end", "no closing punctuation"),
    ],
)
def test_texts_that_would_not_be_one_sentence_at_a_joint_are_reported(text: str, why: str) -> None:
    filler = numbered(6, 6)
    joint = find_joint(filler, 12, " ", sentence_ends)
    assert unfit(filler, 12, joint, [text], sentence_ends) == [0], why
    assert unfit(filler, 12, joint, ["It is so.", "Yes."], sentence_ends) == []


@examples(150)
@given(seed=st.integers(0, 2**32 - 1))
def test_texts_that_fit_leave_all_other_sentence_ends_unchanged(odd_text: OddText, seed: int) -> None:
    rng = random.Random(seed)

    def sentence() -> str:
        odd = odd_text(rng, rng.randint(1, 4)) if rng.random() < 0.6 else ""
        return (
            rng.choice(("It rained", "他走了", "no", "12", ""))
            + odd
            + rng.choice((". ", "。", "! ", ".\n", "。\n", "…… "))
        )

    text = sentences("".join(sentence() for _ in range(rng.randint(4, 40))) + "Yes.")
    count = rng.randint(1, len(text.places) - 1)
    joint = find_joint(text, count, rng.choice(("", " ", "\n")), sentence_ends)
    texts = [
        text.text.text(*text.places[[number, number + 1]].tolist()).strip()
        for number in (rng.randrange(len(text.places) - 1) for _ in range(rng.randint(1, 3)))
    ]
    wrong = unfit(text, count, joint, texts, sentence_ends)
    texts = [item for number, item in enumerate(texts) if number not in wrong]
    if not texts or unfit(text, count, joint, texts, sentence_ends):
        return
    whole = joined(text, count, joint, texts)
    at, put = int(text.places[joint.place]), len(inside_text(count, joint, texts).encode())
    own = text.places[1 : count + 1]
    expected = [*own[own <= at].tolist(), *(at + inside_ends(joint, texts)).tolist(), *(own[own > at] + put).tolist()]
    cut = text.text.text(0, int(text.places[count]))
    assert [len(cut[:end].encode()) for end in sentence_ends(cut)] == own.tolist()
    assert [len(whole[:end].encode()) for end in sentence_ends(whole)] == expected
