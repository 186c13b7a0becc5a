"""Compares the rows of some fifty recipes with recorded digests, so that a change of code changes no row unnoticed.

make same-rows                            compare; ends with 1 if any recipe gives other rows
python tests/recorded_rows.py --record    record again, after a change of rows that CHANGELOG declares
python tests/recorded_rows.py NAME ...    compare these recipes alone

Each recipe is built by the command line, as users build it. Its content digest covers all columns of all rows; sharded
builds, workers and formats must give the digest of the plain build.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RECORD = Path(__file__).with_name("recorded_rows.json")
_ENGLISH = ("--corpus", "en_essays")
_CHINESE = ("--corpus", "zh_articles")
_LADDER = ("--length", "1000,2000")

# By name: the arguments of `niah-gen build`. Presets of corpora that users fetch are built over bundled ones.
RECIPES: dict[str, tuple[str, ...]] = {
    "default": ("default", "--length", "2000,4000"),
    "default in chats": ("default", "--length", "2000", "--chat", "--language", "en"),
    "default with another tokenizer": ("default", "--length", "2000", "--tokenizer", "o200k_base", "--language", "zh"),
    "hard": ("hard", "--length", "2000", "--worlds", "3", "--rows-per-context", "5"),
    "plain": ("plain", *_LADDER),
    "plain to 128k": ("plain", "--length", "128000", "--depths", "0,50,100", "--set", "allow_repeats=true",
                      "--needle", "velden-archive"),
    "plain in other languages": ("plain", "--length", "1500", "--corpus", "own_french", "--needle", "single-fr"),
    "plain at word boundaries": ("plain", "--length", "1000", "--set", "boundary=word", "--depths", "0,33,100"),
    "plain with its controls": ("plain", "--length", "1000", "--set", 'controls=["absent","no_context"]'),
    "plain with fresh haystacks": ("plain", "--length", "2000", "--set", "fresh_haystacks=true", "--repeats", "2"),
    "smoke": ("smoke",),
    "own corpus and needles": ("own.toml",),
    "own question set": ("questions", "--set", "options.file=set.jsonl"),
    "own question set, cut": ("questions", "--set", "options.file=set.jsonl", "--length", "1000"),
    "ancestral-facts": ("ancestral-facts", *_LADDER),
    "ancestral-trace": ("ancestral-trace", "--length", "4000"),
    "coded-words": ("coded-words", *_LADDER),
    "common-words": ("common-words", "--length", "8000"),
    "coreference": ("coreference", "--length", "4000"),
    "graph-walks": ("graph-walks", *_LADDER),
    "json-key-values": ("json-key-values", *_LADDER),
    "key-values": ("key-values", *_LADDER),
    "number-string": ("number-string", *_LADDER),
    "passage-copy": ("passage-copy", "--length", "4000"),
    "passage-count": ("passage-count", "--length", "4000"),
    "passage-match": ("passage-match", "--length", "4000"),
    "passage-nth": ("passage-nth", "--length", "4000"),
    "passkey": ("passkey", *_LADDER),
    "perplexity": ("perplexity", "--length", "2000"),
    "uuid-chain": ("uuid-chain", *_LADDER),
    "variable-prose": ("variable-prose", *_LADDER),
    "variable-tracking": ("variable-tracking", *_LADDER),
    "longbench-passage_count": ("longbench-passage_count", *_ENGLISH),
    "longbench-passage_retrieval_en": ("longbench-passage_retrieval_en", *_ENGLISH),
    "longbench-passage_retrieval_zh": ("longbench-passage_retrieval_zh", *_CHINESE),
    "gkamradt-single": ("gkamradt-single", *_ENGLISH, "--length", "1000,8000"),
    "gkamradt-multi": ("gkamradt-multi", *_ENGLISH, "--length", "1000,8000"),
    "gkamradt-classic": ("gkamradt-classic", *_ENGLISH, "--length", "16000", "--depths", "0,7,100"),
    "needlehaystack2-single": ("needlehaystack2-single", *_ENGLISH, "--length", "1000,4000"),
    "needlehaystack2-multi": ("needlehaystack2-multi", *_ENGLISH, "--length", "1000,4000"),
    "needlehaystack2-uuid": ("needlehaystack2-uuid", *_ENGLISH, "--length", "1000,4000"),
    "needlehaystack2-uuid-chain": ("needlehaystack2-uuid-chain", *_ENGLISH, "--length", "1000,4000"),
    "cdme-8k": ("cdme-8k", *_CHINESE),
    "cdme-8k-cot2-italy": ("cdme-8k-cot2-italy", *_CHINESE, "--length", "2000"),
    "cdme-8k-cot3-italy": ("cdme-8k-cot3-italy", *_CHINESE, "--length", "2000"),
    "cdme-processed-8k": ("cdme-processed-8k", *_CHINESE, "--length", "2000"),
    "ruler-cwe": ("ruler-cwe", "--length", "4096"),
    "ruler-fwe": ("ruler-fwe", "--length", "4096"),
    "ruler-niah_multikey_2": ("ruler-niah_multikey_2", "--length", "4096"),
    "ruler-niah_multikey_3": ("ruler-niah_multikey_3", "--length", "4096"),
    "ruler-niah_single_1": ("ruler-niah_single_1", "--length", "4096"),
    "ruler-vt": ("ruler-vt", "--length", "4096"),
}  # fmt: skip
# Other ways to write the rows of `plain`.
WAYS: dict[str, tuple[str, ...]] = {
    "every format": ("--format", "parquet,jsonl,jsonl.gz,jsonl.zst"),
    "two workers": ("--jobs", "2"),
}
SHARDS = 2

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
    named = [argument for argument in arguments if argument != "--record"]
    unknown = [name for name in named if name not in RECIPES]
    if unknown:
        print(f"no recipe {', '.join(unknown)}; there are: {', '.join(RECIPES)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        found = digests(Path(folder), named or list(RECIPES))
        if not named:
            found |= digests_of_ways(Path(folder))
    if "--record" in arguments:
        known = json.loads(RECORD.read_text()) if named else {}
        RECORD.write_text(json.dumps(known | found, indent=1) + "\n")
        return 0
    expected = json.loads(RECORD.read_text())
    other = [name for name, digest in found.items() if digest != expected.get(name)]
    for name in other:
        print(f"{name}: content digest {found[name]}, recorded {expected.get(name)}", file=sys.stderr)
    print(f"{len(found) - len(other)} of {len(found)} builds give the recorded rows")
    return 1 if other else 0


def digests(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """The content digest of each recipe, two builds at a time; the error's text where one fails."""
    _write_own_files(folder)
    with ThreadPoolExecutor(2) as pool:
        built = pool.map(lambda name: _digest(folder, RECIPES[name], folder / "built" / name), names)
        return dict(zip(names, built, strict=True))


def digests_of_ways(folder: Path) -> dict[str, str]:
    """The digest of `plain`, written in other formats, by other numbers of workers, and in shards."""
    recipe = RECIPES["plain"]
    found = {f"plain, {way}": _digest(folder, (*recipe, *flags), folder / way) for way, flags in WAYS.items()}
    out = folder / "shards"
    for number in range(1, SHARDS + 1):
        done = _run(folder, "build", *recipe, "--shard", f"{number}/{SHARDS}", "--out", str(out))
        if done.returncode:
            return {**found, "plain, shards": done.stderr.strip()[-400:]}
    merged = _run(folder, "merge", done.stdout.strip().splitlines()[-1])
    return {**found, "plain, shards": _content_digest(merged)}


def _digest(folder: Path, recipe: Sequence[str], out: Path) -> str:
    return _content_digest(_run(folder, "build", *recipe, "--out", str(out)))


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
