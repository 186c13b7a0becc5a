"""The finding of a row follows from the facts in its answer and from what the answer says about itself."""

from __future__ import annotations

from each import each
from said_examples import CHINESE, ENGLISH

from niah_score.metrics import Target
from niah_score.scoring.findings import finding_of

TURQUOISE = Target(("Turquoise.",), (("turquoise",),))
INDIGO = Target(("靛蓝色。",), (("靛蓝", "靛藍"),), language="zh")


def finding(text: str, target: Target = TURQUOISE, status: str = "ok") -> str | None:
    return finding_of(text, target, status)


@each(("text", "expected"), ENGLISH)
def test_what_an_english_answer_says_about_itself_is_recognised(text: str, expected: str) -> None:
    assert finding(text) == expected


@each(("text", "expected"), CHINESE)
def test_what_a_chinese_answer_says_about_itself_is_recognised(text: str, expected: str) -> None:
    assert finding(text, INDIGO) == expected


def test_each_language_has_at_least_60_examples_and_many_are_ordinary_answers() -> None:
    for examples_, answers in ((ENGLISH, 45), (CHINESE, 30)):
        assert len({text for text, _ in examples_}) == len(examples_) >= 60
        assert sum(expected in ("found", "nothing") for _, expected in examples_) >= answers


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


@each(
    ("status", "expected"),
    [("missing", "no_answer"), ("empty", "no_answer"), ("error", "no_answer"), ("refused", "refused"),
     ("think_unclosed", "truncated"), ("truncated", "truncated")],
)  # fmt: skip
def test_the_status_that_the_stack_reported_comes_first(status: str, expected: str) -> None:
    for text in ("It is not mentioned in the text.", "I cannot help with that."):
        assert finding(text, status=status) == expected


def test_a_row_without_keywords_has_no_finding() -> None:
    assert finding("I cannot help with that.", Target(("-",))) is None
