"""Maps the writing of shards over a Ray cluster, each into the folder that all its machines share.

A task whose worker or machine is lost is started again elsewhere, which is safe: files are written aside and renamed,
and a shard has the same bytes whoever writes it. A cluster started here ends with the build.
"""

from __future__ import annotations

import os
import pickle
import platform
import secrets
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, redirect_stdout
from typing import Any

from niah_gen.dataset.shards import Advance, SentPlan, Written
from niah_gen.errors import NiahError, ResourceError

# How many times a shard is tried again after its worker or machine is lost.
_RETRIES = 3
_REACH_SECONDS = 10
# A network file system may show what another machine wrote this much later.
_SEEN_SECONDS = 90


def load_ray(address: str | None = None) -> Any:
    """The module `ray`, to join the cluster at an address. Raises NiahError if it is not installed."""
    if "ray" not in sys.modules and (address or os.environ.get("RAY_ADDRESS", "local")) == "local":
        # Anybody who reaches a Ray port can run code. Ray reads these when it is imported, and only then.
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise NiahError("ray is not installed; engine ray needs `pip install 'niah-kit[ray]'`") from None
    return ray


def write_with_ray(
    sent: SentPlan, numbers: Sequence[int], jobs: int | None, address: str | None, advance: Advance
) -> dict[int, Written]:
    """Write the numbered shards on a Ray cluster, `jobs` at a time.

    address: of the cluster; else $RAY_ADDRESS, else one is started here, unless this process has joined one. Raises
    NiahError if a cluster cannot be joined or does not share the folder, what making rows raises, and ResourceError
    once every attempt at a shard has failed.
    """
    ray = load_ray(address)
    settings = {name: value for name, value in os.environ.items() if name.startswith("NIAH_")}
    order = pickle.dumps((os.getcwd(), sys.path, settings, pickle.dumps(sent)))
    waiting, running, done = list(numbers), dict[Any, int](), dict[int, Written]()
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(stack.enter_context(open(os.devnull, "w"))))  # Ray prints much
        if ray.is_initialized() and address is not None:
            raise NiahError(f"Ray cluster {address}: this process is connected to a cluster already; leave it out")
        if not ray.is_initialized():
            _join(ray, address or os.environ.get("RAY_ADDRESS", "local"), jobs or os.cpu_count())
            stack.callback(ray.shutdown)
        task = ray.remote(num_cpus=1, max_retries=_RETRIES, scheduling_strategy="SPREAD")(make_shard)
        put = [ray.put(order)]  # in a list, or Ray would unpack it for every task
        while waiting or running:
            while waiting and len(running) < (jobs or len(numbers)):
                number = waiting.pop(0)
                running[task.remote(put, number)] = number
            (future, *_), _ = ray.wait(list(running))
            number = running.pop(future)
            try:
                done[number] = shard = ray.get(future)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except ray.exceptions.RayError as error:
                lost = f"its worker or machine was lost {_RETRIES + 1} times, or cannot load niah-kit"
                reason = str(error).strip().partition("\n")[0]
                raise ResourceError(f"file {number}: {lost} ({reason}); run the same command again") from None
            deadline = time.monotonic() + _SEEN_SECONDS
            while not all((sent.folder / entry.path).is_file() for entry in shard.files):
                if time.monotonic() > deadline:
                    raise NiahError(
                        f"{sent.folder}: files that a worker wrote cannot be seen here; --out must be shared"
                    )
                time.sleep(1)
            advance(len(shard.digests), shard.tokens)
    return done


def _join(ray: Any, where: str, cpus: int | None) -> None:
    """Join a cluster, or start one here. Raises NiahError."""
    before = signal.getsignal(signal.SIGTERM)  # which Ray replaces
    try:
        if where not in ("local", "auto"):  # Ray itself would try for more than a minute
            host, _, port = where.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), _REACH_SECONDS).close()
        more = {"num_cpus": cpus} if where == "local" else {}
        ray.init(where, log_to_driver=False, logging_level="CRITICAL", **more)
        signal.signal(signal.SIGTERM, before)
    # Ray exits if a cluster does not answer; what else it raises differs by release.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        what = f"cannot be joined ({str(error).strip().partition(chr(10))[0] or 'no cluster answers there'})"
        raise NiahError(f"Ray cluster {where}: {what}; expected HOST:PORT of `ray start --head`, or auto") from None


# What a worker that has made a plan writes shards with, by the order.
_writers: dict[bytes, Callable[[int], Written]] = {}


def make_shard(put: Sequence[Any], number: int) -> Written:
    """Write a shard in a worker; returns what it adds to the dataset."""
    order: bytes = load_ray().get(put[0])
    if order not in _writers:
        folder, path, settings, sent = pickle.loads(order)  # noqa: S301 - written by the build
        if os.path.isdir(folder):
            os.chdir(folder)
        sys.path += [entry for entry in path if entry not in sys.path]
        os.environ.update(settings)
        differs = "a worker would make a different dataset; give every machine the same files and versions"
        _writers[order] = pickle.loads(sent).writer(differs)  # noqa: S301
    try:
        return _writers[order](number)
    except Exception as error:
        error.add_note(f"In a worker on {platform.node()}")
        raise
