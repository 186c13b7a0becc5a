"""Language files are read strictly, with all problems reported at once, and users can add their own."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from each import each

from niah_score.errors import LanguageError
from niah_score.text.language import (
    ALWAYS_READ,
    SHIPPED,
    MatchingRules,
    find_language,
    is_own_language,
    known_language,
    language_codes,
    parse_language,
    rules_code,
)
from niah_score.text.values import folded_pattern

SMALLEST = """
name = "Welsh"
joiner = " "
words = "spaces"

[sentences]
marks = ".!?"

[prompt]
instruction = "Ateb."
document = "dogfen"
question = "Cwestiwn: {question}"
answer = "Ateb:"
not_stated = "Heb ei nodi."
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NIAH_LANGUAGES", str(tmp_path))
    return tmp_path


def test_the_files_of_all_six_shipped_languages_are_read() -> None:
    assert language_codes() == ("en", "zh", "ar", "es", "fr", "ja")
    assert {find_language(code).code for code in language_codes()} == {path.stem for path in SHIPPED.glob("*.toml")}
    assert not any(map(is_own_language, language_codes()))


def test_only_english_and_chinese_add_no_rules_to_those_of_every_text() -> None:
    assert [code for code in language_codes() if not rules_code(code)] == list(ALWAYS_READ)


def test_the_instruction_contains_the_words_for_not_stated_once() -> None:
    for code in language_codes():
        words = find_language(code).prompt
        assert words.instruction.count(words.not_stated.rstrip(".。")) == 1


def test_a_language_without_a_file_is_refused_with_advice_on_what_to_write() -> None:
    with pytest.raises(LanguageError, match=r"'cy' has no file; .* write cy\.toml with name, .*\$NIAH_LANGUAGES"):
        find_language("cy")
    assert known_language("cy") is None
    assert rules_code("cy") == ""


def test_a_users_own_file_is_found_and_read_again_when_it_changes(folder: Path) -> None:
    (folder / "cy.toml").write_text(SMALLEST, "utf-8")
    (folder / "README.toml").write_text("no = language", "utf-8")
    assert language_codes()[-1] == "cy"
    assert is_own_language("cy")
    one = find_language("cy")
    assert (one.name, one.matching, one.bytes_per_token) == ("Welsh", None, 4.0)
    (folder / "cy.toml").write_text(SMALLEST.replace("Welsh", "Cymraeg (Welsh)"), "utf-8")
    other = find_language("cy")
    assert other.name == "Cymraeg (Welsh)"
    assert one.sha256 != other.sha256


def test_a_shipped_language_cannot_be_replaced(folder: Path) -> None:
    (folder / "fr.toml").write_text(SMALLEST, "utf-8")
    assert find_language("fr").name == "French"
    assert not is_own_language("fr")


def test_all_problems_of_a_file_are_reported_at_once(folder: Path) -> None:
    (folder / "cy.toml").write_text(
        """
joiner = "-"
words = "tokens"
bytes_per_token = 0
direktion = "rtl"
[sentences]
marks = ""
closers = [1]
[prompt]
instruction = "Ateb."
document = "dwy ddogfen"
question = "Cwestiwn"
answer = "Ateb:"
[matching]
letters = {ab = "a"}
months = [["Ionawr"]]
dates = ["{day}"]
numbers = {un = 1.5}
money = {eur = ["ewro"]}
denied_before = ["(", "x*"]
""",
        "utf-8",
    )
    with pytest.raises(LanguageError) as raised:
        find_language("cy")
    message = str(raised.value)
    for expected in (
        "16 problems", "name: is missing; expected a text", "joiner: found '-'; expected one of ' ', ''",
        "words: found 'tokens'", "bytes_per_token: found 0; expected a finite number above 0",
        "direktion: unknown field", "sentences.marks: found ''", "sentences.closers: found [1]",
        "prompt.document: found 'dwy ddogfen'", "prompt.not_stated: is missing",
        "prompt.question: found 'Cwestiwn'; expected a text that holds {question} once", "matching.letters",
        "matching.months: found", "matching.numbers", "matching.money",
        "matching.dates: found ['{day}']; expected a list of texts, each with {day} and {month} once",
        "matching.denied_before: found ['(', 'x*']; expected a list of regular expressions",
    ):  # fmt: skip
        assert expected in message, (expected, message)


@pytest.mark.parametrize("text", ["name =", "\ufeffname = 1 = 2"])
def test_a_file_that_is_not_toml_is_refused(text: str, folder: Path) -> None:
    (folder / "cy.toml").write_text(text, "utf-8")
    with pytest.raises(LanguageError, match="cannot be read as TOML"):
        find_language("cy")


def test_every_field_of_the_smallest_file_is_required() -> None:
    table = tomllib.loads(SMALLEST)
    assert parse_language("cy", "", table)[1] == []
    for name in ("name", "joiner", "words"):
        assert len(parse_language("cy", "", {key: value for key, value in table.items() if key != name})[1]) == 1
    for section in ("sentences", "prompt"):
        for name in table[section]:
            less = {**table, section: {key: value for key, value in table[section].items() if key != name}}
            assert len(parse_language("cy", "", less)[1]) == 1, name


@each(("given", "problem"), [
    ("bytes_per_token = inf", "bytes_per_token: found inf; expected a finite number above 0"),
    *((f"matching.denied_before = ['na', '{pattern}']", "matching.denied_before: found ['na', ")
      for pattern in ("x*", "(", "(?i)nid", "(?P<n>nid|ni)", r"(n)id\1")),
    ("matching.denied_before = ['(na|nid)', '\\\\1']", None),
])  # fmt: skip
def test_a_field_that_cannot_be_used_is_refused(given: str, problem: str | None) -> None:
    """Such as a pattern that cannot be joined to others; one with groups and escaped backslashes can."""
    _, problems = parse_language("cy", "", tomllib.loads(f"{given}\n{SMALLEST}"))
    assert [one[: len(problem or "")] for one in problems] == ([problem] if problem else [])


def test_folding_the_letters_of_a_pattern_leaves_its_escapes_alone() -> None:
    rules = MatchingRules(letters={"b": "v", "w": "v"})
    assert folded_pattern(r"\bwb\w\\b", rules) == r"\bvv\w\\v"
