"""Proves rows from their prompts: texts are searched, digested and encoded whole, and truths are read back.

That rows are those of their recipe is for `verify --full`, which builds them again, and for the recorded digests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from contexts import ContextProof, CountedHaystack, PlacedNeedle, not_once, whole_token_spans, wrong_target
from of_families import wrong_context, wrong_row

from niah_gen.errors import shown
from niah_gen.prompts.frame import Frame, make_frame
from niah_gen.recipe.part import settings_of
from niah_gen.recipe.recipe import Part, Recipe
from niah_gen.tasks.base import NO_CONTEXT, Task, item_ids, item_of, shown_of
from niah_gen.tasks.hiding import lines_of
from niah_gen.tasks.records import Cell, Item
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import Message, Row, needle_kind, prompt_digest


class ProvedRow(NamedTuple):
    """What is wrong with a row, a sentence each.

    `below`: tokens between the prompt and its budget; `off`: points between the depth asked for and the first needle's
    actual depth; both None unless the haystack was proved.
    """

    problems: tuple[str, ...]
    below: int | None = None
    off: float | None = None


class PartProver:
    """Proves the rows of one part. What depends on a haystack alone is kept while consecutive rows share it."""

    def __init__(self, recipe: Recipe, part: Part, task: Task, tokenizer: Tokenizer) -> None:
        self._part, self._form, self._task, self._tokenizer = part, recipe.form, task, tokenizer
        self._settings = settings_of(part, task)
        self._exact = task.context.is_exact(part.placing)
        self._ids = lru_cache(lambda language: set(item_ids(task, self._settings, language)))
        self._counted = lru_cache(1)(lambda text, language: CountedHaystack(text, tokenizer, language))

    def prove(self, row: Row) -> ProvedRow:
        """Prove a row whose columns have their types."""
        tokens = sum(map(self._tokenizer.count, _contents(row)))
        problems = list(self._wrong_prompt(row, tokens))
        if self._task.replays:
            item = _item_of(row)
            problems += [*_wrong_spans(row), *self._wrong_budget(row, tokens), *wrong_row(row["task"], row, item)]
        elif row["control"] == NO_CONTEXT:
            problems += _wrong_alone(row)
        else:
            own, item = self._items(row)
            problems += [*self._wrong_truth(row, item), *self._wrong_context(row, own, item, tokens)]
            problems += wrong_row(self._task.name, row, item)
        below = off = None
        if self._exact and row["length"] and not problems and row["control"] is None:
            below = row["length"] - self._part.reserve - tokens
            if row["needle_depths"] and row["depth_percent"] is not None:
                off = abs(row["needle_depths"][0] - row["depth_percent"])
        return ProvedRow(tuple(problems), below, off)

    def _items(self, row: Row) -> tuple[Item, Item]:
        """The item of a row's cell, and that or its control's twin."""
        if self._task.reads_corpora:
            return _item_of(row), _item_of(row)
        name = row["needle_id"] or ""
        cell = Cell(
            row["language"], row["corpus"], row["length"] or 0,
            name if name in self._ids(row["language"]) else needle_kind(name), row["repeat"], row["depth_percent"],
            row["control"], row["part"],
        )  # fmt: skip
        own = item_of(self._task, self._settings, cell)
        return own, shown_of(self._task, cell, own)

    def _wrong_truth(self, row: Row, item: Item) -> Iterator[str]:
        for name, value in (
            ("question", item.question), ("answers", list(item.answers)), ("metric", item.metric),
            ("keywords", [list(group) for group in item.keywords]), ("decoys", [list(group) for group in item.decoys]),
            ("needles", self._hidden(item)),
        ):  # fmt: skip
            yield from _different(row, name, value)

    def _hidden(self, item: Item) -> list[str]:
        return list(map(self._part.placing.hidden, item.hide))

    def _wrong_prompt(self, row: Row, tokens: int) -> Iterator[str]:
        yield from _different(row, "prompt_sha256", prompt_digest(row["prompt"]))
        yield from _different(row, "prompt_tokens", tokens)
        content = _contents(row)[max(row["context_message"], 0)]
        if all(0 <= span["start"] <= span["end"] <= len(content) for span in row["needle_spans"]):
            expected = whole_token_spans(content, row["needle_spans"], self._tokenizer)
            yield from _different(row, "needle_token_spans", expected)
        yield from wrong_target(row, content, self._tokenizer)

    def _wrong_context(self, row: Row, own: Item, item: Item, tokens: int) -> list[str]:
        """What is wrong with the messages, the spans, and what the family promises about its contexts."""
        part, language = self._part, row["language"]
        template = part.template_in(language)
        if template is None:
            return [f"template {part.template!r} has no text in {language}"]
        frame = make_frame(
            template, self._form, part.placement, part.guide, item.question or "", part.question_position, item.opening
        )
        problems = list(self._wrong_budget(row, tokens))
        texts = self._hidden(item)
        if self._exact:
            problems += not_once(texts, _contents(row))
        # Of the families that hide what is asked, only some of users' own hide it in a conversation.
        if wrong_frame := list(_outside_frame(frame, row, ":" in part.task)):
            return problems + wrong_frame
        content = _contents(row)[max(row["context_message"], 0)]
        begin, finish = len(frame.before), len(content) - len(frame.after)
        outside = list(_outside_context(row, begin, finish))
        if outside or not len(row["needle_spans"]) == len(row["needle_depths"]) == len(texts):
            return problems + outside + ["expected as many needle_spans and needle_depths as needles"]
        lines = lines_of(part.spread, part.diff, row["seed"], own.hide, item.hide, own.sets)
        needles = tuple(
            PlacedNeedle(text, span["start"] - begin, span["end"] - begin)
            for text, span in zip(texts, row["needle_spans"], strict=True)
        )
        proof = ContextProof(
            row, content[begin:finish], begin, needles, tuple(line.at(row["depth_percent"] or 0.0) for line in lines),
            self._task.context.joiner(language), self._tokenizer, partial(self._counted, language=language),
        )  # fmt: skip
        return problems + list(wrong_context(self._task, part.placing, proof))

    def _wrong_budget(self, row: Row, tokens: int) -> Iterator[str]:
        # A control's twin may be longer than the item that its haystack was filled for.
        budget = (row["length"] or 0) - (self._part.reserve if row["control"] is None else 0)
        if self._exact and row["length"] and tokens > budget:
            yield f"the prompt has {tokens} tokens, above its budget of {budget}"


def _wrong_alone(row: Row) -> Iterator[str]:
    """What is wrong with a row that should ask its question without a context."""
    if row["needle_spans"] or row["haystack_id"] is not None or row["haystack_tokens"]:
        yield "a question without a context has no needles and no haystack"
    if (row["question"] or "") not in _contents(row)[-1]:
        yield f"the prompt does not ask {shown(row['question'])}"


def _item_of(row: Row) -> Item:
    """The item that a row's columns give, for families whose items come with their prompts."""
    return Item(
        needle_kind(row["needle_id"] or ""), row["language"], row["question"], tuple(row["answers"]),
        tuple(map(tuple, row["keywords"])), row["metric"], tuple(row["needles"]), row["answer_prefix"],
        row["max_new_tokens"], tuple(row["keyword_kinds"]), tuple(map(tuple, row["rejects"])),
        tuple(map(tuple, row["decoys"])),
    )  # fmt: skip


