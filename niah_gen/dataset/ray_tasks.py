"""Builds the shards of a plan as tasks on a Ray cluster, one task per shard.

Each worker makes the plan itself, once, and writes into the dataset's folder, which all machines share. A task whose
worker or machine is lost is restarted elsewhere. That is safe: files are written aside and renamed, so none is ever
half-written, and a shard has the same bytes whoever writes it.
"""

from __future__ import annotations

import os
import pickle
import platform
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from niah_gen.dataset.at_address import Target, found_records
from niah_gen.dataset.complete import Notice
from niah_gen.dataset.ray_cluster import Head, cluster_address, joined, load_ray
from niah_gen.dataset.releases import release_here, releases_of
from niah_gen.dataset.shard_builder import Advance, SentPlan, ShardBuilder, builder_of, sent_plan
from niah_gen.dataset.shards import ShardRecord
from niah_gen.errors import IntegrityError, NiahError, ResourceError, listed
from niah_gen.rows.plan import Plan
from niah_score.contract import VERSION, sha256_hex
from niah_score.errors import AddressError, StoreError

# How many times a shard is retried after its worker or machine is lost.
RETRIES = 3
_POLL_SECONDS = 0.2
# A network file system may show what another machine wrote this much later.
_SEEN_SECONDS = 90


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker needs to make any shard of a plan.

    versions: of the libraries that decide the bytes of files. folder, path, settings: where names are looked up, which
    a worker adopts before it unpickles `sent`, a SentPlan.
    """

    versions: Mapping[str, str]
    folder: str
    path: tuple[str, ...]
    settings: Mapping[str, str]
    sent: bytes


class Outcome(NamedTuple):
    """The result of a task: a record or an error. `node`: the machine's name; `unprepared`: no plan could be made."""

    node: str
    record: ShardRecord | None
    error: Exception | None
    unprepared: bool = False


