"""Cell to row: fills, splices, renders, counts and names one prompt. A row depends on its coordinates alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from niah_gen.encoded import Counter, Encoded, encode
from niah_gen.haystack import FitError, Haystack, Order
from niah_gen.needles import Needle
from niah_gen.plan import Cell, Plan, row_seed
from niah_gen.prompts import Frame, frame, template_for
from niah_gen.splice import Spliced, Wish, splice
from niah_score.contract import ROW_ID, Row, Span, canonical_json, prompt_digest, sha256_hex

# What stands on the left of a needle: the last thing each placement's rule looks at.
_BOUNDARIES = {"native": "sentence", "gkamradt": "sentence", "opencompass": "token", "opencompass-processed": "token"}
_ID_LENGTH = 64


class Assembler:
    """Makes the rows of a plan. Haystacks are kept while consecutive cells share them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._counter = Counter(plan.tokenizer)
        self._needles: dict[str, tuple[Encoded, ...]] = {}
        self._frames: dict[tuple[str, str], tuple[Frame, int]] = {}
        self._current: tuple[tuple[str, int, str, int], Haystack, str | None] | None = None

    def rows(self, cells: Iterable[Cell]) -> Iterator[Row]:
        """The rows of cells, in order."""
        return map(self.row, cells)

    def row(self, cell: Cell) -> Row:
        """The row of one cell. Raises FitError where its length cannot hold it."""
        plan, recipe = self._plan, self._plan.recipe
        needle = plan.needle(cell)
        hidden = self._encoded(needle)
        around, other_tokens = self._frame(needle, cell.language)
        haystack, leak = self._haystack(cell, needle, hidden, around)
        spliced = splice(recipe.placement, haystack, hidden, Wish(cell.depth, recipe.diff, cell.language), plan.tokenizer)
        context, spans = _render(spliced, self._hidden(needle), len(around.before))
        prompt = around.fill(context)
        tokens = other_tokens + self._counter.count(
            [around.before, *(part.content for part in spliced.parts), around.after]
        )
        if recipe.placement == "native" and tokens > cell.length - recipe.reserve:
            raise FitError(f"{cell}: the prompt has {tokens} tokens, above {cell.length - recipe.reserve}; please report this")
        row = Row(
            id="",
            task=recipe.task,
            language=cell.language,
            corpus=cell.corpus,
            tokenizer=plan.tokenizer.name,
            placement=recipe.placement,
            template=recipe.template,
            control=None,
            length=cell.length,
            depth_percent=cell.depth,
            needle_id=cell.needle,
            haystack_id=haystack.id,
            repeat=cell.repeat,
            seed=row_seed(recipe.seed, cell),
            question=needle.question,
            answers=list(needle.answers),
            keywords=[list(group) for group in needle.keywords],
            metric=needle.metric,
            answer_prefix=None,
            max_new_tokens=recipe.max_new_tokens,
            needles=list(self._hidden(needle)),
            needle_spans=spans,
            context_message=around.context_message,
            needle_depths=[100 * before / haystack.tokens for before in spliced.tokens_before],
            boundary=_BOUNDARIES[recipe.placement],
            prompt_tokens=tokens,
            haystack_tokens=haystack.tokens,
            haystack_passes=haystack.passes,
            target_span=None,
            leak=leak,
            prompt_sha256=prompt_digest(prompt),
            prompt=prompt,
        )
        row["id"] = row_id(plan.family, row)
        return row

    def _encoded(self, needle: Needle) -> tuple[Encoded, ...]:
        known = self._needles.get(needle.id)
        if known is None:
            known = self._needles[needle.id] = tuple(encode(text, self._plan.tokenizer) for text in self._hidden(needle))
        return known

    def _hidden(self, needle: Needle) -> tuple[str, ...]:
        """The texts as they are put in: native strips them, the published placements keep their line ends."""
        if self._plan.recipe.placement == "native":
            return tuple(text.strip() for text in needle.needles)
        return needle.needles

    def _frame(self, needle: Needle, language: str) -> tuple[Frame, int]:
        """The prompt around the context, and the tokens of the messages that do not hold it."""
        known = self._frames.get((needle.id, language))
        if known is None:
            recipe = self._plan.recipe
            template = template_for(recipe.template, language)
            if template is None:
                raise ValueError(f"no template {recipe.template!r} for {language}: the plan should have refused it")
            around = frame(template, recipe.form, recipe.placement, recipe.guide, needle.question)
            others = sum(self._plan.tokenizer.count(content) for content in around.others)
            known = self._frames[needle.id, language] = (around, others)
        return known

    def _haystack(
        self, cell: Cell, needle: Needle, hidden: tuple[Encoded, ...], around: Frame
    ) -> tuple[Haystack, str | None]:
        key = (cell.corpus, cell.length, cell.needle, cell.repeat)
        if self._current is None or self._current[0] != key:
            recipe = self._plan.recipe
            order = Order(
                cell.length, max(recipe.lengths), recipe.reserve, cell.repeat, recipe.seed, hidden, around
            )
            haystack = self._plan.fillers[cell.corpus].fill(recipe.placement, order)
            if haystack is None:
                raise FitError(f"{cell}: the corpus ends before this record")
            self._current = (key, haystack, haystack.leak(needle.keywords))
        return self._current[1], self._current[2]