def _wrong_spans(row: Row) -> Iterator[str]:
    """The spans of a published prompt that do not hold their needles."""
    contents = _contents(row)
    content = contents[row["context_message"]] if 0 <= row["context_message"] < len(contents) else contents[0]
    for number, (needle, span) in enumerate(zip(row["needles"], row["needle_spans"], strict=False), 1):
        if content[span["start"] : span["end"]] != needle:
            yield f"needle {number} is not at its span, {span['start']} to {span['end']}"


def _different(row: Row, name: str, expected: object) -> Iterator[str]:
    value = row[name]  # type: ignore[literal-required]
    if value != expected:
        yield f"{name} is {shown(value)}, expected {shown(expected)}"


def _contents(row: Row) -> list[str]:
    """The texts that the model reads: the prompt, or each message's content."""
    prompt = row["prompt"]
    return [prompt] if isinstance(prompt, str) else [message["content"] for message in prompt]


def _outside_context(row: Row, begin: int, finish: int) -> Iterator[str]:
    """The spans of a row that are not within its context."""
    spans = [(f"needle {number}", span) for number, span in enumerate(row["needle_spans"], 1)]
    if row["target_span"] is not None:
        spans.append(("target_span", row["target_span"]))
    for name, span in spans:
        start, end = span["start"], span["end"]
        if not begin <= start <= end <= finish:
            yield f"{name} spans {start} to {end}, outside the context, which is {begin} to {finish}"


def _outside_frame(frame: Frame, row: Row, conversation: bool) -> Iterator[str]:
    """How a prompt differs from its template around a context, and `context_message` from where the context is."""
    prompt = row["prompt"]
    if isinstance(prompt, str):
        yield from _different(row, "context_message", -1)
        yield from _not_around(frame, prompt)
        return
    turns = len(prompt) - len(frame.messages) + 1
    if turns < 1 or (turns > 1 and not conversation):
        yield _other_roles(prompt)
        return
    last = frame.hole + turns
    around = [(number, message) for number, message in enumerate(prompt) if not frame.hole <= number < last]
    expected = [message for number, message in enumerate(frame.messages) if number != frame.hole]
    if [message["role"] for _, message in around] != [message.role for message in expected] or (
        not conversation and prompt[frame.hole]["role"] != frame.messages[frame.hole].role
    ):
        yield _other_roles(prompt)
        return
    if not frame.hole <= row["context_message"] < last:
        yield f"context_message is {row['context_message']}, expected {frame.hole}" + (
            f" to {last - 1}" if turns > 1 else ""
        )
        return
    for (number, message), wanted in zip(around, expected, strict=True):
        if message["content"] != wanted.content:
            yield f"message {number} is {shown(message['content'])}, expected {shown(wanted.content)}"
    yield from _not_around(frame, prompt[row["context_message"]]["content"])


def _other_roles(prompt: Sequence[Message]) -> str:
    return f"the prompt has messages of {shown([message['role'] for message in prompt])}, not those of its template"


def _not_around(frame: Frame, content: str) -> Iterator[str]:
    if not content.startswith(frame.before):
        yield f"the prompt does not begin as its template does: {shown(content[: len(frame.before)])}"
    elif not content[len(frame.before) :].endswith(frame.after):
        yield f"the prompt does not end as its template does: {shown(content[-max(1, len(frame.after)) :])}"
