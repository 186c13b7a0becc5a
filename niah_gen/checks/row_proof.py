"""One row in, what is wrong with it out: every column proved anew from the recipe, the tokenizer and the prompt itself.

Only rules are shared with the code that made the row: texts are searched, digested and encoded whole.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from niah_gen.corpora.declarations import LANGUAGES
from niah_gen.corpora.find import locate
from niah_gen.corpora.read import read_corpus
from niah_gen.errors import NiahError
from niah_gen.haystacks.boundaries import JOINERS
from niah_gen.haystacks.native_proof import (
    CountedHaystack,
    Hidden,
    misplaced,
    not_once,
    shown,
    take_out,
    wrong_haystack,
)
from niah_gen.prompts.templates import Frame, frame, guide_problem, template_for
from niah_gen.recipe.read import PLACEMENTS, Recipe
from niah_gen.recipe.schedules import needle_lines
from niah_gen.rows.assemble import row_id
from niah_gen.rows.plan import Cell, row_seed
from niah_gen.tasks.needle_library import Needle
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import (
    COLUMNS,
    ROW_ID,
    SCHEMA_VERSION,
    Manifest,
    Message,
    PromptForm,
    Row,
    Truth,
    canonical_json,
    config_name,
    prompt_digest,
    row_schema,
    sha256_hex,
)

if TYPE_CHECKING:
    import pyarrow as pa

_SURROGATE = re.compile("[\ud800-\udfff]")
_FAMILY = re.compile("[0-9a-f]{8}-")


class ProvedRow(NamedTuple):
    """What proving a row found, and what the rows of a dataset are compared by.

    `digest`: `row_digest`, empty where the value has none. `rank`: `Axes.rank` of its coordinates, None where these or
    what its id is made of are wrong. `below`: tokens between prompt and budget; `off`: points between the depth asked
    for and the one obtained of the first needle; both None unless the haystack was proved.
    """

    id: str | None
    digest: str
    rank: int | None
    prompt_tokens: int
    problems: tuple[str, ...]
    below: int | None = None
    off: float | None = None


@dataclass(frozen=True)
class Axes:
    """The coordinates that a recipe asks for. Rows are ordered by language, length, corpus, needle, repeat, depth."""

    languages: tuple[str, ...]
    lengths: tuple[int, ...]
    corpora: tuple[str, ...]
    needles: tuple[str, ...]
    repeats: int
    depths: tuple[float, ...]

    @cached_property
    def _positions(self) -> tuple[dict[object, int], ...]:
        return tuple({value: number for number, value in enumerate(axis)} for axis in self._in_row_order)

    @property
    def _in_row_order(self) -> tuple[Sequence[object], ...]:
        return self.languages, self.lengths, self.corpora, self.needles, range(self.repeats), self.depths

    def rank(self, cell: Cell) -> int | None:
        """A number that grows in row order; None for coordinates that are not asked for."""
        rank = 0
        in_row_order = (cell.language, cell.length, cell.corpus, cell.needle, cell.repeat, cell.depth)
        for value, positions in zip(in_row_order, self._positions, strict=True):
            if value not in positions:
                return None
            rank = rank * len(positions) + positions[value]
        return rank

    def cell(self, rank: int) -> Cell:
        """The coordinates of a rank."""
        found: list[Any] = []
        for axis in reversed(self._in_row_order):
            rank, position = divmod(rank, len(axis))
            found.append(axis[position])
        depth, repeat, needle, corpus, length, language = found
        return Cell(language, corpus, length, needle, repeat, depth)


def axes_of(recipe: Recipe, manifest: Manifest) -> Axes:
    """The axes of a dataset made from a resolved recipe."""
    return Axes(
        tuple(code for code in LANGUAGES if code in (recipe.languages or LANGUAGES)),
        recipe.lengths,
        tuple(entry.name for entry in manifest.corpora),
        tuple(needle.id for needle in recipe.needles),
        recipe.repeats,
        recipe.placed_depths(),
    )


class RowProver:
    """Proves the rows of one dataset. What depends on a haystack alone is kept while consecutive rows share it."""

    def __init__(self, recipe: Recipe, manifest: Manifest, family: str, tokenizer: Tokenizer) -> None:
        self._recipe = recipe
        self._manifest = manifest
        self._family = family
        self._tokenizer = tokenizer
        self._axes = axes_of(recipe, manifest)
        self._needles = {needle.id: needle for needle in recipe.needles}
        self._native = PLACEMENTS[recipe.placement].native
        self._kinds = _kinds(recipe.form)
        self._frames: dict[tuple[str, str], Frame | None] = {}
        self._haystack: CountedHaystack | None = None
        self._broken: dict[str, tuple[str, ...] | None] = {}

    def prove(self, value: object, config: str) -> ProvedRow:
        """Prove a row. `value`: what its file holds, of whatever type; `config`: the one that the file belongs to."""
        problems = list(_wrong_types(value, self._kinds))
        name = value.get("id") if isinstance(value, dict) else None
        if not isinstance(name, str) or not ROW_ID.fullmatch(name):
            name = None
        if problems:
            return ProvedRow(name, _digest(value), None, 0, tuple(problems))
        row = cast(Row, value)
        depth = math.nan if row["depth_percent"] is None else row["depth_percent"]
        cell = Cell(row["language"], row["corpus"], row["length"], row["needle_id"] or "", row["repeat"], depth)
        needle = self._needles.get(cell.needle)
        problems += self._wrong_coordinates(row, cell, config)
        problems += self._wrong_truth(row, needle)
        problems += self._wrong_id(row)
        rank = None if problems else self._axes.rank(cell)
        tokens = self._count(row)
        problems += self._wrong_prompt(row, tokens)
        if needle is not None:
            problems += self._wrong_context(row, needle, tokens)
        below = off = None
        if self._native and not problems:
            below = row["length"] - self._recipe.reserve - tokens
            off = abs(row["needle_depths"][0] - depth)
        return ProvedRow(name, _digest(value), rank, row["prompt_tokens"], tuple(problems), below, off)

    def _wrong_coordinates(self, row: Row, cell: Cell, config: str) -> Iterator[str]:
        axes, recipe = self._axes, self._recipe
        if config_name(cell.language, cell.length) != config:
            yield f"language {shown(cell.language)} and length {cell.length} do not belong into config {config}"
        asked: Sequence[tuple[str, object, Sequence[object]]] = (
            ("language", row["language"], axes.languages),
            ("corpus", row["corpus"], axes.corpora),
            ("length", row["length"], axes.lengths),
            ("depth_percent", row["depth_percent"], axes.depths),
            ("needle_id", row["needle_id"], axes.needles),
            ("repeat", row["repeat"], range(axes.repeats)),
        )
        for name, found, wanted in asked:
            if found not in wanted:
                yield f"{name} is {shown(found)}; the recipe asks for {', '.join(map(str, wanted[:20]))}"
        needle = self._needles.get(cell.needle)
        if self._native and needle is not None and needle.language != cell.language:
            yield f"needle_id is {shown(cell.needle)}, whose language is {needle.language}"
        template = template_for(recipe.template, cell.language)
        yield from _different(row, "template", template and template.name)
        yield from _different(row, "seed", row_seed(recipe.seed, cell))
        yield from _different(row, "boundary", recipe.boundary_at(cell.depth))

    def _wrong_truth(self, row: Row, needle: Needle | None) -> Iterator[str]:
        recipe = self._recipe
        for name, expected in (
            ("task", recipe.task),
            ("tokenizer", self._manifest.tokenizer.name),
            ("placement", recipe.placement),
            ("max_new_tokens", recipe.max_new_tokens),
            ("control", None),
            ("answer_prefix", None),
            ("target_span", None),
        ):
            yield from _different(row, name, expected)
        if needle is not None:
            yield from _different(row, "question", needle.question)
            yield from _different(row, "answers", list(needle.answers))
            yield from _different(row, "keywords", [list(group) for group in needle.keywords])
            yield from _different(row, "metric", needle.metric)
            yield from _different(row, "needles", list(self._recipe.hidden(needle)))
        if row["haystack_passes"] < 1:
            yield f"haystack_passes is {row['haystack_passes']}, expected at least 1"

    def _wrong_id(self, row: Row) -> Iterator[str]:
        if not ROW_ID.fullmatch(row["id"]):
            yield f"id is {shown(row['id'])}, expected 1 to 64 letters, digits, - and _"
            return
        # Whether it is the family of the dataset is asked of all rows together.
        family = row["id"][:8] if _FAMILY.match(row["id"]) else self._family
        try:
            expected = row_id(family, cast(Truth, row))
        except (ValueError, OverflowError):
            return  # its coordinates are none, and were named
        yield from _different(row, "id", expected)

    def _count(self, row: Row) -> int:
        return sum(self._tokenizer.count(content) for content in _contents(row))

    def _wrong_prompt(self, row: Row, tokens: int) -> Iterator[str]:
        yield from _different(row, "prompt_sha256", prompt_digest(row["prompt"]))
        yield from _different(row, "prompt_tokens", tokens)
        if not len(row["needles"]) == len(row["needle_spans"]) == len(row["needle_depths"]):
            yield (
                f"{len(row['needles'])} needles, {len(row['needle_spans'])} needle_spans and "
                f"{len(row['needle_depths'])} needle_depths, expected as many of each"
            )
        for number, depth in enumerate(row["needle_depths"], 1):
            if not 0 <= depth <= 100:
                yield f"the depth of needle {number} is {depth}, expected 0 to 100"

    def _frame(self, needle: Needle, language: str) -> Frame | None:
        """The prompt around a needle's contexts; None where the recipe's template cannot ask its question."""
        key = (needle.id, language)
        if key not in self._frames:
            recipe = self._recipe
            template = template_for(recipe.template, language)
            unfit = template is None or (recipe.guide and guide_problem(template, recipe.placement, needle))
            self._frames[key] = None
            if template is not None and not unfit:
                self._frames[key] = frame(
                    template, recipe.form, recipe.placement, recipe.guide, needle.question, recipe.question_position
                )
        return self._frames[key]

    def _wrong_context(self, row: Row, needle: Needle, tokens: int) -> list[str]:
        """What is wrong with the prompt's frame, the spans, and, if it is native, with the needles and the haystack."""
        around = self._frame(needle, row["language"])
        if around is None:
            return [
                f"template {self._recipe.template!r} cannot ask the question of {shown(needle.id)} in this language"
            ]
        problems = list(_different(row, "context_message", around.context_message))
        if self._native:
            budget = row["length"] - self._recipe.reserve
            if tokens > budget:
                problems.append(f"the prompt has {tokens} tokens, above its budget of {budget}")
            problems += not_once(self._recipe.hidden(needle), _contents(row))
        outside = list(_outside_frame(around, row["prompt"]))
        if outside:
            return problems + outside
        content = _contents(row)[max(around.context_message, 0)]
        first, last = len(around.before), len(content) - len(around.after)
        spans = [(span["start"], span["end"]) for span in row["needle_spans"]]
        outside = [
            f"needle {number} spans {start} to {end}, outside the context, which is {first} to {last}"
            for number, (start, end) in enumerate(spans, 1)
            if not first <= start <= end <= last
        ]
        texts = self._recipe.hidden(needle)
        if outside or not self._native or not len(spans) == len(row["needle_depths"]) == len(texts):
            return problems + outside
        hidden = [Hidden(text, start - first, end - first) for text, (start, end) in zip(texts, spans, strict=True)]
        return problems + list(self._wrong_haystack(row, hidden, content[first:last], first))

    def _wrong_haystack(self, row: Row, hidden: Sequence[Hidden], context: str, offset: int) -> Iterator[str]:
        astray = list(misplaced(hidden, context, offset))
        if astray:
            yield from astray
            return
        taken = take_out(hidden, context, JOINERS[row["language"]])
        if isinstance(taken, str):
            yield taken
            return
        if self._haystack is None or self._haystack.text != taken.haystack:
            self._haystack = CountedHaystack(taken.haystack, self._tokenizer)
        recipe = self._recipe
        lines = needle_lines(len(hidden), recipe.spread, recipe.diff, row["seed"])
        asked = [line.at(row["depth_percent"] or 0.0) for line in lines]
        yield from wrong_haystack(
            row, taken.places, asked, self._haystack, self._tokenizer.local, self._broken_documents
        )

    def _broken_documents(self, corpus: str) -> tuple[str, ...] | None:
        """The documents of a corpus that hold U+FFFD; None if the corpus of the manifest is not on this machine."""
        if corpus not in self._broken:
            self._broken[corpus] = _broken_documents(corpus, self._manifest)
        return self._broken[corpus]


