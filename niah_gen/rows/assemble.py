"""Makes the row of a cell: fills, hides, renders, counts and names one prompt. A row depends on its cell alone."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import starmap
from typing import NamedTuple

from niah_gen.errors import FitError, RecipeError
from niah_gen.prompts.frame import Frame, PromptMessage, make_frame
from niah_gen.prompts.templates import Template, guide_problem
from niah_gen.recipe.recipe import Part
from niah_gen.rows.ids import row_id
from niah_gen.rows.plan import Plan, PlannedPart, contexts_of
from niah_gen.tasks.base import NO_CONTEXT, AskedOfTexts, Replay, is_published, item_of, shown_of
from niah_gen.tasks.records import WITHOUT_CONTEXT, Cell, Context, Item, Workbench, cell_seed
from niah_score.contract import Message, Row, Span, Truth, prompt_digest

# A corpus a few sentences short of a length does not count as repeated.
_REPEATED = 1.01
_CLEARLY_REPEATED = 1.1

# A row, and what to tell the user about it, a sentence each, identical for all rows that it is true of.
Made = tuple[Row, tuple[str, ...]]


class _Asked(NamedTuple):
    """What all depths of a cell share. `shown`: the item or its control's twin, whose question `frame` asks.

    `filled`: the frame of the item itself, which the haystack is filled for.
    """

    item: Item
    shown: Item
    template: Template
    filled: Frame
    frame: Frame


class _Prompt(NamedTuple):
    """A prompt, and what it asks. `at`: the message that holds the needles.

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
        self._parts = {name: _PartAssembler(plan, planned) for name, planned in plan.part_of.items()}

    def rows(self, cells: Iterable[Cell]) -> Iterator[Made]:
        """The rows of cells, in order. Cells that share a context must all be among them.

        Raises FitError if a length cannot hold its row.
        """
        for context in contexts_of(cells):
            part, first = self._parts[context[0].part], context[0]
            try:
                yield from part.rows(context)
            except FitError as error:
                if first.part is None:
                    raise
                raise FitError(f"part {first.part!r}, {first.needle!r}: {error}") from None


