"""Builds the shards of a plan as tasks of a Ray cluster, a task a shard.

A worker makes the plan itself, once, and writes into the dataset's folder, which all machines share. A task whose
worker or machine is lost is started again elsewhere: files are written aside and renamed, so that no half of one
is ever found, and a shard has the same bytes whoever writes it.
"""

from __future__ import annotations

import os
import pickle
import platform
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from niah_gen.dataset.at_address import Target, found_records
from niah_gen.dataset.complete import Notice
from niah_gen.dataset.ray_cluster import Head, cluster_address, joined, load_ray
from niah_gen.dataset.releases import release_here, releases_of
from niah_gen.dataset.shard_builder import Advance, ShardBuilder
from niah_gen.dataset.shards import GROUP_BYTES, ShardRecord
from niah_gen.dataset.writer_thread import WriterThread
from niah_gen.errors import IntegrityError, NiahError, ResourceError, listed
from niah_gen.rows.assemble import Assembler
from niah_gen.rows.plan import Plan, make_plan
from niah_score.contract import VERSION

# How often a shard is started again whose worker or machine was lost.
RETRIES = 3
_POLL_SECONDS = 0.2
# A network file system may show what another machine wrote this much later.
_SEEN_SECONDS = 90


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker needs to make any shard of a plan.

    digest: the plan's; pins: sha256 of corpora, tokenizer and other files, as this machine has them. versions: of what
    decides the bytes of files. folder, path, settings: where names are looked up, which a worker takes over before it
    unpacks `given`: recipe, corpora of which documents were drawn, target and formats.
    """

    digest: str
    pins: tuple[tuple[str, str], ...]
    versions: Mapping[str, str]
    folder: str
    path: tuple[str, ...]
    settings: Mapping[str, str]
    given: bytes


class Outcome(NamedTuple):
    """What became of a task: a record or an error. `node`: the machine's name; `unprepared`: no plan could be made."""

    node: str
    record: ShardRecord | None
    error: Exception | None
    unprepared: bool = False


def make_order(plan: Plan, target: Target, formats: Sequence[str]) -> Order:
    """The order for the shards of a plan."""
    # What was drawn from a large corpus is sent, so that no worker reads all of it again.
    drawn = {spec: corpus for spec, corpus in plan.sources.items() if corpus.draw}
    return Order(
        plan.digest,
        plan.recipe.pins,
        releases_of(formats),
        os.getcwd(),
        tuple(entry or os.getcwd() for entry in sys.path),
        {name: value for name, value in os.environ.items() if name.startswith("NIAH_")},
        pickle.dumps((plan.given, drawn, target, tuple(formats))),
    )


