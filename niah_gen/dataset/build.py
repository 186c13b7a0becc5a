"""Builds a dataset folder: all or nothing, resumable, one builder per target.

    build/<name>/<version>-<digest8>/            the dataset, which appears whole
    build/<name>/<version>-<digest8>.partial/    work in progress: `dataset/`, and `parts/` with a record per shard

A finished shard is used again only if its files still have the hashes in its record. The manifest is written last. In a
folder that exists already files are replaced one by one and the manifest at the end: until then the old one stands, and
`verify` names what it does not know.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_gen.corpora.find import LANGUAGES
from niah_gen.dataset.card import dataset_card
from niah_gen.dataset.processes import spawned
from niah_gen.dataset.shards import (
    FORMATS,
    Lane,
    ShardJob,
    ShardRecord,
    entry_problem,
    sync_folder,
    write_atomically,
    write_shard,
)
from niah_gen.dataset.target import PARTIAL, Target, forget_empty, lock, sweep
from niah_gen.dataset.word_overlap import kept, read_scores
from niah_gen.errors import IntegrityError, NiahError, listed
from niah_gen.progress import Progress
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Recipe
from niah_gen.rows.assemble import Assembler, check_fit
from niah_gen.rows.plan import BYTES_PER_TOKEN, Plan, make_plan
from niah_score.contract import (
    CARD,
    MANIFEST,
    RECIPE,
    SCHEMA_VERSION,
    VERSION,
    ContractError,
    CorpusEntry,
    FileEntry,
    Manifest,
    Row,
    TokenizerEntry,
    canonical_json,
    config_name,
    content_digest,
    read_manifest,
)

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized

Advance = Callable[[int, int], None]
Notice = Callable[[str], None]


_SHEET = "plan.json"
# A worker costs about a second to start and encodes the corpora again; below this many tokens one process, which
# writes in a second thread anyway, is done sooner.
_PARALLEL_TOKENS = 500_000_000
_POLL_SECONDS = 0.2


def build(
    recipe: str | Path | Mapping[str, Any] | Recipe,
    out: str | Path = "build",
    *,
    formats: Sequence[str] = ("parquet",),
    jobs: int | None = None,
    shard: tuple[int, int] | None = None,
    overrides: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    notice: Notice | None = None,
) -> Path:
    """Build a dataset folder and return its path, `<out>/<name>/<version>-<digest8>`.

    recipe: a preset's name, a TOML file, a mapping, or a Recipe; `overrides` replace its fields (`"depths.steps": 5`).
    formats: any of parquet, jsonl, jsonl.gz, jsonl.zst. jobs: worker processes (a script that asks for them needs the
    usual `if __name__ == "__main__":`); None decides by size. shard: (I, N)
    writes every Nth file only and returns the partial folder, which `merge` completes once all N are written.
    progress is told how the work goes, notice(sentence) what a user should know.

    What is there already and intact is kept. Raises RecipeError, CorpusError, TokenizerError, IntegrityError,
    LockedError (another process builds this target), and OSError.
    """
    wanted = tuple(dict.fromkeys(formats))
    for suffix in wanted:
        if suffix not in FORMATS:
            raise NiahError(f"format {suffix!r} does not exist; expected {', '.join(FORMATS)}")
    if not wanted:
        raise NiahError(f"no format given; expected some of {', '.join(FORMATS)}")
    if jobs is not None and jobs < 1:
        raise NiahError(f"jobs is {jobs}; expected at least 1")
    with ThreadPoolExecutor(1) as aside:
        # What writing needs loads while the corpora are encoded, which releases the interpreter.
        aside.submit(importlib.import_module, "niah_gen.dataset.arrow")
        plan = make_plan(load_recipe(recipe, overrides))
        check_fit(plan)
        target = Target(Path(out) / plan.recipe.name / plan.folder_name)
        tell = notice or (lambda sentence: None)
        for sentence in plan.shortfalls:
            tell(sentence)
        if shard is not None:
            kept = _intact_formats(target, plan)
            if not set(wanted) <= set(kept):
                return _build_part(plan, target, _together(wanted, kept), jobs, shard, progress)
            tell(f"{target.final} is complete already; nothing was built")
            return target.final
        with lock(target):
            kept = _intact_formats(target, plan)
            if set(wanted) <= set(kept):
                tell(f"{target.final} is complete already; nothing was built")
                forget_empty(target)
                return target.final
            suffixes = _together(wanted, kept)
            sheet = aside.submit(_sheet, plan, suffixes)
            records = _write_shards(plan, target, suffixes, range(len(plan.shards)), jobs, progress)
            return _finish(target, sheet.result(), records, tell)


def iter_rows(
    recipe: str | Path | Mapping[str, Any] | Recipe, overrides: Mapping[str, Any] | None = None
) -> Iterator[Row]:
    """The rows that `build` would write, in the same order, one at a time and without touching the disk."""
    plan = make_plan(load_recipe(recipe, overrides))
    return (pending.row() for pending in Assembler(plan).pending_rows(plan.cells))


def merge(folder: str | Path, notice: Notice | None = None) -> Path:
    """Check all parts that `build(shard=...)` wrote and complete the dataset; returns its folder.

    folder: the partial folder, the dataset folder it will become, or a folder that holds just one partial one.
    Raises IntegrityError listing every part that is missing or damaged.
    """
    target = _find_partial(Path(folder))
    with lock(target):
        try:
            sheet = json.loads((target.partial / _SHEET).read_text("utf-8"))
        except ValueError:
            raise IntegrityError(f"{target.partial / _SHEET}: damaged; run any of the shards again") from None
        records: list[ShardRecord] = []
        problems: list[str] = []
        for number, stem in enumerate(sheet["shards"]):
            record = _usable(target, sheet["plan_digest"], number, sheet["formats"])
            if isinstance(record, ShardRecord):
                records.append(record)
            else:
                problems.append(f"part {number} ({stem}): {record}")
        if problems:
            head = f"{target.partial}: {len(problems)} parts are not there; run their shards again"
            raise IntegrityError(listed(head, problems))
        return _finish(target, sheet, records, notice or (lambda sentence: None))


def rewrite_card(folder: str | Path, word_overlap: str | Path | None = None) -> Path:
    """Write a dataset's card anew from its recipe and manifest; returns the card's path.

    word_overlap: a folder with the scores of a system that only matches words, for the card to state; without it the
    figure that the card states already stays. Raises ContractError if the folder is no dataset, NiahError if the scores
    cannot be read or are not of all its rows, IntegrityError if they are another dataset's.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    if word_overlap is None:
        overlap = kept(folder, manifest.content_digest)
    else:
        overlap = read_scores(Path(word_overlap), manifest)
    recipe = load_recipe(folder / RECIPE, here=False)
    formats = _formats(manifest.files)
    rows: dict[str, int] = {}
    for entry in manifest.files:
        if entry.path.endswith(f".{formats[0]}"):
            config = entry.path.split("/")[1]
            rows[config] = rows.get(config, 0) + (entry.rows or 0)
    order = [config_name(language, length) for language in LANGUAGES for length in recipe.lengths]
    configs = {name: rows[name] for name in order if name in rows}
    card = dataset_card(recipe, configs, manifest.tokenizer, manifest.corpora, manifest.notes, formats, overlap)
    written = write_atomically(folder / CARD, card)
    files = tuple(written if entry.path == CARD else entry for entry in manifest.files)
    write_atomically(folder / MANIFEST, replace(manifest, files=files).to_json())
    return folder / CARD


