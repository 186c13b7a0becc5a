"""Builds a dataset folder: made aside, under its name only once it is whole, by one builder at a time.

    build/<name>/<version>-<digest8>/            the dataset, which appears whole
    build/<name>/<version>-<digest8>.partial/    work in progress

A build that was killed starts again; with `shard`, the parts that were finished are kept.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.dataset.complete import (
    Notice,
    complete,
    facts_of,
    finished,
    finished_at,
    is_intact,
    lock,
    partial_of,
    send,
    write_part,
)  # fmt: skip
from niah_gen.dataset.shards import Advance, SentPlan, Written, shard_writer
from niah_gen.errors import NiahError, ResourceError
from niah_gen.progress import Progress
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Recipe
from niah_gen.rows.assemble import Assembler, check_fit
from niah_gen.rows.plan import Plan, make_plan
from niah_gen.tasks.base import NO_CONTEXT
from niah_score.contract import DATA_FORMATS, Row
from niah_score.machine.files import remove_folder
from niah_score.machine.processes import processes
from niah_score.machine.stores import copies_of, is_address, is_address_as_path, parse_address
from niah_score.text.language import find_language

# A worker takes about a second to start and encodes the corpora again: below this many tokens, one process finishes
# sooner. However short a row is, it takes a few tenths of a millisecond.
_PARALLEL_TOKENS = 500_000_000
_PARALLEL_ROWS = 20_000
_CHANGED = (
    "a corpus, the tokenizer or another file of the recipe changed while the build ran; run the same command again"
)
# Bytes of a row that do not compress: its digests.
_LEAST_OF_A_ROW = 40
# Prompts may be shorter than asked for, and a token may have fewer bytes than expected.
_LEAST_SHARE = 0.25

AnyRecipe = str | Path | Mapping[str, Any] | Recipe


class _Work(NamedTuple):
    """How to build; the fields are parameters of `build`."""

    formats: Sequence[str] = ("parquet",)
    jobs: int | None = None
    engine: str = "processes"
    ray_address: str | None = None
    shard: tuple[int, int] | None = None
    progress: Progress | None = None
    notice: Notice | None = None

    def tell(self, sentence: str) -> None:
        if self.notice is not None:
            self.notice(sentence)


def build(
    recipe: AnyRecipe,
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

    A dataset that is there and intact is kept. Raises RecipeError, CorpusError, TokenizerError, IntegrityError,
    LockedError (another process is building this target), ResourceError (a worker died), and OSError. `build_at`
    builds at an address.
    """
    if is_address(out) or is_address_as_path(out):
        raise NiahError(f"{out}: is an address, not a folder; pass it as a string to niah_gen.build_at")
    work = _Work(formats, jobs, engine, ray_address, shard, progress, notice)
    plan = _planned(recipe, overrides, work)
    return _build_here(plan, work, Path(out) / plan.recipe.name / plan.folder_name)


def build_at(recipe: AnyRecipe, address: str, *, overrides: Mapping[str, Any] | None = None, **options: Any) -> str:
    """Build a dataset at an address such as `s3://bucket/path`; returns the dataset's own address, below that one.

    Takes the options of `build`. A finished dataset is never changed, and `merge_at` completes shards. Also raises
    AddressError and StoreError (of niah_score.errors).
    """
    work = _Work(**options)
    top = parse_address(address)
    plan = _planned(recipe, overrides, work)
    goal = top / plan.recipe.name / plan.folder_name
    if finished_at(goal, plan.digest, work.formats):
        work.tell(f"{goal} is complete already; nothing was built (`niah-gen verify` reads every byte of it)")
        return str(goal)
    with copies_of(top) as scratch:
        built = _build_here(plan, work, scratch / plan.recipe.name / plan.folder_name)
        return str(send(built, goal.parent / built.name))


def iter_rows(recipe: AnyRecipe, overrides: Mapping[str, Any] | None = None) -> Iterator[Row]:
    """The rows that `build` would write, in the same order, one at a time and without touching the disk."""
    plan = make_plan(load_recipe(recipe, overrides))
    check_fit(plan)
    return (row for row, _ in Assembler(plan).rows(plan.cells))


def _planned(recipe: AnyRecipe, overrides: Mapping[str, Any] | None, work: _Work) -> Plan:
    """The plan of a build. Raises NiahError for options that no build can have."""
    part, of = work.shard or (1, 1)
    for suffix in work.formats or ("",):
        if suffix not in DATA_FORMATS:
            raise NiahError(f"format {suffix!r} does not exist; expected some of {', '.join(DATA_FORMATS)}")
    if work.jobs is not None and work.jobs < 1:
        raise NiahError(f"jobs is {work.jobs}; expected at least 1")
    if work.engine not in ("processes", "ray"):
        raise NiahError(f"engine {work.engine!r} does not exist; expected processes or ray")
    if work.ray_address is not None and work.engine != "ray":
        raise NiahError(f"a Ray address needs engine ray; found engine {work.engine!r}")
    if of < 1 or not 0 <= part <= of:
        raise NiahError(f"shard {part}/{of}: expected I/N with I from 1 to N (0 counts as N)")
    if work.engine == "ray":
        from niah_gen.dataset.ray_map import load_ray

        load_ray(work.ray_address)
    plan = make_plan(load_recipe(recipe, overrides, notice=work.tell))
    check_fit(plan)
    for sentence in plan.notes:
        work.tell(sentence)
    return plan


