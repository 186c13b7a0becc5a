"""Cell to row: fills, splices, renders, counts and names one prompt. A row depends on its coordinates alone."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from niah_gen.errors import FitError
from niah_gen.haystacks.boundaries import JOINERS
from niah_gen.haystacks.fit import MOST_BELOW
from niah_gen.haystacks.haystack import Haystack, Order
from niah_gen.haystacks.splice import Part, Wish, splice
from niah_gen.prompts.templates import Frame, frame, template_for
from niah_gen.recipe.read import PLACEMENTS
from niah_gen.recipe.schedules import needle_lines
from niah_gen.rows.plan import Cell, Plan, row_seed
from niah_gen.tasks.needle_library import Needle
from niah_gen.tokenizers.spliced import Counter, Encoded, Stretch, encode
from niah_score.contract import ROW_ID, Row, Span, Truth, canonical_json, sha256_hex

_ID_LENGTH = 64
_SMALLEST_PLAIN_FLOAT = 1e-4
# A corpus a few sentences short of a length is no repeated corpus yet.
_REPEATED = 1.01
_CLEARLY_REPEATED = 1.1
_LOOKS_LIKE_COORDINATES = re.compile(r"\d-d\d{4}")


@dataclass(frozen=True, slots=True)
class Draft:
    """A row whose prompt is still in pieces: slices of the haystack that many rows share, never copied until written.

    `utf8` is the text, or the content of message `context_message`; `json` is the prompt's canonical JSON. `notes`:
    what is worth telling the user about it, a sentence each, the same for all rows that it is true of.
    """

    truth: Truth
    frame: Frame
    utf8: tuple[bytes | memoryview, ...]
    json: tuple[bytes | memoryview, ...]
    notes: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """UTF-8 bytes of the text or message that holds the context."""
        return sum(map(len, self.utf8))

    def row(self) -> Row:
        """The row whole."""
        whole = b"".join(self.utf8).decode()
        context = whole[len(self.frame.before) : len(whole) - len(self.frame.after)]
        return Row(**self.truth, prompt=self.frame.fill(context))

    def digest(self) -> str:
        """`niah_score.contract.row_digest` of the row."""
        # Inside a JSON string the quotes would be escaped, so this can only be the column.
        before, after = _fast_json({**self.truth, "prompt": None}).split(b'"prompt":null', 1)
        return _sha256((before, b'"prompt":', *self.json, after))


class Assembler:
    """Makes the rows of a plan. Haystacks are kept while consecutive cells share them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._counter = Counter(plan.tokenizer)
        self._needles: dict[str, tuple[Encoded, ...]] = {}
        self._frames: dict[tuple[str, str], _Framing] = {}
        self._current: _Current | None = None
        self._native = PLACEMENTS[plan.recipe.placement].native

    def drafts(self, cells: Iterable[Cell]) -> Iterator[Draft]:
        """The rows of cells, in order, their prompts in pieces."""
        return map(self.draft, cells)

    def draft(self, cell: Cell) -> Draft:
        """The row of one cell. Raises FitError where its length cannot hold it."""
        plan, recipe = self._plan, self._plan.recipe
        needle = plan.needle(cell)
        hidden = self._encoded(needle)
        framing = self._framing(needle, cell.language)
        around = framing.frame
        current = self._filled(cell, needle, hidden, around)
        haystack = current.haystack
        wish = Wish(cell.depth, recipe.diff, current.order.lines, current.order.joiner)
        spliced = splice(recipe.placement, haystack, hidden, wish, plan.tokenizer)
        stretches = [part.stretch() for part in spliced.parts]
        spans = _spans(spliced.parts, stretches, recipe.hidden(needle), len(around.before))
        utf8 = (framing.utf8[0], *(piece for stretch in stretches for piece in stretch.utf8), framing.utf8[1])
        json = (framing.json[0], *(piece for stretch in stretches for piece in stretch.json), framing.json[1])
        contents = [around.before, *(part.content for part in spliced.parts), around.after]
        tokens = framing.other_tokens + self._counter.count(contents)
        if self._native:
            self._check_budget(cell, tokens)
        truth = Truth(
            id="",
            task=recipe.task,
            language=cell.language,
            corpus=cell.corpus,
            tokenizer=plan.tokenizer.name,
            placement=recipe.placement,
            template=framing.template,
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
            needles=list(recipe.hidden(needle)),
            needle_spans=spans,
            context_message=around.context_message,
            needle_depths=[100 * before / haystack.tokens for before in spliced.tokens_before],
            boundary=recipe.boundary_at(cell.depth),
            prompt_tokens=tokens,
            haystack_tokens=haystack.tokens,
            haystack_passes=haystack.passes,
            target_span=None,
            leak=current.leak,
            prompt_sha256=_sha256(utf8 if around.form == "text" else json),
        )
        truth["id"] = row_id(plan.family, truth)
        return Draft(truth, around, utf8, json, (*current.notes, *self._notes(truth)))

    def _notes(self, truth: Truth) -> Iterator[str]:
        corpus, length = truth["corpus"], truth["length"]
        if truth["leak"] is not None:
            yield f"{corpus} already holds {truth['leak']!r}, a keyword of needle {truth['needle_id']}"
        if truth["haystack_passes"] >= _REPEATED:
            passes = truth["haystack_passes"]
            times = f"{passes:.1f}" if passes >= _CLEARLY_REPEATED else f"{passes:.2f}"
            yield f"{corpus} is repeated to fill length {length}, {times} times over"
        if truth["placement"] == "opencompass" and truth["prompt_tokens"] < length / 2:
            yield f"{corpus} ends early: length {length} holds {truth['haystack_tokens']} tokens of filler"
        if self._native and length - self._plan.recipe.reserve - truth["prompt_tokens"] > MOST_BELOW:
            yield f"some prompts over {corpus} of length {length} end more than {MOST_BELOW} tokens below their budget"

    def _check_budget(self, cell: Cell, tokens: int) -> None:
        budget = cell.length - self._plan.recipe.reserve
        if tokens > budget:
            raise FitError(
                f"{cell}: the prompt has {tokens} tokens, above {budget}; ask for a reserve of "
                f"{self._plan.recipe.reserve + tokens - budget} (--reserve), and please report this"
            )

    def _check_once(self, needle: Needle, haystack: Haystack, around: Frame) -> None:
        """Native promises that every needle stands in its prompt exactly once."""
        beside = "\n".join([around.before, around.after, *around.others])
        texts = self._plan.recipe.hidden(needle)
        filler = haystack.data
        places = [] if haystack.places is None else haystack.places.tolist()
        for number, text in enumerate(texts):
            others = [other for n, other in enumerate(texts) if n != number]
            if (
                text.encode() in filler
                or text in beside
                or any(text in other for other in others)
                or _over_its_edge(text, filler, places)
            ):
                raise FitError(
                    f"needle {needle.id!r}: its text {text!r} stands in the filler, the prompt or another needle "
                    "already; hide something that occurs nowhere else, or use another corpus"
                )

    def _encoded(self, needle: Needle) -> tuple[Encoded, ...]:
        known = self._needles.get(needle.id)
        if known is None:
            known = self._needles[needle.id] = tuple(
                encode(text, self._plan.tokenizer) for text in self._plan.recipe.hidden(needle)
            )
        return known

    def _framing(self, needle: Needle, language: str) -> _Framing:
        known = self._frames.get((needle.id, language))
        if known is None:
            recipe = self._plan.recipe
            template = template_for(recipe.template, language)
            if template is None:
                raise ValueError(f"no template {recipe.template!r} for {language}: the plan should have refused it")
            around = frame(
                template, recipe.form, recipe.placement, recipe.guide, needle.question, recipe.question_position
            )
            others = sum(self._plan.tokenizer.count(content) for content in around.others)
            utf8 = (around.before.encode(), around.after.encode())
            known = self._frames[needle.id, language] = _Framing(
                template.name, around, utf8, around.json_around(), others
            )
        return known

    def _filled(self, cell: Cell, needle: Needle, hidden: tuple[Encoded, ...], around: Frame) -> _Current:
        recipe = self._plan.recipe
        depth = cell.depth if recipe.fresh_haystacks else None
        key = (cell.corpus, cell.length, cell.needle, cell.repeat, depth)
        if self._current is None or self._current.key != key:
            lines = needle_lines(len(hidden), recipe.spread, recipe.diff, row_seed(recipe.seed, cell))
            order = Order(
                cell.length, max(recipe.lengths), recipe.reserve, cell.repeat, recipe.seed, needle, hidden, around,
                lines, JOINERS[cell.language], depth,
            )  # fmt: skip
            filler = self._plan.fillers[cell.corpus]
            haystack = filler.fill(order)
            if haystack is None:
                raise FitError(f"{cell}: the corpus ends before this record")
            if self._native:
                self._check_once(needle, haystack, around)
            leak = haystack.leak(needle.keywords)
            self._current = _Current(key, order, haystack, leak, filler.notes(needle))
        return self._current


