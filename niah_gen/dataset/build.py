"""Builds a dataset folder: made aside, under its name only once it is whole, by one builder at a time.

    build/<name>/<version>-<digest8>/            the dataset, which appears whole
    build/<name>/<version>-<digest8>.partial/    work in progress

A finished shard is written again only if its files no longer have the hashes in its record.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.dataset.at_address import finished_at, send
from niah_gen.dataset.complete import Notice, built_formats, complete, intact_formats, plan_sheet, read_sheet
from niah_gen.dataset.folders import SHEET, BuildFolders, forget, lock
from niah_gen.dataset.room import check_room
from niah_gen.dataset.shards import Advance, SentPlan, ShardRecord, maker_of, sent_plan, shard_maker, written_record
from niah_gen.errors import NiahError, ResourceError
from niah_gen.progress import Progress
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Recipe
from niah_gen.rows.assemble import Assembler, check_fit
from niah_gen.rows.plan import Plan, make_plan
from niah_score.contract import DATA_FORMATS, Row
from niah_score.machine.addresses import Address, is_address, is_address_as_path, parse_address
from niah_score.machine.fetched import named_by_address
from niah_score.machine.files import write_atomically
from niah_score.machine.processes import processes, tell
from niah_score.machine.scratch import scratch_folder

# A worker takes about a second to start and encodes the corpora again: below this many tokens, one process finishes
# sooner. However short a row is, it takes a few tenths of a millisecond.
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
    _check_options(formats, engine)
    wanted = _in_order(formats)
    say = notice or (lambda sentence: None)
    plan = make_plan(load_recipe(recipe, overrides, notice=say))
    check_fit(plan)
    work = _Work(plan, wanted, shard, engine, progress, say)
    _numbers(work)
    for sentence in plan.notes:
        say(sentence)
    if not isinstance(out, Address):
        return _build_here(work, BuildFolders(out / plan.recipe.name / plan.folder_name))
    goal = out / plan.recipe.name / plan.folder_name
    if finished_at(goal, plan.digest, wanted):
        say(f"{goal} is complete already; nothing was built (`niah-gen verify` reads every byte of it)")
        return goal
    with scratch_folder() as scratch, named_by_address(scratch / plan.recipe.name, goal.parent):
        built = _build_here(work, BuildFolders(scratch / plan.recipe.name / plan.folder_name))
        return send(built, goal.parent / built.name)


class _Work(NamedTuple):
    """A build: what to write, how, and whom to tell. `shard`: as in `build`."""

    plan: Plan
    formats: tuple[str, ...]
    shard: tuple[int, int] | None
    engine: Engine
    progress: Progress | None
    notice: Notice


def _build_here(work: _Work, target: BuildFolders) -> Path:
    """Build a dataset, or the shards of one that are asked for; returns its folder, or the partial folder."""
    plan = work.plan
    name = None
    if work.shard is not None:
        part, of = work.shard
        name = f"part-{part % of}-of-{of}"
        if {*work.formats} <= {*intact_formats(target, plan.digest)}:
            work.notice(f"{target.final} is complete already; nothing was built")
            return target.final
    with lock(target, name):
        if name is None and {*work.formats} <= {*intact_formats(target, plan.digest)}:
            work.notice(f"{target.final} is complete already; nothing was built")
            forget(target)
            return target.final
        # A damaged dataset is repaired as a whole, in all its formats.
        formats = _in_order([*work.formats, *built_formats(target, plan.digest)])
        check_room(plan, target, formats, work.shard[1] if work.shard else 1, work.notice)
        write_atomically(target.partial / SHEET, plan_sheet(plan, formats))
        records = _write_shards(work._replace(formats=formats), target)
        if name is not None:
            return target.partial
        return complete(target, read_sheet(target.partial / SHEET, target.final.name), records, work.notice)


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
        from niah_gen.dataset.ray_map import load_ray

        load_ray(engine.ray_address)


def iter_rows(
    recipe: str | Path | Mapping[str, Any] | Recipe, overrides: Mapping[str, Any] | None = None
) -> Iterator[Row]:
    """The rows that `build` would write, in the same order, one at a time and without touching the disk."""
    plan = make_plan(load_recipe(recipe, overrides))
    check_fit(plan)
    return (pending.row() for pending in Assembler(plan).pending_rows(plan.cells))


def _numbers(work: _Work) -> list[int]:
    """The numbers of the files to write: all, or those of part I of N. Raises NiahError if there is no such part."""
    part, of = work.shard or (1, 1)
    if of < 1 or not 0 <= part <= of:
        raise NiahError(f"shard {part}/{of}: expected I/N with I from 1 to N (0 counts as N)")
    return [number for number in range(len(work.plan.shards)) if number % of == part % of]


def _write_shards(work: _Work, target: BuildFolders) -> list[ShardRecord]:
    """Write those of the shards that are not there yet; returns the records of all, in order."""
    plan, formats, engine = work.plan, work.formats, work.engine
    done: dict[int, ShardRecord] = {}
    for number in _numbers(work):
        record = written_record(target, plan.digest, number, plan.shards[number].stem, formats)
        if isinstance(record, ShardRecord):
            done[number] = record
    # Largest first: the smaller ones then fill the gaps at the end, in memory that is already allocated.
    missing = sorted((n for n in _numbers(work) if n not in done), key=lambda n: (-_shard_tokens(plan, n), n))
    rows = sum(plan.shards[number].last - plan.shards[number].first for number in missing)
    tokens = sum(_shard_tokens(plan, number) for number in missing)
    advance: Advance = lambda rows, tokens: None  # noqa: E731
    if work.progress:
        work.progress.start(rows, tokens)
        advance = work.progress.advance
    jobs = engine.jobs
    if jobs is None:
        jobs = 1 if tokens < _PARALLEL_TOKENS and rows < _PARALLEL_ROWS else os.cpu_count() or 1
    workers = min(jobs, len(missing))
    if engine.name == "ray" and missing:
        from niah_gen.dataset.ray_map import write_with_ray

        done |= write_with_ray(sent_plan(plan, target, formats), missing, engine.jobs, engine.ray_address, advance)
    elif workers > 1:
        done |= _write_in_parallel(sent_plan(plan, target, formats), missing, workers, advance)
    elif missing:
        make = shard_maker(plan, target, formats, advance)
        done |= {number: make(number) for number in missing}
    return [done[number] for number in sorted(done)]


def _shard_tokens(plan: Plan, number: int) -> int:
    """Nominal tokens of a shard, whose rows all have one length."""
    shard = plan.shards[number]
    return (shard.last - shard.first) * plan.cells[shard.first].length


def _write_in_parallel(sent: SentPlan, numbers: Sequence[int], jobs: int, advance: Advance) -> dict[int, ShardRecord]:
    done: dict[int, ShardRecord] = {}
    with processes(jobs, _start_worker, (sent,), raising=ResourceError) as workers:
        running = {workers.submit(_write_shard, number): number for number in numbers}
        while running:
            finished, _ = wait(running, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            for rows, tokens in workers.told():
                advance(rows, tokens)
            for future in finished:
                done[running.pop(future)] = future.result()
    return done


_make: Callable[[int], ShardRecord] | None = None


def _start_worker(sent: SentPlan) -> None:
    global _make
    _make = maker_of(sent, tell, _CHANGED)


def _write_shard(number: int) -> ShardRecord:
    if _make is None:
        raise RuntimeError("the worker was not started")
    return _make(number)


def _in_order(formats: Sequence[str]) -> tuple[str, ...]:
    return tuple(suffix for suffix in DATA_FORMATS if suffix in formats)
