"""Proves one row of a part, deriving every column again from the recipe, the tokenizer and the prompt itself.

It shares only rules with the code that made the row: texts are searched, digested and encoded whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple, cast

from axes import Axes
from contexts import ContextProof, CountedHaystack, PlacedNeedle, not_once
from of_families import wrong_context, wrong_row
from target_proof import wrong_target
from whole_tokens import whole_token_spans

from niah_gen.errors import shown
from niah_gen.prompts.frame import Frame, make_frame
from niah_gen.prompts.templates import guide_problem
from niah_gen.recipe.part import settings_of
from niah_gen.recipe.recipe import Recipe
from niah_gen.rows.ids import family_digest, row_id
from niah_gen.tasks.base import NO_CONTEXT, Task, item_of, shown_of
from niah_gen.tasks.hiding import lines_of
from niah_gen.tasks.records import Cell, Item, cell_seed
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import ROW_ID, Manifest, Message, Row, Truth, config_name, needle_kind, prompt_digest

_FAMILY = re.compile("[0-9a-f]{8}-")


class ProvedRow(NamedTuple):
    """What is wrong with a row, a sentence each.

    `below`: tokens between the prompt and its budget; `off`: points between the depth asked for and the first needle's
    actual depth; both None unless the haystack was proved.
    """

    problems: tuple[str, ...]
    below: int | None = None
    off: float | None = None


class _Place(NamedTuple):
    """Where the context lies: its message's content, and its start and end there."""

    content: str
    start: int
    end: int


class _CellTruth(NamedTuple):
    """What the rows of a cell ask at any depth. `own`: the cell's item; `item`: that, or its control's twin."""

    key: Cell
    item: Item
    own: Item
    frame: Frame | None


