"""Doubts: whatever makes a needle measure something other than retrieval is reported; good needles raise none."""

from __future__ import annotations

from typing import Any

from niah_gen.tasks.needle_doubts import doubts
from niah_gen.tasks.own_needles import parse_needle


def doubts_about(needles: str | list[str], question: str, answer: str, *keywords: Any, **more: Any) -> list[str]:
    table = {"id": "x", "needles": needles, "question": question, "answer": answer, "keywords": list(keywords), **more}
    needle, wrong = parse_needle(table)
    assert needle is not None, wrong
    return doubts(needle)


GATE, ASKED = "The gate of Ostrel is viridian.", "What colour is the gate of Ostrel?"
TEAMS = ["The upper team of Ostrel wears lilac.", "The lower team of Ostrel wears ochre."]
PAIRS = [{"text": "lilac", "of": "upper"}, {"text": "ochre", "of": "lower"}]
BRIDGE = ["The bridge of Ostrel cost what the Netherfold fund had yielded.", "The Netherfold fund yielded £2,746."]
FEAST = ["The fountain stops on Dunstall's birthday.", "Dunstall was born on 19 November."]
LION = ["石狮子是鼓楼的首任司更凿的。", "鼓楼的首任司更是佘问弦。"]


def test_every_kind_of_doubt_is_raised_and_only_that() -> None:
    cases: tuple[tuple[list[str], list[str]], ...] = (
        (doubts_about(GATE, ASKED, "Viridian.", "viridian"), []),
        (doubts_about("The gate is blue.", ASKED, "Viridian.", "viridian"), ["no needle holds a keyword of"]),
        (doubts_about(GATE, ASKED, "Jade.", "viridian"), ["the reference answer holds no keyword of ['viridian']"]),
        (doubts_about(GATE, ASKED, "Not viridian.", "viridian"), ["the reference answer voids its keyword of"]),
        (doubts_about(GATE, ASKED, "Viridian green.", {"text": "viridian", "rejects": ["green"]}),
         ["the reference answer voids its keyword of", "the question does not name 'green'"]),
        (doubts_about(GATE, "Is it Viridian?", "Viridian.", "viridian"), ["the question holds a keyword of"]),
        (doubts_about(GATE, ASKED, "Viridian.", "viridian", paraphrase="Or VIRIDIAN?"), ["the paraphrase holds a key"]),
        (doubts_about(GATE, ASKED, "Viridian."), ["no keywords"]),
        (doubts_about("塔有九百零七级台阶。", "塔有多少级台阶？", "九百零七级", "九百零七级"),
         ["'九百零七级' is a value matched as text"]),
        (doubts_about("It is in drawer 417.", "In which drawer?", "417", "417"), []),
        (doubts_about("It bears the mark TH4406K.", "Which mark?", "TH4406K", ["TH4406K", "TH 4406 K"]), []),
        (doubts_about(TEAMS, "What colour does each team wear?", "Lilac, ochre.", "lilac", "ochre"),
         ["the question asks for pairs"]),
        (doubts_about(TEAMS, "What colour does the upper and the lower team each wear?", "Upper lilac, lower ochre.",
                      *PAIRS), []),
    )  # fmt: skip
    for raised, expected in cases:
        assert len(raised) == len(expected), (raised, expected)
        assert all(start in sentence for sentence, start in zip(raised, expected, strict=True)), (raised, expected)


def test_a_question_with_other_valid_answers_is_reported_and_an_exact_one_is_not() -> None:
    cases: tuple[tuple[Any, str, str, str, str], ...] = (
        ("The archive keeps its register in drawer 417.", "417",
         "Where does the archive keep its register?", "keyword is a number", "In which drawer is it?"),
        ("The shed came to 1,318 feet.", "1318",
         "How long was the shed?", "does not name the unit, 'feet'", "How many feet long was it?"),
        (BRIDGE, "£2,746", "How much did the bridge cost?", "naming a currency", "How many pounds did it cost?"),
        (LION, "佘问弦", "石狮子是谁凿的？", "asks who", "凿石狮子的人叫什么名字？"),
        (FEAST, "19 November", "When does the fountain stop?", "asks when", "On which date does the fountain stop?"),
        (["The altar went to Fernhallow.", "Fernhallow stands in Gorren."], "Gorren",
         "Where is the altar?", "asks where", "In which town is the altar?"),
    )  # fmt: skip
    for needles, keyword, vague, message, exact in cases:
        assert [doubt for doubt in doubts_about(needles, vague, keyword, keyword) if message in doubt], vague
        assert doubts_about(needles, exact, keyword, keyword) == []
