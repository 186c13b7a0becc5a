"""Makes the row of a cell: fills, hides, renders, counts and names one prompt. A row depends on its cell alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from niah_gen.errors import FitError, RecipeError
from niah_gen.prompts.frame import Frame, make_frame
from niah_gen.prompts.messages import Piece, PromptMessage, count_tokens, prompt_json
from niah_gen.prompts.templates import Template, guide_problem
from niah_gen.prompts.token_spans import token_spans, whole_token_spans
from niah_gen.rows.fast_json import fast_json
from niah_gen.rows.ids import row_id
from niah_gen.rows.past_end import past_end
from niah_gen.rows.plan import Plan, PlannedPart, contexts_of
from niah_gen.rows.prefix_hash import PrefixHash
from niah_gen.rows.repeats import refuse_repeats, repeated_note, repeats
from niah_gen.tasks.base import NO_CONTEXT, AskedOfTexts, Replay, is_published, item_of, shown_of
from niah_gen.tasks.records import WITHOUT_CONTEXT, Cell, Context, Item, Workbench, cell_seed
from niah_gen.tokenizers.fragments import Fragment
from niah_gen.tokenizers.spliced import Counter
from niah_score.contract import Message, Row, Span, Truth

Bytes = tuple[bytes | memoryview, ...]


class PendingMessage(NamedTuple):
    """A message ready to be written. `role`: None for a prompt that is one text; `utf8`: the content in pieces."""

    role: str | None
    utf8: Bytes


@dataclass(frozen=True, slots=True)
class PendingRow:
    """A row whose prompt is still in pieces: slices of the haystack that many rows share, never copied until written.

    `json` is the prompt's canonical JSON. `notes`: what to tell the user about the row, a sentence each, identical for
    all rows that it is true of.
    """

    truth: Truth
    messages: tuple[PendingMessage, ...]
    json: Bytes
    notes: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """UTF-8 bytes of the prompt's messages."""
        return sum(len(piece) for message in self.messages for piece in message.utf8)

    def row(self) -> Row:
        """The whole row."""
        contents = [b"".join(message.utf8).decode() for message in self.messages]
        prompt: str | list[Message] = contents[0]
        if self.messages[0].role is not None:
            prompt = [
                Message(role=message.role or "", content=content)
                for message, content in zip(self.messages, contents, strict=True)
            ]
        return Row(**self.truth, prompt=prompt)

    def digest(self) -> str:
        """`niah_score.contract.row_digest` of the row."""
        truth = self.truth
        floats = (truth["depth_percent"] or 0.0, truth["haystack_passes"], *truth["needle_depths"])
        # Inside a JSON string the quotes would be escaped, so this can only be the column.
        before, after = fast_json({**truth, "prompt": None}, floats).split(b'"prompt":null', 1)
        return _sha256((before, b'"prompt":', *self.json, after))


class _Asked(NamedTuple):
    """What all depths of a cell share. `shown`: the item or its control's twin, whose question `frame` asks.

    `filled`: the frame of the item itself, which the haystack is filled for.
    """

    key: Cell
    item: Item
    shown: Item
    template: Template
    filled: Frame
    frame: Frame


class _Prompt(NamedTuple):
    """A prompt in pieces, and what it asks. `at`: the message that holds the needles.

    `template`: its name; `before`: code points before the context in its message.
    """

    template: str
    shown: Item
    context: Context
    messages: tuple[PromptMessage, ...]
    at: int
    before: int


class Assembler:
    """Makes the rows of a plan, keeping what consecutive cells share."""

    def __init__(self, plan: Plan) -> None:
        counter = Counter(plan.tokenizer)
        self._parts = {name: _PartAssembler(plan, planned, counter) for name, planned in plan.part_of.items()}

    def pending_rows(self, cells: Iterable[Cell]) -> Iterator[PendingRow]:
        """The rows of cells, in order, their prompts in pieces. Cells that share a context must all be among them."""
        for context in contexts_of(cells):
            yield from self._parts[context[0].part].rows(context)

    def pending_row(self, cell: Cell) -> PendingRow:
        """The row of a cell that has its context alone. Raises FitError if its length cannot hold it."""
        return next(self.pending_rows([cell]))