def _different(row: Row, name: str, expected: object) -> Iterator[str]:
    found = row[name]  # type: ignore[literal-required]
    if found != expected:
        yield f"{name} is {shown(found)}, expected {shown(expected)}"


def _contents(row: Row) -> list[str]:
    """The texts that the model reads: the prompt, or each message's content."""
    prompt = row["prompt"]
    return [prompt] if isinstance(prompt, str) else [message["content"] for message in prompt]


def _outside_frame(around: Frame, prompt: str | list[Message]) -> Iterator[str]:
    """What of a prompt is not its template with a context in it."""
    content: str | None = None
    if isinstance(prompt, str):
        content = prompt
    elif [message["role"] for message in prompt] != [message["role"] for message in around.messages]:
        yield f"the prompt has messages of {shown([message['role'] for message in prompt])}, not those of its template"
    else:
        for number, (found, expected) in enumerate(zip(prompt, around.messages, strict=True)):
            if number == around.context_message:
                content = found["content"]
            elif found["content"] != expected["content"]:
                yield f"message {number} is {shown(found['content'])}, expected {shown(expected['content'])}"
    if content is None:
        return
    if not content.startswith(around.before):
        yield f"the prompt does not begin as its template does: {shown(content[: len(around.before)])}"
    elif not content[len(around.before) :].endswith(around.after):
        yield f"the prompt does not end as its template does: {shown(content[-max(1, len(around.after)) :])}"


