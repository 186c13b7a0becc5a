"""Joins a Ray cluster, or starts one on this machine, for as long as a build needs it.

A cluster that was there is left as it was. One that was started here ends with the build, and with the process however
that ends; it asks for a token that nobody else knows, for its ports are open to the network. Nothing is reported to
Ray's makers, and nothing is printed.
"""

from __future__ import annotations

import importlib
import os
import secrets
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from typing import IO, Any

from niah_gen.errors import NiahError, ResourceError

LOCAL = "local"
_AUTO = "auto"
# What goes from one process to another through Ray is small; this is the least that it takes.
_STORE_BYTES = 75 * 1024 * 1024
_REACH_SECONDS = 10
# A head may be replaced; Ray itself ends this process when one has not answered for 60 seconds.
_HEAD_SECONDS = 40


def load_ray(address: str | None = None) -> Any:
    """The module `ray`, to join the cluster at an address. Raises NiahError where it is not installed."""
    if "ray" not in sys.modules and cluster_address(address) == LOCAL:
        # Whoever knows a Ray port may run what they like. Ray reads this when it is imported, and only then.
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    try:
        return importlib.import_module("ray")
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise NiahError("ray is not installed; engine ray needs `pip install 'niah-kit[ray]'`") from None


def cluster_address(given: str | None) -> str:
    """The cluster that is meant: the address given, else $RAY_ADDRESS, else `local`."""
    return given or os.environ.get("RAY_ADDRESS") or LOCAL


@contextmanager
def joined(ray: Any, address: str | None, workers: int, sent_bytes: int) -> Iterator[None]:
    """A connection to a cluster while the block lasts: the one at an address, or one started here with so many workers.

    Where this process is connected already, and no address is given, that connection is used, and kept. sent_bytes:
    what will be put into the store of a cluster started here. Raises NiahError naming an address that cannot be
    joined, and ResourceError where no cluster can be started.
    """
    if ray.is_initialized():
        if address is not None:
            raise NiahError(
                f"Ray cluster {address}: this process is connected to a cluster already; leave the address out to use "
                "that one, or call ray.shutdown() first"
            )
        yield
        return
    where = cluster_address(address)
    with ExitStack() as held:
        wanted: dict[str, Any] = {"address": where, "log_to_driver": False, "logging_level": "CRITICAL"}
        if where == LOCAL:
            folder = tempfile.TemporaryDirectory(
                prefix="niah-", dir=os.environ.get("RAY_TMPDIR"), ignore_cleanup_errors=True
            )
            wanted |= {
                "num_cpus": workers, "num_gpus": 0, "object_store_memory": _STORE_BYTES + 2 * sent_bytes,
                "include_dashboard": False, "_temp_dir": held.enter_context(folder),
            }  # fmt: skip
            os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        elif where != _AUTO:
            _reach(where)
        # Ray prints what became of workers and machines, at times only when it ends. What matters of it is told by
        # whoever waits for them.
        held.enter_context(redirect_stdout(held.enter_context(open(os.devnull, "w"))))
        held.callback(ray.shutdown)
        printed = held.enter_context(tempfile.TemporaryFile())
        try:
            with _own_handler(), _stderr_in(printed):
                ray.init(**wanted)
        # Ray ends the process where a cluster does not answer.
        except (Exception, SystemExit) as error:  # noqa: BLE001 - every release raises others
            said = str(error).strip().partition("\n")[0] or type(error).__name__
            if where == LOCAL:
                raise ResourceError(f"Ray cannot start a cluster on this machine: {said}") from None
            printed.seek(0)
            if b"AuthToken" in printed.read():
                said = "it asks for a token; set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
            elif isinstance(error, SystemExit):
                said = "no Ray cluster answers there"
            raise NiahError(f"Ray cluster {where}: cannot be joined: {said}") from None
        yield


def _reach(address: str) -> None:
    """Raise NiahError at once where nothing listens; Ray would try for more than a minute."""
    if "://" in address:
        raise NiahError(
            f"Ray cluster {address}: expected HOST:PORT; run the command on a machine of the cluster, and name the "
            "address that `ray start` printed there, or auto"
        )
    host, colon, port = address.rpartition(":")
    if not (host and colon and port.isdecimal() and int(port) < 1 << 16):
        raise NiahError(f"Ray cluster {address}: expected HOST:PORT, such as 10.0.0.1:6379, or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _REACH_SECONDS).close()
    except OSError as error:
        raise NiahError(
            f"Ray cluster {address}: cannot be reached ({error.strerror or error}); start it with `ray start --head`, "
            "or leave the address out to build on this machine"
        ) from None


class Head:
    """The head of the cluster that this process has joined, which is looked at now and then."""

    def __init__(self, ray: Any) -> None:
        host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
        self._place = host.strip("[]"), int(port)
        self._seen = self._looked = time.monotonic()

    def look(self) -> None:
        """Raise ResourceError where the head has not answered for 40 seconds. To be called often."""
        now = time.monotonic()
        if now - self._looked < _HEAD_SECONDS / 10:
            return
        self._looked = now
        try:
            socket.create_connection(self._place, _REACH_SECONDS).close()
            self._seen = now
        except OSError:
            if now - self._seen > _HEAD_SECONDS:
                raise ResourceError(
                    "the head of the Ray cluster does not answer any more; start a cluster, and run the same command "
                    "again: finished files are kept"
                ) from None


@contextmanager
def _stderr_in(file: IO[bytes]) -> Iterator[None]:
    """Standard error goes into a file while the block lasts, what libraries in C write included."""
    sys.stderr.flush()
    before = os.dup(2)
    try:
        os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


@contextmanager
def _own_handler() -> Iterator[None]:
    """Keep this process's way of ending on SIGTERM, which Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
