"""Doubts: whatever makes a needle measure something other than retrieval is reported; good needles raise none."""

from __future__ import annotations

from typing import Any

from each import each

from niah_gen.tasks.needle_doubts import doubts
from niah_gen.tasks.needle_library import needle_files
from niah_gen.tasks.own_needles import parse_needle

GATE: dict[str, Any] = {
    "needle": "The gate of Ostrel is viridian.",
    "question": "What colour is the gate of Ostrel?",
    "answer": "Viridian.",
    "keywords": ["viridian"],
}


def doubts_about(**table: Any) -> list[str]:
    needle, wrong = parse_needle({"id": "x", **table})
    assert needle is not None, wrong
    return doubts(needle)


# The fact and the answers ---------------------------------------------------------------------------------------------


@each(
    ("change", "expected"),
    [
        ({}, []),
        ({"needle": "The gate of Ostrel is blue."}, ["no needle holds a keyword of ['viridian']"]),
        ({"answer": "Jade."}, ["the reference answer holds no keyword of ['viridian']"]),
        ({"answers": ["Viridian.", "Jade."]}, ["the accepted answer 'Jade.' holds no keyword of ['viridian']"]),
        ({"answer": "Not viridian."}, ["the reference answer voids its keyword of ['viridian']"]),
        (
            {"answer": "Viridian green.", "keywords": [{"text": "viridian", "rejects": ["green"]}]},
            ["the reference answer voids its keyword of ['viridian']", "the question does not name 'green'"],
        ),
        ({"question": "Is the gate of Ostrel Viridian?"}, ["the question holds a keyword of ['viridian']"]),
        ({"paraphrase": "Or VIRIDIAN?"}, ["the paraphrase holds a keyword of ['viridian']"]),
        ({"question": "Is the gate of Ostrel viridianish?"}, []),
        ({"keywords": []}, ["no keywords"]),
        (
            {"keywords": ["viridian", ["gate", "door"], "post"]},
            [
                "the reference answer holds no keyword of ['gate', 'door']",
                "the question holds a keyword of ['gate', 'door']",
                "no needle holds a keyword of ['post']",
                "the reference answer holds no keyword of ['post']",
            ],
        ),
        ({"keywords": [r"viri\w+"], "metric": "keyword_regex"}, []),
    ],
)
def test_a_keyword_must_be_in_the_needle_and_answer_but_not_in_the_question(
    change: dict[str, Any], expected: list[str]
) -> None:
    raised = doubts_about(**{**GATE, **change})
    assert len(raised) == len(expected), raised
    assert all(sentence.startswith(start) for sentence, start in zip(raised, expected, strict=True)), raised


# Values ---------------------------------------------------------------------------------------------------------------


@each(
    ("needle", "question", "keyword"),
    [
        ("It is in drawer 417.", "In which drawer is it?", "drawer 417"),
        ("It is in drawer 417.", "Where is it?", "drawer 417"),
        ("It is on page 93 of the ledger.", "What does the ledger say?", "on page 93"),
        ("It came to 1,318 feet.", "How many feet long is it?", "1,318 feet"),
        ("It came to 1318ft.", "How many ft long is it?", "1318ft"),
        ("The tower has forty-six steps.", "How many steps has the tower?", "forty-six steps"),
        ("They leave by the 19:52 train.", "By which train do they leave?", "19:52 train"),
        ("It is blessed on 02-23.", "On which date is it blessed?", "02-23"),
        ("It was in 1931.", "In which year was it?", ["the year after the flood", "1931"]),
        ("登记簿在第283号铁柜里。", "登记簿在第几号铁柜里？", "第283号铁柜"),
        ("塔有九百零七级台阶。", "塔有多少级台阶？", "九百零七级"),
    ],
)
def test_a_value_matched_as_text_is_reported(needle: str, question: str, keyword: Any) -> None:
    answer = keyword if isinstance(keyword, str) else keyword[-1]
    raised = doubts_about(needle=needle, question=question, answer=answer, keywords=[keyword])
    assert [doubt for doubt in raised if "is a value matched as text" in doubt], raised


@each(
    ("needle", "question", "keyword"),
    [
        ("It is in drawer 417.", "In which drawer is it?", "417"),
        ("It is in drawer 417.", "In which drawer is it?", {"number": 417}),
        ("It bears the mark TH4406K.", "Which mark does it bear?", ["TH4406K", "TH 4406 K"]),
        ("Agent 007 signed it.", "Which agent signed it?", "007"),
        ("The boat is called Seven Sisters.", "What is the boat called?", "Seven Sisters"),
        ("He was born in Twelve Oaks.", "In which town was he born?", "Twelve Oaks"),
        ("They drove along Route 66.", "Along what did they drive?", "Route 66"),
        ("They flew a B52.", "Which plane did they fly?", "B52"),
        ("It runs version 2.0.1.", "Which version does it run?", "2.0.1"),
        ("他生在三桥镇。", "他生在哪个镇？", "三桥镇"),
        ("狗叫半担米。", "狗叫什么名字？", "半担米"),
        ("曲子是《十面埋伏》。", "曲子叫什么？", "十面埋伏"),
    ],
)
def test_codes_and_names_that_contain_numbers_may_be_matched_as_text(needle: str, question: str, keyword: Any) -> None:
    assert doubts_about(needle=needle, question=question, keywords=[keyword]) == []


