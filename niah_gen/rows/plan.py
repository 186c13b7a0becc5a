"""Plans a dataset: the corpora it reads, every cell in row order, the files they go into, the digests that name it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from niah_gen.corpora.find import locate
from niah_gen.corpora.read import RULE, Bounds, Corpus, read_corpus
from niah_gen.errors import FitError, IntegrityError, RecipeError
from niah_gen.haystacks.haystack import CorpusFiller, Secret, Usage, needle_tokens, published_room
from niah_gen.haystacks.opencompass import ProcessedFiller
from niah_gen.recipe.part import settings_of
from niah_gen.recipe.recipe import CORPUS_WHOLE, Part, Recipe
from niah_gen.rows.grid import Grid, grid_of
from niah_gen.rows.ids import LANGUAGE_PIN, family_digest, plan_digest
from niah_gen.tasks.base import Task, item_ids, item_of
from niah_gen.tasks.hiding import secret_of
from niah_gen.tasks.options import file_pin, named, own_file_digest, own_files
from niah_gen.tasks.records import Cell, Settings
from niah_gen.tasks.registry import chosen_task
from niah_gen.tokenizers.find import Tokenizer, find_tokenizer
from niah_score.contract import DrawEntry
from niah_score.text.language import find_language, is_own_language, language_codes

# Bytes drawn for each token of the longest rows of all repeats: about four times their English text.
_BYTES_PER_TOKEN = 16
_LEAST, _MOST = 4 * 1024 * 1024, 64 * 1024 * 1024


def draw_size(recipe: Recipe) -> int:
    """Bytes to draw from each corpus too large to be read whole: the recipe's `corpus_draw`, or a default.

    The default is 16 for each token of the longest length times its repeats, the largest of all parts; at most 64 MiB,
    or 16 for each token of the longest row if that is more; at least 4 MiB; rounded up to a power of two, so that most
    lengths and repeats can be added without drawing other documents.
    """
    if recipe.corpus_draw:
        return recipe.corpus_draw
    longest = max(max(part.lengths) for part in recipe.parts)
    together = max(max(part.lengths) * part.repeats for part in recipe.parts)
    most = max(_MOST, _BYTES_PER_TOKEN * longest)
    return 1 << (max(_LEAST, min(_BYTES_PER_TOKEN * together, most)) - 1).bit_length()


def bounds_of(recipe: Recipe, spec: str) -> Bounds:
    """How much of a corpus a recipe reads. Documents are drawn by the seed of the first part that names it."""
    seed = next((part.seed for part in recipe.parts if spec in part.corpora), recipe.parts[0].seed)
    return Bounds(recipe.corpus_whole, draw_size(recipe), seed)


def read_sources(recipe: Recipe, known: Mapping[str, Corpus] | None = None) -> dict[str, Corpus]:
    """The corpora of a recipe, by its names for them. `known`: those already read.

    Raises what `read_corpus` does.
    """
    known = known or {}
    return {spec: known.get(spec) or read_corpus(locate(spec), bounds_of(recipe, spec)) for spec in recipe.corpora}


def with_draw(recipe: Recipe, corpora: Collection[Corpus]) -> Recipe:
    """The recipe to record: it says how much was drawn from corpora, unless all were read whole."""
    if any(corpus.draw for corpus in corpora):
        return replace(recipe, corpus_draw=draw_size(recipe))
    return replace(recipe, corpus_draw=0, corpus_whole=max(recipe.corpus_whole, CORPUS_WHOLE))


def draw_entry(corpus: Corpus) -> DrawEntry | None:
    """How a corpus's documents were drawn, for the manifest."""
    draw = corpus.draw
    return None if draw is None else DrawEntry(RULE, draw.seed, draw.size, draw.of)


def draw_notes(corpora: Collection[Corpus]) -> Iterator[str]:
    """A sentence about each corpus that documents were drawn from."""
    for corpus in corpora:
        if corpus.draw:
            yield (
                f"{len(corpus.documents):,} of {corpus.draw.of:,} documents of {corpus.name} were drawn by seed "
                f"{corpus.draw.seed}, until their text reached {corpus.draw.size:,} bytes; haystacks are made of these"
            )


# The most prompt text in a file, about: a file is written, hashed, reused or rebuilt as a whole.
_FILE_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Shard:
    """One data file: the cells of a config from `first` to `last` (excluded) of the plan's cells."""

    config: str
    index: int
    of: int
    first: int
    last: int

    @property
    def stem(self) -> str:
        """Path below `data/` or `jsonl/`, without suffix."""
        return f"{self.config}/test-{self.index:05d}-of-{self.of:05d}"


