"""Builds a dataset folder: all or nothing, resumable, one builder per target.

    build/<name>/<version>-<digest8>/            the dataset, which appears whole
    build/<name>/<version>-<digest8>.partial/    work in progress: `dataset/`, and `parts/` with a record per shard

A finished shard is used again only if its files still have the hashes in its record.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from niah_gen.corpora.read import Corpus
from niah_gen.dataset.complete import Notice, complete, plan_sheet, usable_record
from niah_gen.dataset.folders import SHEET, BuildFolders, forget_empty, lock
from niah_gen.dataset.shards import GROUP_BYTES, ShardJob, ShardRecord, write_shard
from niah_gen.dataset.writer_thread import WriterThread
from niah_gen.errors import IntegrityError, NiahError, ResourceError
from niah_gen.progress import Progress
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Recipe
from niah_gen.rows.assemble import Assembler, check_fit
from niah_gen.rows.plan import Plan, PlannedPart, make_plan
from niah_gen.rows.repeats import without_repeats
from niah_gen.tasks.controls import NO_CONTEXT
from niah_score.contract import CARD, DATA_FORMATS, ContractError, Row, canonical_json, file_problem, open_dataset
from niah_score.machine.files import write_atomically
from niah_score.machine.processes import processes, tell
from niah_score.text.language import find_language

Advance = Callable[[int, int], None]

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
    formats: any of parquet, jsonl, jsonl.gz, jsonl.zst. jobs: worker processes; None decides by size. shard: (I, N)
    writes every Nth file only and returns the partial folder, which `merge` completes once all N are written.
    progress is told how the work goes, notice(sentence) what a user should know.

    What is there already and intact is kept. Raises RecipeError, CorpusError, TokenizerError, IntegrityError,
    LockedError (another process builds this target), and OSError.
    """
    wanted = tuple(dict.fromkeys(formats))
    for suffix in wanted:
        if suffix not in DATA_FORMATS:
            raise NiahError(f"format {suffix!r} does not exist; expected {', '.join(DATA_FORMATS)}")
    if not wanted:
        raise NiahError(f"no format given; expected some of {', '.join(DATA_FORMATS)}")
    if jobs is not None and jobs < 1:
        raise NiahError(f"jobs is {jobs}; expected at least 1")
    with ThreadPoolExecutor(1) as aside:
        # What writing needs loads while the corpora are encoded, which releases the interpreter.
        aside.submit(importlib.import_module, "niah_gen.dataset.arrow")
        tell = notice or (lambda sentence: None)
        plan = make_plan(load_recipe(recipe, overrides, notice=tell))
        check_fit(plan)
        target = BuildFolders(Path(out) / plan.recipe.name / plan.folder_name)
        for sentence in plan.notes:
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
            sheet = aside.submit(plan_sheet, plan, suffixes)
            records = _write_shards(plan, target, suffixes, range(len(plan.shards)), jobs, progress)
            return complete(target, sheet.result(), records, tell)


def iter_rows(
    recipe: str | Path | Mapping[str, Any] | Recipe, overrides: Mapping[str, Any] | None = None
) -> Iterator[Row]:
    """The rows that `build` would write, in the same order, one at a time and without touching the disk."""
    plan = make_plan(load_recipe(recipe, overrides))
    check_fit(plan)
    return (pending.row() for pending in without_repeats(plan.recipe, Assembler(plan).pending_rows(plan.cells)))


