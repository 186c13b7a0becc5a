"""Budgets, places, spans, proofs and scores are right in every language, also right to left and without spaces."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from contexts import context_of
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from proved import proved_rows

from niah_gen.haystacks.boundaries import joiner_of
from niah_gen.tasks.needle_library import needle_library
from niah_gen.tasks.own_needles import find_needles
from niah_score.contract import Row
from niah_score.metrics import target_of
from niah_score.metrics.keyword import judge_keyword
from niah_score.scoring.findings import finding_of
from niah_score.text.language import find_language

TEXTS = Path(__file__).parents[1] / "corpora" / "texts"
CORPORA = {"en": "en_essays", "zh": "zh_articles", **{code: str(TEXTS / code) for code in ("fr", "es", "ja", "ar")}}
DEPTHS = [0, 30, 100]

each_language = pytest.mark.parametrize("language", list(CORPORA))


def recipe(language: str, **changes: object) -> dict[str, Any]:
    return {
        "corpora": [CORPORA[language]], "needles": [f"single-{language}"], "lengths": [1000, 2500], "depths": DEPTHS,
        "allow_repeats": True,
        "guide": False, "form": "text", "template": "niah", **changes,
    }  # fmt: skip


@cache
def rows_in(language: str, form: str = "text") -> tuple[Row, ...]:
    return tuple(proved_rows(recipe(language, form=form)))


@each_language
@each("form", ["text", "chat"])
def test_rows_are_proved_and_fill_their_budget_to_a_sentence(language: str, form: str) -> None:
    rows = rows_in(language, form)
    assert len(rows) == len(find_needles(f"single-{language}")) * 2 * len(DEPTHS)
    for row in rows:
        assert row["boundary"] == "sentence"
        assert 0 <= (row["length"] or 0) - 200 - row["prompt_tokens"] <= 256 + 8
        assert "\ufffd" not in context_of(row)


@each_language
def test_needles_at_word_boundaries_are_placed_between_words(language: str) -> None:
    """In languages with spaces, a needle inside the text has white space on both sides."""
    for row in proved_rows(recipe(language, boundary="word", lengths=[700], depths=[31], needles=[FIRST[language]])):
        assert row["boundary"] == "word"
        span = row["needle_spans"][0]
        if joiner_of(language):
            assert context_of(row)[span["start"] - 1].isspace()
            assert context_of(row)[span["end"]].isspace()


FIRST = {code: find_needles(f"single-{code}")[0].id for code in CORPORA}


# Scores --------------------------------------------------------------------------------------------------------------


@each_language
def test_the_words_for_an_absent_answer_are_prescribed_and_recognised(language: str) -> None:
    words = find_language(language).prompt.not_stated
    asked = recipe(language, controls=["absent", "no_context"], lengths=[1000], form="chat")
    twins = [row for row in proved_rows(asked) if row["control"] == "absent"]
    answers = [words, words.rstrip(".。"), f"“{words}”", f"**{words.rstrip('.。')}**"]
    assert {finding_of(answer, target_of({**twins[0]}), "ok") for answer in answers} == {"said_absent"}
    assert {answer for row in twins for answer in row["answers"]} == {words}


PAIRS = [("fr", "en"), ("es", "en"), ("ja", "en"), ("ar", "en"), ("en", "zh"), ("zh", "en")]


@pytest.mark.slow
@each(("language", "asked_in"), PAIRS)
def test_rows_with_questions_in_another_language_are_proved_and_scored(language: str, asked_in: str) -> None:
    ids = [needle.id for needle in find_needles(f"single-{language}") if needle.question_in(asked_in)]
    assert len(ids) == 10
    asked = recipe(
        language, needles=ids, question_language=asked_in, lengths=[1000], depths=[0, 50], controls=["absent"]
    )
    usual = {row["needle_id"]: row for row in rows_in(language)}
    for row in proved_rows(asked):
        needle = needle_library()[str(row["needle_id"])]
        assert (row["language"], row["question_language"]) == (language, asked_in)
        assert row["question"] == dict(needle.questions)[asked_in]
        assert row["template"] == f"niah-{asked_in}"
        assert find_language(asked_in).prompt.instruction in str(row["prompt"])
        if row["control"] == "absent":
            assert row["answers"] == [find_language(asked_in).prompt.not_stated]
        else:
            assert row["answers"] == usual[row["needle_id"]]["answers"]
            assert judge_keyword(row["answers"][0], target_of({**row})).value == 100.0
        assert judge_keyword(row["question"] or "", target_of({**row})).value == 0.0
        words = [find_language(code).prompt.not_stated for code in (asked_in, language)]
        target = target_of({**row})
        assert {finding_of(word, target, "ok") for word in words} == {"said_absent"}


@examples(20)
@given(data=st.data())
def test_a_fact_is_found_whatever_marks_and_words_surround_the_answer(data: st.DataObject) -> None:
    language = data.draw(st.sampled_from(["fr", "es", "ja", "ar"]))
    row = data.draw(st.sampled_from(rows_in(language)))
    words = find_language(language).prompt
    before = data.draw(st.sampled_from(["", f"{words.answer} ", "**", "« ", "「", "\u200f"]))
    after = data.draw(st.sampled_from(["", ".", "。", " »", "」", "**", "\n", "\u200e"]))
    text = f"{before}{row['answers'][0].rstrip('.。')}{after}"
    assert judge_keyword(text, target_of({**row})).value == 100.0
