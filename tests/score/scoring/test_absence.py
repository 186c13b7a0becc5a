"""The clauses of an answer are told apart by a few rules, in time that grows with its length."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from said_examples import SAID

from niah_score.scoring.absence import asserted, clauses_of, said_instead
from niah_score.text import fold

KINDS = {
    "denies": ["The text does not say.", "Nowhere in the text.", "It goes unnamed.", "我不知道。", "文中沒有說明。"],
    "other": ["The text does not say why.", "I have no other information.", "文中没有提到原因。", "没有其他信息。"],
    "refuses": ["I cannot answer this question.", "我不能回答这个问题。", "抱歉,我無法協助您。"],
    "guesses": ["Perhaps it is blue.", "可能是蓝色。"],
    "leans": ["I think it is blue.", "应该是蓝色。"],
    "asks": ["Is it blue?", "是蓝色吗?"],
    "talks": ["The text is about bees.", "Without a doubt.", "文章主要讲养蜂。", "He did not mention it."],
    "claims": ["It is blue.", "Blue.", "蓝色。"],
}  # fmt: skip


def test_a_clause_is_told_by_its_words() -> None:
    for kind, texts in KINDS.items():
        for text in texts:
            kinds = [clause.kind for clause in clauses_of(fold(text) + " 没")]
            assert kinds[-2:-1] == [kind], text


@pytest.mark.parametrize(("decoys", "expected"), [((), None), (("white",), None), (("white", "teal"), "said_absent")])
def test_one_value_before_a_denial_is_an_answer_and_several_rivals_are_an_aside(
    decoys: tuple[str, ...], expected: str | None
) -> None:
    text = "The old railing is white and the new one is teal. The name is not stated."
    assert said_instead(text, fold(text), lambda clause: sum(decoy in clause for decoy in decoys)) == expected


def test_a_guess_that_is_denied_again_commits_only_to_a_rival() -> None:
    text = "We are not told. Some think it might have been white, but no colour is named."
    assert said_instead(text, fold(text), lambda _: 0) == "said_absent"
    assert said_instead(text, fold(text), lambda clause: "white" in clause) is None


def test_what_is_denied_guessed_asked_or_only_quoted_is_not_asserted() -> None:
    quoted = '"the keeper repaints it in blue every single spring"'
    for text, left in (
        ("It is not stated. Perhaps blue. Red.", "red."),
        ("Is it blue? Red.", "red."),
        (f"The text does not say. It has: {quoted}", "it has:"),
        (f"The text does not say, but it has: {quoted}", f"but it has: {quoted}"),
        ("It is not stated: blue, and red.", ""),
        ("Blue. I cannot answer the question.", ""),
    ):
        claimed = asserted(fold(text))
        assert claimed is not None, text
        assert claimed.replace("\x02", "").strip() == left
    assert asserted("it is blue.") is None


PARTS = [part for text, _ in (*SAID["en"], *SAID["zh"]) for part in fold(text).split(",")]


@examples(60)
@given(text=st.lists(st.sampled_from(PARTS) | st.text('\x02"“”「』not a,.没', max_size=60), max_size=6).map("".join))
def test_the_clauses_of_a_text_add_up_to_it(text: str) -> None:
    def bare(text: str) -> str:
        return "".join(filter(str.isalnum, text))

    clauses = clauses_of(text)
    assert not clauses or bare("".join(clause.whole for clause in clauses)) == bare(text)


def test_a_text_without_words_of_denying_or_guessing_is_not_read() -> None:
    assert clauses_of("the railing is blue, and it has been blue all along.") == []
    for text, finding in (*SAID["en"], *SAID["zh"]):
        assert clauses_of(fold(text)) or finding in ("found", "nothing"), text
