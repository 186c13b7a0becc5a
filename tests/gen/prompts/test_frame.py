"""Frames: a template with its question filled in, put around a context or a conversation."""

from __future__ import annotations

from each import each
from rendering import filled, library, template_library

from niah_gen.prompts.frame import make_frame
from niah_score.contract import Message, PromptForm

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