class _PartAssembler:
    """Makes the rows of one part of a plan."""

    def __init__(self, plan: Plan, planned: PlannedPart) -> None:
        part = planned.part
        self._planned = planned
        self._part = part
        self._recipe = plan.recipe
        self._tokenizer = plan.tokenizer
        bench = Workbench(
            tokenizer=plan.tokenizer,
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
        self._exact = task.context.is_exact(part.placing)
        # A published generator draws from the seed as given, whichever part of a recipe it is in.
        seed = part.seed if is_published(task) else part.own_seed
        self._replay = task.item.make(replace(bench, seed=seed)) if isinstance(task.item, Replay) else None
        self._make = task.context.make(bench) if self._replay is None else None
        self._item_of = task.item.ask(bench) if isinstance(task.item, AskedOfTexts) else None
        # Consecutive cells differ in their depth alone.
        self._asked = lru_cache(maxsize=1)(self._ask)

    def rows(self, context: Sequence[Cell]) -> Iterator[Made]:
        """The rows of the cells that share a context."""
        prompts = [self._prompt(cell) for cell in context]
        shared = _shared_prefix(prompts) if len(prompts) > 1 else None
        for cell, prompt in zip(context, prompts, strict=True):
            yield self._row(cell, prompt, shared)

    def _row(self, cell: Cell, made: _Prompt, shared_prefix: int | None) -> Made:
        part = self._part
        template, shown, context, messages, at, before = made
        is_text = messages[0].role is None
        texts = [message.text for message in messages]
        prompt: str | list[Message] = texts[0]
        if not is_text:
            prompt = [Message(role=m.role or "", content=text) for m, text in zip(messages, texts, strict=True)]
        hidden = tuple(map(part.placing.hidden, shown.hide))
        target = _moved(context.target_span, before)
        spans = [*messages[at].needles, *([(target["start"], target["end"])] if target else [])]
        counts = [m.measured(spans if n == at else (), self._tokenizer) for n, m in enumerate(messages)]
        tokens, covered = sum(count for count, _ in counts), list(starmap(_span, counts[at][1]))
        found = len(messages[at].needles)
        if self._exact and cell.length:
            self._check_budget(cell, tokens)
        row = Row(
            id="",
            task=self._planned.task.name,
            part=cell.part,
            language=cell.language,
            corpus=cell.corpus,
            tokenizer=self._tokenizer.name,
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
            needle_spans=list(starmap(_span, messages[at].needles or [(0, 0)] * len(hidden))),
            context_message=-1 if is_text else at,
            needle_token_spans=covered[:found],
            needle_depths=list(context.needle_depths),
            boundary=context.boundary,
            prompt_tokens=tokens,
            haystack_tokens=context.haystack_tokens,
            haystack_passes=context.haystack_passes,
            shared_prefix=shared_prefix,
            world=shown.world,
            chance=shown.chance,
            target_span=target,
            target_token_span=covered[found] if target else None,
            leak=context.leak,
            prompt_sha256=prompt_digest(prompt),
            prompt=prompt,
        )
        row["id"] = row_id(self._planned.families[cell.language], row)
        if cell.control is None and not self._recipe.allow_repeats:
            refuse_repeats(row)
        return row, (*context.notes, *notes_of(part, row, self._replay is not None))

    def _prompt(self, cell: Cell) -> _Prompt:
        """The prompt of a cell, and what it asks."""
        if self._replay is not None:
            item, context = self._replay(cell)
            messages = self._in_form(cell, context.turns)
            return _Prompt(self._planned.task.name, item, context, messages, context.needle_turn, 0)
        asked = self._asked(cell._replace(depth=0.0))
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
        if self._recipe.form == "text" and messages[0].role is not None:
            raise RecipeError([f"form: the prompts of {cell.needle!r} are chats; ask for --chat"])
        if self._recipe.form == "chat" and messages[0].role is None:
            return (messages[0]._replace(role="user"),)
        return messages

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
        planned, part = self._planned, self._part
        template = part.template_in(cell.language)
        if template is None:
            raise FitError(f"template {part.template!r} has no form for {cell.language}; choose another one")
        item = item_of(planned.task, planned.settings, cell, self._item_of)
        asked = item
        if item.asks:
            # All questions share the context, so it is filled for the longest of them.
            longest = max((one.question or "" for one in item.asks), key=self._tokenizer.count)
            asked, item = item.asks[cell.question], item._replace(question=longest)
        shown = shown_of(planned.task, cell, asked)
        problems = [guide_problem(template, part.placement, one.id, one.question or "") for one in (item, shown)]
        if part.guide and any(problems):
            raise RecipeError([problem for problem in problems if problem][:1])
        filled = self._frame(template, item)
        return _Asked(item, shown, template, filled, filled if shown is item else self._frame(template, shown))

    def _frame(self, template: Template, item: Item) -> Frame:
        part = self._part
        question = item.question or ""
        return make_frame(
            template, self._recipe.form, part.placement, part.guide, question, part.question_position, item.opening
        )  # fmt: skip


def check_fit(plan: Plan) -> None:
    """Make a row of each part and control at its shortest length, and of each corpus at its longest.

    Raises FitError, before a long build begins, if a length cannot hold what must go into it, or a corpus is repeated
    that must not be.
    """
    shortest: dict[object, Cell] = {}
    longest: dict[object, Cell] = {}
    for cell in plan.cells:
        if cell.length < shortest.setdefault((cell.part, cell.control), cell).length:
            shortest[cell.part, cell.control] = cell
        if cell.control is None and cell.length > longest.setdefault((cell.part, cell.corpus), cell).length:
            longest[cell.part, cell.corpus] = cell
    assembler = Assembler(plan)
    for cell in dict.fromkeys((*shortest.values(), *longest.values())):
        next(assembler.rows([cell]))


def _shared_prefix(prompts: Sequence[_Prompt]) -> int:
    """How many code points the last messages of prompts have in common."""
    texts = [prompt.messages[-1].text for prompt in prompts]
    first, last = min(texts), max(texts)  # every other text begins with what these two share
    sizes = range(min(len(first), len(last)))
    return bisect_left(sizes, True, key=lambda size: first[: size + 1] != last[: size + 1])


def _span(start: int, end: int) -> Span:
    return Span(start=start, end=end)


def _moved(span: Span | None, offset: int) -> Span | None:
    return None if span is None else _span(span["start"] + offset, span["end"] + offset)


def notes_of(part: Part, row: Truth, is_whole: bool) -> Iterator[str]:
    """Notes on a row of a part. `is_whole`: its prompt was made whole by a published rule."""
    corpus, length = row["corpus"], row["length"] or 0
    if row["leak"] is not None:
        yield f"{corpus} already holds {row['leak']!r}, a keyword of needle {row['needle_id']}"
    if row["haystack_passes"] >= _REPEATED:
        yield f"{corpus} is repeated to fill length {length}, {_times(row)} times over"
    if is_whole or row["control"] is not None:
        return
    # Published haystacks with needles and template take more than this, unless the corpus ends, which none repeats. A
    # shortfall of fewer tokens than the template has is not reported.
    if not part.placing.native and row["prompt_tokens"] < length - part.reserve:
        yield f"{corpus} ends early: length {length} holds {row['haystack_tokens']} tokens of filler"
    count, depth, last = len(row["needles"]), row["depth_percent"], part.diff * (len(row["needles"]) - 1)
    # Every placement puts a needle past the end at the end, beside others instead of at its own depth.
    if part.spread == "diff" and depth is not None and depth + last > 100:
        where = f"at depths above {100 - last:g} %" if last <= 100 else "at every depth"
        yield (
            f"{row['needle_id']}: {where} the last of {count} needles, {part.diff:g} % apart, would be past the end, "
            "and is put at it; a smaller --diff keeps them apart"
        )


def refuse_repeats(row: Truth) -> None:
    """Raise FitError for a row whose haystack goes through its corpus clearly more than once.

    Then every line but the needle occurs twice: a model can find what is not repeated without understanding it.
    """
    passes, length = row["haystack_passes"], row["length"] or 0
    if passes < _REPEATED:
        return
    most = int(length / passes)
    raise FitError(
        f"corpus {row['corpus']!r}: to fill length {length:,} it would be repeated {_times(row)} times over; then "
        "every line but the needle occurs more than once, and a model can find the needle unread; ask for lengths up "
        f"to about {most // 1000 * 1000 or most:,} tokens, take a larger corpus (`niah-gen corpora list`), or allow "
        "it: --allow-repeats"
    )


def _times(row: Truth) -> str:
    passes = row["haystack_passes"]
    return f"{passes:.1f}" if passes >= _CLEARLY_REPEATED else f"{passes:.2f}"