def _formats(files: Sequence[FileEntry]) -> tuple[str, ...]:
    """The formats of a dataset's data files."""
    return tuple(dict.fromkeys(entry.suffix for entry in files if entry.rows is not None))


def _find_partial(folder: Path) -> Target:
    folder = folder.resolve()
    candidates = [folder, folder.with_name(folder.name + PARTIAL)]
    if folder.is_dir():
        candidates += sorted(folder.glob(f"**/*{PARTIAL}"))
    found = [path for path in candidates if path.name.endswith(PARTIAL) and (path / _SHEET).is_file()]
    if len(found) != 1:
        what = (
            "no part of a dataset" if not found else f"{len(found)} unfinished datasets ({', '.join(map(str, found))})"
        )
        raise NiahError(f"{folder}: {what} here; name the folder that `build --shard` printed, it ends in {PARTIAL}")
    return Target(found[0].with_name(found[0].name.removesuffix(PARTIAL)))


def _build_part(
    plan: Plan,
    target: Target,
    formats: Sequence[str],
    jobs: int | None,
    shard: tuple[int, int],
    progress: Progress | None,
) -> Path:
    part, of = shard
    if of < 1 or not 0 <= part <= of:
        raise NiahError(f"shard {part}/{of}: expected I/N with I from 1 to N (0 counts as N)")
    with lock(target, part=f"part-{part % of}-of-{of}"):
        numbers = [number for number in range(len(plan.shards)) if number % of == part % of]
        _write_shards(plan, target, formats, numbers, jobs, progress)
        write_atomically(target.partial / _SHEET, canonical_json(_sheet(plan, formats)))
    return target.partial