def _broken_documents(name: str, manifest: Manifest) -> tuple[str, ...] | None:
    try:
        corpus = read_corpus(locate(name))
    except (NiahError, OSError):
        return None
    if all(entry.sha256 != corpus.sha256 for entry in manifest.corpora if entry.name == name):
        return None
    return tuple(document.text for document in corpus.documents if "\ufffd" in document.text)


class _Kind(NamedTuple):
    """What a column may hold; `name` says it in words."""

    arrow: pa.DataType
    nullable: bool
    name: str


def _kinds(form: PromptForm) -> dict[str, _Kind]:
    schema = row_schema(form)
    kinds = {
        name: _Kind(schema.field(name).type, annotation.endswith("| None"), annotation)
        for name, annotation in ((name, _spelled(kind)) for name, kind in Truth.__annotations__.items())
    }
    kinds["prompt"] = _Kind(schema.field("prompt").type, False, "str" if form == "text" else "list[Message]")
    return kinds


def _spelled(annotation: object) -> str:
    return str(getattr(annotation, "__forward_arg__", annotation))


def _wrong_types(value: object, kinds: Mapping[str, _Kind]) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"the row is {shown(value)}, expected an object"
        return
    for name in COLUMNS:
        if name not in value:
            yield f"column {name} is missing"
        elif not (value[name] is None and kinds[name].nullable) and not _fits(value[name], kinds[name].arrow):
            yield f"{name} is {shown(value[name])}, expected {kinds[name].name}"
    for name in value:
        if name not in kinds:
            yield f"column {shown(name)} is not one of schema version {SCHEMA_VERSION}"


def _fits(value: Any, kind: pa.DataType) -> bool:
    """Whether a value is of an Arrow type of the contract. Numbers are finite, texts are encodable."""
    import pyarrow.types as kinds

    if kinds.is_list(kind):
        return isinstance(value, list) and all(_fits(item, kind.value_type) for item in value)
    if kinds.is_struct(kind):
        wanted = {field.name: field.type for field in kind}
        return (
            isinstance(value, dict)
            and value.keys() == wanted.keys()
            and all(_fits(value[name], wanted[name]) for name in wanted)
        )
    if kinds.is_integer(kind):
        most = 1 << (kind.bit_width - 1)
        return isinstance(value, int) and not isinstance(value, bool) and -most <= value < most
    if kinds.is_floating(kind):
        return isinstance(value, float) and math.isfinite(value)
    return isinstance(value, str) and (value.isascii() or not _SURROGATE.search(value))


def _digest(value: object) -> str:
    try:
        return sha256_hex(canonical_json(value))
    # Half a surrogate pair; a type that JSON has not; brackets nested without end.
    except (ValueError, TypeError, RecursionError):
        return ""