# Pairs ----------------------------------------------------------------------------------------------------------------

TEAMS: dict[str, Any] = {
    "needles": ["The upper team of Ostrel wears lilac.", "The lower team of Ostrel wears ochre."],
    "answer": "The upper team lilac, the lower team ochre.",
    "keywords": ["lilac", "ochre"],
}
BOATS: dict[str, Any] = {
    "needles": ["箬浦的上街队穿藕荷色。", "箬浦的下街队穿秋香色。"],
    "answer": "上街队藕荷色，下街队秋香色。",
    "keywords": ["藕荷", "秋香"],
}


@each(
    ("table", "question"),
    [
        (TEAMS, "What colours do the upper and the lower team of Ostrel wear, respectively?"),
        (TEAMS, "What colour does each team of Ostrel wear?"),
        (TEAMS, "Which colour is worn by each of the teams of Ostrel?"),
        (TEAMS, "What do the upper and the lower team wear, in that order?"),
        (TEAMS, "Who of Ostrel wears which colour?"),
        (TEAMS, "Which colour is worn by whom?"),
        (BOATS, "箬浦各队分别穿什么颜色？"),
        (BOATS, "箬浦每支队伍穿什么颜色？"),
        (BOATS, "箬浦各队穿什么颜色？"),
        (BOATS, "箬浦的上街队和下街队依次穿什么颜色？"),
    ],
)
def test_a_question_about_pairs_is_reported_unless_its_keywords_are_pairs(table: dict[str, Any], question: str) -> None:
    raised = doubts_about(**table, question=question)
    assert [doubt for doubt in raised if doubt.startswith("the question asks for pairs")], raised
    owners = ("上街", "下街") if table is BOATS else ("upper", "lower")
    pairs = [{"text": text, "of": owner} for text, owner in zip(table["keywords"], owners, strict=True)]
    assert doubts_about(**{**table, "keywords": pairs}, question=question) == []


@each(
    ("table", "question"),
    [
        (TEAMS, "Which colours do the teams of Ostrel wear?"),
        (TEAMS, "Which colours are worn in Ostrel each year?"),
        (TEAMS, "Which colours are worn in Ostrel each Michaelmas?"),
        (TEAMS, "Which of the colours are worn in Ostrel?"),
        (BOATS, "箬浦能见到哪些颜色？"),
        (BOATS, "箬浦每年能见到哪些颜色？"),
        (BOATS, "箬浦赛船时各种颜色里有哪些？"),
    ],
)
def test_a_question_about_a_set_is_not_taken_for_one_about_pairs(table: dict[str, Any], question: str) -> None:
    assert doubts_about(**table, question=question) == []


def test_a_question_about_one_fact_is_not_taken_for_one_about_pairs() -> None:
    assert doubts_about(**{**GATE, "question": "What colour is each gate of Ostrel?"}) == []


# Questions with other valid answers -----------------------------------------------------------------------------------

PUPIL = {"needle": "Tamsin learned her trade from a ferryman called Piet Hallorane.", "answer": "Hallorane."}
MARCH = {"needle": "The band closes with the slow march Farewell to Ostrel.", "answer": "Farewell to Ostrel."}
DRAWER = {"needle": "The archive keeps its register in drawer 417.", "answer": "Drawer 417."}
BOARDING = {"needle": "The pupils board at Dulsmere on the mainland.", "answer": "At Dulsmere."}
SHED = {"needle": "The shed came to 1,318 feet.", "answer": "1,318 feet."}
TRAIN = {"needle": "The last train leaves at 19:52, after the mail.", "answer": "At 19:52."}
GIFTS = {"needle": "They get two pairs of lambswool socks.", "answer": "Two pairs of lambswool socks."}
BRIDGE = {
    "needles": [
        "The bridge of Ostrel cost what the Netherfold fund had yielded.",
        "The Netherfold fund yielded £2,746.",
    ],
    "answer": "£2,746.",
}
LIONS = {"needles": ["石狮子是鼓楼的首任司更凿的。", "鼓楼的首任司更是佘问弦。"], "answer": "佘问弦。"}
FEAST = {
    "needles": ["The fountain stops on Dunstall's birthday.", "Dunstall was born on 19 November."],
    "answer": "19 November.",
}
ALTAR = {"needles": ["The altar went to Fernhallow.", "Fernhallow stands in Gorren."], "answer": "In Gorren."}