def _build_part(
    plan: Plan,
    target: BuildFolders,
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
        write_atomically(target.partial / SHEET, canonical_json(plan_sheet(plan, formats)))
    return target.partial


def _write_shards(
    plan: Plan,
    target: BuildFolders,
    formats: Sequence[str],
    numbers: Sequence[int],
    jobs: int | None,
    progress: Progress | None,
) -> list[ShardRecord]:
    """Write the shards of those numbers that are not there yet; the records of all of them, in order."""
    done: dict[int, ShardRecord] = {}
    for number in numbers:
        record = usable_record(target, plan.digest, number, formats)
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
        # Two, so that one shard can be compressed while the one before it is being synced and hashed.
        with WriterThread(GROUP_BYTES) as even, WriterThread(GROUP_BYTES) as odd:
            builder = _ShardBuilder(plan, Assembler(plan), target, tuple(formats), (even, odd), advance)
            records = {number: builder.start(number, turn) for turn, number in enumerate(missing)}
            done |= {number: record.result() for number, record in records.items()}
    else:
        done |= _write_in_parallel(plan, target, formats, missing, workers, advance)
    return [done[number] for number in numbers]


def _shard_tokens(plan: Plan, number: int) -> int:
    """Nominal tokens of a shard, whose rows are all of one length."""
    shard = plan.shards[number]
    return (shard.last - shard.first) * plan.cells[shard.first].length


def _write_in_parallel(
    plan: Plan, target: BuildFolders, formats: Sequence[str], numbers: Sequence[int], jobs: int, advance: Advance
) -> dict[int, ShardRecord]:
    done: dict[int, ShardRecord] = {}
    # What was drawn from a large corpus is sent, so that no worker reads all of it again.
    drawn = {spec: corpus for spec, corpus in plan.sources.items() if corpus.draw}
    with processes(jobs, _start_worker, (plan.given, drawn, target, tuple(formats)), raising=ResourceError) as workers:
        running = {workers.submit(_work, number): number for number in numbers}
        while running:
            finished, _ = wait(running, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            for rows, tokens in workers.told():
                advance(rows, tokens)
            for future in finished:
                done[running.pop(future)] = future.result()
    return done


@dataclass(frozen=True, slots=True)
class _ShardBuilder:
    """What one process keeps between shards."""

    plan: Plan
    assembler: Assembler
    target: BuildFolders
    formats: tuple[str, ...]
    writers: tuple[WriterThread, ...]
    advance: Advance

    def start(self, number: int, turn: int = 0) -> Future[ShardRecord]:
        """Make a shard's rows; the future tells when its files and then its record are on disk.

        Writer threads take turns.
        """
        plan = self.plan
        shard = plan.shards[number]
        cells = plan.cells[shard.first : shard.last]
        row_bytes = int(cells[0].length * find_language(cells[0].language).bytes_per_token)
        parts = [plan.part_of[name] for name in {cell.part for cell in cells}]
        alike = max(map(_rows_alike, parts))
        kinds = [planned.task.context for planned in parts]
        quick = all(kind.repeats_text or (kind.draws_text and alike == 1) for kind in kinds)
        job = ShardJob(
            plan.digest,
            number,
            self.target.dataset,
            shard.stem,
            self.formats,
            plan.recipe.form,
            row_bytes,
            alike,
            quick,
        )
        writer = self.writers[turn % len(self.writers)]
        rows = without_repeats(plan.recipe, self.assembler.pending_rows(cells))
        written = write_shard(job, rows, writer, self.advance)

        def record() -> ShardRecord:
            found = written.result()
            write_atomically(self.target.record(number), found.to_bytes())
            return found

        return writer.then(record)


def _rows_alike(planned: PlannedPart) -> int:
    """How many rows of a part share a haystack, at most."""
    part = planned.part
    twins = sum(name != NO_CONTEXT for name in part.controls)
    return 1 if part.fresh_haystacks else len(planned.grid.depths) * (1 + twins)


_builder: _ShardBuilder | None = None


def _start_worker(recipe: Recipe, drawn: Mapping[str, Corpus], target: BuildFolders, formats: tuple[str, ...]) -> None:
    global _builder
    plan = make_plan(recipe, known=drawn)
    _builder = _ShardBuilder(plan, Assembler(plan), target, formats, (WriterThread(GROUP_BYTES),), tell)


def _work(number: int) -> ShardRecord:
    if _builder is None:
        raise RuntimeError("the worker was not started")
    return _builder.start(number).result()


def _together(wanted: Sequence[str], kept: Sequence[str]) -> tuple[str, ...]:
    return tuple(suffix for suffix in DATA_FORMATS if suffix in (*wanted, *kept))


def _intact_formats(target: BuildFolders, plan: Plan) -> tuple[str, ...]:
    """The formats of a finished dataset whose files are all intact; none if there is no such dataset.

    Raises IntegrityError if only the card was changed: those are somebody's own words, which building would replace.
    """
    try:
        dataset = open_dataset(target.final)
    except ContractError:
        return ()
    if dataset.manifest.plan_digest != plan.digest:
        return ()
    problems = {entry.path: file_problem(target.final, entry) for entry in dataset.manifest.files}
    damaged = [path for path, problem in problems.items() if problem]
    if damaged == [CARD] and (target.final / CARD).is_file():
        raise IntegrityError(
            f"{target.final / CARD}: changed since it was written; keep your words elsewhere and run "
            f"`niah-gen card {target.final}`, then build"
        )
    return () if damaged else dataset.formats
