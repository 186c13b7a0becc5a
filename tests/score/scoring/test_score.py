"""Scored rows have a status, a finding, the scores of the metrics asked for, and the score of their own metric."""

from __future__ import annotations

from typing import Any

import polars as pl
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from said_examples import SAID

from niah_score.metrics import Target
from niah_score.scoring.findings import FINDINGS, STATUSES, finding_of, languages_of, own_claims, own_finding
from niah_score.scoring.score import ScoringOptions, score_chunk
from niah_score.text import fold

# A row of the needle `gate` with a complete answer.
ROW: dict[str, Any] = {
    "sample": 0, "text": "The gate is blue.", "reasoning": None, "finish": None, "error": None, "metric": "keyword",
}  # fmt: skip
TARGET: dict[str, Any] = {
    "answers": ("The gate is blue.",), "keywords": (("blue", "azure"), ("gate",)), "needles": ("The gate is blue.",),
    "prefix": None, "language": "en", "decoys": (),
}  # fmt: skip
SCHEMA: dict[str, Any] = {**dict.fromkeys(ROW, pl.String), "sample": pl.Int64}
UNANSWERED = {"sample": None, "text": None}


def all_scored(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    frame = pl.DataFrame([{name: row.get(name, ROW[name]) for name in ROW} for row in rows], schema=SCHEMA)
    targets = [Target(**{name: row.get(name, TARGET[name]) for name in TARGET}) for row in rows]
    codes = pl.Series(range(len(targets)), dtype=pl.UInt32)
    return score_chunk(frame, codes, targets, ScoringOptions(metrics=("keyword",))).to_dicts()


STATES: list[tuple[dict[str, Any], str, str | None]] = [
    ({}, "ok", "found"), ({"text": "AZURE, the gate"}, "ok", "found"),
    ({"text": "The text does not say. Perhaps the gate is blue."}, "ok", "hedged"),
    ({"text": "The gate is blue. The text does not say why."}, "ok", "found"),
    ({"text": "The gate is green."}, "ok", "partly"), ({"text": "It does not mention a gate."}, "ok", "said_absent"),
    ({"text": "The lamp at the gate is red."}, "ok", "partly"), ({"text": "The lamp."}, "ok", "nothing"),
    ({"text": "The lamp is red."}, "ok", "nothing"),
    ({"text": "The lamp is red.", "decoys": (("red",),)}, "ok", "wrong_needle"),
    ({"text": "A coredlamp"}, "ok", "nothing"), ({"text": "The lamp is red, the gate is blue."}, "ok", "found"),
    ({"text": "I don't know."}, "ok", "said_absent"), ({"text": "The text does not mention it."}, "ok", "said_absent"),
    ({"text": "The text mentions a piano at the harbour\u2014nor its colour."}, "ok", "said_absent"),
    ({"text": "<think>blue gate</think>"}, "empty", "no_answer"),
    ({"text": "<think>blue gate</think>", "finish": "truncated"}, "think_unclosed", "truncated"),
    ({"text": "I'm sorry, but I can't assist with that."}, "ok", "refused"),
    ({"text": "", "finish": "refused"}, "refused", "refused"),
    ({"text": "The gate is blue.", "finish": "refused"}, "refused", "refused"),
    ({"finish": "truncated"}, "truncated", "found"),
    ({"text": "The gate is gr", "finish": "truncated"}, "truncated", "truncated"),
    ({"text": "I'm sorry, I can't help", "finish": "truncated"}, "truncated", "truncated"),
    ({"text": "<think>The gate is blue"}, "think_unclosed", "truncated"),
    ({"text": "<think>The gate is blue", "finish": "truncated"}, "think_unclosed", "truncated"),
    ({"text": "", "finish": "truncated", "reasoning": "The gate"}, "think_unclosed", "truncated"),
    ({"text": "", "finish": "truncated"}, "truncated", "truncated"), ({"text": " \n"}, "empty", "no_answer"),
    ({"text": None}, "empty", "no_answer"), ({**UNANSWERED, "error": "x", "finish": "refused"}, "missing", "no_answer"),
    ({"text": "<think>red", "error": "x", "finish": "refused"}, "error", "no_answer"),
    ({"text": "<think>red", "finish": "refused"}, "refused", "refused"),
    ({"text": " ", "finish": "truncated", "reasoning": "The gate"}, "think_unclosed", "truncated"),
    ({"text": " ", "finish": "truncated"}, "truncated", "truncated"),
    ({"text": " ", "finish": "stop", "reasoning": "The gate"}, "empty", "no_answer"),
    ({"text": "<think>red</think>", "finish": "stop"}, "empty", "no_answer"),
    ({"text": "<think>red</think>blue", "finish": "truncated"}, "truncated", "truncated"),
    ({"finish": "tool_calls"}, "ok", "found"), ({"finish": ""}, "ok", "found"),
    ({"text": None, "error": "rate limit"}, "error", "no_answer"),
    ({"error": "rate limit"}, "error", "no_answer"), (UNANSWERED, "missing", "no_answer"),
    ({"text": "<think>blue gate</think>It is red."}, "ok", "nothing"), ({"keywords": ()}, "ok", None),
    ({"keywords": (), "text": ""}, "empty", "no_answer"),
]  # fmt: skip


@each(("row", "status", "finding"), STATES)
def test_a_row_has_a_status_and_a_finding(row: dict[str, Any], status: str, finding: str | None) -> None:
    (result,) = all_scored(row)
    assert (result["status"], result["finding"]) == (status, finding)
    assert status in STATUSES
    assert finding is None or finding in FINDINGS


def test_the_text_of_a_row_is_scored_whatever_its_status() -> None:
    ends: list[dict[str, Any]] = [{"error": "rate limit"}, {"finish": "truncated"}, {"finish": "refused"}]
    assert [row["score"] for row in all_scored(*ends, {"text": "<think>blue gate"})] == [100, 100, 100, 0]


def test_every_row_has_the_score_of_its_own_metric() -> None:
    rows = [{"metric": "keyword"}, {"metric": "ruler_part", "text": "x the gate is blue. x"}, {"metric": "exact"}]
    results = all_scored(*rows)
    assert [row["score"] for row in results] == [100, 100, 100]
    assert [row["ruler_part"] for row in results] == [None, 100, None]
    assert [row["exact"] for row in results] == [None, None, 100]
    assert [row["keyword"] for row in results] == [100, 100, 100]


TURQUOISE = Target(("Turquoise.",), (("turquoise",),))
RAILING = {"en": TURQUOISE, "zh": Target(("靛蓝色。",), (("靛蓝", "靛藍"),), language="zh")}


def finding(text: str, target: Target = TURQUOISE, status: str = "ok") -> str | None:
    return finding_of(text, target, status)


def test_every_keyword_group_has_to_be_asserted() -> None:
    both = Target(("-",), (("blue",), ("red",)))
    assert finding("It is blue. The text does not say, perhaps red.", both) == "hedged"
    assert finding("It is not stated: blue, and red.", both) == "hedged"
    assert finding("It is blue. It is red. The text does not say why.", both) == "found"
    assert finding("It is blue. The rest is not mentioned in the text.", both) == "partly"


def test_a_fact_named_but_not_asserted_is_hedged_and_one_in_another_unit_is_nothing() -> None:
    drawer = Target(("417",), (("417",),), rejects=(("metres",),))
    assert finding("It is not drawer 417.", drawer) == "hedged"
    assert finding("Drawer 471, 417 or 714.", drawer) == "hedged"
    assert finding("417 metres", drawer) == "nothing"
    assert finding("It is not drawer 12.", drawer) == "nothing"
    assert finding("It is not drawer 12 but drawer 417.", drawer) == "found"


def test_a_denial_is_found_where_the_row_asks_for_one() -> None:
    none = Target(("none",), (("none", "not mentioned"),))
    for text in ("None.", "The number is not mentioned in the text.", "I cannot find it in the text: none"):
        assert finding(text, none) == "found"


def finding_in(answer: str, language: str, question_language: str = "") -> str | None:
    target = Target(
        ("438",), (("438",),), language=language, keyword_kinds=("number",), question_language=question_language
    )
    return finding_of(answer, target, "ok")


OTHERS = ("fr", "es", "ja", "ar")


@each(("language", "said"), SAID.items())
def test_what_an_answer_says_about_itself_is_recognised_in_its_language(
    language: str, said: list[tuple[str, str]]
) -> None:
    for answer, expected in said:
        found = finding_in(answer, language) if language in OTHERS else finding(answer, RAILING[language])
        assert found == expected, answer


def test_the_languages_of_the_question_and_of_the_text_both_count() -> None:
    for language, asked_in in (("fr", "es"), ("es", "fr"), ("en", "fr"), ("zh", "ar"), ("ja", "en")):
        for code in {language, asked_in} & set(OTHERS):
            for answer, expected in SAID[code][:2]:
                assert finding_in(answer, language, asked_in) == expected == "said_absent"
    assert languages_of("fr", "es") == ("es", "fr")
    assert languages_of("en", "zh") == languages_of("xx", "") == ()


def test_english_phrases_count_in_other_languages_but_not_the_reverse() -> None:
    assert finding_in("No se indica.", "en") == "nothing"
    assert finding_in("Not stated.", "fr") == "said_absent"


def test_a_wrong_answer_before_a_denial_is_still_a_wrong_answer() -> None:
    assert finding_in("Le tiroir 12. Le document ne précise pas l'étage.", "fr") == "nothing"


@examples(150)
@given(
    text=st.text(st.sampled_from("Je ne sais pas. Non «»。い わかりません؟ لا أعرف ") | st.characters(codec="utf-8"))
)
def test_any_text_is_classified_and_its_claims_are_shorter_than_it(text: str) -> None:
    folded = fold(text)
    for code in OTHERS:
        assert own_finding(folded, (code,)) in (None, "said_absent", "refused")
        left = own_claims(folded, (code,))
        assert left is None or len(left) < len(folded)
