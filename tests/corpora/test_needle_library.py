"""There are enough bundled needles of each kind, and each is a sentence that alone answers its question."""

from __future__ import annotations

import re
from itertools import permutations
from pathlib import Path

import pytest
from each import each

from niah_gen.dataset.card import CANARY
from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.tasks.needle_library import Needle, needle_files
from niah_score.metrics import Target
from niah_score.metrics.keyword import judge_keyword
from niah_score.text import fold, holds_group
from niah_score.text.language import rules_code

FOLDER = Path(__file__).parents[2] / "niah_gen" / "library" / "needles"
TEXTS = Path(__file__).parent / "texts"
LANGUAGES, OTHERS = ("en", "zh"), ("fr", "es", "ja", "ar")
KINDS = ("single", "list", "chain")
OWN = [needle for kind in KINDS for code in LANGUAGES for needle in needle_files()[f"{kind}-{code}"]]
SETS = [needle for needle in OWN if needle.kind != "single"]
OF_OTHERS = [needle for code in OTHERS for needle in needle_files()[f"single-{code}"]]


def mentions(text: str, needle: Needle) -> list[bool]:
    """Which keyword groups of a needle a text states."""
    kinds = zip(needle.keywords, needle.keyword_kinds, strict=True)
    return [holds_group(fold(text), group, kind, rules_code(needle.language)) for group, kind in kinds]


def test_each_language_has_enough_needles_of_each_kind() -> None:
    for code in LANGUAGES:
        assert len(needle_files()[f"single-{code}"]) >= 12
        lists, chains = needle_files()[f"list-{code}"], needle_files()[f"chain-{code}"]
        assert len(lists) + len(chains) >= 6
        assert {3, 10} <= {len(needle.needles) for needle in lists} <= set(range(3, 11))
        assert {2, 5} <= {len(needle.needles) for needle in chains} <= set(range(2, 6))
    for code in OTHERS:
        needles = needle_files()[f"single-{code}"]
        assert len(needles) == 10
        assert {(needle.kind, needle.language) for needle in needles} == {("single", code)}
        kinds = {kind.partition(":")[0] for needle in needles for kind in needle.keyword_kinds}
        assert kinds == {"text", "number", "time", "date", "amount"}
        assert CANARY in (FOLDER / f"single-{code}.toml").read_text("utf-8")


@each("needle", [*OWN, *OF_OTHERS])
def test_each_text_of_a_needle_is_one_sentence(needle: Needle) -> None:
    assert needle.keywords
    assert needle.metric == ("keyword_f1" if needle.kind == "list" else "keyword")
    for text in needle.needles:
        assert sentence_ends(text, needle.language) == [len(text)], "not one sentence wherever a line begins with it"
        assert text == text.strip()


@each("needle", OF_OTHERS)
def test_a_needle_in_another_language_alone_states_what_its_questions_ask_for(needle: Needle) -> None:
    assert re.fullmatch(r"[a-z0-9-]{1,28}", needle.id)
    asked = dict(needle.questions)["en"]
    assert asked.isprintable()
    assert asked.endswith("?")
    assert needle.question.endswith(("?", "？", "؟"))
    silent = [asked, needle.question, *(file.read_text("utf-8") for file in (TEXTS / needle.language).iterdir())]
    assert [text[:80] for text in silent if any(mentions(text, needle))] == []
    target = Target(
        needle.answers, needle.keywords, needle.needles, None, needle.language, needle.keyword_kinds, needle.rejects
    )
    for answer in (*needle.answers, *needle.needles):
        assert judge_keyword(answer, target).value == 100.0


@each("needle", SETS)
def test_each_text_of_a_list_and_only_the_last_of_a_chain_states_an_answer(needle: Needle) -> None:
    stated = list(zip(*(mentions(text, needle) for text in needle.needles), strict=True))
    if needle.kind == "list":
        assert stated == [tuple(place == number for place in range(len(stated))) for number in range(len(stated))]
    else:
        assert stated == [(False,) * (len(needle.needles) - 1) + (True,)]


@pytest.mark.slow
def test_no_needle_or_question_states_the_answer_of_another_in_its_language() -> None:
    for asked, read in permutations([*OWN, *OF_OTHERS], 2):
        if asked.language == read.language or (read in OWN and asked in OWN):
            written = [*read.needles, read.question, read.paraphrase]
            written += [text for _, text in read.questions if read in OF_OTHERS]
            assert not [text for text in written if text and any(mentions(text, asked))], (asked.id, read.id)
    texts = [text for needle in OWN for text in needle.needles]
    assert len(set(texts)) == len(texts)


@each("code", LANGUAGES)
def test_ten_english_and_ten_chinese_needles_can_be_asked_in_the_other_language(code: str) -> None:
    other = {"en": "zh", "zh": "en"}[code]
    asked = [needle for needle in needle_files()[f"single-{code}"] if needle.question_in(other)]
    assert len(asked) == 10
    for needle in asked:
        question = needle.question_in(other)
        assert any("\u4e00" <= char <= "\u9fff" for char in question) == (other == "zh")
        assert not any(mentions(question, needle))
