"""Templates and guide rules: the published strings, and the frame around a context."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.prompts.templates import (
    POSITIONS,
    Frame,
    GuideRule,
    Template,
    Wording,
    frame,
    template_family,
    template_for,
    template_library,
    template_names,
)
from niah_score.contract import Message, PromptForm, canonical_json

steady = examples(150)

QUESTION = 'Which of "these" is {it}?\n'
FORMS: tuple[PromptForm, ...] = ("text", "chat")


@pytest.fixture(scope="module")
def published(shared: Path) -> dict[str, Any]:
    """The published settings, verbatim."""
    return tomllib.loads((shared / "golden" / "presets.toml").read_text("utf-8"))


def library(name: str) -> Template:
    return template_library()[name]


def whole(prompt: str | list[Message]) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(message["content"] for message in prompt)


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
    guided = frame(library("opencompass-zh"), "text", "opencompass", True, question)
    plain = frame(library("opencompass-zh"), "text", "opencompass", False, question)
    first, second = question.split("请按照")
    assert guided.after == f"\n\n现在请问：{first}{published['opencompass']['templates']['guide_zh']}{second}"
    assert plain.after == f"\n\n现在请问：{question}"
    assert guided.before == plain.before == published["opencompass"]["templates"]["zh"].split("{context}")[0]


def test_a_processed_guided_question_gets_its_suffix(published: dict[str, Any]) -> None:
    stated = published["opencompass"]["processed"]
    guided = frame(library("opencompass-zh"), "text", "opencompass-processed", True, stated["question"])
    assert guided.after == f"\n\n现在请问：{stated['question']}{stated['guided_suffix']}"


# Guide rules --------------------------------------------------------------------------------------------------------


def test_only_the_first_two_parts_of_a_split_question_are_kept() -> None:
    rule = GuideRule(split="|", insert="<>")
    assert rule.apply("a|b") == "a<>b"
    assert rule.apply("a|b|c") == "a<>b"
    assert rule.apply("|") == "<>"


def test_a_splitting_rule_applies_where_its_phrase_is_and_an_appending_one_everywhere() -> None:
    assert GuideRule(split="now").applies("do it now")
    assert not GuideRule(split="now").applies("do it")
    assert GuideRule(append="!").applies("")
    assert GuideRule(append="!").apply("a") == "a!"


def test_guided_changes_nothing_where_a_template_has_no_rule() -> None:
    for name in ("niah-en", "gkamradt-openai", "gkamradt-anthropic"):
        form = library(name).forms()[0]
        plain, guided = (frame(library(name), form, "native", guide, QUESTION) for guide in (False, True))
        assert plain == guided


# Frames -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(template_library()))
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("context", ["", "a context", "with {question} and {context} in it", "\n文档\n"])
def test_every_template_holds_context_and_question_once_in_both_forms(
    name: str, form: PromptForm, context: str
) -> None:
    around = frame(library(name), form, "native", False, QUESTION)
    prompt = around.fill(context)
    assert isinstance(prompt, str if form == "text" else list)
    text = whole(prompt)
    assert context in text
    assert text.count(QUESTION) == 1
    assert text.count("{context}") == context.count("{context}")
    assert text.count("{question}") == context.count("{question}")
    holder = text if isinstance(prompt, str) else prompt[around.context_message]["content"]
    assert holder == around.before + context + around.after


@pytest.mark.parametrize("name", sorted(template_library()))
def test_text_has_no_context_message_and_chat_names_it(name: str) -> None:
    assert frame(library(name), "text", "native", False, QUESTION).context_message == -1
    chat = frame(library(name), "chat", "native", False, QUESTION)
    assert chat.context_message == (1 if name in ("gkamradt-openai", "gkamradt-cohere") else 0)
    assert len(chat.others) == len(chat.messages) - 1


def test_a_question_with_braces_is_put_in_as_it_is() -> None:
    question = "What is {context}, {question} and {0}?"
    for form in FORMS:
        prompt = frame(library("niah-en"), form, "native", False, question).fill("DOC")
        assert whole(prompt).count(question) == 1
        assert whole(prompt).count("DOC") == 1


def test_the_messages_of_the_published_chat() -> None:
    prompt = frame(library("gkamradt-openai"), "chat", "gkamradt", False, "What?").fill("DOC")
    assert [message["role"] for message in prompt if not isinstance(message, str)] == ["system", "user", "user"]
    assert [message["content"] for message in prompt if not isinstance(message, str)][1:] == [
        "DOC",
        "What? Don't give information outside the document or repeat your findings",
    ]


def test_a_chat_template_asked_for_as_text_is_its_messages_a_blank_line_apart() -> None:
    chat = frame(library("gkamradt-openai"), "chat", "gkamradt", False, "What?").fill("DOC")
    text = frame(library("gkamradt-openai"), "text", "gkamradt", False, "What?").fill("DOC")
    assert text == "\n\n".join(message["content"] for message in chat if not isinstance(message, str))


def test_a_text_template_asked_for_as_chat_is_one_user_message() -> None:
    text = frame(library("opencompass-zh"), "text", "opencompass", False, "什么？").fill("文档")
    chat = frame(library("opencompass-zh"), "chat", "opencompass", False, "什么？").fill("文档")
    assert chat == [{"role": "user", "content": text}]


@pytest.mark.parametrize("position", POSITIONS)
def test_our_chat_form_asks_what_our_text_form_asks(position: str) -> None:
    for name in ("niah-en", "niah-zh"):
        text, chat = (frame(library(name), form, "native", False, "What?", position).fill("DOC") for form in FORMS)
        assert whole(text).startswith(whole(chat))
        assert re.fullmatch(r"\n+(Answer:|回答：)", whole(text).removeprefix(whole(chat)))


@pytest.mark.parametrize("name", ["niah-en", "niah-zh"])
@pytest.mark.parametrize("form", FORMS)
def test_our_templates_ask_at_the_end_at_the_start_or_at_both(name: str, form: PromptForm) -> None:
    sides = {}
    for position in POSITIONS:
        before, after = whole(frame(library(name), form, "native", False, "What?", position).fill("DOC")).split("DOC")
        sides[position] = (before.count("What?"), after.count("What?"))
    assert sides == {"end": (0, 1), "start": (1, 0), "both": (1, 1)}


def test_the_frame_of_messages_leaves_the_template_alone() -> None:
    before = [dict(message) for message in library("gkamradt-openai").wordings["end"].chat or ()]
    frame(library("gkamradt-openai"), "chat", "gkamradt", False, "What?").fill("DOC")
    assert [dict(message) for message in library("gkamradt-openai").wordings["end"].chat or ()] == before


contents = st.text(st.characters(codec="utf-8") | st.sampled_from('"\\\n\t\x00\x1f\x7f{}\u2028😀中'), max_size=30)


@steady
@given(
    context=contents, question=contents, name=st.sampled_from(sorted(template_library())), form=st.sampled_from(FORMS)
)
def test_json_around_and_the_context_are_the_canonical_json_of_the_prompt(
    context: str, question: str, name: str, form: PromptForm
) -> None:
    around = frame(library(name), form, "native", False, question)
    before, after = around.json_around()
    assert before + canonical_json(context)[1:-1] + after == canonical_json(around.fill(context))


@steady
@given(
    context=contents, before=contents, after=contents, others=st.lists(st.tuples(contents, contents), max_size=3),
    at=st.integers(0, 3), role=contents,
)  # fmt: skip
def test_json_around_holds_for_any_messages(
    context: str, before: str, after: str, others: list[tuple[str, str]], at: int, role: str
) -> None:
    messages = [Message(role=name, content=content) for name, content in others]
    at = min(at, len(messages))
    messages.insert(at, Message(role=role, content=f"{before}{{context}}{after}"))
    around = Frame("chat", before, after, tuple(messages), at)
    start, end = around.json_around()
    assert start + canonical_json(context)[1:-1] + end == canonical_json(around.fill(context))


# Names --------------------------------------------------------------------------------------------------------------


def test_a_pair_is_found_by_its_language_and_a_whole_name_by_itself() -> None:
    assert template_for("niah", "en") is library("niah-en")
    assert template_for("niah", "zh") is library("niah-zh")
    assert template_for("niah-zh", "en") is library("niah-zh")
    assert template_for("gkamradt-openai", "zh") is library("gkamradt-openai")
    assert template_for("niah", "fr") is template_for("nothing", "en") is None


def test_every_name_that_a_recipe_may_give_stands_for_something() -> None:
    assert {"niah", "niah-en", "niah-zh", "opencompass", "gkamradt-openai"} <= set(template_names())
    for name in template_names():
        assert template_for(name, "en") or template_for(name, "zh")
        assert template_family(name)


def test_a_family_holds_all_that_its_name_stands_for() -> None:
    assert set(template_family("niah")) == {"niah-en", "niah-zh"}
    assert set(template_family("niah-en")) == {"niah-en"}
    guide = template_family("opencompass")["opencompass-zh"]
    assert isinstance(guide, dict)
    assert set(guide["guide"]) == {"default", "opencompass-processed"}