def _over_its_edge(text: str, filler: bytes, places: Sequence[int]) -> bool:
    """Whether a text that begins as it ends could be read a second time where it meets the filler."""
    for size in range(1, len(text)):
        if text.startswith(text[-size:]):
            before, after = text[:-size].rstrip().encode(), text[size:].encode()
            if any(filler.endswith(before, 0, place) or filler.startswith(after, place) for place in places):
                return True
    return False


class _Current(NamedTuple):
    """The haystack that consecutive cells share, and all else that they do."""

    key: tuple[object, ...]
    order: Order
    haystack: Haystack
    leak: str | None
    notes: tuple[str, ...]


def check_fit(plan: Plan) -> None:
    """Make one row of each (corpus, needle) at the shortest length. Raises FitError before anything is written."""
    shortest = min(plan.recipe.lengths)
    first = {(cell.corpus, cell.needle): cell for cell in reversed(plan.cells) if cell.length == shortest}
    assembler = Assembler(plan)
    for cell in first.values():
        assembler.draft(cell)


@dataclass(frozen=True, slots=True)
class _Framing:
    """A frame ready to be written: what stands before and after the context, and the tokens of the other messages."""

    template: str
    frame: Frame
    utf8: tuple[bytes, bytes]
    json: tuple[bytes, bytes]
    other_tokens: int


