"""Counts what runs of our own code for one row, from its recipe to Parquet.

    python tests/benchmarks/walk.py

Every call of a function of niah_gen or niah_score is counted, once for each generator; bodies of modules and classes,
which run when they are imported, are not.
"""

from __future__ import annotations

import inspect
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[2]
# A generator that goes on is called at a later instruction than these.
_FIRST = 4
ROW = {"lengths": [1000], "depths": [50], "needles": ["velden-archive"], "corpora": ["en_essays"]}


def counted_calls(work: Callable[[], object]) -> Counter[tuple[str, str]]:
    """How often each of our functions is called, by module and name."""
    calls: Counter[tuple[str, str]] = Counter()
    ours = tuple(f"{ROOT / package}/" for package in ("niah_gen", "niah_score"))

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        begins = event == "call" and frame.f_lasti < _FIRST and code.co_flags & inspect.CO_OPTIMIZED
        if begins and code.co_filename.startswith(ours):
            calls[code.co_filename, code.co_qualname] += 1

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def main() -> None:
    import niah_gen

    with tempfile.TemporaryDirectory() as folder:
        calls = counted_calls(lambda: niah_gen.build("plain", folder, overrides=ROW))
    modules = Counter[str]()
    for (file, _), count in calls.items():
        modules[str(Path(file).relative_to(ROOT))] += count
    for module, count in modules.most_common():
        print(f"{count:9,}  {module}")
    print(f"one row: {len(modules)} modules, {len(calls)} functions, {sum(calls.values()):,} calls")


if __name__ == "__main__":
    main()