class _PartAssembler:
    """Makes the rows of one part of a plan."""

    def __init__(self, plan: Plan, planned: PlannedPart, counter: Counter) -> None:
        part = planned.part
        self._planned = planned
        self._part = part
        self._form = plan.recipe.form
        self._tokenizer = plan.tokenizer.name
        self._counter = counter
        bench = Workbench(
            tokenizer=plan.tokenizer,
            counter=counter,
            placement=part.placing,
            fillers=planned.fillers,
            longest=max(part.lengths),
            reserve=part.reserve,
            seed=part.own_seed,
            spread=part.spread,
            diff=part.diff,
            boundary=part.boundary,
            fresh_haystacks=part.fresh_haystacks,
            options=planned.settings.options,
            corpora={corpus.name: corpus for corpus in planned.corpora},
            depths=part.placed_depths(),
            form=plan.recipe.form,
        )
        task = planned.task
        self._exact = task.context.exact(part.placing)
        # A published generator draws from the seed as given, whichever part of a recipe it is in.
        seed = part.seed if is_published(task) else part.own_seed
        self._replay = task.item.make(replace(bench, seed=seed)) if isinstance(task.item, Replay) else None
        self._make = task.context.make(bench) if self._replay is None else None
        self._item_of = task.item.ask(bench) if isinstance(task.item, AskedOfTexts) else None
        self._asked: _Asked | None = None
        self._hash = PrefixHash()

    def rows(self, context: Sequence[Cell]) -> Iterator[PendingRow]:
        """The rows of the cells that share a context. Raises FitError if their length cannot hold it."""
        prompts = [self._prompt(cell) for cell in context]
        shared = _shared_prefix(prompts) if len(prompts) > 1 else None
        for cell, prompt in zip(context, prompts, strict=True):
            yield self._row(cell, prompt, shared)

    def _row(self, cell: Cell, made: _Prompt, shared_prefix: int | None) -> PendingRow:
        part = self._part
        template, shown, context, prompt, at, before = made
        fragments = [[piece.fragment() for piece in message.pieces] for message in prompt]
        is_text = prompt[0].role is None
        hidden = tuple(map(part.placing.hidden, shown.hide))
        utf8 = tuple(tuple(data for fragment in pieces for data in fragment.utf8) for pieces in fragments)
        json = tuple(prompt_json(prompt, fragments))
        tokens = count_tokens(prompt, self._counter)
        spans = _spans(prompt[at].pieces, fragments[at], hidden)
        target = _moved(context.target_span, before)
        if self._exact and cell.length:
            self._check_budget(cell, tokens)
        truth = Truth(
            id="",
            task=self._planned.task.name,
            part=cell.part,
            language=cell.language,
            corpus=cell.corpus,
            tokenizer=self._tokenizer,
            placement=part.placement,
            template=template,
            control=cell.control,
            length=cell.length or None,
            depth_percent=cell.depth,
            needle_id=shown.id,
            haystack_id=context.haystack_id,
            repeat=cell.repeat,
            seed=cell_seed(part.own_seed, cell),
            question=shown.question,
            question_language=shown.asked_in,
            answers=list(shown.answers),
            keywords=[list(group) for group in shown.keywords],
            keyword_kinds=shown.kinds,
            rejects=shown.rejected,
            decoys=[list(group) for group in shown.decoys],
            metric=shown.metric,
            answer_prefix=shown.answer_prefix,
            max_new_tokens=shown.max_new_tokens or part.max_new_tokens,
            needles=list(hidden),
            needle_spans=spans,
            context_message=-1 if is_text else at,
            needle_token_spans=token_spans(prompt[at].pieces, spans, self._counter),
            needle_depths=list(context.needle_depths),
            boundary=context.boundary,
            prompt_tokens=tokens,
            haystack_tokens=context.haystack_tokens,
            haystack_passes=context.haystack_passes,
            shared_prefix=shared_prefix,
            world=None,
            chance=None,
            target_span=target,
            target_token_span=target and whole_token_spans(_text(utf8[at]), [target], self._counter.tokenizer)[0],
            leak=context.leak,
            prompt_sha256=self._hash.hexdigest(utf8[0] if is_text else json),
        )
        truth["id"] = row_id(self._planned.families[cell.language], truth)
        messages = tuple(PendingMessage(message.role, parts) for message, parts in zip(prompt, utf8, strict=True))
        return PendingRow(truth, messages, json, (*context.notes, *self._notes(truth)))

    def _prompt(self, cell: Cell) -> _Prompt:
        """The prompt of a cell, in pieces, and what it asks."""
        if self._replay is not None:
            item, context = self._replay(cell)
            messages = self._in_form(cell, context.turns)
            return _Prompt(self._planned.task.name, item, context, messages, context.needle_turn, 0)
        asked = self._ask(cell)
        if cell.control == NO_CONTEXT:
            context, messages = WITHOUT_CONTEXT, asked.frame.asked_alone()
        else:
            assert self._make is not None
            context = self._make(cell, asked.item, asked.shown, asked.filled)
            messages = asked.frame.around(context.turns)
        at = 0 if messages[0].role is None else min(asked.frame.hole + context.needle_turn, len(messages) - 1)
        in_text = bool(context.turns) and context.turns[0].role is None
        before = len(asked.frame.before) if in_text else 0
        return _Prompt(asked.template.name, asked.shown, context, messages, at, before)

    def _in_form(self, cell: Cell, messages: tuple[PromptMessage, ...]) -> tuple[PromptMessage, ...]:
        """A published prompt in the recipe's form: in a chat, a text becomes one user message."""
        if self._form == "text" and messages[0].role is not None:
            raise RecipeError([f"form: the prompts of {cell.needle!r} are chats; ask for --chat"])
        if self._form == "chat" and messages[0].role is None:
            return (messages[0]._replace(role="user"),)
        return messages

    def _notes(self, truth: Truth) -> Iterator[str]:
        if truth["leak"] is not None:
            yield f"{truth['corpus']} already holds {truth['leak']!r}, a keyword of needle {truth['needle_id']}"
        if repeats(truth):
            yield repeated_note(truth)
        yield from self._part.placing.notes(truth, self._part.reserve)
        if self._replay is None:
            yield from past_end(self._part, truth)

    def _check_budget(self, cell: Cell, tokens: int) -> None:
        # A control's twin may be longer than the item that its haystack was filled for, but must fit the length.
        budget = cell.length - (self._part.reserve if cell.control is None else 0)
        if tokens <= budget:
            return
        if cell.control is not None:
            raise FitError(f"{cell}: the prompt of the control has {tokens} tokens, above its length; hide less in it")
        raise FitError(
            f"{cell}: the prompt has {tokens} tokens, above {budget}; ask for a reserve of "
            f"{self._part.reserve + tokens - budget} (--reserve), and please report this"
        )

    def _ask(self, cell: Cell) -> _Asked:
        """The item of a cell, its twin, and the prompt around the context."""
        key = cell._replace(depth=0.0)
        if self._asked is None or self._asked.key != key:
            planned, part = self._planned, self._part
            template = part.template_in(cell.language)
            if template is None:
                raise FitError(f"template {part.template!r} has no form for {cell.language}; choose another one")
            item = self._item(cell)
            shown = shown_of(planned.task, cell, item)
            for each in (item, shown) if part.guide else ():
                problem = guide_problem(template, part.placement, each.id, each.question or "")
                if problem:
                    raise RecipeError([problem])
            filled = self._frame(template, item)
            frame = filled if shown is item else self._frame(template, shown)
            self._asked = _Asked(key, item, shown, template, filled, frame)
        return self._asked

    def _item(self, cell: Cell) -> Item:
        return item_of(self._planned.task, self._planned.settings, cell, self._item_of)

    def _frame(self, template: Template, item: Item) -> Frame:
        part = self._part
        question = item.question or ""
        return make_frame(
            template, self._form, part.placement, part.guide, question, part.question_position, item.opening
        )  # fmt: skip


