"""Joins a Ray cluster, or starts one on this machine, for as long as a build needs it.

An existing cluster is left as it was. One started here ends with the build, or with the process however that ends; a
random token protects it, because its ports are open to the network (unless ray was imported earlier: it reads the token
on import). No usage statistics are sent to Ray's makers, and nothing is printed.
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

_LOCAL = "local"
_AUTO = "auto"
# Little goes through Ray's object store, and this is the smallest that it accepts.
_STORE_BYTES = 75 * 1024 * 1024
_REACH_SECONDS = 10
# A head may be replaced; Ray itself ends this process when its head has not answered for 60 seconds.
_HEAD_SECONDS = 40


def load_ray(address: str | None = None) -> Any:
    """The module `ray`, to join the cluster at an address. Raises NiahError if it is not installed."""
    if "ray" not in sys.modules and cluster_address(address) == _LOCAL:
        # Anybody who reaches a Ray port can run code. Ray reads these when it is imported, and only then.
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    try:
        return importlib.import_module("ray")
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise NiahError("ray is not installed; engine ray needs `pip install 'niah-kit[ray]'`") from None


def cluster_address(given: str | None) -> str:
    """The cluster to use: the address given, else $RAY_ADDRESS, else `local`."""
    return given or os.environ.get("RAY_ADDRESS") or _LOCAL


@contextmanager
def joined(ray: Any, address: str | None, workers: int, sent_bytes: int) -> Iterator[None]:
    """Connect to a cluster for the block: to the one at an address, or to one started here with `workers` CPUs.

    If this process is already connected and no address is given, that connection is used and kept. sent_bytes: how
    much will be put into the object store of a cluster started here. While a connection made here lasts, this process's
    standard output is discarded. Raises NiahError naming an address that cannot be joined, and ResourceError if no
    cluster can be started.
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
        settings: dict[str, Any] = {"address": where, "log_to_driver": False, "logging_level": "CRITICAL"}
        if where == _LOCAL:
            folder = tempfile.TemporaryDirectory(
                prefix="niah-", dir=os.environ.get("RAY_TMPDIR"), ignore_cleanup_errors=True
            )
            settings |= {
                "num_cpus": workers, "num_gpus": 0, "object_store_memory": _STORE_BYTES + 2 * sent_bytes,
                "include_dashboard": False, "_temp_dir": held.enter_context(folder),
            }  # fmt: skip
            os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        elif where != _AUTO:
            _reach(where)
        # Ray prints messages about lost workers, some only at shutdown; the code that waits for the tasks reports what
        # matters.
        held.enter_context(redirect_stdout(held.enter_context(open(os.devnull, "w"))))
        held.callback(ray.shutdown)
        printed = held.enter_context(tempfile.TemporaryFile())
        try:
            with _own_handler(), _stderr_in(printed):
                ray.init(**settings)
        # Ray exits if a cluster does not answer.
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what it raises differs by release
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            if where == _LOCAL:
                raise ResourceError(f"Ray cannot start a cluster on this machine: {reason}") from None
            printed.seek(0)
            if b"AuthToken" in printed.read():
                reason = "it asks for a token; set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
            elif isinstance(error, SystemExit):
                reason = "no Ray cluster answers there"
            raise NiahError(f"Ray cluster {where}: cannot be joined: {reason}") from None
        yield


def _reach(address: str) -> None:
    """Raise NiahError at once if nothing is listening; Ray would retry for more than a minute."""
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
    """The head of the cluster that this process has joined, checked now and then."""

    def __init__(self, ray: Any) -> None:
        host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
        self._place = host.strip("[]"), int(port)
        self._seen = self._looked = time.monotonic()

    def look(self) -> None:
        """Raise ResourceError if the head has not answered for 40 seconds. Call this often."""
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
                    "the head of the Ray cluster has stopped responding; start a cluster, and run the same command "
                    "again: finished files are kept"
                ) from None


@contextmanager
def _stderr_in(file: IO[bytes]) -> Iterator[None]:
    """Redirect standard error into a file while the block lasts, including what C libraries write."""
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
    """Restore this process's SIGTERM handler, which Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
