"""A task family for tests of workers: its rows can be made to wait in the middle of a file.

The variable NIAH_HELD names a folder. In a Ray worker, if there is a file `hold`, the second repeat of a row writes
`begun-PID`, with the node's id, and waits for `go`.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from niah_gen.tasks.base import Task
from niah_gen.tasks.hiding import generated_units
from niah_gen.tasks.records import Cell, Item, Settings

_PATIENCE = 300
IN_WORKER = Path(sys.argv[0]).name == "default_worker.py"


@dataclass(frozen=True, slots=True)
class Options:
    """None of its own."""


def _line(draw: random.Random) -> str:
    return f"Box {draw.randrange(1000)} holds {draw.randrange(10**6, 10**7)} screws."


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return ["crate"] if language == "en" else []


def _item(settings: Settings, cell: Cell) -> Item:
    folder = Path(os.environ["NIAH_HELD"]) if IN_WORKER else Path()
    if IN_WORKER and cell.repeat == 1 and (folder / "hold").exists():
        _wait(folder)
    return Item(
        "crate", "en", "How many screws does the crate hold?", ("1418",), (("1418",),), "keyword",
        ("The crate holds 1418 screws.",),
    )  # fmt: skip


def _wait(folder: Path) -> None:
    import ray

    aside = folder / f".{os.getpid()}"
    aside.write_text(ray.get_runtime_context().get_node_id(), "utf-8")
    aside.rename(folder / f"begun-{os.getpid()}")
    deadline = time.monotonic() + _PATIENCE
    while not (folder / "go").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


HELD = Task("held", 1, _ids, _item, options=Options, context=generated_units("held", _line))
