"""Lays a recipe out as data: every cell in row order, the files they go into, the digests that name the dataset."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from niah_gen.corpora.declarations import LANGUAGES
from niah_gen.corpora.find import locate
from niah_gen.corpora.read import Corpus, read_corpus
from niah_gen.errors import FitError, IntegrityError, RecipeError
from niah_gen.haystacks.haystack import Filler, PublishedFiller, published_room
from niah_gen.haystacks.native import NativeFiller
from niah_gen.prompts.templates import POSITIONS, guide_problem, template_family, template_for
from niah_gen.recipe.read import PLACEMENTS, Recipe
from niah_gen.rows.precision import half_width, rows_for
from niah_gen.tasks.needle_library import Needle
from niah_gen.tokenizers.find import Tokenizer, find_tokenizer
from niah_score.contract import SCHEMA_VERSION, canonical_json, config_name, sha256_hex

# A file holds about this much prompt text at most: one is written, hashed, reused or rebuilt as a whole.
_FILE_BYTES = 256 * 1024 * 1024
# Between English (4.4 bytes a token with cl100k_base) and Chinese (2.7); only file sizes and forecasts depend on it.
BYTES_PER_TOKEN = {"en": 4.4, "zh": 2.8}


class Cell(NamedTuple):
    """One coordinate of the grid: what one row is made of. `length` in tokens, `depth` in percent."""

    language: str
    corpus: str
    length: int
    needle: str
    repeat: int
    depth: float

    @property
    def config(self) -> str:
        """The config that the row belongs to."""
        return config_name(self.language, self.length)


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
class Plan:
    """A recipe bound to the corpora and tokenizer that it names on this machine.

    `given` is the recipe as it was asked for, with this machine's paths; `recipe` is the one to be recorded, in which
    corpora and tokenizer are named.
    """

    given: Recipe
    recipe: Recipe
    tokenizer: Tokenizer
    corpora: tuple[Corpus, ...]
    fillers: dict[str, Filler]
    cells: tuple[Cell, ...]
    shards: tuple[Shard, ...]
    shortfalls: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        """The plan digest: resolved recipe, corpora, tokenizer, template and placement version, nothing else."""
        recipe = self.recipe
        return sha256_hex(
            canonical_json(
                {
                    "schema": SCHEMA_VERSION,
                    "recipe": replace(recipe, pins=()).table(),
                    "corpora": [[corpus.name, corpus.sha256] for corpus in self.corpora],
                    "tokenizer": [self.tokenizer.name, self.tokenizer.sha256],
                    "template": template_family(recipe.template),
                    "placement": [recipe.placement, PLACEMENTS[recipe.placement].version],
                }
            )
        )

    @cached_property
    def family(self) -> str:
        """family8 of the row ids: a digest of what all rows share, so that axes may grow without new ids."""
        recipe = self.recipe
        shared = {
            "schema": SCHEMA_VERSION,
            "placement": [recipe.placement, PLACEMENTS[recipe.placement].version],
            "tokenizer": self.tokenizer.sha256,
            "template": [template_family(recipe.template), recipe.form, recipe.guide],
            "reserve": recipe.reserve,
            "seed": recipe.seed,
        }
        if PLACEMENTS[recipe.placement].native:
            shared["native"] = [recipe.question_position, recipe.boundary, recipe.leaks, recipe.fresh_haystacks]
        return sha256_hex(canonical_json(shared))[:8]

    @property
    def folder_name(self) -> str:
        """`<version>-<digest8>`."""
        return f"{self.recipe.version}-{self.digest[:8]}"

    def needle(self, cell: Cell) -> Needle:
        """The needle of a cell."""
        return self._needles[cell.needle]

    def needles_for(self, corpus: Corpus) -> list[Needle]:
        """The needles that are hidden in a corpus."""
        return _needles_for(self.recipe, corpus)

    @cached_property
    def _needles(self) -> dict[str, Needle]:
        return {needle.id: needle for needle in self.recipe.needles}

    def tokens(self) -> int:
        """Nominal tokens of all rows: the sum of their lengths."""
        return sum(cell.length for cell in self.cells)


def make_plan(recipe: Recipe) -> Plan:
    """Bind a recipe to this machine and lay out its cells.

    Raises RecipeError where corpora, needles and templates do not go together, and what `find_tokenizer` and
    `read_corpus` raise.
    """
    tokenizer = find_tokenizer(recipe.tokenizer)
    located = [locate(spec) for spec in recipe.corpora]
    corpora = [read_corpus(item) for item in located]
    if recipe.languages:
        corpora = [corpus for corpus in corpora if corpus.language in recipe.languages]
    names = [corpus.name for corpus in corpora]
    problems = [
        f"corpora: two corpora are called {name!r}" for name in sorted({n for n in names if names.count(n) > 1})
    ]
    if not corpora:
        problems.append(f"languages: no corpus of {', '.join(recipe.corpora)} is in {', '.join(recipe.languages)}")
    for corpus in corpora:
        template = template_for(recipe.template, corpus.language)
        if template is None:
            problems.append(
                f"template: {recipe.template!r} has no form for {corpus.name!r}, whose language is {corpus.language}"
            )
        elif recipe.guide:
            for needle in _needles_for(recipe, corpus):
                problem = guide_problem(template, recipe.placement, needle)
                problems += [problem] if problem else []
        if not _needles_for(recipe, corpus):
            problems.append(
                f"needles: none is in {corpus.language}, the language of corpus {corpus.name!r}; "
                "add one, or leave the corpus out"
            )
    if problems:
        raise RecipeError(problems, f"recipe {recipe.name!r}")
    fillers = {corpus.name: _filler(recipe, corpus, tokenizer) for corpus in corpora}
    cells, shortfalls = _existing(recipe, fillers, list(_cells(recipe, corpora)))
    if not cells:
        raise FitError(f"recipe {recipe.name!r} makes no rows: {'; '.join(shortfalls)}; ask for shorter lengths")
    found = {f"tokenizer {tokenizer.name}": tokenizer.sha256} | {f"corpus {c.name}": c.sha256 for c in corpora}
    for what, sha256 in recipe.pins:
        if found.get(what, sha256) != sha256:
            raise IntegrityError(
                f"{what}: sha256 is {found[what]}, but the recipe was built with {sha256}; "
                "put that one first where names are looked up, or take the pin out of the recipe"
            )
    named = replace(
        recipe,
        tokenizer=tokenizer.name,
        corpora=tuple(item.name for item in located),
        pins=tuple(sorted(found.items())),
    )
    return Plan(recipe, named, tokenizer, tuple(corpora), fillers, cells, _shards(cells), shortfalls)


def _filler(recipe: Recipe, corpus: Corpus, tokenizer: Tokenizer) -> Filler:
    if PLACEMENTS[recipe.placement].native:
        return NativeFiller(corpus, tokenizer, recipe.boundary, recipe.leaks)
    return PublishedFiller(corpus, tokenizer, recipe.placement)


def _needles_for(recipe: Recipe, corpus: Corpus) -> list[Needle]:
    if not PLACEMENTS[recipe.placement].native:
        return list(recipe.needles)
    return [needle for needle in recipe.needles if needle.language == corpus.language]


def _cells(recipe: Recipe, corpora: Sequence[Corpus]) -> Iterator[Cell]:
    """All cells in row order: rows that share a haystack side by side."""
    depths = recipe.placed_depths()
    for language in LANGUAGES:
        for length in recipe.lengths:
            for corpus in corpora:
                if corpus.language != language:
                    continue
                for needle in _needles_for(recipe, corpus):
                    for repeat in range(recipe.repeats):
                        for depth in depths:
                            yield Cell(language, corpus.name, length, needle.id, repeat, depth)


def _existing(
    recipe: Recipe, fillers: dict[str, Filler], cells: list[Cell]
) -> tuple[tuple[Cell, ...], tuple[str, ...]]:
    """The cells that the placement makes rows for, and a sentence for each group that falls short."""
    if recipe.placement != "opencompass-processed":
        return tuple(cells), ()
    needles = {needle.id: needle for needle in recipe.needles}
    held: dict[tuple[str, int, str], int] = {}
    for cell in cells:
        filler = fillers[cell.corpus]
        if not isinstance(filler, PublishedFiller):
            raise TypeError(f"{recipe.placement} makes no records")
        key = (cell.corpus, cell.length, cell.needle)
        if key not in held:
            needle_tokens = sum(filler.tokenizer.count(text) for text in needles[cell.needle].needles)
            held[key] = len(filler.records(published_room(cell.length, recipe.reserve, needle_tokens)))
    shortfalls = [
        f"{corpus}, length {length}: the corpus ends after {count} of {recipe.repeats} records"
        for (corpus, length, _), count in held.items()
        if count < recipe.repeats
    ]
    kept = tuple(cell for cell in cells if cell.repeat < held[cell.corpus, cell.length, cell.needle])
    return kept, tuple(dict.fromkeys(shortfalls))


def _shards(cells: Sequence[Cell]) -> tuple[Shard, ...]:
    """Cut each config into files of about equal rows, none far above the size limit."""
    shards: list[Shard] = []
    start = 0
    while start < len(cells):
        config = cells[start].config
        end = start
        while end < len(cells) and cells[end].config == config:
            end += 1
        text = (end - start) * cells[start].length * BYTES_PER_TOKEN[cells[start].language]
        files = max(1, min(end - start, round(text / _FILE_BYTES + 0.499)))
        edges = [start + (end - start) * number // files for number in range(files + 1)]
        shards += [Shard(config, n, files, edges[n], edges[n + 1]) for n in range(files)]
        start = end
    return tuple(shards)


def row_seed(seed: int, cell: Cell) -> int:
    """A row's seed: 63 bits of sha256 over the recipe's seed and the coordinates without depth."""
    coordinates = f"{seed}/{cell.corpus}/{cell.length}/{cell.needle}/{cell.repeat}"
    return int.from_bytes(hashlib.sha256(coordinates.encode()).digest()[:8], "big") >> 1


# Rows made and written per second on one core of a small machine, in tokens; and what starting costs, in seconds.
_TOKENS_PER_SECOND = 50_000_000
_START_SECONDS = 0.7


# A cell known to this many percentage points tells a weak spot from noise.
_WANTED_POINTS = 15


def _trust(plan: Plan, configs: Mapping[str, Sequence[Cell]]) -> Iterator[str]:
    """What scores over these rows will be worth."""
    each = min(len(cells) // len({cell.depth for cell in cells}) for cells in configs.values())
    length = min(map(len, configs.values()))
    yield (
        f"interval     the {each} row{'' if each == 1 else 's'} of a cell tell its score to within "
        f"{half_width(each):.0f} points, the {length} of a length to within {half_width(length):.0f} "
        "(95 %, Wilson, at a score of 50 %)"
    )
    repeats = -(-rows_for(_WANTED_POINTS) * plan.recipe.repeats // each)
    # The repeats of gkamradt are the same prompts.
    if repeats > plan.recipe.repeats and plan.recipe.placement != "gkamradt":
        yield f"advice       --repeats {repeats} tells every cell to within {_WANTED_POINTS} points"


def forecast(plan: Plan) -> Iterator[str]:
    """What building a plan will make, line by line."""
    configs: dict[str, list[Cell]] = {}
    for cell in plan.cells:
        configs.setdefault(cell.config, []).append(cell)
    size = sum(cell.length * BYTES_PER_TOKEN[cell.language] for cell in plan.cells)
    seconds = _START_SECONDS + plan.tokens() / _TOKENS_PER_SECOND
    recipe = plan.recipe
    yield f"dataset      {recipe.name}/{plan.folder_name}"
    yield f"placement    {recipe.placement}"
    asked = POSITIONS[recipe.question_position].words
    yield f"template     {recipe.template}, {recipe.form}, question at {asked}"
    yield f"tokenizer    {plan.tokenizer.name}"
    for corpus in plan.corpora:
        yield f"corpus       {corpus.name}: {corpus.language}, {len(corpus.documents)} documents"
    yield f"rows         {len(plan.cells)}"
    for name, cells in configs.items():
        per_depth = len(cells) // max(1, len({cell.depth for cell in cells}))
        yield f"  {name:10} {len(cells)}: {len({cell.depth for cell in cells})} depths, {per_depth} rows in each cell"
    yield from _trust(plan, configs)
    yield f"tokens       {plan.tokens():,} at most"
    yield f"prompt text  {size / 1e6:,.1f} MB, far less on disk: neighbouring rows are near-copies"
    yield f"time         about {seconds:,.0f} s on one core"
    for sentence in plan.shortfalls:
        yield f"note         {sentence}"
