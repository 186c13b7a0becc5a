"""Kills workers of builds at random moments and counts how the builds end: with exit code 0 or 5, and nobody left.

    python tests/benchmarks/kills.py            200 builds with two workers, one kill each
    python tests/benchmarks/kills.py 20 --seed 1

Half of the kills come within 30 ms after a worker has appeared, while the others are being started and read their
first bytes; the rest come anywhere in the first two seconds. A kill that comes after the last worker has ended hits
nobody and is counted as such. Needs /proc.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

# Long enough for two workers to be busy for some two seconds.
RECIPE = ["--set", "name=kills", "--length", "1k,2k,4k,8k,16k,32k", "--repeats", "12", "--set", "depths.steps=30"]
GUARD_SECONDS = 120.0
GONE_SECONDS = 10.0


def main() -> int:
    """Run the builds, print what became of them; 1 if any hung, ended with another code, or left a process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kills", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    ends: Counter[str] = Counter()
    said: Counter[str] = Counter()
    left = 0
    for number in range(options.kills):
        early = number % 2 == 0
        delay = rng.uniform(0, 0.03) if early else rng.uniform(0, 2.0)
        with tempfile.TemporaryDirectory(prefix="niah-kills-") as folder:
            end, errors, remained = build_and_kill(Path(folder), delay, rng)
        ends[f"{'within 30 ms' if early else 'within 2 s'}: {end}"] += 1
        said[errors] += 1
        left += remained
        print(f"\r{number + 1} of {options.kills}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    for end, count in sorted(ends.items()):
        print(f"{count:5}  {end}")
    print(f"{left:5}  processes left behind")
    for errors, count in said.most_common():
        print(f"{count:5}  times on stderr: {errors!r}")
    good = all(end.endswith(("exit 0", "exit 5", "nobody hit, exit 0")) for end in ends)
    return 0 if good and not left else 1


def build_and_kill(out: Path, delay: float, rng: random.Random) -> tuple[str, str, int]:
    """How one build ended, what it said on stderr, and how many processes it left behind."""
    command = [sys.executable, "-m", "niah_gen.cli", "build", *RECIPE, "--jobs", "2", "--out", str(out)]
    build = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        deadline = time.monotonic() + GUARD_SECONDS
        while build.poll() is None and not workers(build.pid) and time.monotonic() < deadline:
            time.sleep(0.0005)
        time.sleep(delay)
        found = workers(build.pid)
        hit = False
        if found:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(found), signal.SIGKILL)
                hit = True
        try:
            _, errors = build.communicate(timeout=GUARD_SECONDS)
            end = f"exit {build.returncode}"
        except subprocess.TimeoutExpired:
            end, errors = "HANGS", ""
        # Helpers end by themselves, a moment after the build.
        deadline = time.monotonic() + GONE_SECONDS
        while end != "HANGS" and session(build.pid) and time.monotonic() < deadline:
            time.sleep(0.005)
        remained = 0 if end == "HANGS" else len(session(build.pid))
        return end if hit else f"nobody hit, {end}", errors, remained
    finally:
        with suppress(ProcessLookupError):
            os.killpg(build.pid, signal.SIGKILL)
        build.communicate()


def session(leader: int) -> list[int]:
    """The running processes of a session that this program started."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def workers(builder: int) -> list[int]:
    """The builder's children that are workers, from the moment that they run a program of their own."""
    found = []
    with suppress(OSError):
        for child in Path(f"/proc/{builder}/task/{builder}/children").read_text().split():
            with suppress(OSError):
                if b"popen_loky" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.append(int(child))
    return found


if __name__ == "__main__":
    sys.exit(main())