def check_fit(plan: Plan) -> None:
    """Make one row of each item and control of each part at its shortest length, and one of each corpus at its longest.

    Raises FitError, before anything is written, if a length cannot hold what must go into it, or a corpus is repeated
    that must not be.
    """
    shortest: dict[tuple[object, ...], Cell] = {}
    longest: dict[tuple[object, ...], Cell] = {}
    for cell in plan.cells:
        key: tuple[object, ...] = (cell.part, cell.language, cell.corpus, cell.needle, cell.control)
        if key not in shortest or cell.length < shortest[key].length:
            shortest[key] = cell
        key = (cell.part, cell.corpus)
        if cell.control is None and (key not in longest or cell.length > longest[key].length):
            longest[key] = cell
    assembler = Assembler(plan)
    for cell in (*shortest.values(), *longest.values()):
        try:
            row = assembler.pending_row(cell)
            refuse_repeats(plan.recipe, row.truth)
        except FitError as error:
            if cell.part is None:
                raise
            raise FitError(f"part {cell.part!r}, {cell.needle!r}: {error}") from None


def _shared_prefix(prompts: Sequence[_Prompt]) -> int:
    """How many code points the last messages of prompts have in common."""
    texts = ["".join(piece.fragment().text for piece in prompt.messages[-1].pieces) for prompt in prompts]
    first, last = min(texts), max(texts)  # every other text begins with what these two share
    return next((at for at, pair in enumerate(zip(first, last, strict=False)) if len({*pair}) == 2), len(first))


def _sha256(pieces: Iterable[bytes | memoryview]) -> str:
    total = hashlib.sha256()
    for piece in pieces:
        total.update(piece)
    return total.hexdigest()


def _text(pieces: Bytes) -> str:
    return b"".join(pieces).decode()


def _moved(span: Span | None, offset: int) -> Span | None:
    return None if span is None else Span(start=span["start"] + offset, end=span["end"] + offset)


def _spans(pieces: Sequence[Piece], fragments: Sequence[Fragment], needles: Sequence[str]) -> list[Span]:
    """Each needle's span in its message, in code points."""
    extents = [[0, 0] for _ in needles]
    counts = [0] * len(needles)
    at = 0
    for piece, fragment in zip(pieces, fragments, strict=True):
        if piece.needle >= 0:
            extent = extents[piece.needle]
            extent[:] = extent[0] if counts[piece.needle] else at, at + fragment.chars
            counts[piece.needle] += 1
        at += fragment.chars
    for number, needle in enumerate(needles):
        if counts[number] > 1:
            # gkamradt can put a needle before the last space of an earlier one. The earlier one still reads whole if
            # the next begins with a space, and its span says so.
            start = extents[number][0]
            if "".join(fragment.text for fragment in fragments).startswith(needle, start):
                extents[number][1] = start + len(needle)
    return [Span(start=start, end=end) for start, end in extents]