def _fast_json(truth: Mapping[str, Any]) -> bytes:
    """`canonical_json` of a truth. orjson writes the same but for floats that need an exponent."""
    floats = (truth["depth_percent"] or 0.0, truth["haystack_passes"], *truth["needle_depths"])
    if all(value == 0 or value >= _SMALLEST_PLAIN_FLOAT for value in floats):
        return orjson.dumps(truth, option=orjson.OPT_SORT_KEYS)
    return canonical_json(truth)


def _sha256(pieces: Iterable[bytes | memoryview]) -> str:
    total = hashlib.sha256()
    for piece in pieces:
        total.update(piece)
    return total.hexdigest()


def _spans(parts: Sequence[Part], stretches: Sequence[Stretch], needles: Sequence[str], offset: int) -> list[Span]:
    """Each needle's span in code points, `offset` characters before the context included."""
    extents = [[0, 0] for _ in needles]
    pieces = [0] * len(needles)
    at = offset
    for part, stretch in zip(parts, stretches, strict=True):
        if part.needle >= 0:
            extent = extents[part.needle]
            extent[:] = extent[0] if pieces[part.needle] else at, at + stretch.chars
            pieces[part.needle] += 1
        at += stretch.chars
    for number, needle in enumerate(needles):
        if pieces[number] > 1:
            # gkamradt can put a needle before the last space of an earlier one. That one still reads whole where the
            # next begins with a space; its span says so.
            start = extents[number][0]
            context = "".join(stretch.text for stretch in stretches)
            if context.startswith(needle, start - offset):
                extents[number][1] = start + len(needle)
    return [Span(start=start, end=end) for start, end in extents]


def row_id(family: str, row: Truth) -> str:
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
    # A name that holds what looks like coordinates could be read in two ways.
    if not spelled or _LOOKS_LIKE_COORDINATES.search(f"{corpus} {needle}"):
        truth.append([row["corpus"], row["needle_id"], row["depth_percent"]])
    row12 = sha256_hex(canonical_json(truth))[:12]
    name = f"{family}-{corpus}-{row['length']}-d{depth:04d}-{needle}-r{row['repeat']}-{row12}"
    if not ROW_ID.fullmatch(name):
        raise ValueError(f"row id {name!r} is outside the alphabet: a bug")
    return name


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name.rsplit("/", 1)[-1])
