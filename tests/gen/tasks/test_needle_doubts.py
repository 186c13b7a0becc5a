"""Doubts: whatever makes a needle measure something other than retrieval is reported; good needles raise none."""

from __future__ import annotations

from typing import Any

from niah_gen.tasks.needle_doubts import doubts
from niah_gen.tasks.needle_library import needle_files
from niah_gen.tasks.own_needles import parse_needle


def doubts_about(**table: Any) -> list[str]:
    needle, wrong = parse_needle({"id": "x", **table})
    assert needle is not None, wrong
    return doubts(needle)


def test_a_keyword_must_be_in_the_needle_and_answer_but_not_in_the_question() -> None:
    gate = {"needle": "The gate of Ostrel is viridian.", "question": "What colour is the gate of Ostrel?"}
    gate |= {"answer": "Viridian.", "keywords": ["viridian"]}  # type: ignore[dict-item]
    held = "holds no keyword of"
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({}, []),
        ({"needle": "The gate of Ostrel is blue."}, ["no needle holds a keyword of ['viridian']"]),
        ({"answer": "Jade."}, [f"the reference answer {held} ['viridian']"]),
        ({"answer": "Not viridian."}, ["the reference answer voids its keyword of ['viridian']"]),
        ({"answer": "Viridian green.", "keywords": [{"text": "viridian", "rejects": ["green"]}]},
         ["the reference answer voids its keyword of ['viridian']", "the question does not name 'green'"]),
        ({"question": "Is the gate of Ostrel Viridian?"}, ["the question holds a keyword of ['viridian']"]),
        ({"paraphrase": "Or VIRIDIAN?"}, ["the paraphrase holds a keyword of ['viridian']"]),
        ({"keywords": []}, ["no keywords"]),
        ({"keywords": ["viridian", ["gate", "door"], "post"]},
         [f"the reference answer {held} ['gate', 'door']", "the question holds a keyword of ['gate', 'door']",
          "no needle holds a keyword of ['post']", f"the reference answer {held} ['post']"]),
    ]  # fmt: skip
    for change, expected in cases:
        raised = doubts_about(**{**gate, **change})
        assert len(raised) == len(expected), raised
        assert all(sentence.startswith(start) for sentence, start in zip(raised, expected, strict=True)), raised


def test_a_value_matched_as_text_is_reported_but_no_code_or_name() -> None:
    unreported = []
    for needle, question, keyword in (
        ("It is in drawer 417.", "In which drawer is it?", "drawer 417"),
        ("It came to 1,318 feet.", "How many feet long is it?", "1,318 feet"),
        ("The tower has forty-six steps.", "How many steps has the tower?", "forty-six steps"),
        ("It is blessed on 02-23.", "On which date is it blessed?", "02-23"),
        ("塔有九百零七级台阶。", "塔有多少级台阶？", "九百零七级"),
    ):
        raised = doubts_about(needle=needle, question=question, answer=keyword, keywords=[keyword])
        unreported += [] if any("is a value matched as text" in doubt for doubt in raised) else [keyword]
    raised = doubts_about(needle="It was in 1931.", question="In which year?", answer="1931", keywords=[["it", "1931"]])
    assert [doubt for doubt in raised if "is a value matched as text" in doubt]
    assert unreported == []
    others: tuple[tuple[str, str, Any], ...] = (
        ("It is in drawer 417.", "In which drawer is it?", "417"),
        ("It bears the mark TH4406K.", "Which mark does it bear?", ["TH4406K", "TH 4406 K"]),
        ("He was born in Twelve Oaks.", "In which town was he born?", "Twelve Oaks"),
        ("They flew a B52.", "Which plane did they fly?", "B52"),
        ("他生在三桥镇。", "他生在哪个镇？", "三桥镇"),
    )
    for needle, question, other in others:
        assert doubts_about(needle=needle, question=question, keywords=[other]) == []


TEAMS: dict[str, Any] = {
    "needles": ["The upper team of Ostrel wears lilac.", "The lower team of Ostrel wears ochre."],
    "answer": "The upper team lilac, the lower team ochre.", "keywords": ["lilac", "ochre"],
}  # fmt: skip
BOATS: dict[str, Any] = {
    "needles": ["箬浦的上街队穿藕荷色。", "箬浦的下街队穿秋香色。"], "answer": "上街队藕荷色，下街队秋香色。",
    "keywords": ["藕荷", "秋香"],
}  # fmt: skip