def _render(spliced: Spliced, needles: Sequence[str], offset: int) -> tuple[str, list[Span]]:
    """The context as text, and each needle's span in code points, `offset` characters before the context included."""
    texts = []
    extents = [[0, 0] for _ in needles]
    at = 0
    for part in spliced.parts:
        text = part.text
        texts.append(text)
        if part.needle >= 0:
            extent = extents[part.needle]
            extent[:] = extent[0] if extent[1] else at, at + len(text)
        at += len(text)
    context = "".join(texts)
    spans = []
    for needle, (start, end) in zip(needles, extents, strict=True):
        # gkamradt can put a needle before the last space of an earlier one; that needle still reads whole, because the
        # next begins with a space.
        whole = context.startswith(needle, start)
        spans.append(Span(start=offset + start, end=offset + (start + len(needle) if whole else end)))
    return context, spans


def row_id(family: str, row: Row) -> str:
    """The row's id: `<family8>-<corpus>-<length>-d<depth x 10>-<needle>-r<repeat>-<row12>`, at most 64 characters.

    row12 digests prompt, question, answers and keywords; where the readable part cannot spell the coordinates in full
    (a name shortened, a depth finer than 0.1), it digests those too, so that no two rows of a dataset share an id.
    """
    depth = round((row["depth_percent"] or 0.0) * 10)
    fixed = f"{family}--{row['length']}-d{depth:04d}--r{row['repeat']}-"
    room = _ID_LENGTH - len(fixed) - 12
    corpus, needle = _slug(row["corpus"]), _slug(row["needle_id"] or "")
    if len(corpus) + len(needle) > room:
        needle = needle[: max(room - len(corpus), room // 2)]
        corpus = corpus[: room - len(needle)]
    truth: list[object] = [row["prompt_sha256"], row["question"], row["answers"], row["keywords"]]
    spelled = (corpus, needle, depth / 10) == (row["corpus"], row["needle_id"], row["depth_percent"])
    if not spelled:
        truth.append([row["corpus"], row["needle_id"], row["depth_percent"]])
    row12 = sha256_hex(canonical_json(truth))[:12]
    name = f"{family}-{corpus}-{row['length']}-d{depth:04d}-{needle}-r{row['repeat']}-{row12}"
    if not ROW_ID.fullmatch(name):
        raise ValueError(f"row id {name!r} is outside the alphabet: a bug")
    return name


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name.rsplit("/", 1)[-1])
