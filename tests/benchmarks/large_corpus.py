"""Measures builds from a corpus of many gigabytes: writes one, builds from it under a limit of memory, removes it."""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_LIMIT = 2 * 1024**3
_TEXT = """
    time water house river market letter window garden engine winter summer story teacher island bridge valley morning
    evening paper copper silver harbour village forest mountain captain doctor sailor
"""
_WORDS = _TEXT.split()


def documents(gigabytes: float) -> Iterator[str]:
    """Made-up documents of about 10,000 characters: one of 5,000 bodies after a sentence of its own in each."""
    drawn = random.Random(1)
    pool = [" ".join(drawn.choices(_WORDS, k=drawn.randint(6, 18))).capitalize() + "." for _ in range(20_000)]
    bodies = [" ".join(drawn.choices(pool, k=drawn.randint(20, 200))) for _ in range(5000)]
    done = number = 0
    while done < gigabytes * 1e9:
        text = f"Document {number}. {bodies[number % len(bodies)]}"
        done += len(text)
        number += 1
        yield text


def write(path: Path, gigabytes: float) -> None:
    """Write a corpus in the format of its suffix; `gigabytes` counts text before any compression."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix == ".parquet":
        schema = pa.schema([("text", pa.large_string())])
        with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=False) as table:
            batch: list[str] = []
            for text in documents(gigabytes):
                batch.append(text)
                if len(batch) == 5000:
                    table.write_table(pa.table({"text": batch}, schema=schema))
                    batch.clear()
            table.write_table(pa.table({"text": batch}, schema=schema))
    else:
        with pa.output_stream(str(path), compression="zstd" if path.suffix == ".zst" else None) as lines:
            for text in documents(gigabytes):
                lines.write(json.dumps({"text": text}).encode() + b"\n")


def measure(command: list[str]) -> str:
    """The time and peak memory of a command that is limited to 2 GiB of data."""
    start = time.monotonic()
    code = (
        "import resource, subprocess, sys\n"
        f"resource.setrlimit(resource.RLIMIT_DATA, ({_LIMIT}, {_LIMIT}))\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
        "sys.exit(done.returncode)"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], stdout=subprocess.PIPE, text=True, check=True)
    return f"{time.monotonic() - start:6.0f} s {int(done.stdout) / 1024:8.0f} MiB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=20, help="of text")
    parser.add_argument("--kind", choices=["jsonl", "jsonl.zst", "parquet"], default="parquet")
    parser.add_argument("--length", default="128000")
    parser.add_argument("--repeats", default="2")
    flags = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="large-corpus-"))
    try:
        path = folder / f"large.{flags.kind}"
        write(path, flags.gigabytes)
        print(f"{flags.kind}: {flags.gigabytes:g} GB of text in {path.stat().st_size:,} bytes", flush=True)
        program = [sys.executable, "-m", "niah_gen.cli"]
        build = [
            *program, "build", "--corpus", str(path), "--needle", "cobbleden-fish-market", "--depths", "0,50,100",
            "--length", flags.length, "--repeats", flags.repeats, "--out", str(folder / "build"),
        ]  # fmt: skip
        print("corpora show", measure([*program, "corpora", "show", str(path)]), flush=True)
        print("build       ", measure(build), flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