def test_a_question_about_pairs_is_reported_unless_its_keywords_are_pairs() -> None:
    for table, question in (
        (TEAMS, "What colours do the upper and the lower team of Ostrel wear, respectively?"),
        (TEAMS, "What colour does each team of Ostrel wear?"),
        (TEAMS, "Who of Ostrel wears which colour?"),
        (BOATS, "箬浦各队分别穿什么颜色？"),
        (BOATS, "箬浦各队穿什么颜色？"),
    ):
        raised = doubts_about(**table, question=question)
        assert [doubt for doubt in raised if doubt.startswith("the question asks for pairs")], raised
        owners = ("上街", "下街") if table is BOATS else ("upper", "lower")
        pairs = [{"text": text, "of": owner} for text, owner in zip(table["keywords"], owners, strict=True)]
        assert doubts_about(**{**table, "keywords": pairs}, question=question) == []
    for table, question in (
        (TEAMS, "Which colours do the teams of Ostrel wear?"),
        (TEAMS, "Which colours are worn in Ostrel each year?"),
        (BOATS, "箬浦能见到哪些颜色？"),
        (BOATS, "箬浦每年能见到哪些颜色？"),
    ):
        assert doubts_about(**table, question=question) == []
    one = {"needle": "The gate is jade.", "answer": "Jade.", "keywords": ["jade"]}
    assert doubts_about(**one, question="What colour is each gate?") == []


BRIDGE = ["The bridge of Ostrel cost what the Netherfold fund had yielded.", "The Netherfold fund yielded £2,746."]
FEAST = ["The fountain stops on Dunstall's birthday.", "Dunstall was born on 19 November."]


def test_a_question_with_other_valid_answers_is_reported_and_an_exact_one_is_not() -> None:
    cases: tuple[tuple[Any, str, str, str, str, str], ...] = (
        ("Tamsin learned her trade from a ferryman called Piet Hallorane.", "Hallorane.", "Hallorane",
         "From whom did Tamsin learn her trade?", "ferryman", "What was Tamsin's teacher called?"),
        ("The archive keeps its register in drawer 417.", "Drawer 417.", "417",
         "Where does the archive keep its register?", "keyword is a number", "In which drawer is it?"),
        ("The pupils board at Dulsmere on the mainland.", "At Dulsmere.", "Dulsmere",
         "Where do the pupils board?", "on the mainland", "In which place on the mainland?"),
        ("The shed came to 1,318 feet.", "1,318 feet.", "1318",
         "How long was the shed?", "does not name the unit, 'feet'", "How many feet long was it?"),
        (BRIDGE, "£2,746.", "£2,746",
         "How much did the bridge of Ostrel cost?", "naming a currency", "How many pounds did it cost?"),
        (["石狮子是鼓楼的首任司更凿的。", "鼓楼的首任司更是佘问弦。"], "佘问弦。", "佘问弦",
         "石狮子是谁凿的？", "asks who", "凿石狮子的人叫什么名字？"),
        (FEAST, "19 November.", "19 November",
         "When does the fountain stop?", "asks when", "On which date does the fountain stop?"),
        (["The altar went to Fernhallow.", "Fernhallow stands in Gorren."], "In Gorren.", "Gorren",
         "Where is the altar?", "asks where", "In which town is the altar?"),
    )  # fmt: skip
    for needles, answer, keyword, vague, message, exact in cases:
        table = {"needles": needles, "answer": answer, "keywords": [keyword]}
        assert [doubt for doubt in doubts_about(**table, question=vague) if message in doubt], vague
        assert doubts_about(**table, question=exact) == []
        raised = doubts_about(**table, question=exact, paraphrase=vague)
        assert [doubt for doubt in raised if doubt.startswith("the paraphrase")] or "pairs" in message, raised


def test_asking_who_is_reported_when_the_needle_also_describes_the_person() -> None:
    keepers = {
        "needles": ["A fiddler by the name of Rufus Oskerry kept it.", "Edda Marl, a saddler's daughter, kept it."],
        "answer": "Rufus Oskerry and Edda Marl.", "keywords": ["Oskerry", "Marl"],
    }  # fmt: skip
    assert len(doubts_about(**keepers, question="Who has kept it?")) == 1
    assert doubts_about(**keepers, question="What are the names of those who have kept it?") == []
    learned = {"needle": "手艺是跟一位名叫邵渡生的船工学的。", "answer": "邵渡生。", "keywords": ["邵渡生"]}
    assert doubts_about(**learned, question="手艺是跟谁学的？")


def test_good_needles_raise_no_doubts() -> None:
    for needle, question, answer, keyword in (
        ("Ann Holt keeps the key.", "Who keeps the key?", "Ann Holt.", "Holt"),
        ("A ticket costs £4.35.", "How much does a ticket cost?", "£4.35.", "4.35"),
        ("The shop shuts on Mondays.", "When does the shop shut?", "On Mondays.", "Mondays"),
        ("The yacht Bella won.", "Which yacht won?", "The Bella.", "Bella"),
        ("石堤一共2918步。", "石堤有多少步？", "2918步。", "2918"),
        ("一晚要付1173元。", "一晚要付多少钱？", "1173元。", "1173"),
    ):
        assert doubts_about(needle=needle, question=question, answer=answer, keywords=[keyword]) == [], needle
    ours = [needle for name, members in needle_files().items() if name[-3:] in ("-en", "-zh") for needle in members]
    assert len(ours) == 94
    assert {needle.id: raised for needle in ours if (raised := doubts(needle))} == {}
