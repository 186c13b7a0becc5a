"""Associations: the question and its needle share no content word, and a drawn person is the only answer."""

from __future__ import annotations

import re
from pathlib import Path

import jieba
import pytest
from proved import prove

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.recipe.read import load_recipe
from niah_gen.tasks.association import associations
from niah_gen.tasks.base import LANGUAGES

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


def test_only_the_literal_question_shares_content_words_with_its_needle() -> None:
    for language in LANGUAGES:
        for name, one in associations(language).items():
            needle = content(language, one["needle"])
            literal = content(language, one["literal"])
            for question in ("one_hop", "two_hop"):
                assert not content(language, one[question]) & needle, name
            assert len(literal & needle) >= 0.6 * len(literal), name
            assert one["needle"].count("{name}") == 1
            assert "{name}" not in one["one_hop"] + one["two_hop"] + one["literal"]
            assert one["why"]


@pytest.mark.slow
def test_rows_hide_one_person_asked_about_and_three_decoys_and_twins_share_their_haystack(tmp_path: Path) -> None:
    for hops, language, question in ((1, "en", "one_hop"), (2, "zh", "two_hop")):
        recipe = {
            "name": "associations", "task": "association", "lengths": [2000], "depths": [0, 40, 100],
            "controls": ["absent", "literal"], "options": {"hops": hops}, "languages": [language],
        }  # fmt: skip
        proof = prove(niah_gen.build(recipe, tmp_path))
        assert (proof.problems, proof.not_rebuilt) == ((), None)
        rows = {(row["needle_id"], row["depth_percent"], row["control"]): row for row in niah_gen.iter_rows(recipe)}
        for (needle, depth, control), row in rows.items():
            one, own = associations(language)[str(needle)], rows[needle, depth, None]
            assert row["haystack_id"] == own["haystack_id"]
            if control == "literal":
                assert (row["question"], row["needles"], row["answers"]) == (
                    one["literal"], own["needles"], own["answers"],
                )  # fmt: skip
                continue
            assert row["question"] == one[question]
            if control == "absent":
                assert row["needles"] == own["needles"][1:]
                assert row["needle_depths"] == own["needle_depths"][1:]
                assert row["answers"] in (["Not stated."], ["文中未提及。"])
                continue
            (person,), ((keyword, *_),) = row["answers"], row["keywords"]
            assert (row["needles"][0], keyword) == (one["needle"].replace("{name}", person), person)
            assert (len(row["needles"]), len(row["decoys"]), row["metric"]) == (4, 3, "correct")
            assert not any(person in text for text in row["needles"][1:])
            assert all(decoy[0] in text for decoy, text in zip(row["decoys"], row["needles"][1:], strict=True))
        assert len({row["answers"][0] for row in rows.values() if row["control"] is None}) > 20


def test_invalid_options_are_refused() -> None:
    for options in ({"hops": 3}, {"distractors": -1}, {"distractors": 21}, {"hop": 1}):
        with pytest.raises(RecipeError, match="options"):
            load_recipe({"task": "association", "options": options})
