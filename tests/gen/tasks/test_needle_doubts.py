"""Doubts: whatever makes a needle measure something other than retrieval is reported, and nothing else is."""

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
        (doubts_about("The shed came to 1,318 feet.", "How long was the shed?", "1318", "1318"), ["the unit, 'feet'"]),
        (doubts_about(["The bridge cost what the fund yielded.", "The fund yielded £2,746."],
                      "How much did the bridge cost?", "£2,746", "£2,746"), ["naming a currency"]),
        (doubts_about(["石狮子是首任司更凿的。", "首任司更是佘问弦。"], "石狮子是谁凿的？", "佘问弦", "佘问弦"),
         ["asks who"]),
        (doubts_about("It stops on 19 November.", "When does it stop?", "19 November", "19 November"), ["asks when"]),
        (doubts_about(["The altar went to Fernhallow.", "Fernhallow stands in Gorren."], "Where is the altar?",
                      "Gorren", "Gorren"), ["asks where"]),
    )  # fmt: skip
    for raised, expected in cases:
        assert len(raised) == len(expected), (raised, expected)
        assert all(start in sentence for sentence, start in zip(raised, expected, strict=True)), (raised, expected)