def _sheet(plan: Plan, formats: Sequence[str]) -> dict[str, Any]:
    """All that completing a dataset needs to know of its plan, so that merging needs neither corpora nor tokenizer."""
    configs: dict[str, int] = {}
    for cell in plan.cells:
        configs[cell.config] = configs.get(cell.config, 0) + 1
    used = {
        corpus.name: plan.fillers[corpus.name].usage(max(plan.recipe.lengths), plan.secrets(corpus))
        for corpus in plan.corpora
    }
    corpora = [
        CorpusEntry(
            corpus.name, len(corpus.files), corpus.sha256, len(corpus.documents), *used[corpus.name],
            corpus.license, corpus.source,
        )
        for corpus in plan.corpora
    ]  # fmt: skip
    return {
        "plan_digest": plan.digest,
        "formats": list(formats),
        "shards": [shard.stem for shard in plan.shards],
        "configs": list(configs.items()),
        "recipe": plan.recipe.table(),
        "tokenizer": asdict(TokenizerEntry(plan.tokenizer.name, plan.tokenizer.sha256)),
        "corpora": [asdict(entry) for entry in corpora],
    }


def _usable(target: Target, plan_digest: str, number: int, formats: Sequence[str]) -> ShardRecord | str:
    """The record of a shard whose files are all intact, or what is wrong."""
    path = target.record(number)
    if not path.is_file():
        return "not written"
    record = ShardRecord.from_bytes(path.read_bytes())
    if record is None:
        return f"{path.name} is damaged"
    if record.plan_digest != plan_digest:
        return "written for another plan"
    there = {entry.suffix for entry in record.files}
    if there != set(formats):
        return f"written as {', '.join(sorted(there))}, not as {', '.join(formats)}"
    problems = [problem for entry in record.files if (problem := entry_problem(target.dataset, entry))]
    return "; ".join(problems) if problems else record


def _write_shards(
    plan: Plan,
    target: Target,
    formats: Sequence[str],
    numbers: Sequence[int],
    jobs: int | None,
    progress: Progress | None,
) -> list[ShardRecord]:
    """Write the shards of those numbers that are not there yet; the records of all of them, in order."""
    done: dict[int, ShardRecord] = {}
    for number in numbers:
        record = _usable(target, plan.digest, number, formats)
        if isinstance(record, ShardRecord):
            done[number] = record
    # The largest first: then the smaller ones fill the gaps at the end, and their memory is there already.
    missing = sorted((n for n in numbers if n not in done), key=lambda n: (-_shard_tokens(plan, n), n))
    rows = sum(plan.shards[number].last - plan.shards[number].first for number in missing)
    tokens = sum(_shard_tokens(plan, number) for number in missing)
    if progress:
        progress.start(rows, tokens)
    advance = progress.advance if progress else lambda rows, tokens: None
    if jobs is None:
        jobs = 1 if tokens < _PARALLEL_TOKENS else os.cpu_count() or 1
    workers = min(jobs, len(missing))
    if workers <= 1:
        # Two lanes, so that one shard can be compressed while the one before it is being synced and hashed.
        with Lane() as even, Lane() as odd:
            worker = _Worker(plan, Assembler(plan), target, tuple(formats), (even, odd), advance)
            records = {number: worker.start(number, turn) for turn, number in enumerate(missing)}
            done |= {number: record.result() for number, record in records.items()}
    else:
        done |= _write_in_parallel(plan.given, target, formats, missing, workers, advance)
    return [done[number] for number in numbers]


def _shard_tokens(plan: Plan, number: int) -> int:
    """Nominal tokens of a shard, whose rows are all of one length."""
    shard = plan.shards[number]
    return (shard.last - shard.first) * plan.cells[shard.first].length