@dataclass(frozen=True)
class PlannedPart:
    """A part of a recipe bound to its task family and to the corpora that it names.

    `part` is the one to record, with corpora under their names. `fillers`: by corpus. `families`: family8 of its row
    ids, by language. `grid`: its coordinates in the languages that are asked for.
    """

    part: Part
    task: Task
    settings: Settings
    corpora: tuple[Corpus, ...]
    fillers: Mapping[str, CorpusFiller]
    families: Mapping[str, str]
    grid: Grid

    def secrets(self, corpus: Corpus) -> list[Secret]:
        """What the part hides in a corpus, at its first length and repeat."""
        length, depth = self.grid.lengths[0], self.grid.depths[0]
        cells = [
            Cell(corpus.language, corpus.name, length, name, 0, depth, part=self.part.name)
            for name in item_ids(self.task, self.settings, corpus.language)
        ]
        return [secret_of(item_of(self.task, self.settings, cell), self.part.placing.hidden) for cell in cells]


@dataclass(frozen=True)
class Plan:
    """A recipe bound to the task families, the corpora and the tokenizer that it names on this machine.

    `given` is the recipe as it was asked for, with this machine's paths; `recipe` is the one to record, with the names
    of corpora and tokenizer. `sources`: the corpora by their names in `given`.
    """

    given: Recipe
    recipe: Recipe
    parts: tuple[PlannedPart, ...]
    tokenizer: Tokenizer
    corpora: tuple[Corpus, ...]
    cells: tuple[Cell, ...]
    shards: tuple[Shard, ...]
    shortfalls: tuple[str, ...]
    sources: Mapping[str, Corpus]

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What planning noticed, a sentence each: documents that were drawn, and corpora that end too soon."""
        return (*draw_notes(self.corpora), *self.shortfalls)

    @cached_property
    def digest(self) -> str:
        """The plan digest."""
        corpora = [(corpus.name, corpus.sha256) for corpus in self.corpora]
        tasks = [planned.task for planned in self.parts]
        return plan_digest(self.recipe, tasks, self.tokenizer.name, self.tokenizer.sha256, corpora)

    @property
    def folder_name(self) -> str:
        """`<version>-<digest8>`."""
        return f"{self.recipe.version}-{self.digest[:8]}"

    @cached_property
    def part_of(self) -> Mapping[str | None, PlannedPart]:
        """The parts by the name that cells have."""
        return {planned.part.name: planned for planned in self.parts}

    def usage(self, corpus: Corpus) -> Usage:
        """How much of a corpus the parts use, told by the part that uses most of it."""
        usages = [
            planned.fillers[corpus.name].usage(max(planned.grid.lengths), planned.secrets(corpus))
            for planned in self.parts
            if corpus.name in planned.fillers
        ]
        if not usages:  # read only by families that take a corpus as it is
            return Usage(sum(self.tokenizer.count(document.text) for document in corpus.documents), 0.0)
        return min(usages, key=lambda usage: usage.share_left_out)

    def tokens(self) -> int:
        """Nominal tokens of all rows: the sum of their lengths."""
        return sum(cell.length for cell in self.cells)


def make_plan(
    recipe: Recipe,
    *,
    tasks: Sequence[Task] | None = None,
    tokenizer: Tokenizer | None = None,
    corpora: Sequence[Corpus] | None = None,
    known: Mapping[str, Corpus] | None = None,
) -> Plan:
    """Bind a recipe to this machine and lay out its cells.

    tasks (one per part), tokenizer, corpora: used instead of looking up the recipe's names. known: corpora already
    read, by the recipe's names for them. Raises RecipeError if corpora, needles and templates do not go together, and
    what `find_tokenizer` and `read_corpus` raise.
    """
    tokenizer = tokenizer or find_tokenizer(recipe.tokenizer)
    sources = read_sources(recipe, known) if corpora is None else {corpus.name: corpus for corpus in corpora}
    kept = {spec: c for spec, c in sources.items() if not recipe.languages or c.language in recipe.languages}
    tasks = tasks or [chosen_task(part.task, part.options) for part in recipe.parts]
    pins = {f"tokenizer {tokenizer.name}": tokenizer.sha256} | {f"corpus {c.name}": c.sha256 for c in kept.values()}
    pins |= _file_digests(recipe, tasks)
    pins |= _language_digests(recipe, [corpus.language for corpus in kept.values()])
    resolved = replace(
        with_draw(recipe, kept.values()),
        tokenizer=tokenizer.name,
        parts=tuple(
            replace(
                part,
                corpora=tuple(sources[spec].name if spec in sources else spec for spec in part.corpora),
                options=named(task.options, part.options),
            )
            for part, task in zip(recipe.parts, tasks, strict=True)
        ),
        pins=tuple(sorted(pins.items())),
    )
    parts = _planned_parts(recipe, resolved, tasks, tokenizer, kept)
    cells, shortfalls = _fillable(parts, tokenizer, list(_cells(recipe, parts)))
    if not cells:
        raise FitError(f"recipe {recipe.name!r} makes no rows: {'; '.join(shortfalls)}; ask for shorter lengths")
    for what, sha256 in recipe.pins:
        if pins.get(what, sha256) != sha256:
            raise IntegrityError(
                f"{what}: sha256 is {pins[what]}, but the recipe was built with {sha256}; "
                "put that one first where names are looked up, or take the pin out of the recipe"
            )
    return Plan(recipe, resolved, parts, tokenizer, tuple(kept.values()), cells, _shards(cells), shortfalls, sources)


def _file_digests(recipe: Recipe, tasks: Sequence[Task]) -> dict[str, str]:
    """sha256 of the user's own files that options name, under the names of their pins.

    Raises RecipeError if a file is not on this machine, or two of them share a name.
    """
    digests: dict[str, str] = {}
    for part, task in zip(recipe.parts, tasks, strict=True):
        for option, spec in own_files(task.options, part.options).items():
            name, sha256 = file_pin(spec), own_file_digest(spec)
            if digests.setdefault(name, sha256) != sha256:
                raise RecipeError([f"options.{option}: two files are called {Path(spec).name!r}; rename one"])
    return digests


def _language_digests(recipe: Recipe, languages: Sequence[str]) -> dict[str, str]:
    """sha256 of the files of the user's own languages, under the names of their pins. `languages`: of the corpora."""
    used = {*languages, *recipe.languages, *(code for part in recipe.parts for code in part.languages)}
    return {f"{LANGUAGE_PIN}{code}": find_language(code).sha256 for code in sorted(used) if is_own_language(code)}


