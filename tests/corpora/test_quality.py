"""The quality measures of corpora find planted faults, and agree with slow and obvious counting."""

from __future__ import annotations

import random

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from quality import (
    longest_shared,
    misprints,
    repeated_across,
    repeated_within,
    runs,
    sentence_lengths,
    shared_runs,
    spread,
    units,
    vocabulary,
)  # fmt: skip

few = examples(100)
documents = st.lists(st.lists(st.sampled_from("abc\0"), max_size=30), max_size=4)


def common(one: list[str], other: list[str]) -> int:
    """The length of the longest run that two documents share, by trying every pair of places."""
    best = 0
    for i in range(len(one)):
        for j in range(len(other)):
            length = 0
            while i + length < len(one) and j + length < len(other) and one[i + length] == other[j + length] != "\0":
                length += 1
            best = max(best, length)
    return best


@few
@given(documents=documents)
def test_the_longest_shared_run_matches_an_exhaustive_search(documents: list[list[str]]) -> None:
    pairs = [(a, b) for i, a in enumerate(documents) for b in documents[:i]]
    assert longest_shared(documents) == max((common(a, b) for a, b in pairs), default=0)


@few
@given(documents=documents, length=st.integers(1, 5))
def test_repeated_and_shared_phrases_match_a_plain_count(documents: list[list[str]], length: int) -> None:
    phrases = [
        ["".join(d[i : i + length]) for i in range(len(d) - length + 1) if "\0" not in d[i : i + length]]
        for d in documents
    ]
    assert [["".join(run) for run in runs(d, length)] for d in documents] == phrases
    again = sum(phrase in d[:place] for d in phrases for place, phrase in enumerate(d))
    assert repeated_within(documents, length) == pytest.approx(100 * again / max(1, sum(map(len, phrases))))
    others = [[p for k, d in enumerate(phrases) if k != number for p in d] for number in range(len(phrases))]
    shared = sum(p in others[number] for number, d in enumerate(phrases) for p in set(d))
    assert repeated_across(documents, length) == pytest.approx(100 * shared / max(1, sum(len(set(d)) for d in phrases)))


def test_only_runs_of_at_least_the_given_length_are_found_within_or_across_documents() -> None:
    rng = random.Random(0)
    words = [[f"w{rng.randrange(10**9)}" for _ in range(200)] for _ in range(3)]
    assert shared_runs(words, 12) == []
    words[2][50:62] = words[0][80:92]
    assert [(one, other) for one, other, _ in shared_runs(words, 12)] == [(0, 2)]
    assert shared_runs(words, 13) == []
    words[1][100:112] = words[1][20:32]
    assert {(one, other) for one, other, _ in shared_runs(words, 12)} == {(0, 2), (1, 1)}


def test_quoted_names_and_punctuation_do_not_count() -> None:
    assert units('He read "The Long Way Home" twice, aloud.', "en") == ["he", "read", "\0", "twice", "aloud"]
    assert "".join(units("依《县道管理办法》，第3条。", "zh")) == "依\0第3条"
    assert units("Don't stop", "en") == units("don't, STOP!", "en")


def test_sentences_are_measured_in_words_or_characters() -> None:
    assert sentence_lengths(['One two three. "Four," he said. Five!'], "en") == [3, 3, 1]
    assert sentence_lengths(["一二三。四五，六七！\n八"], "zh") == [3, 4, 1]
    assert spread(range(1, 100)) == (10, 50, 90)


def test_a_vocabulary_is_counted_over_stretches_of_5000_words() -> None:
    assert vocabulary([" ".join(f"w{n % 7}" for n in range(5000))], "en") == 7
    assert vocabulary([" ".join(f"w{n}" for n in range(9999))], "en") == 5000
    assert vocabulary(["我们今天去图书馆看书。" * 1250], "zh") < 10
    assert vocabulary(["short"], "en") != vocabulary(["short"], "en"), "nan"


@each(
    ("language", "text", "problem"),
    [
        ("en", "All is well here.\n\nIt is.\n", None),
        ("en", 'She said, "Caf\u00e9s cost £3 (or $4)."\n', None),
        ("en", "Cafe\u0301s.\n", "not NFC"),
        ("en", "A dash \u2014 here.\n", "U+2014"),
        ("en", "It\u2019s.\n", "U+2019"),
        ("en", "A dash - here.\n", "a hyphen for a dash"),
        ("en", "Two  spaces.\n", "two spaces"),
        ("en", "Odd , comma.\n", "a space before punctuation"),
        ("en", "Well..\n", "full stops in a row"),
        ("en", "One line\nbroken.\n", "not one line each"),
        ("en", "Ends openly\n", "without closing punctuation"),
        ("en", 'An "odd quotation.\n', "quotation marks"),
        ("en", "\ufffd.\n", "U+FFFD"),
        ("zh", "一切都好。\n“真的？”他问——没人答……《归途》（2025年）。", None),
        ("zh", "一切,都好。", "half-width punctuation"),
        ("zh", "都好.", "half-width full stop"),
        ("zh", "都 好。", "white space"),
        ("zh", "２０２５年。", "full-width digits"),
        ("zh", "都好—吧。", "half a dash"),
        ("zh", "都好…。", "half an ellipsis"),
        ("zh", "都好，。", "punctuation in a row"),
        ("zh", "“都好。", "1 “ and 0 ”"),
        ("zh", "都好。\n\n是的。", "not one line each"),
        ("zh", "都好", "without closing punctuation"),
        ("zh", "都好😀。", "U+1F600"),
    ],
)
def test_departures_from_the_house_style_are_named(language: str, text: str, problem: str | None) -> None:
    problems = misprints(text, language)
    assert any(problem in one for one in problems) if problem else not problems, problems