def _write_in_parallel(
    recipe: Recipe, target: Target, formats: Sequence[str], numbers: Sequence[int], workers: int, advance: Advance
) -> dict[int, ShardRecord]:
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    rows, tokens = context.Value("q", 0), context.Value("q", 0)
    told = [0, 0]

    def tell() -> None:
        now = [rows.value, tokens.value]
        if now != told:
            advance(now[0] - told[0], now[1] - told[1])
            told[:] = now

    done: dict[int, ShardRecord] = {}
    with spawned(workers, _start_worker, (recipe, target, tuple(formats), rows, tokens)) as pool:
        running = {pool.submit(_work, number): number for number in numbers}
        while running:
            finished, _ = wait(running, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in finished:
                done[running.pop(future)] = future.result()
            tell()
    tell()
    return done


@dataclass(frozen=True, slots=True)
class _Worker:
    """What one process keeps between shards."""

    plan: Plan
    assembler: Assembler
    target: Target
    formats: tuple[str, ...]
    lanes: tuple[Lane, ...]
    advance: Advance

    def start(self, number: int, turn: int = 0) -> Future[ShardRecord]:
        """Make a shard's rows; the future tells when its files and then its record are on disk.

        Lanes take turns.
        """
        plan = self.plan
        shard = plan.shards[number]
        cells = plan.cells[shard.first : shard.last]
        row_bytes = int(cells[0].length * BYTES_PER_TOKEN[cells[0].language])
        alike = 1 if plan.recipe.fresh_haystacks else len(plan.recipe.depths)
        job = ShardJob(self.target.dataset, shard.stem, self.formats, plan.recipe.form, row_bytes, alike)
        lane = self.lanes[turn % len(self.lanes)]
        written = write_shard(job, self.assembler.pending_rows(cells), lane, self.advance)

        def record() -> ShardRecord:
            found = ShardRecord(plan.digest, number, *written.result())
            write_atomically(self.target.record(number), found.to_bytes())
            return found

        return lane.then(record)


_worker: _Worker | None = None


def _start_worker(
    recipe: Recipe, target: Target, formats: tuple[str, ...], rows: Synchronized[int], tokens: Synchronized[int]
) -> None:
    global _worker

    def advance(more_rows: int, more_tokens: int) -> None:
        with rows.get_lock():
            rows.value += more_rows
        with tokens.get_lock():
            tokens.value += more_tokens

    plan = make_plan(recipe)
    _worker = _Worker(plan, Assembler(plan), target, formats, (Lane(),), advance)


def _work(number: int) -> ShardRecord:
    if _worker is None:
        raise RuntimeError("the worker was not started")
    return _worker.start(number).result()


def _finish(target: Target, sheet: Mapping[str, Any], records: Sequence[ShardRecord], tell: Notice) -> Path:
    """Write card, recipe and, last, the manifest; give the folder its name."""
    recipe = load_recipe(sheet["recipe"], here=False)
    tokenizer = TokenizerEntry(**sheet["tokenizer"])
    corpora = tuple(CorpusEntry(**entry) for entry in sheet["corpora"])
    notes = tuple(dict.fromkeys(note for record in records for note in record.notes))
    for note in notes:
        tell(note)
    digest = content_digest(digest for record in records for digest in record.digests)
    overlap = kept(target.final, digest)
    card = dataset_card(recipe, dict(sheet["configs"]), tokenizer, corpora, notes, sheet["formats"], overlap)
    files = [write_atomically(target.dataset / CARD, card), write_atomically(target.dataset / RECIPE, recipe.to_toml())]
    files += [entry for record in records for entry in record.files]
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        name=recipe.name,
        version=recipe.version,
        plan_digest=sheet["plan_digest"],
        content_digest=digest,
        generator_version=VERSION,
        tokenizer=tokenizer,
        corpora=corpora,
        rows=sum(len(record.digests) for record in records),
        tokens=sum(record.tokens for record in records),
        notes=notes,
        files=tuple(sorted(files, key=lambda entry: entry.path)),
    )
    sweep(target.dataset, {entry.path for entry in files})
    write_atomically(target.dataset / MANIFEST, manifest.to_json())
    if target.final.exists():
        _replace_files(target, manifest.files)
    else:
        target.dataset.rename(target.final)
    sync_folder(target.final.parent)
    shutil.rmtree(target.partial)
    return target.final


def _replace_files(target: Target, files: Sequence[FileEntry]) -> None:
    for path in [*(entry.path for entry in files), MANIFEST]:
        goal = target.final / path
        goal.parent.mkdir(parents=True, exist_ok=True)
        (target.dataset / path).replace(goal)
        sync_folder(goal.parent)


def _together(wanted: Sequence[str], kept: Sequence[str]) -> tuple[str, ...]:
    return tuple(suffix for suffix in FORMATS if suffix in (*wanted, *kept))


def _intact_formats(target: Target, plan: Plan) -> tuple[str, ...]:
    """The formats of a finished dataset whose files are all intact; none if there is no such dataset.

    Raises IntegrityError if only the card was changed: those are somebody's own words, which building would replace.
    """
    try:
        manifest = read_manifest(target.final)
    except ContractError:
        return ()
    if manifest.plan_digest != plan.digest:
        return ()
    problems = {entry.path: entry_problem(target.final, entry) for entry in manifest.files}
    damaged = [path for path, problem in problems.items() if problem]
    if damaged == [CARD] and (target.final / CARD).is_file():
        raise IntegrityError(
            f"{target.final / CARD}: changed since it was written; keep your words elsewhere and run "
            f"`niah-gen card {target.final}`, then build"
        )
    return () if damaged else _formats(manifest.files)
