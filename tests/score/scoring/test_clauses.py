"""Answers are split into clauses, and each clause is classified by its phrases."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from said_examples import CHINESE, ENGLISH

from niah_score.metrics import Target, default_metrics
from niah_score.scoring import phrases_en, phrases_zh
from niah_score.scoring.clauses import Clause, is_denial_alone, read_clauses, with_hints
from niah_score.scoring.score import SCORED_COLUMNS, ScoringOptions, score_chunk
from niah_score.text import fold

MILLION = 1_000_000
SAID = [fold(text) for text, _ in (*ENGLISH, *CHINESE)]
# The number of patterns that polars keeps compiled; see niah_score/scoring/clauses.py.
KEPT_PATTERNS = 32


def clauses(text: str) -> list[Clause]:
    (parts,) = read_clauses(pl.Series([fold(text)]))
    return parts


@each(
    ("text", "parts"),
    [
        ("It is not stated. Perhaps blue!", ["It is not stated. ", "Perhaps blue!"]),
        ("It is not stated, but blue; so.", ["It is not stated, ", "but blue;", " so."]),
        ("Although it is not stated, it is blue.", ["Although it is not stated,", " it is blue."]),
        ("It is blue, the text does not say why.", ["It is blue", ", the text does not say why."]),
        ("At 4.35 it is not stated in no. 7 (3.5).", ["At 4.35 it is not stated in no. ", "7 (3.5)."]),
        ("未提及原因，但是蓝色。不是红色；", ["未提及原因，", "但是蓝色。", "不是红色；"]),
        ("是蓝色，文中没有说明。", ["是蓝色", "，文中没有说明。"]),
        ("虽然没有说明，是蓝色。", ["虽然没有说明，", "是蓝色。"]),
    ],
)
def test_clauses_end_at_the_ends_of_sentences_and_at_contrasts(text: str, parts: list[str]) -> None:
    assert [clause.text for clause in clauses(text)] == [
        part.lower().translate({0xFF0C: ",", 0xFF1B: ";"}) for part in parts
    ]


def test_a_long_quotation_does_not_count_as_the_answers_own_words() -> None:
    quoted = '"the keeper does not know why it is blue at all"'
    (clause,) = clauses(f"the text does not mention it: {quoted}")
    assert (clause.text, clause.own) == (f"the text does not mention it: {quoted}", "the text does not mention it:  ")
    assert clauses(f"it says: {quoted}") == []
    (short,) = clauses('it is not stated that it is "blue"')
    assert short.own == short.text


@each(
    ("text", "flags"),
    [
        ("The text does not mention it.", {"denies"}),
        ("The text does not mention why.", {"denies", "is_other"}),
        ("I have no other information.", {"denies", "is_other"}),
        ("I cannot answer this question.", {"refuses", "of_question"}),
        ("I cannot answer this question from the text.", {"refuses", "denies", "of_question"}),
        ("This sentence is out of place.", {"sets_aside"}),
        ("I'm not sure.", {"is_unsure"}),
        ("I don't know, perhaps.", {"denies", "is_unsure", "guesses"}),
        ("But it is not stated.", {"denies", "contrasts"}),
        ("So it is not stated.", {"denies", "concludes"}),
        ("文中没有提到。", {"denies"}),
        ("文中没有提到原因。", {"denies", "is_other"}),
        ("我不能回答这个问题。", {"refuses", "of_question"}),
        ("但文中没有说明。", {"denies", "contrasts"}),
        ("我不确定。", {"is_unsure"}),
    ],
)
def test_a_clause_is_classified_by_its_phrases(text: str, flags: set[str]) -> None:
    (clause,) = clauses(text)
    names = (
        "denies",
        "is_other",
        "of_question",
        "refuses",
        "sets_aside",
        "is_unsure",
        "guesses",
        "contrasts",
        "concludes",
    )
    assert {name for name in names if getattr(clause, name)} == flags
    assert not clause.claims


@each(
    ("text", "claims"),
    [("It is blue.", True), ("Blue.", True), ("Drawer 512", True), ("蓝色", True), ("Unfortunately,", False),
     ("The text is about bees.", False), ("Please ask again.", False), ("文章主要讲养蜂。", False), ("抱歉。", False)],
)  # fmt: skip
def test_a_clause_claims_an_answer_unless_it_is_mere_talk(text: str, claims: bool) -> None:
    assert Clause(fold(text), fold(text)).claims is claims


@each("text", ["None", "n/a", "Not found.", "The answer is unknown.", "无", "答案：未提及。", "I don't know"])
def test_an_answer_can_be_a_denial_and_nothing_else(text: str) -> None:
    assert is_denial_alone(fold(text))


@each("text", ["Blue", "None but blue", "", "No.", "无锡", "Not blue."])
def test_an_answer_with_other_words_is_not_merely_a_denial(text: str) -> None:
    assert not is_denial_alone(fold(text))


fragments = st.sampled_from([part + " " for text in SAID for part in re.split("(?<=[,.;:。]) *", text) if part])


@examples(60)
@given(texts=st.lists(st.lists(fragments | st.text(max_size=6), max_size=5).map("".join).map(fold), max_size=5))
def test_texts_without_hints_deny_nothing(texts: list[str]) -> None:
    column = pl.Series(texts, dtype=pl.String)
    hinted = with_hints(column)
    for place, (text, parts) in enumerate(zip(texts, read_clauses(column), strict=True)):
        assert place in hinted or not (parts or is_denial_alone(text)), text


@examples(60)
@given(texts=st.lists(st.lists(fragments | st.text('\x01\x02\x00"“”「』a ', max_size=60), max_size=6).map("".join)))
def test_the_clauses_of_a_text_add_up_to_the_text(texts: list[str]) -> None:
    for text, parts in zip(texts, read_clauses(pl.Series(texts, dtype=pl.String)), strict=True):
        whole = re.sub("[\x01\x02]", " ", text)
        if parts:
            assert "".join(clause.text for clause in parts).replace(",", "").replace(" ", "") == whole.replace(
                ",", ""
            ).replace(" ", "")


def test_simplified_and_traditional_chinese_are_read_alike() -> None:
    for simplified, traditional in (
        ("文中没有说明原因。", "文中沒有說明原因。"),
        ("抱歉，我无法协助您。", "抱歉，我無法協助您。"),
        ("我不确定。", "我不確定。"),
        ("这句话与上下文无关。", "這句話與上下文無關。"),
    ):
        assert [clause[2:] for clause in clauses(simplified)] == [clause[2:] for clause in clauses(traditional)] != []


def test_english_and_chinese_list_the_same_kinds_of_phrases() -> None:
    for module in (phrases_en, phrases_zh):
        names = {name for name in vars(module) if name.isupper() and not name.startswith("_")}
        assert names == {
            "TELLS_NOT", "MAY_TELL_NOT", "SAYER", "SOURCE", "OF_MORE", "OTHER_MATTER", "ALONE", "SETS_ASIDE", "REFUSES",
            "UNSURE", "GUESSES", "OF_QUESTION", "OF_TALK", "CLAIMS", "CONCLUDES", "CONTRAST", "BREAKS", "CONCEDES",
            "HINTS",
        }  # fmt: skip


def test_scoring_searches_for_no_more_patterns_than_stay_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond that number every search compiles its pattern again, and scoring would take several times as long."""
    searched: set[str] = set()

    def watched(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, pattern: Any, *arguments: Any, **options: Any) -> Any:
            searched.add(str(pattern))
            return method(self, pattern, *arguments, **options)

        return call

    strings = type(pl.Series([""]).str)
    for name in ("contains", "extract", "extract_all", "extract_groups", "replace", "replace_all", "count_matches"):
        monkeypatch.setattr(strings, name, watched(getattr(strings, name)))
    columns = {
        name: pl.Series(name, [None] * len(SAID), dtype=pl.String) for name in SCORED_COLUMNS if name != "sample"
    } | {"sample": pl.Series("sample", [0] * len(SAID)), "text": pl.Series("text", SAID)}
    frame = pl.DataFrame(columns).with_columns(metric=pl.lit("keyword"))
    target = Target(("-",), (("turquoise",),))
    codes = pl.repeat(0, len(SAID), dtype=pl.UInt32, eager=True)
    score_chunk(frame.select(SCORED_COLUMNS), codes, [target], ScoringOptions(tuple(default_metrics())))
    assert 10 < len(searched) <= KEPT_PATTERNS - 4


def test_clauses_are_read_from_a_million_characters_in_linear_time() -> None:
    """Work that grows with the square of the length would not end within an hour."""
    parts = (
        "does not ", "not a a a a ", "与一", "没有", "no ", "sorry ", "is not is ", "a" * 50, '"', "“", "i cannot ",
        ",", ". ",
        "but ", "although ", "although a, ", "as an ai ", "根据", "没说", "it does not say ", "\x01", "这个问题", "i ",
        '"' + "a" * 30, "i'm not sure ",
    )  # fmt: skip
    column = pl.Series([part * (MILLION // len(part) // 4) for part in parts])
    assert len(read_clauses(column.gather(with_hints(column)))) == len(with_hints(column))
