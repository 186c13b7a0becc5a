"""Compares the rows of some fifty recipes with recorded digests, so that a change of code changes no row unnoticed.

make same-rows                            compare; ends with 1 if any recipe gives other rows
python tests/recorded_rows.py --record    record again, after a change of rows that CHANGELOG declares
python tests/recorded_rows.py NAME ...    compare these recipes alone

Each is built by the command line, as users build it; the record holds the arguments of `niah-gen build` by name, so a
recipe is added there. Presets of corpora that users fetch are built over bundled ones. A content digest covers all
columns of all rows; sharded builds, workers and formats must give the digest of the plain build.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RECORD = Path(__file__).with_name("recorded_rows.json")
OWN_RECIPE = """\
name = "own"
version = "1.0.0"
task = "multi"
lengths = [900]
depths = [0, 50, 100]
corpora = ["own_corpus"]

[[needles]]
id = "kiln"
language = "en"
needles = [
    "The third kiln at Orrin Bank is fired on 283 days of the year.",
    "The clay for the third kiln at Orrin Bank comes up the river, £1,250 of it in a season.",
]
question = "On how many days of the year is the third kiln at Orrin Bank fired, and what does its clay cost?"
answers = ["On 283 days; £1,250."]
keywords = [{number = 283}, {amount = 1250, unit = "GBP"}]

[[needles]]
id = "tram"
language = "en"
needles = ["The last tram from Sallow Street leaves at 11:52 pm, and on 23 February it is free."]
question = "When does the last tram leave from Sallow Street, and on which day is it free?"
answers = ["At 11:52 pm; on 23 February."]
keywords = [{time = "23:52"}, {date = "02-23"}]
"""
OWN_CORPUS = """\
name = "{name}"
language = "{language}"
license = "CC0-1.0"
source = "written for this test"

[[files]]
path = "orchard.txt"
sha256 = "{sha256}"
"""
_SENTENCES = (
    "The orchard slopes down to the river, and most of its trees are older than the house.",
    "In a dry spring the lower rows are watered by hand, a can at a time, before the sun is over the wall.",
    "Nobody remembers who planted the medlar by the gate; it fruits every other year, and never much.",
    "Pickers came up from the town in August and slept in the long barn, where their names are still on the beams.",
    "When the frost is late, small fires are lit between the rows, and the smoke lies in the grass until noon.",
)
_FRENCH = (
    "Le verger descend jusqu'à la rivière, et la plupart des arbres sont plus vieux que la maison.",
    "Par un printemps sec, on arrose les rangs du bas à la main, avant que le soleil ne passe le mur.",
    "Personne ne sait plus qui a planté le néflier près du portail ; il ne donne qu'une année sur deux.",
    "En août, les cueilleurs montaient de la ville et dormaient dans la grange, où l'on peut encore lire leurs noms.",
    "Quand le gel est tardif, on allume de petits feux entre les rangs, et la fumée reste dans l'herbe jusqu'à midi.",
)


def main(arguments: Sequence[str]) -> int:
    """Compare or record; the exit code."""
    recorded = json.loads(RECORD.read_text())
    names = [argument for argument in arguments if argument != "--record"] or list(recorded)
    unknown = [name for name in names if name not in recorded]
    if unknown:
        print(f"no recipe {', '.join(unknown)}; there are: {', '.join(recorded)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        _write_own_files(Path(folder))
        found = list(pool.map(lambda name: _digest(Path(folder), name, **recorded[name]), names))
    other = 0
    for name, digest in zip(names, found, strict=True):
        if digest != recorded[name].get("content_digest"):
            other += 1
            print(f"{name}: content digest {digest}, recorded {recorded[name].get('content_digest')}", file=sys.stderr)
            recorded[name]["content_digest"] = digest
    print(f"{len(names) - other} of {len(names)} builds give the recorded rows")
    if "--record" in arguments:
        RECORD.write_text(json.dumps(recorded, indent=1) + "\n")
        return 0
    return 1 if other else 0


def _digest(folder: Path, name: str, build: str, shards: int = 0, **_: str) -> str:
    """The content digest of a build, in so many shards, if any; the error's text where it fails."""
    line = ["build", *shlex.split(build), "--out", str(folder / "built" / name)]
    parts = [["--shard", f"{number}/{shards}"] for number in range(1, shards + 1)]
    for part in parts or [[]]:
        done = _run(folder, *line, *part)
        if done.returncode:
            break
    if shards and not done.returncode:
        done = _run(folder, "merge", done.stdout.strip().splitlines()[-1])
    return _content_digest(done)


def _content_digest(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode:
        return f"exit code {done.returncode}: {done.stderr.strip()[-400:]}"
    manifest = Path(done.stdout.strip().splitlines()[-1]) / "manifest.json"
    return str(json.loads(manifest.read_text())["content_digest"])


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NIAH_CORPORA": str(folder)}
    command = [sys.executable, "-m", "niah_gen.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)


def _write_own_files(folder: Path) -> None:
    (folder / "own.toml").write_text(OWN_RECIPE)
    for name, language, sentences in (("own_corpus", "en", _SENTENCES), ("own_french", "fr", _FRENCH)):
        corpus = folder / name
        corpus.mkdir(exist_ok=True)
        text = "".join(" ".join(sentences[(n + k * k) % 5] for k in range(5)) + "\n" for n in range(120)).encode()
        (corpus / "orchard.txt").write_bytes(text)
        declared = OWN_CORPUS.format(name=name, language=language, sha256=hashlib.sha256(text).hexdigest())
        (corpus / "corpus.toml").write_text(declared)
    questions = (
        {"document": " ".join(_SENTENCES * (20 + n)), "question": asked, "answers": [said], "language": "en"}
        for n, (asked, said) in enumerate(
            (("What stands by the gate?", "the medlar"), ("Where did pickers sleep?", "the long barn"))
        )
    )
    (folder / "set.jsonl").write_text("".join(json.dumps(one) + "\n" for one in questions))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
