"""Writes the shards of a plan as tasks on a Ray cluster, each into the folder that all its machines share.

A task whose worker or machine is lost is started again elsewhere, which is safe: files are written aside and renamed,
and a shard has the same bytes whoever writes it. A cluster started here ends with the build.
"""

from __future__ import annotations

import importlib
import os
import pickle
import platform
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any

from niah_gen.dataset.shards import Advance, SentPlan, ShardRecord, maker_of
from niah_gen.errors import NiahError, ResourceError
from niah_score.contract import sha256_hex

# How many times a shard is tried again after its worker or machine is lost.
_RETRIES = 3
_POLL_SECONDS = 0.2
_REACH_SECONDS = 10
# A network file system may show what another machine wrote this much later.
_SEEN_SECONDS = 90


def load_ray(address: str | None = None) -> Any:
    """The module `ray`, to join the cluster at an address. Raises NiahError if it is not installed."""
    if "ray" not in sys.modules and _place(address) == "local":
        # Anybody who reaches a Ray port can run code. Ray reads these when it is imported, and only then.
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        return importlib.import_module("ray")
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise NiahError("ray is not installed; engine ray needs `pip install 'niah-kit[ray]'`") from None


def write_with_ray(
    sent: SentPlan, numbers: Sequence[int], jobs: int | None, address: str | None, advance: Advance
) -> dict[int, ShardRecord]:
    """Write the numbered shards on a Ray cluster, `jobs` at a time; returns the record of each.

    address: of the cluster; else $RAY_ADDRESS, else one is started here, unless this process has joined one. Raises
    NiahError if a cluster cannot be joined or does not share the folder, what making rows raises, and ResourceError
    once every attempt at a shard has failed.
    """
    ray = load_ray(address)
    settings = {name: value for name, value in os.environ.items() if name.startswith("NIAH_")}
    order = pickle.dumps((os.getcwd(), sys.path, settings, pickle.dumps(sent)))
    done: dict[int, ShardRecord] = {}
    with _joined(ray, address, min(jobs or os.cpu_count() or 1, len(numbers))):
        task = ray.remote(num_cpus=1, max_retries=_RETRIES, scheduling_strategy="SPREAD")(make_shard)
        put = [ray.put(order)]  # in a list, or Ray would unpack it for every task
        waiting = list(numbers)
        running: dict[Any, int] = {}
        while waiting or running:
            while waiting and (jobs is None or len(running) < jobs):
                number = waiting.pop(0)
                running[task.remote(put, number)] = number
            for future in ray.wait(list(running), timeout=_POLL_SECONDS)[0]:
                number = running.pop(future)
                try:
                    record: ShardRecord | Exception = pickle.loads(ray.get(future))  # noqa: S301 - written by a task
                except ray.exceptions.RayError as error:
                    reason = str(error).strip().partition("\n")[0]
                    raise ResourceError(
                        f"file {number}: its worker or machine was lost {_RETRIES + 1} times, or cannot load niah-kit "
                        f"({reason}); run the same command again, perhaps with fewer jobs"
                    ) from None
                if isinstance(record, Exception):
                    raise record
                done[number] = _seen(sent, record)
                advance(len(record.digests), record.tokens)
    return done


def _place(address: str | None) -> str:
    return address or os.environ.get("RAY_ADDRESS") or "local"


@contextmanager
def _joined(ray: Any, address: str | None, cpus: int) -> Iterator[None]:
    """Join a cluster, or start one here, for the block; nothing is printed meanwhile, as Ray prints much."""
    if ray.is_initialized():
        if address is not None:
            raise NiahError(f"Ray cluster {address}: this process is connected to a cluster already; leave it out")
        yield
        return
    where = _place(address)
    before = signal.getsignal(signal.SIGTERM)  # which Ray replaces
    if where not in ("local", "auto"):
        host, _, port = where.rpartition(":")
        try:  # Ray itself would try for more than a minute
            socket.create_connection((host.strip("[]"), int(port)), _REACH_SECONDS).close()
        except (OSError, ValueError) as error:
            raise NiahError(
                f"Ray cluster {where}: cannot be reached ({error}); expected the HOST:PORT that `ray start --head` "
                "printed, or auto"
            ) from None
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        try:
            ray.init(
                where, log_to_driver=False, logging_level="CRITICAL", **{"num_cpus": cpus} if where == "local" else {}
            )
        # Ray exits if a cluster does not answer.
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what it raises differs by release
            reason = str(error).strip().partition("\n")[0] or "no cluster answers there"
            raise NiahError(f"Ray cluster {where}: cannot be joined: {reason}") from None
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)
        try:
            yield
        finally:
            ray.shutdown()


def _seen(sent: SentPlan, record: ShardRecord) -> ShardRecord:
    """The record, once its files can be read here. Raises NiahError if they cannot after 90 seconds."""
    deadline = time.monotonic() + _SEEN_SECONDS
    while not all((sent.target.dataset / entry.path).is_file() for entry in record.files):
        if time.monotonic() > deadline:
            raise NiahError(
                f"{sent.target.partial}: {record.files[0].path}, which a worker wrote, cannot be seen from here; --out "
                "must be a folder that all machines of the cluster share"
            )
        time.sleep(1)
    return record


# What a worker that has made a plan makes shards with, by the sha256 of the order.
_makers: dict[str, Callable[[int], ShardRecord]] = {}


def make_shard(put: Sequence[Any], number: int) -> bytes:
    """Make a shard in a worker; returns its record, or the error, pickled."""
    try:
        order: bytes = load_ray().get(put[0])
        key = sha256_hex(order)
        if key not in _makers:
            folder, path, settings, sent = pickle.loads(order)  # noqa: S301 - written by the build
            if os.path.isdir(folder):
                os.chdir(folder)
            sys.path += [entry for entry in path if entry not in sys.path]
            os.environ.update(settings)
            differs = (
                f"{platform.node()} would make a different dataset; give every machine the same files and versions"
            )
            _makers[key] = maker_of(pickle.loads(sent), lambda rows, tokens: None, differs)  # noqa: S301
        return pickle.dumps(_makers[key](number))
    except Exception as error:  # noqa: BLE001 - raised again by the build
        error.add_note(f"In a worker on {platform.node()}")
        return pickle.dumps(error)
