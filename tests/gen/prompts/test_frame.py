"""Frames: a template with its question filled in, put around a context or a conversation."""

from __future__ import annotations

import re

import pytest
from each import each
from properties import examples
from rendering import filled, library, template_library

from niah_gen.errors import RecipeError
from niah_gen.prompts.frame import make_frame, said
from niah_gen.prompts.templates import POSITIONS
from niah_score.contract import Message, PromptForm

steady = examples(150)

QUESTION = 'Which of "these" is {it}?\n'
FORMS: tuple[PromptForm, ...] = ("text", "chat")


def whole(prompt: str | list[Message]) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(message["content"] for message in prompt)


@each("name", sorted(template_library()))
@each("form", FORMS)
@each("context", ["", "a context", "with {question} and {context} in it", "\n文档\n"])
def test_every_template_holds_context_and_question_once_in_both_forms(
    name: str, form: PromptForm, context: str
) -> None:
    around = make_frame(library(name), form, "native", False, QUESTION)
    prompt = filled(around, context)
    assert isinstance(prompt, str if form == "text" else list)
    text = whole(prompt)
    assert context in text
    assert text.count(QUESTION) == 1
    assert text.count("{context}") == context.count("{context}")
    assert text.count("{question}") == context.count("{question}")
    holder = text if isinstance(prompt, str) else prompt[around.hole]["content"]
    assert holder == around.before + context + around.after


@each("name", sorted(template_library()))
def test_a_text_is_one_message_without_a_role_and_a_chat_has_one_hole(name: str) -> None:
    text = make_frame(library(name), "text", "native", False, QUESTION)
    assert ([message.role for message in text.messages], text.hole, text.others) == ([None], 0, ())
    chat = make_frame(library(name), "chat", "native", False, QUESTION)
    assert chat.hole == (1 if name in ("gkamradt-openai", "gkamradt-cohere") else 0)
    assert len(chat.others) == len(chat.messages) - 1


def test_a_question_with_braces_is_inserted_unchanged() -> None:
    question = "What is {context}, {question} and {0}?"
    for form in FORMS:
        prompt = filled(make_frame(library("niah-en"), form, "native", False, question), "DOC")
        assert whole(prompt).count(question) == 1
        assert whole(prompt).count("DOC") == 1


def test_the_gkamradt_chat_has_the_published_roles_and_question() -> None:
    prompt = filled(make_frame(library("gkamradt-openai"), "chat", "gkamradt", False, "What?"), "DOC")
    assert [message["role"] for message in prompt if not isinstance(message, str)] == ["system", "user", "user"]
    assert [message["content"] for message in prompt if not isinstance(message, str)][1:] == [
        "DOC",
        "What? Don't give information outside the document or repeat your findings",
    ]


def test_a_chat_template_as_text_is_its_messages_separated_by_blank_lines() -> None:
    chat = filled(make_frame(library("gkamradt-openai"), "chat", "gkamradt", False, "What?"), "DOC")
    text = filled(make_frame(library("gkamradt-openai"), "text", "gkamradt", False, "What?"), "DOC")
    assert text == "\n\n".join(message["content"] for message in chat if not isinstance(message, str))


def test_a_text_template_as_chat_is_one_user_message() -> None:
    text = filled(make_frame(library("opencompass-zh"), "text", "opencompass", False, "什么？"), "文档")
    chat = filled(make_frame(library("opencompass-zh"), "chat", "opencompass", False, "什么？"), "文档")
    assert chat == [{"role": "user", "content": text}]


@each("position", POSITIONS)
def test_our_text_form_is_our_chat_form_followed_by_an_answer_cue(position: str) -> None:
    for name in ("niah-en", "niah-zh"):
        text, chat = (
            filled(make_frame(library(name), form, "native", False, "What?", position), "DOC") for form in FORMS
        )
        assert whole(text).startswith(whole(chat))
        assert re.fullmatch(r"\n+(Answer:|回答：)", whole(text).removeprefix(whole(chat)))


@each("name", ["niah-en", "niah-zh"])
@each("form", FORMS)
def test_our_templates_ask_at_the_end_the_start_or_both_as_requested(name: str, form: PromptForm) -> None:
    sides = {}
    for position in POSITIONS:
        before, after = whole(filled(make_frame(library(name), form, "native", False, "What?", position), "DOC")).split(
            "DOC"
        )
        sides[position] = (before.count("What?"), after.count("What?"))
    assert sides == {"end": (0, 1), "start": (1, 0), "both": (1, 1)}


def test_making_a_frame_of_messages_does_not_change_the_template() -> None:
    before = [dict(message) for message in library("gkamradt-openai").wordings["end"].chat or ()]
    filled(make_frame(library("gkamradt-openai"), "chat", "gkamradt", False, "What?"), "DOC")
    assert [dict(message) for message in library("gkamradt-openai").wordings["end"].chat or ()] == before


# Conversations ------------------------------------------------------------------------------------------------------

TURNS = (said("user", "Hello."), said("assistant", "Good day."))


def test_a_conversation_replaces_the_message_that_is_only_the_context() -> None:
    around = make_frame(library("gkamradt-openai"), "chat", "gkamradt", False, "What?")
    assert around.takes_turns()
    prompt = around.around(TURNS)
    assert [message.role for message in prompt] == ["system", "user", "assistant", "user"]
    assert prompt[1:3] == TURNS


@each(("name", "form"), [("niah-en", "chat"), ("niah-en", "text"), ("gkamradt-openai", "text")])
def test_a_template_with_other_text_around_its_context_takes_no_conversation(name: str, form: PromptForm) -> None:
    around = make_frame(library(name), form, "native", False, "What?")
    assert not around.takes_turns()
    with pytest.raises(RecipeError, match="a conversation needs a chat template"):
        around.around(TURNS)