@each(
    ("table", "keyword", "vague", "message", "exact"),
    [
        (PUPIL, "Hallorane", "From whom did Tamsin learn her trade?", "ferryman", "What was Tamsin's teacher called?"),
        (PUPIL, "Hallorane", "Who taught Tamsin?", "ferryman", "From which ferryman did Tamsin learn?"),
        (
            MARCH,
            "Farewell to Ostrel",
            "With what does the band close?",
            "slow march",
            "Which march does the band close?",
        ),
        (DRAWER, "417", "Where does the archive keep its register?", "keyword is a number", "In which drawer is it?"),
        (BOARDING, "Dulsmere", "Where do the pupils board?", "on the mainland", "In which place on the mainland?"),
        (SHED, "1318", "How long was the shed?", "does not name the unit, 'feet'", "How many feet long was it?"),
        (TRAIN, "19:52", "When does the last train leave?", "asks when", "At what time does the last train leave?"),
        (GIFTS, "lambswool", "What do they get?", "does not name 'pairs'", "Of which wool are the two pairs of socks?"),
        (
            BRIDGE,
            "£2,746",
            "How much did the bridge of Ostrel cost?",
            "naming a currency",
            "How many pounds did it cost?",
        ),
        (LIONS, "佘问弦", "石狮子是谁凿的？", "asks who", "凿石狮子的人叫什么名字？"),
        (FEAST, "19 November", "When does the fountain stop?", "asks when", "On which date does the fountain stop?"),
        (ALTAR, "Gorren", "Where is the altar?", "asks where", "In which town is the altar?"),
    ],
)
def test_a_question_with_other_valid_answers_is_reported_and_an_exact_one_is_not(
    table: dict[str, Any], keyword: str, vague: str, message: str, exact: str
) -> None:
    raised = doubts_about(**table, keywords=[keyword], question=vague)
    assert [doubt for doubt in raised if message in doubt], raised
    assert doubts_about(**table, keywords=[keyword], question=exact) == []
    raised = doubts_about(**table, keywords=[keyword], question=exact, paraphrase=vague)
    assert [doubt for doubt in raised if doubt.startswith("the paraphrase")] or message == "does not name 'pairs'", (
        raised
    )


def test_asking_who_is_reported_when_the_needle_also_describes_the_person() -> None:
    keepers = {
        "needles": [
            "A fiddler by the name of Rufus Oskerry kept the lock.",
            "Edda Marl, a saddler's daughter, kept it.",
        ],
        "answer": "Rufus Oskerry and Edda Marl.",
        "keywords": ["Oskerry", "Marl"],
    }
    assert len(doubts_about(**keepers, question="Who has kept the lock?")) == 1
    assert doubts_about(**keepers, question="What are the names of those who have kept the lock?") == []
    assert doubts_about(
        needle="手艺是跟一位名叫邵渡生的船工学的。", question="手艺是跟谁学的？", answer="邵渡生。", keywords=["邵渡生"]
    )


@each(
    "table",
    [
        {
            "needle": "Ann Holt keeps the key.",
            "question": "Who keeps the key?",
            "answer": "Ann Holt.",
            "keywords": ["Holt"],
        },
        {"needle": "The key hangs in the pantry.", "question": "Where does the key hang?", "keywords": ["pantry"]},
        {"needle": "The cat is 12 years old.", "question": "How old is the cat?", "keywords": ["12"]},
        {"needle": "A ticket costs £4.35.", "question": "How much does a ticket cost?", "keywords": ["4.35"]},
        {
            "needle": "The shop shuts on Mondays.",
            "question": "When does the shop shut?",
            "keywords": [["Monday", "Mondays"]],
        },
        {"needle": "They meet at noon.", "question": "At what time do they meet?", "keywords": ["noon"]},
        {
            "needle": "The goose answers to Dowsabel.",
            "question": "Which name does the goose bear?",
            "keywords": ["Dowsabel"],
        },
        {
            "needle": "The yacht Bella won.",
            "question": "Which yacht won?",
            "answer": "The Bella.",
            "keywords": ["Bella"],
        },
        {
            "needle": "The box lay in Dulsmere in the evening.",
            "question": "Where did the box lie?",
            "keywords": ["Dulsmere"],
        },
        {"needle": "石堤一共2918步。", "question": "石堤有多少步？", "answer": "2918步。", "keywords": ["2918"]},
        {"needle": "雕版运到了雉尾泾。", "question": "雕版运到了哪里？", "answer": "雉尾泾。", "keywords": ["雉尾泾"]},
        {"needle": "一晚要付1173元。", "question": "一晚要付多少钱？", "answer": "1173元。", "keywords": ["1173"]},
        {"needle": "船名是逐鲳号。", "question": "船叫什么名字？", "answer": "逐鲳号。", "keywords": ["逐鲳"]},
    ],
)
def test_good_needles_raise_no_doubts(table: dict[str, Any]) -> None:
    assert doubts_about(**table) == []


def test_our_library_raises_no_doubts() -> None:
    ours = [needle for name, members in needle_files().items() if name[-3:] in ("-en", "-zh") for needle in members]
    assert len(ours) == 94
    assert {needle.id: raised for needle in ours if (raised := doubts(needle))} == {}
