"""Builds the rows of a dataset folder again from its recipe and compares their digests with those of its files.

The rows alone give the folder's content digest, number of rows and tokens. That much needs neither corpora nor
tokenizer; building rows again needs both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_gen.checks.hashes import hash_files
from niah_gen.corpora.find import locate
from niah_gen.corpora.read import Corpus, corpus_sha256, read_corpus
from niah_gen.dataset.complete import facts_of
from niah_gen.dataset.read import jobs_for, over_files, rows_in
from niah_gen.errors import CorpusError, IntegrityError, NiahError, RecipeError, TokenizerError, shown
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Recipe
from niah_gen.rows.assemble import Assembler
from niah_gen.rows.ids import plan_digest
from niah_gen.rows.plan import Plan, bounds_of, make_plan
from niah_gen.tasks.base import Task
from niah_gen.tasks.options import file_pin, own_file_digest, own_files
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
    content_digest,
    row_digest,
    sha256_hex,
)
from niah_score.machine.stores import is_address

if TYPE_CHECKING:
    from niah_gen.progress import Progress

# Enough to show that a dataset is wrong throughout, and few enough to keep in memory.
KEPT_PROBLEMS = 1000

# What a data file holds: the digests of its rows, their tokens, and a sentence for each problem.
_Read = tuple[list[str], int, list[str]]


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
    manifest, problems, intact = hash_files(folder)
    done = Rebuilt(manifest)
    done.add(problems)
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
    if digest != manifest.plan_digest:
        release = manifest.generator_version
        other = f"; niah {release} made the dataset, this is {VERSION}: use that one" if release != VERSION else ""
        done.add(
            [f"{MANIFEST}: plan_digest is {manifest.plan_digest}, but {RECIPE} and the hashes give {digest}{other}"]
        )
    places, done.not_rebuilt = corpus_places(manifest, corpora)
    found = _tokenizer(manifest, tokenizer)
    if isinstance(found, str):
        done.not_rebuilt = done.not_rebuilt or found
    done.not_rebuilt = done.not_rebuilt or _lacking_file(recipe, tasks)
    if digest != manifest.plan_digest:
        done.not_rebuilt = f"its plan_digest is not {digest[:8]}, so this release would build something else"
    dataset = Dataset(folder, manifest)
    files = [file for suffix in dataset.formats for file in dataset.files(suffix)]
    tokens = manifest.tokens * len(dataset.formats)
    jobs = jobs_for(tokens) if jobs is None else jobs
    plan, setup = None, None
    if done.not_rebuilt is None and not isinstance(found, str):
        bounds = [bounds_of(recipe, entry.name) for entry in manifest.corpora]
        texts = [read_corpus(locate(spec), bound) for spec, bound in zip(places, bounds, strict=True)]
        read = tuple(replace(c, name=entry.name) for c, entry in zip(texts, manifest.corpora, strict=True))
        plan = make_plan(recipe, tasks=tasks, tokenizer=found, corpora=read)
        setup = (recipe, tokenizer or manifest.tokenizer.name, read, tuple(task_modules))
        done.add(_wrong_contents(manifest, files, plan))
    if progress:
        progress.start(sum(file.rows for file in files), tokens)
    here = [file for file in files if file.entry.path in intact]
    paths = [file.entry.path for file in here]
    one = jobs == 1  # then the plan need not be made again
    results = map(_reader(folder, plan), paths) if one else over_files(_start, (folder, setup), paths, jobs)
    by_path: dict[str, _Read] = {}
    for file, result in zip(here, results, strict=True):
        by_path[file.entry.path] = result
        done.add(result[2])
        done.rows += len(result[0])
        if progress:
            progress.advance(len(result[0]), result[1])
    for suffix in dataset.formats:
        of_format = [by_path.get(file.entry.path) for file in dataset.files(suffix)]
        if None not in of_format:
            done.add(_wrong_totals(manifest, suffix, [one for one in of_format if one is not None]))
    return done


def corpus_places(manifest: Manifest, given: Sequence[str]) -> tuple[list[str], str | None]:
    """Where each corpus of the manifest is on this machine, in order; or no places, and why one of them is missing.

    Raises CorpusError if a corpus that the user named cannot be read, IntegrityError if it is not the dataset's.
    """
    named = {corpus_sha256(locate(spec)): spec for spec in given}
    wanted = {entry.sha256 for entry in manifest.corpora}
    for sha256, spec in named.items():
        if sha256 not in wanted:
            raise IntegrityError(
                f"corpus {spec}: sha256 is {sha256}, which is not that of any of the dataset's corpora"
            )
    places = []
    for entry in manifest.corpora:
        spec = named.get(entry.sha256, entry.name)
        if entry.sha256 not in named:
            try:
                if is_address(spec):  # a manifest is not trusted: what it names is never fetched
                    raise CorpusError(spec)
                local = corpus_sha256(locate(spec))
            except (NiahError, OSError):
                return [], f"corpus {entry.name} is not on this machine; name its folder with --corpus"
            if local != entry.sha256:
                return [], f"another corpus is called {entry.name} on this machine; name the right one with --corpus"
        places.append(spec)
    return places, None


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


def _wrong_contents(manifest: Manifest, files: Sequence[DataFile], plan: Plan) -> Iterator[str]:
    """Where a manifest contradicts the plan that its recipe makes here, and the number of rows in its files."""
    facts = facts_of(plan, tuple(dict.fromkeys(file.format for file in files))).manifest
    for name in ("name", "version", "tokenizer", "parts"):
        if (stated := getattr(manifest, name)) != (made := getattr(facts, name)):
            yield f"{MANIFEST}: {name} is {stated!r}, but {RECIPE} says {made!r}"
    for entry, here in zip(manifest.corpora, facts.corpora, strict=True):
        for name in (column.name for column in fields(here)):
            stated, made = getattr(entry, name), getattr(here, name)
            if name not in ("tokens", "share_left_out") and stated != made:
                yield f"{MANIFEST}: corpus {here.name}: {name} is {stated}, but here it is {made}"
    built = {shard.stem: shard.last - shard.first for shard in plan.shards}
    for suffix in dict.fromkeys(file.format for file in files):
        held = {_stem(file.entry.path): file for file in files if file.format == suffix}
        for stem, count in built.items():
            if (rows := held[stem].rows if stem in held else 0) != count:
                yield f"{MANIFEST}: the .{suffix} file {stem} holds {rows} rows, the recipe builds {count}"
        yield from (f"{f.entry.path}: no place for rows of this recipe" for s, f in held.items() if s not in built)


def _stem(path: str) -> str:
    """The path of a data file without format folder and suffix, as shards are named."""
    return path.partition("/")[2].partition(".")[0]


def _wrong_totals(manifest: Manifest, suffix: str, read: Sequence[_Read]) -> Iterator[str]:
    """Where a manifest contradicts the rows of a format."""
    digests = [digest for of_file in read for digest in of_file[0]]
    for name, stated, found in (
        ("content_digest", manifest.content_digest, content_digest(digests)),
        ("rows", manifest.rows, len(digests)),
        ("tokens", manifest.tokens, sum(of_file[1] for of_file in read)),
    ):
        if stated != found:
            yield f"{MANIFEST}: {name} is {stated}, the .{suffix} rows give {found}"


def _start(
    given: tuple[Path, tuple[Recipe, str, tuple[Corpus, ...], tuple[str, ...]] | None],
) -> Callable[[str], _Read]:
    """In a process of its own: the function that reads data files."""
    folder, setup = given
    if setup is None:
        return _reader(folder, None)
    recipe, tokenizer, corpora, task_modules = setup
    tasks = [chosen_task(part.task, part.options, allowed=task_modules) for part in recipe.parts]
    found = find_tokenizer(tokenizer, recipe.tokenizer)
    return _reader(folder, make_plan(recipe, tasks=tasks, tokenizer=found, corpora=corpora))


def _reader(folder: Path, plan: Plan | None) -> Callable[[str], _Read]:
    """The function that reads a data file and, with a plan, builds its rows again."""
    shards = {shard.stem: shard for shard in plan.shards} if plan else {}
    assembler = Assembler(plan) if plan else None

    def read(path: str) -> _Read:
        digests: list[str] = []
        problems: list[str] = []
        tokens, shard = 0, shards.get(_stem(path))
        made = assembler.rows(plan.cells[shard.first : shard.last]) if assembler and plan and shard else None
        try:
            for number, row in enumerate(rows_in(folder / path), 1):
                digests.append(_digest_of(row))
                tokens += row["prompt_tokens"] if type(row.get("prompt_tokens")) is int else 0
                where = f"{path} row {number}" + (f" ({shown(row['id'])[1:-1]})" if "id" in row else "")
                expected = next(made, None) if made is not None else None
                if made is not None and expected is None:
                    problems.append(f"{where}: the recipe builds no such row")
                elif expected is not None and row_digest(expected[0]) != digests[-1]:
                    columns: dict[str, Any] = {**expected[0]}
                    wrong = [name for name in columns if name not in row or columns[name] != row[name]]
                    differing = ", ".join(wrong) or "what is no row's column"
                    problems.append(f"{where}: the recipe builds another row here; it differs in {differing}")
        except IntegrityError as error:
            problems.append(str(error))
        return digests, tokens, problems

    return read


def _digest_of(row: object) -> str:
    """`row_digest` of whatever a file holds as a row; empty if it has none."""
    try:
        return sha256_hex(canonical_json(row))
    # A type that JSON does not have; brackets nested too deeply.
    except (ValueError, TypeError, RecursionError):
        return ""
