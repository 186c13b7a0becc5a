"""Templates and guide rules, checked against the published strings, and the names by which recipes refer to them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from rendering import library

from niah_gen.prompts.frame import make_frame
from niah_gen.prompts.templates import (
    GuideRule,
    Wording,
    template_family,
    template_for,
    template_names,
)

QUESTION = 'Which of "these" is {it}?\n'


@pytest.fixture(scope="module")
def published(shared: Path) -> dict[str, Any]:
    """The published settings, verbatim."""
    return tomllib.loads((shared / "golden" / "presets.toml").read_text("utf-8"))


# The published strings ----------------------------------------------------------------------------------------------


def test_the_opencompass_templates_are_the_published_strings(published: dict[str, Any]) -> None:
    stated = published["opencompass"]["templates"]
    for language in ("zh", "en"):
        template = library(f"opencompass-{language}")
        assert template.wordings == {"end": Wording(stated[language], None)}
        assert template.language == language


def test_the_gkamradt_templates_are_the_published_messages(published: dict[str, Any]) -> None:
    stated = published["gkamradt"]["templates"]
    assert library("gkamradt-openai").wordings == {"end": Wording(None, tuple(stated["openai_chat"]))}
    assert library("gkamradt-cohere").wordings == {"end": Wording(None, tuple(stated["cohere_chat"]))}
    assert library("gkamradt-anthropic").wordings == {"end": Wording(stated["anthropic_text"], None)}


def test_the_guide_rules_are_the_published_ones(published: dict[str, Any]) -> None:
    stated = published["opencompass"]["templates"]
    chinese, english = library("opencompass-zh"), library("opencompass-en")
    assert chinese.guide_rule("opencompass") == GuideRule("请按照", stated["guide_zh"])
    assert english.guide_rule("opencompass") == GuideRule("Please answer in the format", stated["guide_en"])
    suffix = published["opencompass"]["processed"]["guided_suffix"]
    assert chinese.guide_rule("opencompass-processed") == GuideRule(append=suffix)
    assert published["opencompass"]["processed"]["template"] == "opencompass.templates.zh"


def test_a_guided_question_is_rewritten_as_published(published: dict[str, Any]) -> None:
    question = published["opencompass"]["dynamic"]["single"]["question"]
    guided = make_frame(library("opencompass-zh"), "text", "opencompass", True, question)
    plain = make_frame(library("opencompass-zh"), "text", "opencompass", False, question)
    first, second = question.split("请按照")
    assert guided.after == f"\n\n现在请问：{first}{published['opencompass']['templates']['guide_zh']}{second}"
    assert plain.after == f"\n\n现在请问：{question}"
    assert guided.before == plain.before == published["opencompass"]["templates"]["zh"].split("{context}")[0]


def test_a_processed_guided_question_gets_its_suffix(published: dict[str, Any]) -> None:
    stated = published["opencompass"]["processed"]
    guided = make_frame(library("opencompass-zh"), "text", "opencompass-processed", True, stated["question"])
    assert guided.after == f"\n\n现在请问：{stated['question']}{stated['guided_suffix']}"


# Guide rules --------------------------------------------------------------------------------------------------------


def test_only_the_first_two_parts_of_a_split_question_are_kept() -> None:
    rule = GuideRule(split="|", insert="<>")
    assert rule.apply("a|b") == "a<>b"
    assert rule.apply("a|b|c") == "a<>b"
    assert rule.apply("|") == "<>"


def test_splitting_rules_need_their_phrase_and_appending_rules_always_apply() -> None:
    assert GuideRule(split="now").applies("do it now")
    assert not GuideRule(split="now").applies("do it")
    assert GuideRule(append="!").applies("")
    assert GuideRule(append="!").apply("a") == "a!"


def test_guided_changes_nothing_where_a_template_has_no_rule() -> None:
    for name in ("niah-en", "gkamradt-openai", "gkamradt-anthropic"):
        form = library(name).forms()[0]
        plain, guided = (make_frame(library(name), form, "native", guide, QUESTION) for guide in (False, True))
        assert plain == guided


# Names --------------------------------------------------------------------------------------------------------------


def test_a_family_name_needs_a_language_and_a_full_name_does_not() -> None:
    assert template_for("niah", "en") is library("niah-en")
    assert template_for("niah", "zh") is library("niah-zh")
    assert template_for("niah-zh", "en") is library("niah-zh")
    assert template_for("gkamradt-openai", "zh") is library("gkamradt-openai")
    assert template_for("niah", "de") is template_for("nothing", "en") is template_for("opencompass", "fr") is None


def test_every_name_that_a_recipe_may_use_refers_to_a_template() -> None:
    assert {"niah", "niah-en", "niah-zh", "opencompass", "gkamradt-openai"} <= set(template_names())
    for name in template_names():
        assert template_for(name, "en") or template_for(name, "zh")
        assert template_family(name)


def test_a_family_holds_every_template_that_its_name_refers_to() -> None:
    assert set(template_family("niah")) == {"niah-en", "niah-zh"}
    assert set(template_family("niah-en")) == {"niah-en"}
    guide = template_family("opencompass")["opencompass-zh"]
    assert isinstance(guide, dict)
    assert set(guide["guide"]) == {"default", "opencompass-processed"}
