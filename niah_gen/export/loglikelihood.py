"""Writes requests for the log-probability of each row's gold answer: given its prompt, the question alone, the needles.

Each is a line: the row's `id`, the `condition`, the text or messages before the answer (`context` or `messages`), and
the `continuation` whose log-probability is requested, the same in all three conditions. `full` is the row's own prompt;
`alone` asks its question without a context, as the control `no_context` does; `needle` is the row's template around the
needles alone, in their order, joined as its family joins them. Prompts that a published rule made whole have no
template: there `needle` is the needles on a line each, a blank line, and the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from niah_gen.errors import NiahError
from niah_gen.export.base import Chosen, ExportFormat, ExportOptions, Row
from niah_gen.prompts.templates import CONTEXT, OPENING, QUESTION
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Part, Recipe
from niah_gen.tasks.base import Task
from niah_gen.tasks.registry import chosen_task
from niah_score.contract import RECIPE, Message, continuation_of

_FILE = "loglikelihood.jsonl"
_COLUMNS = ("part", "language", "control", "question", "answers", "answer_prefix", "needles", "context_message")


def _write(chosen: Chosen, folder: Path, options: ExportOptions) -> dict[str, int]:
    """Raises RecipeError if the family of a part is not here or not allowed."""
    modules = options.task_modules
    recipe = load_recipe(chosen.dataset.folder / RECIPE, here=False, task_modules=modules)
    parts = {part.name: (part, chosen_task(part.task, part.options, allowed=modules)) for part in recipe.parts}
    path = folder / _FILE
    with path.open("wb") as file:
        for row in chosen.rows(_COLUMNS, folder):
            for request in _requests(row, recipe, *parts[row["part"]]):
                file.write(orjson.dumps(request) + b"\n")
    if not path.stat().st_size:
        todo = "read the windows of a perplexity set as they are, from its data files"
        raise NiahError(f"{chosen.dataset.folder}: no row has an accepted answer; {todo}")
    return {_FILE: len(chosen.entries)}


def _requests(row: Row, recipe: Recipe, part: Part, task: Task) -> Iterator[dict[str, Any]]:
    """The requests of a row, one for each condition that it allows; none for a control or a row without an answer."""
    if not row["answers"] or row["control"] is not None:
        return
    prefix, text = continuation_of(row["prompt"], row["answers"][0], row["answer_prefix"])
    for condition, before in [("full", row["prompt"]), *_without_haystack(row, recipe, part, task)]:
        if isinstance(before, str):
            # The answer is the same text in all conditions; if it begins with a space, none may precede it.
            before = before.rstrip() if (prefix or text).startswith(" ") else before
            asked: dict[str, Any] = {"context": before + prefix}
        else:
            asked = {"messages": [*before, *([Message(role="assistant", content=prefix)] if prefix else [])]}
        yield {"id": row["id"], "condition": condition, **asked, "continuation": text}


def _without_haystack(
    row: Row, recipe: Recipe, part: Part, task: Task
) -> Iterator[tuple[str, str | Sequence[Message]]]:
    """The question alone, and the question about the needles alone, as far as the row has both."""
    question, needles = row["question"] or "", [needle for needle in row["needles"] if needle]
    is_text, follows = isinstance(row["prompt"], str), False
    # So it is asked if a published rule made the prompt whole, or the prompt does not follow its template.
    alone, plain = question, "\n".join(needles) + f"\n\n{question}"
    around = [Message(role="user", content=f"{plain}\n" if is_text else plain)]
    template = None if task.replays else part.template_in(row["language"])
    if template is not None:
        rule = template.guide_rule(part.placement) if part.guide else None
        asked = rule.apply(question) if rule else question
        messages = template.wordings[part.question_position].messages(recipe.form)
        opening = _opening(row, messages, asked)
        if opening is not None:
            alone, follows, joined = asked, True, task.context.joiner(row["language"]).join(needles)
            around = [_around(message, joined, {OPENING: opening, QUESTION: asked}) for message in messages]
    if question:
        yield "alone", f"{alone}\n" if is_text else [Message(role="user", content=alone)]
    if needles and (question or follows):
        yield "needle", around[0]["content"] if is_text else around


def _around(message: Message, context: str, texts: Mapping[str, str]) -> Message:
    """A message of a template with its context, and a text in place of each name."""
    pieces = message["content"].split(CONTEXT)
    for name, text in texts.items():
        pieces = [piece.replace(name, text) for piece in pieces]
    return Message(role=message["role"], content=context.join(pieces))


def _opening(row: Row, messages: Sequence[Message], asked: str) -> str | None:
    """The prompt's text in place of {opening}; empty without that place, None if the prompt does not begin so."""
    if not any(OPENING in message["content"] for message in messages):
        return ""
    before = next(message["content"] for message in messages if CONTEXT in message["content"]).split(CONTEXT)[0]
    if OPENING not in before:
        return None
    around = [re.escape(text.replace(QUESTION, asked)) for text in before.split(OPENING)]
    content = row["prompt"] if isinstance(row["prompt"], str) else row["prompt"][row["context_message"]]["content"]
    match = re.match("(.*?)".join(around), content, re.DOTALL)
    return match[1] if match else None


LOGLIKELIHOOD = ExportFormat(
    "requests for the log-probability of each gold answer: given the prompt, the question alone, the needles",
    _FILE, _write, ("task_modules",),
    advice="score it: write for each line its id, condition, logprob_sum and token_count of the continuation, then "
    "niah-score gain {dataset} LOGPROBS",
)  # fmt: skip
