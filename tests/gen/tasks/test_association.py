"""Associations: the question and its needle share no content word, and a drawn person is the only answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jieba
import pytest
from each import each
from proved import prove

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.tasks.association import associations
from niah_gen.tasks.words import word_list
from niah_score.text import fold, holds_group

RECIPE: dict[str, Any] = {
    "name": "associations", "task": "association", "lengths": [2000], "depths": [0, 40, 100],
    "controls": ["absent", "literal"],
}  # fmt: skip
EVERY = [(language, one) for language in ("en", "zh") for one in associations(language).values()]
FUNCTION_WORDS = frozenset(
    re.findall(
        "[a-z]+",
        "a after an and any are as at be been before by can could did do does for from had has have her him "
        "his how if in into is it its of off on once one or other out own she so some somebody someone "
        "something than that the their them then there they this to up very was were what when where which "
        "while who whom whose will with would you mentioned people person text",
    )
)
FUNCTION_CHARACTERS = frozenset(
    "的了着过在是有和与及为被把让从到对向也都就才又还不没这那谁哪一个位人里上下中时后前会能要用给等之其所以而但或者吗呢啊吧文提"
)
ENDINGS = ("ings", "ing", "edly", "ed", "ies", "es", "s", "ly", "er", "ers", "ian", "ians", "ese", "ish")


def stems(text: str) -> set[str]:
    """The content words of an English text, without their commonest endings."""
    content_words = set()
    for word in re.findall(r"[a-z\u00e0-\u00ff]+", text.lower().replace("'s", "")):
        if word not in FUNCTION_WORDS:
            ending = next((one for one in ENDINGS if word.endswith(one) and len(word) - len(one) >= 3), "")
            content_words.add(word.removesuffix(ending) if ending else word)
    return content_words


def content(language: str, text: str) -> set[str]:
    text = text.replace("{name}", " ")
    if language == "en":
        return stems(text)
    words = {word for word in jieba.cut(text) if re.fullmatch(r"[\u4e00-\u9fff]{2,}", word)}
    return words | {char for char in text if "\u4e00" <= char <= "\u9fff"} - FUNCTION_CHARACTERS


@each(("language", "one"), EVERY)
def test_only_the_literal_question_shares_content_words_with_its_needle(language: str, one: Mapping[str, str]) -> None:
    needle_words = content(language, one["needle"])
    for question in (one["one_hop"], one["two_hop"]):
        assert not content(language, question) & needle_words
    literal_words = content(language, one["literal"])
    assert len(literal_words & needle_words) >= 0.6 * len(literal_words)
    assert one["needle"].count("{name}") == 1
    assert "{name}" not in one["one_hop"] + one["two_hop"] + one["literal"]
    assert one["why"]
    assert one["domain"]


@each("language", ["en", "zh"])
def test_a_language_has_at_least_40_associations_from_many_domains_and_no_repeated_question(language: str) -> None:
    entries = associations(language).values()
    assert len(entries) >= 40
    questions = [question for one in entries for question in (one["one_hop"], one["two_hop"], one["literal"])]
    assert len(set(questions)) == len(questions)
    domains = [one["domain"] for one in entries]
    assert len(set(domains)) >= 15
    assert max(domains.count(domain) for domain in domains) <= 5


@each("language", ["en", "zh"])
def test_names_share_no_parts_and_no_needle_contains_one(language: str) -> None:
    persons = word_list(f"names-{language}")
    assert len(persons) == len(set(persons)) >= 80
    parts = [part for person in persons for part in person.split()]
    assert len(set(parts)) == len(parts)
    texts = [fold(one["needle"]) for one in associations(language).values()]
    assert not any(holds_group(text, (part,)) for text in texts for part in parts)


@pytest.mark.slow
@each("hops", [1, 2])
def test_rows_hide_one_person_asked_about_and_three_decoys(tmp_path: Path, hops: int) -> None:
    recipe = {**RECIPE, "options": {"hops": hops}, "languages": ["en" if hops == 1 else "zh"]}
    proof = prove(niah_gen.build(recipe, tmp_path))
    assert (proof.problems, proof.not_rebuilt) == ((), None)
    rows = list(niah_gen.iter_rows(recipe))
    for row in (row for row in rows if row["control"] is None):
        association = associations(str(row["language"]))[str(row["needle_id"])]
        assert row["question"] == (association["one_hop"] if hops == 1 else association["two_hop"])
        (person,), ((keyword, *_),) = row["answers"], row["keywords"]
        assert row["needles"][0] == association["needle"].replace("{name}", person)
        assert keyword == person
        assert len(row["needles"]) == 4
        assert len(row["decoys"]) == 3
        assert not any(person in text for text in row["needles"][1:])
        assert all(decoy[0] in text for decoy, text in zip(row["decoys"], row["needles"][1:], strict=True))
        assert row["metric"] == "correct"
    people = {row["answers"][0] for row in rows if row["control"] is None}
    assert len(people) > 20


@pytest.mark.slow
def test_the_literal_twin_uses_the_needles_words_and_the_absent_twin_omits_the_needle() -> None:
    rows = {(row["needle_id"], row["depth_percent"], row["control"]): row for row in niah_gen.iter_rows(RECIPE)}
    for (needle, depth, control), row in rows.items():
        own = rows[needle, depth, None]
        assert row["haystack_id"] == own["haystack_id"]
        if control == "literal":
            assert row["question"] == associations(str(row["language"]))[str(needle)]["literal"]
            assert (row["needles"], row["answers"]) == (own["needles"], own["answers"])
        if control == "absent":
            assert row["needles"] == own["needles"][1:]
            assert row["needle_depths"] == own["needle_depths"][1:]
            assert row["answers"] in (["Not stated."], ["文中未提及。"])


@each("options", [{"hops": 3}, {"distractors": -1}, {"distractors": 21}, {"hop": 1}])
def test_invalid_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match="options"):
        list(niah_gen.iter_rows({**RECIPE, "options": options}))