def make_order(plan: Plan, target: Target, formats: Sequence[str]) -> Order:
    """The order for the shards of a plan."""
    return Order(
        releases_of(formats),
        os.getcwd(),
        tuple(entry or os.getcwd() for entry in sys.path),
        {name: value for name, value in os.environ.items() if name.startswith("NIAH_")},
        pickle.dumps(sent_plan(plan, target, formats)),
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
    """Write the numbered shards on a Ray cluster; returns the record of each.

    jobs: how many are written at a time; None uses all the CPUs that the cluster has. Raises what making rows raises,
    IntegrityError if a worker would make a different dataset, and ResourceError once every attempt at a shard has
    failed.
    """
    ray = load_ray(address)
    # Ray's own messages are suppressed meanwhile; what the caller prints is not.
    stdout = sys.stdout
    order = pickle.dumps(make_order(plan, target, formats))
    key = sha256_hex(order)
    at_once = min(jobs or os.cpu_count() or 1, len(numbers))
    done: dict[int, ShardRecord] = {}
    with joined(ray, address, at_once, len(order)):
        if not ray.cluster_resources().get("CPU"):
            with redirect_stdout(stdout):
                tell(f"Ray cluster {cluster_address(address)} has no CPUs yet; the build waits for some")
        # In a list, or Ray would unpack the order for every task.
        sent = [ray.put(order)]
        task = ray.remote(num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD")(_task)
        waiting = list(numbers)
        running: dict[Any, int] = {}
        seen: set[str] = set()
        head = Head(ray)
        try:
            while waiting or running:
                while waiting and (jobs is None or len(running) < jobs):
                    number = waiting.pop(0)
                    running[task.remote(sent, key, number)] = number
                # Ctrl-C takes effect between two calls.
                finished, _ = ray.wait(list(running), timeout=_POLL_SECONDS)
                head.look()
                for future in finished:
                    number = running.pop(future)
                    outcome = _outcome(ray, future, plan.shards[number].stem)
                    record = _record(outcome)
                    if outcome.node not in seen:
                        _wait_to_see(target, plan, number, formats, outcome.node)
                        seen.add(outcome.node)
                    done[number] = record
                    with redirect_stdout(stdout):
                        advance(len(record.digests), record.tokens)
        finally:
            with suppress(Exception):  # the cluster may be gone
                for future in running:
                    ray.cancel(future, force=True)
    return done


def _outcome(ray: Any, future: Any, stem: str) -> Outcome:
    """What a finished task returned. Raises NiahError if no worker can run it, ResourceError if every worker died."""
    try:
        outcome: Outcome = pickle.loads(ray.get(future))  # noqa: S301 - written by a worker
    except ray.exceptions.RayTaskError as error:
        # `_task` itself never raises, so it never started.
        reason = str(error).strip().splitlines()[-1]
        raise NiahError(
            f"a worker of the Ray cluster cannot load niah-kit {VERSION}: {reason}; install `niah-kit[ray]`, the same "
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
    if outcome.unprepared and isinstance(error, NiahError | AddressError | StoreError):
        error.args = (
            f"on {outcome.node}: {error}\n  Every machine of the cluster needs the corpora and tokenizers that this "
            "one reads, under the same names and paths",
        )
    raise error


def _wait_to_see(target: Target, plan: Plan, number: int, formats: Sequence[str], node: str) -> None:
    """Wait until a shard that `node` wrote can be read here. Raises NiahError if it cannot after 90 seconds."""
    deadline = time.monotonic() + _SEEN_SECONDS
    stems = {number: plan.shards[number].stem}
    while isinstance(problem := found_records(target, plan.digest, stems, formats)[number], str):
        if time.monotonic() > deadline:
            raise NiahError(
                f"{target.partial}: what {node} wrote cannot be seen from here ({stems[number]}: {problem}); --out "
                "must be a folder or address that all machines of the cluster share"
            )
        time.sleep(_POLL_SECONDS)


# What follows runs in a worker, which keeps the builder of the last order.
_prepared: tuple[str, ShardBuilder] | None = None


def _task(sent: Sequence[Any], key: str, number: int) -> bytes:
    """Make a shard in a worker; returns its Outcome, pickled."""
    ray = load_ray()
    return pickle.dumps(make_shard(lambda: pickle.loads(ray.get(sent[0])), key, number))  # noqa: S301 - our own


def make_shard(order: Callable[[], Order], key: str, number: int) -> Outcome:
    """Make a shard and write it. order: called only if the last shard made here had another key, or failed.

    key: tells orders apart, which may differ in target or formats although the plan is the same.
    """
    global _prepared
    node = platform.node()
    try:
        if _prepared is None or _prepared[0] != key:
            _prepared = None
            _prepared = key, _builder(order(), node)
    except Exception as error:  # noqa: BLE001 - raised again by the build
        return Outcome(node, None, _portable(error), unprepared=not isinstance(error, IntegrityError))
    try:
        return Outcome(node, _prepared[1].start(number).result(), None)
    except Exception as error:  # noqa: BLE001 - raised again by the build
        # The writer thread would fail again.
        _prepared = None
        return Outcome(node, None, _portable(error))


def _builder(order: Order, node: str) -> ShardBuilder:
    """Make the builder of an order's shards. Raises IntegrityError if they would be another dataset's."""
    if os.path.isdir(order.folder):
        os.chdir(order.folder)
    sys.path += [entry for entry in order.path if entry not in sys.path]
    os.environ.update(order.settings)
    here = {name: release_here(name) for name in order.versions}
    if here != order.versions:
        raise IntegrityError(_differs(node, order.versions, here, "install the same versions on every machine"))
    sent: SentPlan = pickle.loads(order.sent)  # noqa: S301 - written by the build
    advice = "give every machine the same files, and the same niah-kit"

    def differs(plan: Plan) -> str:
        return _differs(node, dict(sent.pins), dict(plan.recipe.pins), advice)

    # The build reports progress as shards are finished.
    return builder_of(sent, lambda rows, tokens: None, differs)


def _differs(node: str, wanted: Mapping[str, str], here: Mapping[str, str], advice: str) -> str:
    differences = [
        f"{name}: {here.get(name, 'not there')}, where the build was started {wanted.get(name, 'not there')}"
        for name in sorted({*wanted, *here})
        if wanted.get(name) != here.get(name)
    ]
    return listed(f"{node} would make a different dataset; {advice}", differences)


def _portable(error: Exception) -> Exception:
    """An error that can be pickled, with a note of where it was raised."""
    trace = "".join(traceback.format_exception(error))
    error.add_note(f"In a worker on {platform.node()}:\n{trace}")
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:  # noqa: BLE001 - errors of other people's code hold anything
        return RuntimeError(trace)
    return error
