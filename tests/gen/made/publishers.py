"""Publishes from separate processes, which a test may kill."""

from __future__ import annotations

import importlib
import multiprocessing
import os
from collections.abc import Sequence
from typing import Any

from niah_gen.export.hub_files import HubFile
from niah_gen.export.hub_upload import upload


def client_settings(url: str) -> dict[str, Any]:
    """The settings of the client in tests, by dotted name.

    With them it asks only the Hub at this address and draws no bars. It does not fetch the list of agents, as it would
    do once a day for its headers.
    """
    return {
        "huggingface_hub.constants.ENDPOINT": url,
        "huggingface_hub.constants.HF_HUB_DISABLE_PROGRESS_BARS": True,
        "huggingface_hub.utils._headers.detect_agent": lambda: None,
    }


def child(url: str, token: str, files: Sequence[HubFile], pid: Any) -> None:
    """Upload, after telling which process this is."""
    os.environ["HF_TOKEN"] = token
    for name, value in client_settings(url).items():
        module, _, attribute = name.rpartition(".")
        setattr(importlib.import_module(module), attribute, value)
    pid.value = os.getpid()
    upload(files, "somebody/needles", "small/1.0.0-0a1b2c3d", tag="v1.0.0", endpoint=url)


def publisher(url: str, token: str, files: Sequence[HubFile]) -> tuple[Any, Any]:
    """A process that will upload, and where it writes its id. The client is loaded once for all of them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["huggingface_hub.hf_api", "niah_gen.export.hub_upload"])
    pid = context.Value("i", 0)
    process = context.Process(target=child, args=(url, token, list(files), pid))
    return process, pid
