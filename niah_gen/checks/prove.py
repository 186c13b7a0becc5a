"""Proves the rows of a dataset folder: each from its own columns, then all together against the manifest.

This needs only the dataset's tokenizer. If its corpora are on this machine too, the rows are also built again from the
recipe and compared.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from niah_gen.checks.axes import Axes, axes_of
from niah_gen.checks.hashes import hash_files
from niah_gen.checks.rebuild import Rebuilder
from niah_gen.checks.row_proof import RowProver
from niah_gen.checks.sources import corpus_places, read_again, wrong_draws
from niah_gen.checks.together import FormatRows, ProvedLine, followers_of, other_release, wrong_together
from niah_gen.corpora.read import Corpus
from niah_gen.dataset.read import RowGroup, jobs_for, over_row_groups, read_row_group, row_groups_of
from niah_gen.errors import IntegrityError, NiahError, RecipeError, TokenizerError
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Recipe
from niah_gen.rows.digests import plan_digest
from niah_gen.tasks.base import Task
from niah_gen.tasks.own_files import file_pin, own_file_digest, own_files
from niah_gen.tasks.registry import chosen_task
from niah_gen.tokenizers.find import Tokenizer, find_tokenizer
from niah_score.contract import (
    MANIFEST,
    RECIPE,
    DataFile,
    Dataset,
    Manifest,
    config_name,
    row_schema,
)
from niah_score.text.language import language_codes

if TYPE_CHECKING:
    from niah_gen.progress import Progress

# Enough to show that a dataset is wrong throughout, and few enough to keep in memory.
KEPT_PROBLEMS = 1000


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures about proved rows.

    `rows`: in all formats. `below`: fewest and most tokens between a prompt and its budget; `off`: most points between
    the depth asked for and the first needle's actual depth; both None if contexts are not exact.
    """

    rows: int
    below: tuple[int, int] | None = None
    off: float | None = None

    def __str__(self) -> str:
        if self.below is None or self.off is None:
            return "every row proved"
        fewest, most = self.below
        off = math.ceil(self.off * 10 - 1e-6) / 10  # rounded up, so that "within" is true
        return f"every row proved: {fewest} to {most} tokens below its budget, depth within {off:g} points"


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of proving a dataset.

    `problems`: the first 1,000 of `count`: files, then rows in order, then totals. `not_rebuilt`: why rows were not
    built again, if they were not.
    """

    manifest: Manifest
    problems: tuple[str, ...]
    count: int
    figures: Figures
    not_rebuilt: str | None = None


def prove(
    folder: Path,
    *,
    tokenizer: str | None = None,
    corpora: Sequence[str] = (),
    task_modules: Collection[str] = (),
    rebuild: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Proof:
    """Re-hash every file of a dataset folder, and prove every row of the intact ones.

    Each is proved from its own columns, and, if all corpora are on this machine, built again and compared.
    tokenizer, corpora: names or paths of the dataset's own, if its recorded names are not found here; their sha256 is
    checked. task_modules: modules outside the package that the recipe may import. rebuild: build rows again if
    possible. jobs: number of processes, which does not affect the result; None decides by size.
    Raises ContractError if the folder has no valid manifest, TokenizerError if the dataset's tokenizer is not on this
    machine, CorpusError if a corpus that was named is not, RecipeError if the dataset's own task family is not or
    may not be imported, IntegrityError if something else has their name, and ResourceError if a process dies.
    """
    hashed = hash_files(folder)
    manifest = hashed.manifest
    problems = _Problems()
    problems.add(hashed.problems)
    intact = {entry.path for entry in hashed.intact}
    recipe = _recipe(folder, intact, problems, task_modules)
    if recipe is None:
        return Proof(manifest, tuple(problems.kept), problems.count, Figures(0))
    tasks = _tasks(recipe, task_modules)
    counted_by = _tokenizer(manifest, tokenizer)
    places, not_rebuilt = corpus_places(manifest, corpora) if rebuild else ([], "that was not asked for")
    hashes = [(entry.name, entry.sha256) for entry in manifest.corpora]
    digest = plan_digest(recipe, tasks, counted_by.name, counted_by.sha256, hashes)
    not_rebuilt = not_rebuilt or _lacking_file(recipe, tasks)
    problems.add(_wrong_manifest(recipe, manifest, digest))
    axes = axes_of(recipe, tasks, manifest)
    files = _data_files(axes.values(), Dataset(folder, manifest), problems)
    for file in files:
        if file.entry.path in intact:
            problems.add(_wrong_schema(file, recipe))
    if digest != manifest.plan_digest:
        not_rebuilt = not_rebuilt or f"its plan_digest is not {digest[:8]}, so this release would build something else"
    sources = None if not_rebuilt else read_again(places, recipe, manifest)
    problems.add(wrong_draws(sources or (), manifest))
    setup = _ProofSetup(folder, recipe, manifest, tokenizer, sources, tuple(task_modules))
    figures = _prove_rows(setup, tasks, files, intact, problems, jobs, progress)
    return Proof(manifest, tuple(problems.kept), problems.count, figures, not_rebuilt)


class _Problems:
    """Problems in the order they were found: the first ones, and the count of all."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self.count = 0

    def add(self, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            self.count += 1
            if len(self.kept) < KEPT_PROBLEMS:
                self.kept.append(sentence)

    def join(self, other: _Problems) -> None:
        self.kept += other.kept[: KEPT_PROBLEMS - len(self.kept)]
        self.count += other.count


def _recipe(folder: Path, intact: set[str], problems: _Problems, task_modules: Collection[str]) -> Recipe | None:
    """The dataset's recipe; None, adding a problem, if it cannot be read."""
    why = "missing or damaged"
    if RECIPE in intact:
        try:
            return load_recipe(folder / RECIPE, here=False, task_modules=task_modules)
        except NiahError as error:
            why = str(error)
    problems.add([f"{RECIPE}: no row can be proved without it ({why}); restore it, or build the dataset again"])
    return None


def _tasks(recipe: Recipe, task_modules: Collection[str]) -> list[Task]:
    """The task family of each part. Raises RecipeError if a module is not allowed, or not on this machine."""
    return [chosen_task(part.task, part.options, allowed=task_modules) for part in recipe.parts]


def _tokenizer(manifest: Manifest, given: str | None) -> Tokenizer:
    """The tokenizer that the dataset was counted with. Raises TokenizerError or IntegrityError."""
    wanted = manifest.tokenizer
    try:
        tokenizer = find_tokenizer(given or wanted.name, wanted.name)
    except TokenizerError as error:
        if given is not None:
            raise
        raise TokenizerError(f"{error}; name the file that the dataset was counted with: --tokenizer PATH") from None
    if tokenizer.sha256 != wanted.sha256:
        raise IntegrityError(
            f"tokenizer {given or wanted.name}: sha256 is {tokenizer.sha256}, but the dataset was counted with "
            f"{wanted.sha256}; name that one with --tokenizer, or put it first where names are looked up"
        )
    return tokenizer


def _lacking_file(recipe: Recipe, tasks: Sequence[Task]) -> str | None:
    """Why rows cannot be built again, if a file that options name is missing or different here."""
    pins = dict(recipe.pins)
    for part, task in zip(recipe.parts, tasks, strict=True):
        for specs in own_files(task.options, part.options).values():
            for spec in specs:
                try:
                    sha256 = own_file_digest(spec)
                except RecipeError as error:
                    return str(error)
                if sha256 != pins.get(file_pin(spec), sha256):
                    return f"another file is called {spec} on this machine; put the right one first in $NIAH_CORPORA"
    return None


def _wrong_manifest(recipe: Recipe, manifest: Manifest, digest: str) -> Iterator[str]:
    """Where a manifest contradicts the recipe beside it."""
    pins = {f"tokenizer {manifest.tokenizer.name}": manifest.tokenizer.sha256}
    pins |= {f"corpus {entry.name}": entry.sha256 for entry in manifest.corpora}
    for name, stated, expected in (
        ("name", manifest.name, recipe.name),
        ("version", manifest.version, recipe.version),
        ("tokenizer", manifest.tokenizer.name, recipe.tokenizer),
        (
            "parts",
            [(part.name, part.weight) for part in manifest.parts],
            [(part.name, part.weight) for part in recipe.parts if part.name is not None],
        ),
        ("corpora", [c.name for c in manifest.corpora], [n for n in recipe.corpora if f"corpus {n}" in pins]),
    ):
        if stated != expected:
            yield f"{MANIFEST}: {name} is {stated!r}, but {RECIPE} says {expected!r}"
    for name, pin in recipe.pins:
        if pins.get(name, pin) != pin:
            yield f"{MANIFEST}: the sha256 of {name} is {pins[name]}, but {RECIPE} pins {pin}"
    if manifest.plan_digest != digest:
        yield (
            f"{MANIFEST}: plan_digest is {manifest.plan_digest}, but the recipe and hashes give {digest}"
            + other_release(manifest)
        )


def _data_files(axes: Iterable[Axes], dataset: Dataset, problems: _Problems) -> list[DataFile]:
    """The files with rows, format by format, in row order; those that the recipe has no place for are problems."""
    configs = {config_name(language, length) for one in axes for language in language_codes() for length in one.lengths}
    placed: list[DataFile] = []
    for suffix in dataset.formats:
        files = dataset.files(suffix)
        strangers = {file.entry.path for file in files if not file.of or file.config not in configs}
        problems.add(f"{path}: no place for rows of this recipe" for path in sorted(strangers))
        placed += [file for file in files if file.entry.path not in strangers]
    for (suffix, config), group in groupby(placed, key=lambda file: (file.format, file.config)):
        numbers = [(file.number, file.of) for file in group]
        if numbers != [(number, len(numbers)) for number in range(len(numbers))]:
            problems.add([f"{MANIFEST}: the .{suffix} files of {config} are not numbered 0 to {len(numbers) - 1}"])
    return placed


def _wrong_schema(file: DataFile, recipe: Recipe) -> Iterator[str]:
    if file.format != "parquet":
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(pa.OSFile(os.fsencode(file.path)))
    except (ValueError, OSError, pa.ArrowException):
        return  # reported when its rows are read
    expected = row_schema(recipe.form)
    if not schema.equals(expected):
        names = [
            name for name in expected.names if name not in schema.names or schema.field(name) != expected.field(name)
        ]
        names += [name for name in schema.names if name not in expected.names]
        what = ", ".join(names) or "the order of its columns"
        yield f"{file.entry.path}: its schema differs from that of rows: {what}"


class _ProofSetup(NamedTuple):
    """What a process needs to prove rows. `corpora`: what rows are built again from; None if they are not."""

    folder: Path
    recipe: Recipe
    manifest: Manifest
    tokenizer: str | None
    corpora: tuple[Corpus, ...] | None
    task_modules: tuple[str, ...]


class _ProvedPiece(NamedTuple):
    lines: list[ProvedLine]
    tokens: int
    problems: _Problems
    figures: Figures
    readable: bool


def _piece_prover(setup: _ProofSetup) -> Callable[[RowGroup], _ProvedPiece]:
    """The function that proves pieces of a dataset."""
    tasks = _tasks(setup.recipe, setup.task_modules)
    tokenizer = _tokenizer(setup.manifest, setup.tokenizer)
    prover = RowProver(setup.recipe, tasks, setup.manifest, tokenizer)
    rebuilder = None
    if setup.corpora is not None:
        rebuilder = Rebuilder(setup.recipe, tasks, tokenizer, setup.corpora)

    def prove_piece(piece: RowGroup) -> _ProvedPiece:
        lines: list[ProvedLine] = []
        problems = _Problems()
        figures = Figures(0)
        tokens = 0
        readable = True
        try:
            for read in read_row_group(setup.folder, piece):
                if read.problem is not None:
                    line = ProvedLine(piece.path, read.number, None, "", None)
                    problems.add([f"{line}: the row cannot be read ({read.problem})"])
                else:
                    row = prover.prove(read.value, piece.path.split("/")[1])
                    line = ProvedLine(piece.path, read.number, row.id, row.digest, row.rank, row.family, row.row)
                    wrong = row.problems
                    if rebuilder is not None and row.cell is not None and not wrong:
                        wrong = tuple(rebuilder.differences(row.cell, read.value, row.digest))
                    problems.add(f"{line}: {problem}" for problem in wrong)
                    tokens += row.prompt_tokens
                    below = None if row.below is None else (row.below, row.below)
                    figures = _together(figures, Figures(1, below, row.off))
                lines.append(line)
        except IntegrityError as error:
            readable = False
            problems.add([str(error)])
        return _ProvedPiece(lines, tokens, problems, figures, readable)

    return prove_piece


def _together(one: Figures, other: Figures) -> Figures:
    below = [bounds for bounds in (one.below, other.below) if bounds]
    off = [most for most in (one.off, other.off) if most is not None]
    return Figures(
        one.rows + other.rows,
        (min(bounds[0] for bounds in below), max(bounds[1] for bounds in below)) if below else None,
        max(off) if off else None,
    )


def _prove_rows(
    setup: _ProofSetup,
    tasks: Sequence[Task],
    files: Sequence[DataFile],
    intact: set[str],
    problems: _Problems,
    jobs: int | None,
    progress: Progress | None,
) -> Figures:
    """Prove the rows of intact files, each alone, then all rows of a format together."""
    here = [file for file in files if file.entry.path in intact]
    pieces = [(file, piece) for file in here for piece in row_groups_of(setup.folder, file.entry.path)]
    lacking = {file.format for file in files if file.entry.path not in intact}
    tokens = setup.manifest.tokens * len({file.format for file in here})
    if progress:
        progress.start(sum(file.entry.rows or 0 for file in here), tokens)
    results = over_row_groups(
        _piece_prover, setup, [piece for _, piece in pieces], jobs_for(tokens) if jobs is None else jobs
    )
    figures = Figures(0)
    tokenizer = _tokenizer(setup.manifest, setup.tokenizer)
    for suffix, group in groupby(zip(pieces, results, strict=True), key=lambda item: item[0][0].format):
        rows = FormatRows(suffix, suffix not in lacking, followers_of(setup.recipe, tasks, tokenizer))
        for file, of_file in groupby(group, key=lambda item: item[0][0]):
            proved = _take_file(rows, file, (piece for _, piece in of_file), problems, progress)
            figures = _together(figures, proved)
        problems.add(wrong_together(rows, setup.recipe, tasks, setup.manifest))
    return figures


def _take_file(
    rows: FormatRows, file: DataFile, pieces: Iterable[_ProvedPiece], problems: _Problems, progress: Progress | None
) -> Figures:
    """Add the proved pieces of a file to the rows of its format; returns their figures."""
    figures = Figures(0)
    count = 0
    readable = True
    for proved in pieces:
        problems.join(proved.problems)
        problems.add(rows.take(proved.lines))
        rows.tokens += proved.tokens
        count += len(proved.lines)
        readable = readable and proved.readable
        figures = _together(figures, proved.figures)
        if progress:
            progress.advance(len(proved.lines), proved.tokens)
    if readable and count != file.entry.rows:
        problems.add([f"{file.entry.path}: holds {count} rows, the manifest says {file.entry.rows}"])
    rows.whole = rows.whole and readable
    return figures