def _planned_parts(
    given: Recipe, resolved: Recipe, tasks: Sequence[Task], tokenizer: Tokenizer, corpora: Mapping[str, Corpus]
) -> tuple[PlannedPart, ...]:
    """The parts, bound. A corpus is encoded once for all parts that fill from it alike."""
    names = [corpus.name for corpus in corpora.values()]
    problems = [f"corpora: two corpora are called {name!r}" for name in sorted(set(names)) if names.count(name) > 1]
    languages = _asked_languages(given)
    fillers: dict[tuple[str, str, str, str], CorpusFiller] = {}
    planned: list[PlannedPart] = []
    for asked, part, task in zip(given.parts, resolved.parts, tasks, strict=True):
        settings = settings_of(asked, task)
        own = tuple(corpora[spec] for spec in asked.corpora if spec in corpora)
        wrong = list(_wrong_corpora(given, asked, task, settings, own))
        problems += [f"parts.{asked.name}: {problem}" if asked.name else problem for problem in wrong]
        if wrong:
            continue
        part_fillers: dict[str, CorpusFiller] = {}
        for corpus in () if task.reads_corpora else own:
            key = (corpus.name, part.placement, part.boundary, part.leaks)
            if key not in fillers:
                fillers[key] = part.placing.fill(corpus, tokenizer, part.boundary, part.leaks)
            part_fillers[corpus.name] = fillers[key]
        families = {code: family_digest(resolved, part, task, tokenizer.sha256, code) for code in languages}
        grid = grid_of(part, task, settings, languages)
        planned.append(PlannedPart(part, task, settings, own, part_fillers, families, grid))
    if problems:
        raise RecipeError(problems, f"recipe {given.name!r}")
    return tuple(planned)


