"""Sentence ends and word ends, the places where a needle may go."""

from __future__ import annotations

import random
from collections.abc import Callable

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.haystacks.boundaries import sentence_ends, word_ends

steady = examples(150)


def marked(text: str) -> str:
    """The text with | at each sentence end."""
    for end in reversed(sentence_ends(text)):
        text = text[:end] + "|" + text[end:]
    return text


MARKED = [
    # english sentences end after punctuation and quotes before white space
    "One.| Two!| Three?|",
    "He said “go.”| She went (at once.)| [Then not.]|",
    "It was \"over.\"| 'Was it?'| Yes…|",
    "Really?!| Yes!!!|",
    "One.|\nTwo.|\n\nThree.|",
    "One.|\tTwo.|\u3000Three.|",
    "No end here",
    "A heading\n\nA sentence.|",
    # chinese sentence ends need no white space
    "今天很好。|明天呢？|好！|",
    "他说：“走吧。”|她走了。|",
    "（这是真的。）|他说。|",
    "《书里写道：好。》|「是的。」|『对！』|",
    "真的吗？！|是。|",
    "他想了想……|然后走了。|",
    "一个分句；另一个。|",
    "没有句号",
    "一，二、三：四",
    # full stops in abbreviations and numbers do not end sentences
    "Pi is 3.14 or so.|",
    "See www.example.com for it.|",
    "The U.S. Senate met.|",
    "Mr. Smith and Dr. Jones met Prof. Lee.|",
    "J. R. R. Tolkien wrote it.|",
    "At 9 a.m. Sunday it rained.|",
    "Cats, e.g. Tom, and dogs, i.e. Rex.|",
    "Tom vs. Jerry, No. 5, Fig. 3, pp. 4.|",
    "Acme Inc. Boston paid.|",
    "He waited. and then he left.|",
    "v1.2.3 is out.|",
    # words that merely resemble an abbreviation end sentences
    "He drank the tea.| It was cold.|",
    "He came first.| Then she.|",
    "We did it for Mo.| Joe left.|",
    # a sentence does not end before small letters
    "Wait... then go.| Stay.|",
    "“Why? because.” he said.|",
    "(Really!) and so on.|",
    # the number of a list item is not a sentence
    "1. Boil it.|\n2. Cool it.|",
    "It was 1999.| Then it was not.|",
    "\n  a. First.|",
    "他…走了。|",
]


def test_sentences_end_where_they_are_marked() -> None:
    assert [marked(text.replace("|", "")) for text in MARKED] == MARKED


def words(text: str, language: str) -> str:
    for end in reversed(word_ends(text, language)):
        text = text[:end] + "|" + text[end:]
    return text


@each("expected", ["One| two,| three.|", "  One|\n\ntwo| ", "don't|"])
def test_english_words_end_before_white_space(expected: str) -> None:
    assert words(expected.replace("|", ""), "en") == expected


@each("expected", ["我们|去|公园。|", "他|说：|“今天天气|很|好，|走|吧。”|", "然后| 他|走|了|（真的）。|", "好|\n"])
def test_chinese_words_include_the_punctuation_attached_to_them(expected: str) -> None:
    assert words(expected.replace("|", ""), "zh") == expected


def test_a_text_without_words_has_no_word_ends() -> None:
    assert word_ends("", "zh") == word_ends(" ", "zh") == word_ends("", "en") == word_ends(" \n", "en") == []


CLOSING = set(".!?…。！？\"'’”)]」』）》】")


@steady
@given(
    text=st.text(
        st.sampled_from("ab AB中文.!?…。！？；\"'’”)]（）」\n\t1,") | st.characters(codec="utf-8"), max_size=60
    )
)
def test_sentence_ends_follow_closing_punctuation_in_ascending_order(text: str) -> None:
    ends = sentence_ends(text)
    assert ends == sorted(set(ends))
    assert all(0 < end <= len(text) and text[end - 1] in CLOSING for end in ends)


@steady
@given(seed=st.integers(0, 2**32 - 1))
def test_a_sentence_end_without_chinese_punctuation_precedes_white_space(
    odd_text: Callable[[random.Random, int], str], seed: int
) -> None:
    text = odd_text(random.Random(seed), 25)
    for end in sentence_ends(text):
        stem = text[:end].rstrip("\"'’”)]」』）》】")
        assert stem[-1] in "。！？…" or end == len(text) or text[end].isspace()


# Other languages ------------------------------------------------------------------------------------------------------


def marked_in(text: str, language: str) -> str:
    for end in reversed(sentence_ends(text, language)):
        text = text[:end] + "|" + text[end:]
    return text


@each(
    ("language", "expected"),
    [
        ("fr", "«\u00a0Vous venez\u202f?\u00a0»| Oui\u202f!| Non."),
        ("fr", "« Vous venez ? » demanda-t-il.| Elle hésita…| Puis non."),
        ("fr", "M. Aubry et le Dr. Lenoir, p. ex. ici, p. 12.| Fin."),
        ("fr", "— Venez ? — dit-il.| Bien."),
        ("es", "¿Vienes?| ¡Claro!| «Ya voy», dijo."),
        ("es", "—¿Vienes? —preguntó Ana.| El Sr. Ibarra calló."),
        ("es", "«¿Y si no?», dijo.| Nada."),
        ("ar", "هل تأتي؟| نعم!| قال: «لا».| ثم مضى."),
        ("ar", "جاء د. سالم، ثم ذهب؛ ولم يعد.| انتهى۔| نعم."),
        ("ja", "今日は雨だ。|「そうだ。」と言った。|本当？|はい！|『終わり。』|次。"),
    ],
)
def test_sentences_end_by_the_rules_of_their_language(language: str, expected: str) -> None:
    expected = expected if expected.endswith("|") else f"{expected}|"
    assert marked_in(expected.replace("|", ""), language) == expected


@steady
@given(
    text=st.text(st.sampled_from("ab É.!?…؟۔。」»« \u00a0\u202fととя中") | st.characters(codec="utf-8"), max_size=60),
    language=st.sampled_from(["ar", "es", "fr", "ja"]),
)
def test_every_sentence_end_follows_a_mark_of_its_language(text: str, language: str) -> None:
    from niah_score.text.language import find_language

    rules = find_language(language).sentences
    marks = {*rules.marks, *"".join(rules.marks_anywhere), *"".join(rules.closers)}
    ends = sentence_ends(text, language)
    assert ends == sorted(set(ends))
    assert all(0 < end <= len(text) and text[end - 1] in marks for end in ends)


@each(
    ("language", "expected"),
    [("ja", "雨の|量を|量っていた。|ABCを|見た|"), ("fr", "Un|\u00a0deux,| trois.|"), ("ar", "نعم،| لا.|")],
)
def test_words_of_other_languages_end_before_white_space_or_after_hiragana(language: str, expected: str) -> None:
    assert words(expected.replace("|", ""), language) == expected
