"""Runs every command in a process that `watched/sitecustomize.py` watches, and prints how much the watch has seen."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from every_command import LINES, WITH_PROCESSES, run_every_command


def main() -> None:
    """Run the lines in the watched folder."""
    watch: Any = sys.modules["sitecustomize"]
    place = Path(os.environ["NIAH_WATCHED"]) / "here"
    os.chdir(place)
    lines = LINES.strip().splitlines()
    more = WITH_PROCESSES.strip().splitlines() if "--processes" in sys.argv else []
    for ran in run_every_command(place, "\n".join([*lines, *more])):
        watch.line = f"after {ran.line}"
    print(json.dumps(watch.seen))


if __name__ == "__main__":
    main()