def write_as_tasks(
    plan: Plan,
    target: Target,
    formats: Sequence[str],
    numbers: Sequence[int],
    jobs: int | None,
    address: str | None,
    advance: Advance,
    tell: Notice,
) -> dict[int, ShardRecord]:
    """Write the shards of those numbers on a Ray cluster; the record of each.

    jobs: how many are written at a time; None takes what CPUs the cluster has. Raises what making rows raises, an
    IntegrityError where a worker would make another dataset, and ResourceError once a shard was tried in vain.
    """
    ray = load_ray(address)
    order = pickle.dumps(make_order(plan, target, formats))
    at_once = min(jobs or os.cpu_count() or 1, len(numbers))
    done: dict[int, ShardRecord] = {}
    with joined(ray, address, at_once, len(order)):
        if not ray.cluster_resources().get("CPU"):
            tell(f"Ray cluster {cluster_address(address)} has no CPU now; the build waits until it has")
        # A list, or Ray would unpack the order for every task.
        sent = [ray.put(order)]
        task = ray.remote(num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD")(_task)
        waiting = list(numbers)
        running: dict[Any, int] = {}
        looked_at: set[str] = set()
        head = Head(ray)
        try:
            while waiting or running:
                while waiting and (jobs is None or len(running) < jobs):
                    number = waiting.pop(0)
                    running[task.remote(sent, plan.digest, number)] = number
                # Ctrl-C is heeded between two calls.
                finished, _ = ray.wait(list(running), timeout=_POLL_SECONDS)
                head.look()
                for future in finished:
                    number = running.pop(future)
                    outcome = _outcome(ray, future, plan.shards[number].stem)
                    record = _record(outcome)
                    if outcome.node not in looked_at:
                        _see(target, plan, number, formats, outcome.node)
                        looked_at.add(outcome.node)
                    done[number] = record
                    advance(len(record.digests), record.tokens)
        finally:
            with suppress(Exception):  # the cluster may be gone
                for future in running:
                    ray.cancel(future, force=True)
    return done


def _outcome(ray: Any, future: Any, stem: str) -> Outcome:
    """What a finished task returned. Raises NiahError where no worker can run it, ResourceError where each one died."""
    try:
        outcome: Outcome = pickle.loads(ray.get(future))  # noqa: S301 - written by a worker
    except ray.exceptions.RayTaskError as error:
        # A task of ours raises nothing, so it was never begun.
        said = str(error).strip().splitlines()[-1]
        raise NiahError(
            f"a worker of the Ray cluster cannot load niah-kit {VERSION}: {said}; install `niah-kit[ray]`, the same "
            "version, on every machine of the cluster"
        ) from None
    except ray.exceptions.RayError as error:
        raise ResourceError(
            f"{stem}: its worker or machine was lost {RETRIES + 1} times ({type(error).__name__}): out of memory, or "
            "killed; run the same command again, perhaps with fewer jobs"
        ) from None
    return outcome


def _record(outcome: Outcome) -> ShardRecord:
    """The record that a task made. Raises what it raised."""
    if outcome.error is None and outcome.record is not None:
        return outcome.record
    error = outcome.error or RuntimeError("a task returned nothing")
    if outcome.unprepared and isinstance(error, NiahError):
        error.args = (
            f"on {outcome.node}: {error}\n  Every machine of the cluster needs the corpora and tokenizers that this "
            "one reads, under the same names and paths",
        )
    raise error


def _see(target: Target, plan: Plan, number: int, formats: Sequence[str], node: str) -> None:
    """Look at what the first task of a machine wrote. Raises NiahError where it is not to be seen from here."""
    deadline = time.monotonic() + _SEEN_SECONDS
    stems = {number: plan.shards[number].stem}
    while not isinstance(found := found_records(target, plan.digest, stems, formats)[number], ShardRecord):
        if time.monotonic() > deadline:
            raise NiahError(
                f"{target.partial}: what {node} wrote is not there ({stems[number]}: {found}); expected a "
                "folder that all machines of the cluster share; name one by --out"
            )
        time.sleep(_POLL_SECONDS)


# What follows runs in a worker, which makes the shards of one plan after the other.
_prepared: tuple[str, ShardBuilder] | None = None


def _task(sent: Sequence[Any], digest: str, number: int) -> bytes:
    """In a worker: make a shard, and say what became of it."""
    ray = load_ray()
    return pickle.dumps(make_shard(lambda: pickle.loads(ray.get(sent[0])), digest, number))  # noqa: S301 - our own


def make_shard(order: Callable[[], Order], digest: str, number: int) -> Outcome:
    """Make a shard, and write it. order: asked for once, unless another plan's was made in between."""
    global _prepared
    node = platform.node()
    try:
        if _prepared is None or _prepared[0] != digest:
            _prepared = None
            _prepared = digest, _builder(order(), node)
    except Exception as error:  # noqa: BLE001 - raised again by the build
        return Outcome(node, None, _portable(error), unprepared=not isinstance(error, IntegrityError))
    try:
        return Outcome(node, _prepared[1].start(number).result(), None)
    except Exception as error:  # noqa: BLE001 - raised again by the build
        return Outcome(node, None, _portable(error))


def _builder(order: Order, node: str) -> ShardBuilder:
    """What makes the shards of an order. Raises IntegrityError where they would be another dataset's."""
    if os.path.isdir(order.folder):
        os.chdir(order.folder)
    sys.path += [entry for entry in order.path if entry not in sys.path]
    os.environ.update(order.settings)
    here = {name: release_here(name) for name in order.versions}
    if here != order.versions:
        raise IntegrityError(_differs(node, order.versions, here, "install the same versions on every machine"))
    recipe, drawn, target, formats = pickle.loads(order.given)  # noqa: S301 - written by the build
    plan = make_plan(recipe, known=drawn)
    if plan.digest != order.digest:
        wanted, found = dict(order.pins), dict(plan.recipe.pins)
        raise IntegrityError(_differs(node, wanted, found, "give every machine the same files, and the same niah-kit"))

    def silent(rows: int, tokens: int) -> None:
        """Progress is told as shards are finished."""

    return ShardBuilder(plan, Assembler(plan), target, formats, (WriterThread(GROUP_BYTES),), silent)


def _differs(node: str, wanted: Mapping[str, str], found: Mapping[str, str], advice: str) -> str:
    other = [
        f"{name}: {found.get(name, 'not there')}, where the build was started {wanted.get(name, 'not there')}"
        for name in sorted({*wanted, *found})
        if wanted.get(name) != found.get(name)
    ]
    return listed(f"{node} would make another dataset; {advice}", other)


def _portable(error: Exception) -> Exception:
    """An error that can be sent, with where it was raised."""
    told = "".join(traceback.format_exception(error))
    error.add_note(f"In a worker on {platform.node()}:\n{told}")
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:  # noqa: BLE001 - errors of other people's code hold anything
        return RuntimeError(told)
    return error