class PartProver:
    """Proves the rows of one part. What depends on a haystack alone is kept while consecutive rows share it."""

    def __init__(self, recipe: Recipe, axes: Axes, task: Task, manifest: Manifest, tokenizer: Tokenizer) -> None:
        self._part = axes.part
        self._form = recipe.form
        self._task = task
        self._settings = settings_of(axes.part, task)
        self._manifest = manifest
        self._families = {
            code: family_digest(recipe, axes.part, task, tokenizer.sha256, code) for code in axes.languages
        }
        self._tokenizer = tokenizer
        self._axes = axes
        self._exact = task.context.is_exact(axes.part.placing)
        self._asked: _CellTruth | None = None
        self._haystack: CountedHaystack | None = None

    def prove(self, row: Row, config: str) -> ProvedRow:
        """Prove a row whose columns have their types. `config`: the config of its file."""
        depth = row["depth_percent"]
        cell = Cell(
            row["language"], row["corpus"], row["length"] or 0, self._kind(row), row["repeat"], depth, row["control"],
            row["part"],
        )  # fmt: skip
        problems = list(self._wrong_coordinates(row, cell, config))
        replays = self._task.replays
        item_in_row = self._task.reads_corpora
        item = _item_of(row, cell.needle) if item_in_row else self._item(cell)
        problems += self._wrong_truth(row, None if item_in_row else item)
        if item_in_row and not replays and item is not None:
            self._asked = _CellTruth(cell, item, item, self._frame(item, cell.language))
        problems += self._wrong_id(row)
        tokens = sum(map(self._tokenizer.count, _contents(row)))
        problems += self._wrong_prompt(row, tokens)
        if replays and item is not None:
            problems += _wrong_spans(row)
            problems += self._wrong_budget(row, cell, tokens)
            problems += wrong_row(self._task.name, self._settings.options, row, item)
        elif item is not None and cell.control == NO_CONTEXT:
            problems += self._wrong_alone(row)
        elif item is not None:
            problems += self._wrong_context(row, cell, item, tokens)
            problems += wrong_row(self._task.name, self._settings.options, row, item)
        below = off = None
        if self._exact and cell.length and not problems and cell.control is None:
            below = cell.length - self._part.reserve - tokens
            if row["needle_depths"] and depth is not None:
                off = abs(row["needle_depths"][0] - depth)
        return ProvedRow(tuple(problems), below, off)

    def _family(self, row: Row) -> str:
        """family8 of a row's id; the first language's if the recipe does not ask for the row's language."""
        return self._families.get(row["language"], next(iter(self._families.values())))

    def _kind(self, row: Row) -> str:
        """The item that a row asks for."""
        name = row["needle_id"] or ""
        return name if name in self._axes.needles.get(row["language"], ()) else needle_kind(name)

    def _wrong_coordinates(self, row: Row, cell: Cell, config: str) -> Iterator[str]:
        axes, part = self._axes, self._part
        if config_name(cell.language, cell.length) != config:
            yield f"language {shown(cell.language)} and length {cell.length} do not belong in config {config}"
        asked: Sequence[tuple[str, object, Sequence[object]]] = (
            ("language", row["language"], axes.languages),
            ("corpus", row["corpus"], axes.corpora),
            ("length", cell.length, axes.grid.lengths),
            ("depth_percent", row["depth_percent"], axes.depths),
            ("needle_id", cell.needle, axes.needles.get(cell.language, ())),
            ("repeat", row["repeat"], range(axes.repeats)),
            ("control", row["control"], axes.controls),
        )
        for name, value, wanted in asked:
            if value not in wanted:
                yield f"{name} is {shown(value)}; the recipe asks for {', '.join(map(str, wanted[:20]))}"
        if axes.holds(cell) and cell not in axes.grid.cells(cell.language, cell.length, [cell.corpus]):
            yield "the recipe asks for no row of these coordinates together"
        if row["needle_id"] != cell.needle:
            yield from _different(row, "needle_id", cell.draw)
        yield from _different(row, "seed", cell_seed(part.own_seed, cell))
        if self._task.replays:
            yield from _different(row, "template", self._task.name)
            return
        template = part.template_in(cell.language)
        yield from _different(row, "template", template and template.name)
        boundary = None
        if cell.control != NO_CONTEXT:
            boundary = self._task.context.boundary_in(part.placing, part.boundary, cell.depth)
        yield from _different(row, "boundary", boundary)

    def _item(self, cell: Cell) -> Item | None:
        """The item that a cell asks; None for coordinates that the recipe does not ask for."""
        # A depth that the recipe does not ask for has been reported; the rest of the row is still proved.
        key = cell._replace(depth=self._axes.depths[0])
        if not self._axes.holds(key):
            return None
        if self._asked is None or self._asked.key != key:
            item = item_of(self._task, self._settings, key)
            twin = shown_of(self._task, key, item)
            self._asked = _CellTruth(key, twin, item, self._frame(twin, cell.language))
        return self._asked.item

    def _wrong_truth(self, row: Row, item: Item | None) -> Iterator[str]:
        part = self._part
        for name, expected in (
            ("task", self._task.name),
            ("tokenizer", self._manifest.tokenizer.name),
            ("placement", part.placement),
        ):
            yield from _different(row, name, expected)
        if item is not None:
            truth: tuple[tuple[str, object], ...] = (
                ("question", item.question),
                ("question_language", item.asked_in),
                ("answers", list(item.answers)),
                ("keywords", [list(group) for group in item.keywords]),
                ("keyword_kinds", item.kinds),
                ("rejects", item.rejected),
                ("decoys", [list(group) for group in item.decoys]),
                ("metric", item.metric),
                ("needles", self._hidden(item)),
                ("answer_prefix", item.answer_prefix),
                ("max_new_tokens", item.max_new_tokens or part.max_new_tokens),
            )
            for name, value in truth:
                yield from _different(row, name, value)
        if row["haystack_passes"] < 1:
            yield f"haystack_passes is {row['haystack_passes']}, expected at least 1"

    def _hidden(self, item: Item) -> list[str]:
        return list(map(self._part.placing.hidden, item.hide))

    def _wrong_id(self, row: Row) -> Iterator[str]:
        if not ROW_ID.fullmatch(row["id"]):
            yield f"id is {shown(row['id'])}, expected 1 to 64 letters, digits, - and _"
            return
        # Whether it is the dataset's family is checked over all rows together.
        family = row["id"][:8] if _FAMILY.match(row["id"]) else self._family(row)
        try:
            expected = row_id(family, cast(Truth, row))
        except (ValueError, OverflowError):
            return  # its coordinates are invalid, and have been reported
        yield from _different(row, "id", expected)

    def _wrong_prompt(self, row: Row, tokens: int) -> Iterator[str]:
        yield from _different(row, "prompt_sha256", prompt_digest(row["prompt"]))
        yield from _different(row, "prompt_tokens", tokens)
        if not len(row["needles"]) == len(row["needle_spans"]) == len(row["needle_depths"]):
            yield (
                f"{len(row['needles'])} needles, {len(row['needle_spans'])} needle_spans and "
                f"{len(row['needle_depths'])} needle_depths, expected the same number of each"
            )
        content = _contents(row)[max(row["context_message"], 0)] if row["context_message"] < len(_contents(row)) else ""
        if all(0 <= span["start"] <= span["end"] <= len(content) for span in row["needle_spans"]):
            expected = whole_token_spans(content, row["needle_spans"], self._tokenizer)
            yield from _different(row, "needle_token_spans", expected)
        yield from wrong_target(row, content, self._tokenizer)
        for number, depth in enumerate(row["needle_depths"], 1):
            if not 0 <= depth <= 100:
                yield f"the depth of needle {number} is {depth}, expected 0 to 100"

    def _wrong_alone(self, row: Row) -> Iterator[str]:
        """What is wrong with a row that should ask its question without a context."""
        assert self._asked is not None
        if self._asked.frame is None:
            yield f"template {self._part.template!r} cannot ask the question of {shown(row['needle_id'])}"
            return
        alone = self._asked.frame.asked_alone()
        wanted: str | list[Message] = alone[0].text
        if alone[0].role is not None:
            wanted = [Message(role=message.role or "", content=message.text) for message in alone]
        for name, value in (
            ("context_message", -1 if alone[0].role is None else len(alone) - 1), ("needle_depths", []),
            ("haystack_id", None), ("haystack_tokens", 0), ("target_span", None), ("target_token_span", None),
            ("leak", None), ("prompt", wanted),
        ):  # fmt: skip
            yield from _different(row, name, value)

    def _frame(self, item: Item, language: str) -> Frame | None:
        """The prompt around an item's contexts; None if the recipe's template cannot ask its question."""
        part = self._part
        template = part.template_in(language)
        question = item.question or ""
        if template is None or (part.guide and guide_problem(template, part.placement, item.id, question) is not None):
            return None
        return make_frame(
            template, self._form, part.placement, part.guide, question, part.question_position, item.opening
        )  # fmt: skip

    def _wrong_context(self, row: Row, cell: Cell, item: Item, tokens: int) -> list[str]:
        """What is wrong with the messages, the spans, and what the family promises about its contexts."""
        assert self._asked is not None
        frame = self._asked.frame
        if frame is None:
            return [f"template {self._part.template!r} cannot ask the question of {shown(item.id)} in this language"]
        problems = list(self._wrong_budget(row, cell, tokens))
        texts = self._hidden(item)
        if self._exact:
            problems += not_once(texts, _contents(row))
        # Of the families that hide what is asked, only some of users' own hide it in a conversation.
        wrong_frame = list(_outside_frame(frame, row, ":" in self._part.task))
        if wrong_frame:
            return problems + wrong_frame
        if row["target_span"] is not None and self._task.name != "perplexity":
            problems.append("target_span: rows of this task have none")
        content = _contents(row)[max(row["context_message"], 0)]
        place = _Place(content, len(frame.before), len(content) - len(frame.after))
        outside = list(_outside_context(row, place))
        if outside or not len(row["needle_spans"]) == len(row["needle_depths"]) == len(texts):
            return problems + outside
        part = self._part
        lines = lines_of(part.spread, part.diff, row["seed"], self._asked.own.hide, item.hide, self._asked.own.sets)
        needles = tuple(
            PlacedNeedle(text, span["start"] - place.start, span["end"] - place.start)
            for text, span in zip(texts, row["needle_spans"], strict=True)
        )
        proof = ContextProof(
            row,
            place.content[place.start : place.end],
            place.start,
            needles,
            tuple(line.at(row["depth_percent"] or 0.0) for line in lines),
            self._task.context.joiner(row["language"]),
            self._tokenizer,
            partial(self._counted, language=row["language"]),
        )
        return problems + list(wrong_context(self._task, self._settings.options, part.placing, proof))

    def _wrong_budget(self, row: Row, cell: Cell, tokens: int) -> Iterator[str]:
        # A control's twin may be longer than the item that its haystack was filled for.
        budget = cell.length - (self._part.reserve if cell.control is None else 0)
        if self._exact and cell.length and tokens > budget:
            yield f"the prompt has {tokens} tokens, above its budget of {budget}"

    def _counted(self, text: str, language: str) -> CountedHaystack:
        if self._haystack is None or self._haystack.text != text:
            self._haystack = CountedHaystack(text, self._tokenizer, language)
        return self._haystack


def _item_of(row: Row, name: str) -> Item:
    """The item that a row's columns give, for families whose items come with their prompts. `name`: the item's id."""
    return Item(
        name, row["language"], row["question"], tuple(row["answers"]),
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


def _outside_context(row: Row, place: _Place) -> Iterator[str]:
    """The spans of a row that are not within its context."""
    spans = [(f"needle {number}", span) for number, span in enumerate(row["needle_spans"], 1)]
    if row["target_span"] is not None:
        spans.append(("target_span", row["target_span"]))
    for name, span in spans:
        start, end = span["start"], span["end"]
        if not place.start <= start <= end <= place.end:
            yield f"{name} spans {start} to {end}, outside the context, which is {place.start} to {place.end}"


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
