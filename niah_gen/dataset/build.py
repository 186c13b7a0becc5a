"""Builds a dataset folder: all or nothing, resumable, one builder per target.

    build/<name>/<version>-<digest8>/            the dataset, which appears whole
    build/<name>/<version>-<digest8>.partial/    work in progress: `dataset/`, and `parts/` with a record per shard

A finished shard is reused only if its files still have the hashes in its record.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.dataset.at_address import BuildAddresses, Target, begin, complete_at, found_records, put_sheet
from niah_gen.dataset.complete import Notice, built_formats, complete, forget_built, intact_formats, plan_sheet
from niah_gen.dataset.folders import SHEET, BuildFolders, lock
from niah_gen.dataset.room import check_room
from niah_gen.dataset.shard_builder import Advance, SentPlan, ShardBuilder, builder_of, sent_plan
from niah_gen.dataset.shards import GROUP_BYTES, ShardRecord
from niah_gen.dataset.sheet import sheet_bytes
from niah_gen.dataset.writer_thread import WriterThread
from niah_gen.errors import NiahError, ResourceError
from niah_gen.progress import Progress
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Recipe
from niah_gen.rows.assemble import Assembler, check_fit
from niah_gen.rows.plan import Plan, make_plan
from niah_score.contract import DATA_FORMATS, Row
from niah_score.machine.addresses import Address, is_address, is_address_as_path, parse_address
from niah_score.machine.files import write_atomically
from niah_score.machine.processes import processes, tell

# A worker takes about a second to start and encodes the corpora again: below this many tokens, one process, which
# writes in a second thread anyway, finishes sooner. However short a row is, it takes a few tenths of a millisecond.
_PARALLEL_TOKENS = 500_000_000
_PARALLEL_ROWS = 20_000
_POLL_SECONDS = 0.2
_CHANGED = (
    "a corpus, the tokenizer or another file of the recipe changed while the build ran; run the same command again"
)
_ENGINES = ("processes", "ray")


class Engine(NamedTuple):
    """What makes the shards of a build.

    name: processes or ray; jobs: the most shards made at a time; ray_address: of the Ray cluster.
    """

    name: str = "processes"
    jobs: int | None = None
    ray_address: str | None = None


def build(
    recipe: str | Path | Mapping[str, Any] | Recipe,
    out: str | Path = "build",
    *,
    formats: Sequence[str] = ("parquet",),
    jobs: int | None = None,
    engine: str = "processes",
    ray_address: str | None = None,
    shard: tuple[int, int] | None = None,
    overrides: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    notice: Notice | None = None,
) -> Path:
    """Build a dataset folder and return its path, `<out>/<name>/<version>-<digest8>`.

    recipe: a preset's name, a TOML file, a mapping, or a Recipe; `overrides` replace its fields (`"depths.steps": 5`).
    formats: any of parquet, jsonl, jsonl.gz, jsonl.zst. jobs: worker processes; None decides by size. engine: what
    makes the files: `processes` on this machine, or `ray`: tasks on the Ray cluster at `ray_address` (else at
    $RAY_ADDRESS, else one started here that ends with the build), whose machines share the folder `out`.
    shard: (I, N) writes only every Nth file and returns the partial folder, which `merge` completes once all N are
    written. progress gets the rows and tokens done, notice(sentence) what the user should know.

    Intact files that are already there are kept. Raises RecipeError, CorpusError, TokenizerError, IntegrityError,
    LockedError (another process is building this target), ResourceError (a worker died), and OSError. `build_at`
    builds at an address.
    """
    if is_address(out) or is_address_as_path(out):
        raise NiahError(f"{out}: is an address, not a folder; pass it as a string to niah_gen.build_at")
    how = Engine(engine, jobs, ray_address)
    return Path(str(_build(recipe, Path(out), formats, how, shard, overrides, progress, notice)))


def build_at(
    recipe: str | Path | Mapping[str, Any] | Recipe,
    address: str,
    *,
    formats: Sequence[str] = ("parquet",),
    jobs: int | None = None,
    engine: str = "processes",
    ray_address: str | None = None,
    shard: tuple[int, int] | None = None,
    overrides: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    notice: Notice | None = None,
) -> str:
    """Build a dataset at an address such as `s3://bucket/path`; returns the dataset's own address, below that one.

    Otherwise like `build`, but a finished dataset is never changed, and `merge_at` completes shards. Also raises
    AddressError and StoreError (of niah_score.errors).
    """
    how = Engine(engine, jobs, ray_address)
    return str(_build(recipe, parse_address(address), formats, how, shard, overrides, progress, notice))


def _build(
    recipe: str | Path | Mapping[str, Any] | Recipe,
    out: Path | Address,
    formats: Sequence[str],
    engine: Engine,
    shard: tuple[int, int] | None,
    overrides: Mapping[str, Any] | None,
    progress: Progress | None,
    notice: Notice | None,
) -> Path | Address:
    formats = tuple(formats)
    _check_options(formats, engine)
    wanted = _in_order(formats)
    with ThreadPoolExecutor(1) as aside:
        # Loads what writing needs while the corpora are encoded, which releases the GIL.
        aside.submit(importlib.import_module, "niah_gen.dataset.arrow")
        say = notice or (lambda sentence: None)
        plan = make_plan(load_recipe(recipe, overrides, notice=say))
        check_fit(plan)
        numbers = range(len(plan.shards)) if shard is None else _numbers_of(plan, shard)
        for sentence in plan.notes:
            say(sentence)
        if isinstance(out, Address):
            there = BuildAddresses(out / plan.recipe.name / plan.folder_name)
            return _build_there(plan, there, wanted, numbers, shard is None, engine, progress, say)
        target = BuildFolders(out / plan.recipe.name / plan.folder_name)
        if shard is not None:
            return _build_part(plan, target, wanted, numbers, shard, engine, progress, say)
        with lock(target):
            kept = intact_formats(target, plan.digest)
            if set(wanted) <= set(kept):
                say(f"{target.final} is complete already; nothing was built")
                forget_built(target, kept)
                return target.final
            # A damaged dataset is repaired as a whole, in all its formats.
            suffixes = _in_order([*wanted, *built_formats(target, plan.digest)])
            check_room(plan, target, suffixes, 1, say)
            sheet = aside.submit(plan_sheet, plan, suffixes)
            records = _write_shards(plan, target, suffixes, numbers, engine, progress, say)
            return complete(target, sheet.result(), records, say)


def _check_options(formats: Sequence[str], engine: Engine) -> None:
    """Raise NiahError for options that no build can have, and if the engine is ray and ray is not installed."""
    for suffix in formats:
        if suffix not in DATA_FORMATS:
            raise NiahError(f"format {suffix!r} does not exist; expected {', '.join(DATA_FORMATS)}")
    if not formats:
        raise NiahError(f"no format given; expected some of {', '.join(DATA_FORMATS)}")
    if engine.jobs is not None and engine.jobs < 1:
        raise NiahError(f"jobs is {engine.jobs}; expected at least 1")
    if engine.name not in _ENGINES:
        raise NiahError(f"engine {engine.name!r} does not exist; expected {' or '.join(_ENGINES)}")
    if engine.ray_address is not None and engine.name != "ray":
        raise NiahError(f"a Ray address needs engine ray; found engine {engine.name!r}")
    if engine.name == "ray":
        from niah_gen.dataset.ray_cluster import load_ray

        load_ray(engine.ray_address)


def iter_rows(
    recipe: str | Path | Mapping[str, Any] | Recipe, overrides: Mapping[str, Any] | None = None
) -> Iterator[Row]:
    """The rows that `build` would write, in the same order, one at a time and without touching the disk."""
    plan = make_plan(load_recipe(recipe, overrides))
    check_fit(plan)
    return (pending.row() for pending in Assembler(plan).pending_rows(plan.cells))


def _build_there(
    plan: Plan,
    target: BuildAddresses,
    formats: Sequence[str],
    numbers: Sequence[int],
    whole: bool,
    engine: Engine,
    progress: Progress | None,
    notice: Notice,
) -> Address:
    """Build the numbered shards at an address; `whole`: then complete the dataset."""
    if begin(target, plan.digest, formats):
        notice(f"{target.final} is complete already; nothing was built (`niah-gen verify` reads every byte of it)")
        return target.final
    _write_shards(plan, target, formats, numbers, engine, progress, notice)
    if whole:
        return complete_at(target, plan_sheet(plan, formats), notice)
    put_sheet(target, plan_sheet(plan, formats))
    return target.partial


def _numbers_of(plan: Plan, shard: tuple[int, int]) -> list[int]:
    """The numbers of the files that are part I of N."""
    part, of = shard
    if of < 1 or not 0 <= part <= of:
        raise NiahError(f"shard {part}/{of}: expected I/N with I from 1 to N (0 counts as N)")
    return [number for number in range(len(plan.shards)) if number % of == part % of]


def _build_part(
    plan: Plan,
    target: BuildFolders,
    wanted: Sequence[str],
    numbers: Sequence[int],
    shard: tuple[int, int],
    engine: Engine,
    progress: Progress | None,
    notice: Notice,
) -> Path:
    """Build the numbered shards of a dataset that other builds complete; returns the partial folder."""
    if set(wanted) <= set(intact_formats(target, plan.digest)):
        notice(f"{target.final} is complete already; nothing was built")
        return target.final
    part, of = shard
    formats = _in_order([*wanted, *built_formats(target, plan.digest)])
    check_room(plan, target, formats, of, notice)
    with lock(target, part=f"part-{part % of}-of-{of}"):
        _write_shards(plan, target, formats, numbers, engine, progress, notice)
        write_atomically(target.partial / SHEET, sheet_bytes(plan_sheet(plan, formats)))
    return target.partial


def _write_shards(
    plan: Plan,
    target: Target,
    formats: Sequence[str],
    numbers: Sequence[int],
    engine: Engine,
    progress: Progress | None,
    notice: Notice,
) -> list[ShardRecord]:
    """Write those of the numbered shards that are not there yet; returns the records of all, in order."""
    checked = found_records(target, plan.digest, {number: plan.shards[number].stem for number in numbers}, formats)
    done = {number: record for number, record in checked.items() if isinstance(record, ShardRecord)}
    # Largest first: the smaller ones then fill the gaps at the end, in memory that is already allocated.
    missing = sorted((n for n in numbers if n not in done), key=lambda n: (-_shard_tokens(plan, n), n))
    rows = sum(plan.shards[number].last - plan.shards[number].first for number in missing)
    tokens = sum(_shard_tokens(plan, number) for number in missing)
    if progress:
        progress.start(rows, tokens)
    advance = progress.advance if progress else lambda rows, tokens: None
    jobs = engine.jobs
    if jobs is None:
        jobs = 1 if tokens < _PARALLEL_TOKENS and rows < _PARALLEL_ROWS else os.cpu_count() or 1
    workers = min(jobs, len(missing))
    if engine.name == "ray" and missing:
        from niah_gen.dataset.ray_tasks import write_as_tasks

        address = engine.ray_address
        done |= write_as_tasks(plan, target, formats, missing, engine.jobs, address, advance, notice)
    elif workers <= 1:
        # Two, so that one shard can be compressed while the previous one is being synced and hashed.
        with WriterThread(GROUP_BYTES) as even, WriterThread(GROUP_BYTES) as odd:
            builder = ShardBuilder(plan, Assembler(plan), target, tuple(formats), (even, odd), advance)
            records = {number: builder.start(number, turn) for turn, number in enumerate(missing)}
            done |= {number: record.result() for number, record in records.items()}
    else:
        done |= _write_in_parallel(plan, target, formats, missing, workers, advance)
    return [done[number] for number in numbers]


def _shard_tokens(plan: Plan, number: int) -> int:
    """Nominal tokens of a shard, whose rows all have one length."""
    shard = plan.shards[number]
    return (shard.last - shard.first) * plan.cells[shard.first].length


def _write_in_parallel(
    plan: Plan, target: Target, formats: Sequence[str], numbers: Sequence[int], jobs: int, advance: Advance
) -> dict[int, ShardRecord]:
    done: dict[int, ShardRecord] = {}
    with processes(jobs, _start_worker, (sent_plan(plan, target, formats),), raising=ResourceError) as workers:
        running = {workers.submit(_work, number): number for number in numbers}
        while running:
            finished, _ = wait(running, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            for rows, tokens in workers.told():
                advance(rows, tokens)
            for future in finished:
                done[running.pop(future)] = future.result()
    return done


_builder: ShardBuilder | None = None


def _start_worker(sent: SentPlan) -> None:
    global _builder
    _builder = builder_of(sent, tell, lambda plan: _CHANGED)


def _work(number: int) -> ShardRecord:
    if _builder is None:
        raise RuntimeError("the worker was not started")
    return _builder.start(number).result()


def _in_order(formats: Sequence[str]) -> tuple[str, ...]:
    return tuple(suffix for suffix in DATA_FORMATS if suffix in formats)
