"""Each needle in French, Spanish, Japanese and Arabic is a sentence that alone answers its question."""

from __future__ import annotations

import re
from itertools import permutations
from pathlib import Path

import pytest
from each import each

from niah_gen.dataset.card import CANARY
from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.tasks.needle_doubts import doubts
from niah_gen.tasks.needle_library import Needle, needle_files
from niah_score.metrics import Target
from niah_score.metrics.keyword import judge_keyword
from niah_score.text import fold, holds_group
from niah_score.text.language import rules_code

FOLDER = Path(__file__).parents[2] / "niah_gen" / "library" / "needles"
TEXTS = Path(__file__).parent / "texts"
LANGUAGES = ("fr", "es", "ja", "ar")
OWN = [needle for code in LANGUAGES for needle in needle_files()[f"single-{code}"]]
each_needle = pytest.mark.parametrize("needle", OWN, ids=[needle.id for needle in OWN])


def mentions(text: str, needle: Needle) -> bool:
    kinds = zip(needle.keywords, needle.keyword_kinds, strict=True)
    return any(holds_group(fold(text), group, kind, rules_code(needle.language)) for group, kind in kinds)


@each("language", LANGUAGES)
def test_each_language_has_ten_needles_with_answers_of_five_kinds(language: str) -> None:
    needles = needle_files()[f"single-{language}"]
    assert len(needles) == 10
    assert {(needle.kind, needle.language) for needle in needles} == {("single", language)}
    kinds = {kind.partition(":")[0] for needle in needles for kind in needle.keyword_kinds}
    assert kinds == {"text", "number", "time", "date", "amount"}
    assert CANARY in (FOLDER / f"single-{language}.toml").read_text("utf-8")


@each_needle
def test_a_needle_is_one_sentence_that_alone_states_what_its_questions_ask_for(needle: Needle) -> None:
    assert doubts(needle) == []
    assert needle.metric == "keyword"
    assert re.fullmatch(r"[a-z0-9-]{1,28}", needle.id)
    (text,) = needle.needles
    assert sentence_ends(text, needle.language) == [len(text)]
    assert mentions(text, needle)
    asked = dict(needle.questions)["en"]
    assert asked.isprintable()
    assert asked.endswith("?")
    assert needle.question.endswith(("?", "？", "؟"))
    assert not mentions(asked, needle)
    assert not mentions(needle.question, needle)
    for file in sorted((TEXTS / needle.language).iterdir()):
        assert not mentions(file.read_text("utf-8"), needle), file.name
    target = Target(
        needle.answers, needle.keywords, needle.needles, None, needle.language, needle.keyword_kinds, needle.rejects
    )
    for answer in (*needle.answers, *needle.needles):
        assert judge_keyword(answer, target).value == 100.0


def test_no_needle_or_question_states_the_answer_of_another_in_its_language() -> None:
    for one, other in permutations(OWN, 2):
        if one.language == other.language:
            written = (*other.needles, other.question, *(text for _, text in other.questions))
            assert not [text for text in written if mentions(text, one)], (one.id, other.id)


@each("code", ["en", "zh"])
def test_ten_english_and_ten_chinese_needles_can_be_asked_in_the_other_language(code: str) -> None:
    other = {"en": "zh", "zh": "en"}[code]
    asked = [needle for needle in needle_files()[f"single-{code}"] if needle.question_in(other)]
    assert len(asked) == 10
    for needle in asked:
        question = needle.question_in(other)
        assert any("\u4e00" <= char <= "\u9fff" for char in question) == (other == "zh")
        assert not mentions(question, needle)