def _wrong_corpora(
    recipe: Recipe, part: Part, task: Task, settings: Settings, corpora: Sequence[Corpus]
) -> Iterator[str]:
    if task.corpus is None and not corpora:
        yield f"languages: no corpus of {', '.join(part.corpora)} is in {', '.join(recipe.languages)}"
    for corpus in corpora:
        ids = item_ids(task, settings, corpus.language)
        if part.template_in(corpus.language) is None:
            yield f"template: {part.template!r} has no form for {corpus.name!r}, whose language is {corpus.language}"
        if not ids and not task.hides_needles:
            yield (
                f"languages: task {task.name!r} has nothing to ask in {corpus.language}, "
                f"the language of corpus {corpus.name!r}"
                + ("; the preset plain asks in other languages" if part.has_worlds else "")
            )
        elif not ids:
            yield (
                f"needles: none is in {corpus.language}, the language of corpus {corpus.name!r}; "
                "add one, or leave the corpus out"
            )
    codes = recipe.languages or language_codes()
    silent = [code for code in codes if not item_ids(task, settings, code)]
    if task.corpus is not None and (recipe.languages or len(silent) == len(codes)) and silent:
        yield f"languages: task {task.name!r} has nothing to ask in {', '.join(silent)}"


def _asked_languages(recipe: Recipe) -> list[str]:
    return [code for code in language_codes() if code in (recipe.languages or language_codes())]


def _cells(recipe: Recipe, parts: Sequence[PlannedPart]) -> Iterator[Cell]:
    """All cells in row order: by language, length and part, so that those of each config are together."""
    lengths = sorted({length for one in parts for length in one.grid.lengths})
    for language in _asked_languages(recipe):
        for length in lengths:
            for one in parts:
                named = [corpus.name for corpus in one.corpora if corpus.language == language]
                corpora = named if one.task.corpus is None else [one.task.corpus]
                if length in one.grid.lengths:
                    yield from one.grid.cells(language, length, corpora)


def contexts_of(cells: Iterable[Cell]) -> Iterator[tuple[Cell, ...]]:
    """The cells that share a context together, in order: those of its other questions follow that of its first one."""
    shared: list[Cell] = []
    for cell in cells:
        if shared and not cell.question:
            yield tuple(shared)
            shared = []
        shared.append(cell)
    if shared:
        yield tuple(shared)


def _fillable(
    parts: Sequence[PlannedPart], tokenizer: Tokenizer, cells: Sequence[Cell]
) -> tuple[tuple[Cell, ...], tuple[str, ...]]:
    """The cells that the corpora have text for, and a sentence for each group that falls short."""
    part_of = {one.part.name: one for one in parts}

    @cache
    def records(name: str | None, language: str, corpus: str, length: int, needle: str) -> float:
        """How many repeats of a cell its corpus has text for."""
        planned = part_of[name]
        filler, placing = planned.fillers.get(corpus), planned.part.placing
        if not isinstance(filler, ProcessedFiller):
            return math.inf
        item = item_of(planned.task, planned.settings, Cell(language, corpus, length, needle, 0, None, part=name))
        if len(item.hide) > 1:
            what = f"placement: {placing.name!r} hides 1 needle a row, but item {needle!r} has {len(item.hide)}"
            raise RecipeError([what])
        room = published_room(length, planned.part.reserve, needle_tokens(item.hide, tokenizer))
        return len(filler.records(room))

    kept: list[Cell] = []
    shortfalls: dict[str, None] = {}
    for cell in cells:
        count = records(cell.part, cell.language, cell.corpus, cell.length, cell.needle)
        if cell.repeat < count:
            kept.append(cell)
        else:
            repeats = part_of[cell.part].part.repeats
            what = f"{cell.corpus}, length {cell.length}: the corpus ends after {count} of {repeats} records"
            shortfalls[what] = None
    return tuple(kept), tuple(shortfalls)


def _shards(cells: Sequence[Cell]) -> tuple[Shard, ...]:
    """Cut each config into files of about equally many rows, none far above the size limit."""
    shards: list[Shard] = []
    start = 0
    while start < len(cells):
        config = cells[start].config
        end = start
        while end < len(cells) and cells[end].config == config:
            end += 1
        text = (end - start) * cells[start].length * find_language(cells[start].language).bytes_per_token
        files = max(1, min(end - start, round(text / _FILE_BYTES + 0.499)))
        edges = [start + (end - start) * number // files for number in range(files)]
        # All rows of a context are in one file.
        edges = [next(at for at in range(edge, start - 1, -1) if not cells[at].question) for edge in edges] + [end]
        shards += [Shard(config, n, files, edges[n], edges[n + 1]) for n in range(files)]
        start = end
    return tuple(shards)
