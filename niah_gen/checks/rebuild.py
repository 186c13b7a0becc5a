"""Builds the rows of a dataset folder again from its recipe and compares their digests with those of its files.

The rows alone give the folder's content digest, number of rows and tokens. That much needs neither corpora nor
tokenizer; building rows again needs both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from niah_gen.checks.hashes import hash_files
from niah_gen.checks.sources import corpus_places, read_again, wrong_draws
from niah_gen.corpora.read import Corpus
from niah_gen.dataset.read import RowGroup, jobs_for, over_row_groups, read_row_group, row_groups_of
from niah_gen.errors import IntegrityError, NiahError, RecipeError, TokenizerError, shown
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Recipe
from niah_gen.rows.assemble import Assembler
from niah_gen.rows.digests import plan_digest
from niah_gen.rows.plan import make_plan
from niah_gen.tasks.base import Task
from niah_gen.tasks.options import file_pin, own_file_digest, own_files
from niah_gen.tasks.records import Cell
from niah_gen.tasks.registry import chosen_task
from niah_gen.tokenizers.find import Tokenizer, find_tokenizer
from niah_score.contract import (
    MANIFEST,
    RECIPE,
    VERSION,
    DataFile,
    Dataset,
    Manifest,
    canonical_json,
    config_name,
    content_digest,
    sha256_hex,
)

if TYPE_CHECKING:
    from niah_gen.progress import Progress

# Enough to show that a dataset is wrong throughout, and few enough to keep in memory.
KEPT_PROBLEMS = 1000


@dataclass
class Rebuilt:
    """The result of building a dataset's rows again.

    `problems`: the first 1,000 of `count`: files, then rows in order, then totals. `rows`: how many were read, in all
    formats. `not_rebuilt`: why rows were not built again; None if they were.
    """

    manifest: Manifest
    problems: list[str] = field(default_factory=list)
    count: int = 0
    rows: int = 0
    not_rebuilt: str | None = None

    def add(self, sentences: Iterable[str]) -> None:
        """Add problems, a sentence each."""
        for sentence in sentences:
            self.count += 1
            if len(self.problems) < KEPT_PROBLEMS:
                self.problems.append(sentence)


class _Setup(NamedTuple):
    """What a process needs to read rows, and to build them again. `tokenizer`: None if rows are not built again."""

    folder: Path
    recipe: Recipe
    tokenizer: str | None
    corpora: tuple[Corpus, ...]
    task_modules: tuple[str, ...]
    starts: dict[str, int]


class _Read(NamedTuple):
    """What a row group holds, and how its rows differ from those of the recipe."""

    digests: list[str]
    tokens: int
    parts: Counter[str]
    problems: list[str]


def rebuild(
    folder: Path,
    *,
    tokenizer: str | None = None,
    corpora: Sequence[str] = (),
    task_modules: Collection[str] = (),
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Rebuilt:
    """Re-hash every file of a dataset folder, digest the rows of the intact ones, and build the rows again.

    tokenizer, corpora: names or paths of the dataset's own, if its recorded names are not found here; their sha256 is
    checked. task_modules: modules outside the package that the recipe may import. jobs: number of processes, which
    does not affect the result; None decides by size.
    Raises ContractError if the folder has no valid manifest, TokenizerError and CorpusError if one that was named
    cannot be read, IntegrityError if it is not the dataset's, RecipeError if the dataset's own task family is not on
    this machine or may not be imported, and ResourceError if a process dies.
    """
    hashed = hash_files(folder)
    manifest = hashed.manifest
    done = Rebuilt(manifest)
    done.add(hashed.problems)
    intact = {entry.path for entry in hashed.intact}
    try:
        if RECIPE not in intact:
            raise NiahError("missing or damaged")
        recipe = load_recipe(folder / RECIPE, here=False, task_modules=task_modules)
    except NiahError as error:
        done.add([f"{RECIPE}: no row can be built without it ({error}); restore it, or build the dataset again"])
        done.not_rebuilt = "its recipe cannot be read"
        return done
    tasks = [chosen_task(part.task, part.options, allowed=task_modules) for part in recipe.parts]
    hashes = [(entry.name, entry.sha256) for entry in manifest.corpora]
    digest = plan_digest(recipe, tasks, manifest.tokenizer.name, manifest.tokenizer.sha256, hashes)
    done.add(_wrong_manifest(recipe, manifest, digest))
    places, done.not_rebuilt = corpus_places(manifest, corpora)
    found = _tokenizer(manifest, tokenizer)
    if isinstance(found, str):
        done.not_rebuilt = done.not_rebuilt or found
    done.not_rebuilt = done.not_rebuilt or _lacking_file(recipe, tasks)
    if digest != manifest.plan_digest:
        done.not_rebuilt = f"its plan_digest is not {digest[:8]}, so this release would build something else"
    files = [file for suffix in Dataset(folder, manifest).formats for file in Dataset(folder, manifest).files(suffix)]
    setup = _Setup(folder, recipe, None, (), tuple(task_modules), _starts(files))
    if done.not_rebuilt is None and not isinstance(found, str):
        read = read_again(places, recipe, manifest)
        done.add(wrong_draws(read, manifest))
        setup = setup._replace(tokenizer=tokenizer or manifest.tokenizer.name, corpora=read)
        cells = make_plan(recipe, tasks=tasks, tokenizer=found, corpora=read).cells
        done.add(_wrong_counts(files, cells))
    _read_rows(done, setup, files, intact, jobs, progress)
    return done


def _tokenizer(manifest: Manifest, given: str | None) -> Tokenizer | str:
    """The tokenizer that the dataset was counted with, or why it is not here; an error if it was given by name."""
    wanted = manifest.tokenizer
    try:
        tokenizer = find_tokenizer(given or wanted.name, wanted.name)
    except TokenizerError as error:
        if given is not None:
            raise
        return f"{error}; name the file that the dataset was counted with: --tokenizer PATH"
    if tokenizer.sha256 == wanted.sha256:
        return tokenizer
    wrong = f"tokenizer {given or wanted.name}: sha256 is {tokenizer.sha256}, but the dataset was counted with"
    if given is not None:
        raise IntegrityError(f"{wrong} {wanted.sha256}")
    return f"{wrong} {wanted.sha256}; name that one with --tokenizer, or put it first where names are looked up"


def _lacking_file(recipe: Recipe, tasks: Sequence[Task]) -> str | None:
    """Why rows cannot be built again, if a file that options name is missing or different here."""
    pins = dict(recipe.pins)
    for part, task in zip(recipe.parts, tasks, strict=True):
        for spec in own_files(task.options, part.options).values():
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
        release = manifest.generator_version
        other = f"; niah {release} made the dataset, this is {VERSION}: use that one" if release != VERSION else ""
        yield f"{MANIFEST}: plan_digest is {manifest.plan_digest}, but the recipe and hashes give {digest}{other}"


def _starts(files: Sequence[DataFile]) -> dict[str, int]:
    """How many rows of its config precede each data file, by its path."""
    starts: dict[str, int] = {}
    for _, group in groupby(files, key=lambda file: (file.format, file.config)):
        before = 0
        for file in group:
            starts[file.entry.path] = before
            before += file.rows
    return starts


def _by_config(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    configs: dict[str, list[Cell]] = {}
    for cell in cells:
        configs.setdefault(config_name(cell.language, cell.length), []).append(cell)
    return configs


def _wrong_counts(files: Sequence[DataFile], cells: Iterable[Cell]) -> Iterator[str]:
    """The files that are out of place, and the configs with more or fewer rows than the recipe builds."""
    built = {config: len(of_config) for config, of_config in _by_config(cells).items()}
    for (_, config), group in groupby(files, key=lambda file: (file.format, file.config)):
        of_config = list(group)
        for number, file in enumerate(of_config):
            if config not in built or (file.number, file.of) != (number, len(of_config)):
                yield f"{file.entry.path}: no place for rows of this recipe"
    for suffix, of_format in groupby(files, key=lambda file: file.format):
        held: dict[str, int] = {}
        for file in of_format:
            held[file.config] = held.get(file.config, 0) + file.rows
        for config in [*built, *(config for config in held if config not in built)]:
            if held.get(config, 0) != built.get(config, 0):
                yield (
                    f"{MANIFEST}: the .{suffix} files of {config} hold {held.get(config, 0)} rows, "
                    f"the recipe builds {built.get(config, 0)}"
                )


def _read_rows(
    done: Rebuilt,
    setup: _Setup,
    files: Sequence[DataFile],
    intact: set[str],
    jobs: int | None,
    progress: Progress | None,
) -> None:
    """Digest the rows of the intact files, compare them with those built again, and their totals with the manifest."""
    manifest = done.manifest
    here = [file for file in files if file.entry.path in intact]
    pieces = [(file, piece) for file in here for piece in row_groups_of(setup.folder, file.entry.path)]
    tokens = manifest.tokens * len({file.format for file in here})
    if progress:
        progress.start(sum(file.rows for file in here), tokens)
    results = over_row_groups(
        _reader, setup, [piece for _, piece in pieces], jobs_for(tokens) if jobs is None else jobs
    )
    lacking = {file.format for file in files if file.entry.path not in intact}
    for suffix, group in groupby(zip(pieces, results, strict=True), key=lambda item: item[0][0].format):
        digests: list[str] = []
        parts: Counter[str] = Counter()
        total = 0
        for file, of_file in groupby(group, key=lambda item: item[0][0]):
            count = 0
            for _, read in of_file:
                done.add(read.problems)
                digests += read.digests
                total += read.tokens
                parts += read.parts
                count += len(read.digests)
                if progress:
                    progress.advance(len(read.digests), read.tokens)
            if count != file.rows:
                done.add([f"{file.entry.path}: holds {count} rows, the manifest says {file.rows}"])
        done.rows += len(digests)
        if suffix in lacking:
            continue  # its totals cannot be right
        for name, stated, found in (
            ("content_digest", manifest.content_digest, content_digest(digests)),
            ("rows", manifest.rows, len(digests)),
            ("tokens", manifest.tokens, total),
        ):
            if stated != found:
                done.add([f"{MANIFEST}: {name} is {stated}, the .{suffix} rows give {found}"])
        done.add(
            f"{MANIFEST}: part {part.name} has {part.rows} rows, the .{suffix} rows give {parts[part.name]}"
            for part in manifest.parts
            if part.rows != parts[part.name]
        )


def _reader(setup: _Setup) -> Callable[[RowGroup], _Read]:
    """The function that reads row groups and, if the setup names a tokenizer, builds their rows again."""
    configs: dict[str, list[Cell]] | None = None
    assembler: Assembler | None = None
    if setup.tokenizer is not None:
        tasks = [chosen_task(part.task, part.options, allowed=setup.task_modules) for part in setup.recipe.parts]
        tokenizer = find_tokenizer(setup.tokenizer, setup.recipe.tokenizer)
        plan = make_plan(setup.recipe, tasks=tasks, tokenizer=tokenizer, corpora=setup.corpora)
        configs, assembler = _by_config(plan.cells), Assembler(plan)

    def read(piece: RowGroup) -> _Read:
        digests: list[str] = []
        problems: list[str] = []
        parts: Counter[str] = Counter()
        tokens = 0
        cells = (configs or {}).get(Path(piece.path).parent.name, [])
        try:
            for row in read_row_group(setup.folder, piece):
                digest = _digest_of(row.value)
                digests.append(digest)
                value = row.value if isinstance(row.value, dict) else {}
                counted = value.get("prompt_tokens")
                tokens += counted if isinstance(counted, int) else 0
                parts[str(value.get("part"))] += 1
                name = f" ({shown(value['id'])[1:-1]})" if isinstance(value.get("id"), str) else ""
                where = f"{piece.path} row {row.number}{name}"
                if row.problem is not None:
                    problems.append(f"{where}: the row cannot be read ({row.problem})")
                elif assembler is not None:
                    place = setup.starts[piece.path] + row.number - 1
                    if place >= len(cells):
                        problems.append(f"{where}: the recipe builds no such row")
                        continue
                    built = assembler.pending_row(cells[place])
                    if built.digest() != digest:
                        columns = ", ".join(_differing({**built.row()}, value)) or "what is no row's column"
                        problems.append(f"{where}: the recipe builds another row here; it differs in {columns}")
        except IntegrityError as error:
            problems.append(str(error))
        return _Read(digests, tokens, parts, problems)

    return read


def _differing(built: Mapping[str, Any], value: Mapping[str, Any]) -> list[str]:
    """The columns in which a row differs from the one that was built, in order."""
    return [name for name in built if name not in value or built[name] != value[name]]


def _digest_of(value: object) -> str:
    """`row_digest` of whatever a file holds as a row; empty if it has none."""
    try:
        return sha256_hex(canonical_json(value))
    # Half a surrogate pair; a type that JSON does not have; brackets nested too deeply.
    except (ValueError, TypeError, RecursionError):
        return ""
