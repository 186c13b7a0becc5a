"""The status of a row is the most serious that applies; its finding follows from facts and what the answer says."""

from __future__ import annotations

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from said_examples import SAID

from niah_score.metrics import Target
from niah_score.scoring.findings import finding_of, languages_of, own_claims, own_finding
from niah_score.text import fold

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


def finding_in(answer: str, language: str, question_language: str = "") -> str | None:
    target = Target(
        ("438",), (("438",),), language=language, keyword_kinds=("number",), question_language=question_language
    )
    return finding_of(answer, target, "ok")


OTHERS = ("fr", "es", "ja", "ar")


@each(("language", "said"), SAID.items())
def test_what_an_answer_says_about_itself_is_recognised_by_the_phrases_of_its_language(
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
