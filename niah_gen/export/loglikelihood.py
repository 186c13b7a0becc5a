"""Writes requests for the log-probability of each row's gold answer: given its prompt, the question alone, the needles.

Each is a line: the row's `id`, the `condition`, the text or messages before the answer (`context` or `messages`), and
the `continuation` whose log-probability is requested, the same in all three conditions. `full` is the row's own prompt;
`alone` asks its question without a context, as the control `no_context` does; `needle` is the row's template around the
needles alone, in their order, joined as its family joins them. Prompts that a published rule made whole have no
template: there `needle` is the needles on a line each, a blank line, and the question.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.errors import NiahError
from niah_gen.export.base import Chosen, ExportFormat, ExportOptions, ExportRow, WrittenFile, json_line
from niah_gen.prompts.frame import Frame, make_frame
from niah_gen.prompts.messages import Piece, PromptMessage
from niah_gen.prompts.templates import CONTEXT, OPENING, QUESTION, Template
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Part, Recipe
from niah_gen.tasks.base import Task
from niah_gen.tasks.registry import chosen_task
from niah_score.contract import RECIPE, Continuation, Message, continuation_of
from niah_score.machine.files import sync_file

_FILE = "loglikelihood.jsonl"
_COLUMNS = (
    "part", "language", "control", "question", "answers", "answer_prefix", "needles", "needle_spans",
    "context_message",
)  # fmt: skip

# What comes before the answer: a text, or messages.
Before = str | Sequence[Message]


class _PartTexts(NamedTuple):
    """What the prompts of a part are made with; `template` in a language is None if prompts are made whole."""

    recipe: Recipe
    part: Part
    task: Task

    def template(self, language: str) -> Template | None:
        return None if self.task.replays else self.part.template_in(language)


def _write(chosen: Chosen, folder: Path, options: ExportOptions) -> list[WrittenFile]:
    parts = _parts(chosen, options.task_modules)
    path = folder / _FILE
    count = 0
    with path.open("wb") as file:
        for row in chosen.rows(_COLUMNS, folder):
            for request in requests_of(row, parts[row["part"]]):
                file.write(json_line(request, row) + b"\n")
            count += 1
    sync_file(path)
    if not path.stat().st_size:
        raise NiahError(
            f"{chosen.dataset.folder}: no row has an accepted answer; read the windows of a perplexity set as they "
            "are, from its data files"
        )
    return [WrittenFile(_FILE, count, path.stat().st_size)]


def _parts(chosen: Chosen, task_modules: Collection[str]) -> dict[str | None, _PartTexts]:
    """What the prompts of each part were made with. Raises RecipeError if its family is not here or not allowed."""
    recipe = load_recipe(chosen.dataset.folder / RECIPE, here=False, task_modules=task_modules)
    return {
        part.name: _PartTexts(recipe, part, chosen_task(part.task, part.options, allowed=task_modules))
        for part in recipe.parts
    }


def requests_of(row: ExportRow, texts: _PartTexts) -> Iterator[dict[str, Any]]:
    """The requests of a row, one for each condition that it allows; none for a control or a row without an answer."""
    if not row["answers"] or row["control"] is not None:
        return
    continuation = continuation_of(row["prompt"], row["answers"][0], row["answer_prefix"])
    for condition, before in [("full", row["prompt"]), *_without_haystack(row, texts)]:
        yield {"id": row["id"], "condition": condition, **_asked(before, continuation)}


def _without_haystack(row: ExportRow, texts: _PartTexts) -> Iterator[tuple[str, Before]]:
    """The question alone, and the question about the needles alone, as far as the row has both."""
    template, question = texts.template(row["language"]), row["question"]
    frame = None if template is None else _frame_of(row, texts, template)
    needles = [needle for needle in row["needles"] if needle]
    if frame is not None:
        if question:
            yield "alone", _text_of(frame.asked_alone())
        if needles:
            joined = texts.task.context.joiner(row["language"]).join(needles)
            yield "needle", _text_of(frame.around([PromptMessage(None, (Piece(joined),))]))
    elif question:
        asked = [("alone", question)]
        if needles:
            asked.append(("needle", "\n".join(needles) + f"\n\n{question}"))
        for condition, text in asked:
            is_text = isinstance(row["prompt"], str)
            yield condition, f"{text}\n" if is_text else [Message(role="user", content=text)]


def _frame_of(row: ExportRow, texts: _PartTexts, template: Template) -> Frame | None:
    """The row's prompt without its context; None if the prompt does not follow its template."""
    recipe, part, _ = texts
    opening = _opening(row, texts, template)
    if opening is None:
        return None
    return make_frame(
        template, recipe.form, part.placement, part.guide, row["question"] or "", part.question_position, opening
    )


def _opening(row: ExportRow, texts: _PartTexts, template: Template) -> str | None:
    """The prompt's text in place of {opening}; empty without that place, None if the prompt does not begin so."""
    recipe, part, _ = texts
    bare = make_frame(template, recipe.form, part.placement, part.guide, row["question"] or "", part.question_position)
    messages = template.wordings[part.question_position].messages(recipe.form)
    if not any(OPENING in message["content"] for message in messages):
        return ""
    before = next(message["content"] for message in messages if CONTEXT in message["content"]).split(CONTEXT)[0]
    if OPENING not in before:
        return None
    around = [re.escape(text.replace(QUESTION, bare.question)) for text in before.split(OPENING)]
    prompt = row["prompt"]
    content = prompt if isinstance(prompt, str) else prompt[row["context_message"]]["content"]
    match = re.match("(.*?)".join(around), content, re.DOTALL)
    return match[1] if match else None


def _text_of(messages: Sequence[PromptMessage]) -> Before:
    contents = ["".join(piece.fragment().text for piece in message.pieces) for message in messages]
    if messages[0].role is None:
        return contents[0]
    return [Message(role=one.role or "", content=text) for one, text in zip(messages, contents, strict=True)]


def _asked(before: Before, continuation: Continuation) -> Mapping[str, object]:
    """What comes before the answer, the answer's prefix included, and the answer."""
    prefix, text = continuation
    if isinstance(before, str):
        # The answer is the same text in all conditions; if it begins with a space, none may precede it.
        before = before.rstrip() if (prefix or text).startswith(" ") else before
        return {"context": before + prefix, "continuation": text}
    begun = [Message(role="assistant", content=prefix)] if prefix else []
    return {"messages": [*before, *begun], "continuation": text}


def _advice(chosen: Chosen, out: Path, options: ExportOptions) -> str:
    return (
        "score it: write for each line its id, condition, logprob_sum and token_count of the continuation, then "
        f"niah-score gain {chosen.dataset.folder} LOGPROBS"
    )


LOGLIKELIHOOD = ExportFormat(
    "requests for the log-probability of each gold answer: given the prompt, the question alone, the needles",
    _FILE,
    _write,
    ("task_modules",),
    advice=_advice,
)