def _build_here(plan: Plan, work: _Work, final: Path) -> Path:
    """Build a dataset, or the part of one that is asked for; returns its folder, or the partial folder."""
    part, of = work.shard or (1, 1)
    name = None if work.shard is None else f"part-{part % of}-of-{of}"
    partial = partial_of(final)
    with lock(final, name):
        if name is None:
            remove_folder(partial)  # of a killed build, or of one that ended while it removed this
        there = finished(final, plan.digest)
        if there is not None and is_intact(there) and {*work.formats} <= {*there.formats}:
            work.tell(f"{final} is complete already; nothing was built")
            return final
        # A dataset is completed or repaired as a whole, in all its formats.
        wanted = {*work.formats, *(there.formats if there is not None else ())}
        formats = tuple(suffix for suffix in DATA_FORMATS if suffix in wanted)
        _check_room(plan, final, formats, of)
        numbers = [number for number in range(len(plan.shards)) if number % of == part % of]
        shards = _write(plan, work, numbers, partial, formats)
        facts = facts_of(plan, formats)
        if name is None:
            return complete(final, facts, [shards[number] for number in numbers], work.tell)
        write_part(final, name, facts, shards)
        return partial


def _write(
    plan: Plan, work: _Work, numbers: Sequence[int], folder: Path, formats: tuple[str, ...]
) -> dict[int, Written]:
    """Write the shards with these numbers into a folder: here, in worker processes, or on a Ray cluster."""
    sizes = {number: plan.shards[number].last - plan.shards[number].first for number in numbers}
    lengths = {number: plan.cells[plan.shards[number].first].length for number in numbers}
    rows, tokens = sum(sizes.values()), sum(sizes[number] * lengths[number] for number in numbers)
    # Largest first: the smaller ones then fill the gaps at the end, in memory that is already allocated.
    order = sorted(numbers, key=lambda number: (-sizes[number] * lengths[number], number))
    advance: Advance = work.progress.advance if work.progress else lambda rows, tokens: None
    if work.progress:
        work.progress.start(rows, tokens)
    small = tokens < _PARALLEL_TOKENS and rows < _PARALLEL_ROWS
    jobs = min(work.jobs or (1 if small else os.cpu_count() or 1), len(order))
    if work.engine == "processes" and jobs <= 1:
        write = shard_writer(plan, folder, formats, advance)
        return {number: write(number) for number in order}
    drawn = {spec: corpus for spec, corpus in plan.sources.items() if corpus.draw}
    sent = SentPlan(plan.digest, plan.given, drawn, folder, formats)
    if work.engine == "ray":
        from niah_gen.dataset.ray_map import write_with_ray

        return write_with_ray(sent, order, work.jobs, work.ray_address, advance)
    done: dict[int, Written] = {}
    with processes(jobs, _start_worker, (sent,), raising=ResourceError) as workers:
        running = {workers.submit(_write_shard, number): number for number in order}
        for future in as_completed(running):
            done[running[future]] = shard = future.result()
            advance(len(shard.digests), shard.tokens)
    return done


_of_worker: Callable[[int], Written] | None = None


def _start_worker(sent: SentPlan) -> None:
    global _of_worker
    _of_worker = sent.writer(_CHANGED)


def _write_shard(number: int) -> Written:
    assert _of_worker is not None
    return _of_worker(number)


def _check_room(plan: Plan, final: Path, formats: Sequence[str], parts: int) -> None:
    """Refuse a build that certainly does not fit on its disk.

    `parts`: how many builds share the dataset, this one included. Quotas are not checked. Raises ResourceError stating
    the bytes needed and free.
    """
    place = next(folder for folder in final.absolute().parents if folder.is_dir())
    # For formats that compress, nothing more is known beforehand: neighbouring rows are near-copies.
    text = _LEAST_SHARE * sum(
        max(0, cell.length - plan.part_of[cell.part].part.reserve) * find_language(cell.language).bytes_per_token
        for cell in plan.cells
        if cell.control != NO_CONTEXT
    )
    needed = sum(text if suffix == "jsonl" else len(plan.cells) * _LEAST_OF_A_ROW for suffix in formats) / parts
    with suppress(OSError):
        if needed > (free := shutil.disk_usage(place).free):
            raise ResourceError(
                f"{final}: needs at least {needed:,.0f} bytes, and the disk of {place} has {free:,} left; make room, "
                "choose another --out, or ask for fewer or shorter rows; parquet and jsonl.zst take less"
            )
