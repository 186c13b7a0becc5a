"""Budgets, places, spans, proofs and scores are right in every language, also right to left and without spaces."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from proved import prove

import niah_gen
from niah_gen.haystacks.boundaries import joiner_of, sentence_ends
from niah_gen.tasks.needle_library import needle_library
from niah_gen.tasks.own_needles import find_needles
from niah_gen.tokenizers.find import find_tokenizer
from niah_score.contract import Row
from niah_score.metrics import target_of
from niah_score.metrics.keyword import judge_keyword
from niah_score.scoring.findings import finding_of
from niah_score.text.language import find_language

TEXTS = Path(__file__).parents[1] / "corpora" / "texts"
CORPORA = {"en": "en_essays", "zh": "zh_articles", **{code: str(TEXTS / code) for code in ("fr", "es", "ja", "ar")}}
DEPTHS = [0, 25, 50, 80, 100]

each_language = pytest.mark.parametrize("language", list(CORPORA))


def recipe(language: str, **changes: object) -> dict[str, Any]:
    return {
        "corpora": [CORPORA[language]], "needles": [f"single-{language}"], "lengths": [1000, 2500], "depths": DEPTHS,
        "allow_repeats": True,
        "guide": False, "form": "text", "template": "niah", **changes,
    }  # fmt: skip


@cache
def rows_in(language: str, form: str = "text") -> tuple[Row, ...]:
    return tuple(niah_gen.iter_rows(recipe(language, form=form)))


def context_of(row: Row) -> tuple[str, int]:
    """The context with its needle, and its offset in the message that contains it."""
    prompt = row["prompt"]
    content = prompt if isinstance(prompt, str) else prompt[row["context_message"]]["content"]
    tag = find_language(row["language"]).prompt.document
    start = content.index(f"<{tag}>\n") + len(f"<{tag}>\n")
    return content[start : content.index(f"\n</{tag}>")], start


@each_language
@each("form", ["text", "chat"])
def test_a_needle_occurs_once_at_a_sentence_end_near_its_depth_within_the_budget(language: str, form: str) -> None:
    rows = rows_in(language, form)
    assert len(rows) == len(find_needles(f"single-{language}")) * 2 * len(DEPTHS)
    tokenizer = find_tokenizer("cl100k_base")
    joiner = joiner_of(language)
    for row in rows:
        context, offset = context_of(row)
        (needle,), (span,) = row["needles"], row["needle_spans"]
        start, end = span["start"] - offset, span["end"] - offset
        assert context.count(needle) == 1
        assert context[start:end] == needle
        assert "\ufffd" not in context
        filler = context[: max(0, start - len(joiner))] + context[end + (0 if start else len(joiner)) :]
        place = max(0, start - len(joiner))
        ends = [0, *sentence_ends(filler, language)]
        assert place in ends
        assert 0 <= (row["length"] or 0) - 200 - row["prompt_tokens"] <= 256 + 8
        asked, whole = row["depth_percent"] or 0.0, tokenizer.count(filler)
        assert row["haystack_tokens"] == whole
        if asked in (0, 100):
            assert row["needle_depths"] == [asked]
        at = ends.index(place)
        near = filler[ends[max(0, at - 1)] : ends[min(at + 1, len(ends) - 1)]]
        assert abs(row["needle_depths"][0] - asked) * whole / 100 <= tokenizer.count(near) / 2 + 2


@pytest.mark.slow
@each_language
def test_a_dataset_in_every_language_is_proved_row_by_row(language: str, tmp_path: Path) -> None:
    asked = recipe(language, lengths=[1000], depths=[0, 50, 100], controls=["absent", "no_context"], form="chat")
    folder = niah_gen.build({**asked, "name": language}, tmp_path)
    proof = prove(folder, corpora=(CORPORA[language],))
    assert proof.problems == ()
    assert proof.not_rebuilt is None


@each_language
def test_needles_at_word_boundaries_are_placed_between_words(language: str) -> None:
    """In languages with spaces, a needle inside the text has white space on both sides."""
    asked = recipe(language, boundary="word", lengths=[700], depths=[0, 31, 100], needles=[FIRST[language]])
    for row in niah_gen.iter_rows(asked):
        assert row["boundary"] == "word"
        context, offset = context_of(row)
        start, end = row["needle_spans"][0]["start"] - offset, row["needle_spans"][0]["end"] - offset
        left, right = context[:start], context[end:]
        if left and right and joiner_of(language):
            assert left[-1].isspace()
            assert right[0].isspace()


FIRST = {code: find_needles(f"single-{code}")[0].id for code in CORPORA}


# Scores --------------------------------------------------------------------------------------------------------------


@each_language
def test_the_answer_or_the_needle_scores_100_and_another_fact_scores_0(language: str) -> None:
    rows = {row["needle_id"]: row for row in rows_in(language)}
    for row, other in product(rows.values(), repeat=2):
        target = target_of({**row})
        answers = [other["answers"][0], *(group[0] for group in other["keywords"]), other["needles"][0]]
        expected = 100.0 if row is other else 0.0
        for answer in answers:
            # A needle with several keywords has one fact of each group.
            if len(row["keywords"]) == 1 == len(other["keywords"]):
                assert judge_keyword(answer, target).value == expected, (row["needle_id"], answer)


@each_language
def test_every_listed_spelling_of_a_fact_scores_100(language: str) -> None:
    for row in {row["needle_id"]: row for row in rows_in(language)}.values():
        if len(row["keywords"]) == 1:
            for spelling in row["keywords"][0]:
                assert judge_keyword(spelling, target_of({**row})).value == 100.0, (row["needle_id"], spelling)


@each_language
def test_the_words_for_an_absent_answer_are_prescribed_and_recognised(language: str) -> None:
    words = find_language(language).prompt.not_stated
    row = next(niah_gen.iter_rows(recipe(language, controls=["absent"], depths=[50], lengths=[1000])))
    answers = [words, words.rstrip(".。"), f"“{words}”", f"**{words.rstrip('.。')}**"]
    target = target_of({**row})
    assert {finding_of(answer, target, "ok") for answer in answers} == {"said_absent"}
    twins = [one for one in niah_gen.iter_rows(recipe(language, controls=["absent"], depths=[50])) if one["control"]]
    assert {one["answers"][0] for one in twins} == {words}
    assert all(words.rstrip(".。") in str(one["prompt"]) for one in twins)


# Questions in another language ----------------------------------------------------------------------------------------

PAIRS = [("fr", "en"), ("es", "en"), ("ja", "en"), ("ar", "en"), ("en", "zh"), ("zh", "en")]


@pytest.mark.slow
@each(("language", "asked_in"), PAIRS)
def test_rows_with_questions_in_another_language_are_proved_and_scored(
    language: str, asked_in: str, tmp_path: Path
) -> None:
    ids = [needle.id for needle in find_needles(f"single-{language}") if needle.question_in(asked_in)]
    assert len(ids) == 10
    asked = recipe(
        language, needles=ids, question_language=asked_in, lengths=[1000], depths=[0, 50], controls=["absent"], name="x"
    )
    usual = {row["needle_id"]: row for row in rows_in(language)}
    folder = niah_gen.build(asked, tmp_path)
    assert prove(folder, corpora=(CORPORA[language],)).problems == ()
    for row in niah_gen.iter_rows(asked):
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
