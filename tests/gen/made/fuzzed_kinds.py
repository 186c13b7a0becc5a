"""Defines the files that readers are given damaged, and the commands that read them: cases drawn from a seed."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import zstandard
from commands import app_of
from mutations import mutated
from typer.testing import CliRunner

from niah_score.contract import MANIFEST, ContractError, sealed
from niah_score.errors import ScoreError
from niah_score.evaluation import evaluate

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus"
ANSWERS = Path(__file__).parents[2] / "score" / "formats" / "examples"


class Ended(NamedTuple):
    """How a case ended: its exit code, its output, and names; a refusal must mention one of the names."""

    code: int
    said: str
    named: tuple[str, ...]


class Place(NamedTuple):
    """The folders that cases use: clean ones, and `work`, where a case may write."""

    work: Path
    dataset: Path
    windows: Path
    scores: Path
    parts: Path
    verdicts: Path


Case = Callable[[Place, random.Random], Iterator[Ended]]


def run(line: str, *named: object) -> Ended:
    """Run a command in this process; a refusal must mention one of `named`."""
    words = line.split()
    done = CliRunner().invoke(app_of(words[0]), words[1:])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ended(done.exit_code, done.output, tuple(Path(str(name)).name for name in named))


def damaged(place: Place, rng: random.Random, seeds: Sequence[Path], name: str = "") -> Path:
    """A damaged copy of one of some files, in the working folder, under its own name or the given one."""
    chosen = rng.choice(seeds)
    path = place.work / "damaged" / (name or chosen.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(mutated([seed.read_bytes() for seed in (chosen, *seeds)], rng))
    return path


def seeds_of(kind: str) -> list[Path]:
    return sorted((CORPUS / kind).iterdir())


def of_files(kind: str, also: str, lines: Sequence[str]) -> Case:
    """Run command lines on a damaged file of a kind, which they call FILE."""

    def case(place: Place, rng: random.Random) -> Iterator[Ended]:
        seeds = seeds_of(kind)
        suffix = rng.choice(sorted({"".join(seed.suffixes) for seed in seeds}))
        seeds = [seed for seed in seeds if "".join(seed.suffixes) == suffix]
        if kind == "chat-templates":
            (place.work / "damaged").mkdir(exist_ok=True)
            shutil.copy(CORPUS / "tokenizers" / "tokenizer.json", place.work / "damaged" / "tokenizer.json")
        path = damaged(place, rng, seeds, "tokenizer_config.json" if kind == "chat-templates" else "")
        for line in lines:
            many, _, command = line.partition(" ") if line[0].isdigit() else ("1", "", line)
            if rng.randrange(int(many)):
                continue
            for word, value in {
                "FILE": path, "OUT": place.work / "out", "DATASET": place.dataset, "WINDOWS": place.windows,
                "SCORES": place.scores, "FOLDER": path.parent, "WORK": place.work,
            }.items():  # fmt: skip
                command = command.replace(word, str(value))
            # A text is a corpus named after its file.
            corpus = [f"corpus {path.name.partition('.')[0]!r}"] if kind == "texts" else []
            yield run(command, path, *corpus, *also.split())

    return case


def answers(place: Place, rng: random.Random) -> Iterator[Ended]:
    """Answer files of every stack and container, for rows with their ids."""
    seeds = sorted(ANSWERS.iterdir())
    suffix = rng.choice(sorted({seed.suffix for seed in seeds}))
    path = damaged(place, rng, [seed for seed in seeds if seed.suffix == suffix])
    if path.suffix in (".jsonl", ".csv", ".tsv", ".json") and rng.random() < 0.2:
        data = path.read_bytes()
        whole = gzip.compress(data, mtime=0) if rng.random() < 0.5 else zstandard.compress(data)
        path.write_bytes(mutated([whole], rng) if rng.random() < 0.7 else whole)
    yield _evaluated(place.work / "rows.jsonl", path, path)


def rows(place: Place, rng: random.Random) -> Iterator[Ended]:
    """Datasets made by hand: a file with rows."""
    seeds = seeds_of("rows")
    suffix = rng.choice(sorted({seed.suffix for seed in seeds}))
    path = damaged(place, rng, [seed for seed in seeds if seed.suffix == suffix])
    yield _evaluated(path, place.work / "answers-to-rows.jsonl", path)


def _evaluated(dataset: Path, answered: Path, named: Path) -> Ended:
    try:
        report = evaluate(dataset, answered, missing="zero", on_duplicate="first", metrics=["keyword"])
    except ScoreError as error:
        return Ended(error.exit_code, str(error), (named.name, answered.name))
    except ContractError as error:
        return Ended(4, str(error), (named.name, answered.name))
    if sum(report.statuses.values()) != report.scores.height or report.lines.read != sum(report.lines[1:]):
        raise AssertionError(f"unaccounted for: {report.statuses}, {report.lines}")
    return Ended(report.exit_code, "", ())


def _copied(folder: Path, goal: Path) -> Path:
    shutil.rmtree(goal, ignore_errors=True)
    return Path(shutil.copytree(folder, goal))


def manifests(place: Place, rng: random.Random) -> Iterator[Ended]:
    """A damaged manifest.json, sealed again where it can be."""
    folder = _copied(place.dataset, place.work / "dataset" / place.dataset.name)
    file = folder / MANIFEST
    data = mutated([file.read_bytes()], rng)
    file.write_bytes(_sealed(data) if rng.random() < 0.7 else data)
    yield run(f"niah-gen verify {folder}", folder)
    yield run(f"niah-gen list {folder.parent}", folder)
    line = rng.choice(
        [
            f"niah-gen show {folder}", f"niah-gen card {folder}", f"niah-gen diff {place.dataset} {folder}",
            f"niah-gen recount {folder} --tokenizer o200k_base", f"niah-gen verify {folder} --full",
            f"niah-gen page {folder} --out {place.work}/page.html --overwrite",
            f"niah-gen export {folder} --to text --out {place.work}/out --overwrite",
            f"niah-gen publish {folder} me/x --dry-run",
        ]
    )  # fmt: skip
    yield run(line, folder, place.dataset)
    yield _evaluated(folder, place.work / "answers.jsonl", folder)


def _sealed(data: bytes) -> bytes:
    try:
        record = json.loads(data)
        return json.dumps(sealed(record)).encode() if isinstance(record, dict) else data
    except (ValueError, RecursionError, TypeError):
        return data


def contents(place: Place, rng: random.Random) -> Iterator[Ended]:
    """A damaged file whose hash the manifest states, as if somebody else had built the dataset so."""
    folder = _copied(place.dataset, place.work / "dataset" / place.dataset.name)
    record = json.loads((folder / MANIFEST).read_bytes())
    entry = rng.choice([*record["files"], *(file for file in record["files"] if file["rows"])])
    path = folder / entry["path"]
    path.write_bytes(mutated([path.read_bytes()], rng))
    entry |= {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "bytes": path.stat().st_size}
    if path.suffix == ".parquet":
        # JSONL is read only where there is no Parquet.
        record["files"] = [file for file in record["files"] if not file["path"].endswith(".jsonl")]
    else:
        record["files"] = [file for file in record["files"] if not file["path"].startswith("data/")]
    (folder / MANIFEST).write_text(json.dumps(sealed(record)), "utf-8")
    lines = [
        "show D --row 2 --whole", "card D", "diff C D", "recount D --tokenizer o200k_base", "verify D --full",
        "page D --out W/page.html --overwrite", "export D --to text --out W/out --overwrite",
        "export D --to openai-batch --model m --out W/out --overwrite", "export D --to lm-eval --out W/out --overwrite",
        "show D --length 600",
    ]  # fmt: skip
    for line in rng.sample(lines, 2):
        filled = [{"D": folder, "C": place.dataset}.get(word, word) for word in line.split()]
        yield run(f"niah-gen {' '.join(map(str, filled))}".replace("W/", f"{place.work}/"), folder, path)
    yield _evaluated(folder, place.work / "answers.jsonl", folder)


def scores(place: Place, rng: random.Random) -> Iterator[Ended]:
    """A damaged file of a folder that niah-score wrote; in most cases summary.json states its hash."""
    folder = _copied(place.scores, place.work / "scores")
    name = rng.choice(["summary.json", "summary.json", "scores.parquet", "problems.jsonl", "cells.csv"])
    path = folder / name
    data = mutated([path.read_bytes()], rng)
    if name == "summary.json":
        path.write_bytes(_sealed(data) if rng.random() < 0.7 else data)
    else:
        path.write_bytes(data)
        if rng.random() < 0.7:
            record = json.loads((folder / "summary.json").read_bytes())
            record["files"][name]["sha256"] = hashlib.sha256(data).hexdigest()
            (folder / "summary.json").write_text(json.dumps(sealed(record)), "utf-8")
    line = rng.choice(
        [
            "report S", "report S --dataset D", "compare C S", "plot S --terminal", "compare S C --format latex",
            "judge export D S --model m --out W/judged", "plot S --out W/pictures --overwrite --format svg",
        ]
    )  # fmt: skip
    shutil.rmtree(place.work / "judged", ignore_errors=True)
    at = {"S": folder, "C": place.scores, "D": place.dataset, "W/judged": place.work / "judged",
          "W/pictures": place.work / "pictures"}  # fmt: skip
    yield run(f"niah-score {' '.join(str(at.get(word, word)) for word in line.split())}", folder, path)
    if rng.random() < 0.3:
        yield run(f"niah-gen card {_copied(place.dataset, place.work / 'dataset' / place.dataset.name)} "
                  f"--word-overlap {folder}", folder, path)  # fmt: skip


def verdicts(place: Place, rng: random.Random) -> Iterator[Ended]:
    """A damaged file of a judge's answers."""
    path = damaged(place, rng, [place.verdicts])
    out = place.work / "judged"
    yield run(f"niah-score judge import {place.dataset} {place.scores} {path} --out {out} --overwrite", path)


def shards(place: Place, rng: random.Random) -> Iterator[Ended]:
    """A damaged record of a shard, or the damaged plan beside it."""
    folder = _copied(place.parts.parent, place.work / "parts") / place.parts.name
    path = rng.choice(sorted(folder.rglob("*.json")))
    path.write_bytes(mutated([path.read_bytes()], rng))
    yield run(f"niah-gen list {folder.parent}", folder)
    yield run(f"niah-gen merge {folder}", folder, path)


def log_probs(place: Place, rng: random.Random) -> Iterator[Ended]:
    seeds = [*seeds_of("logprobs"), place.work / "logprobs.jsonl", place.work / "gains.jsonl"]
    path = damaged(place, rng, seeds, "damaged.jsonl")
    yield run(f"niah-score perplexity {place.windows} {path} --missing exclude --on-duplicate first", path)
    yield run(f"niah-score gain {place.dataset} {path} --missing exclude --on-duplicate first", path)


def corpus_declarations(place: Place, rng: random.Random) -> Iterator[Ended]:
    folder = place.work / "own"
    folder.mkdir(exist_ok=True)
    shutil.copy(CORPUS / "texts" / "a.txt", folder / "a.txt")
    right = (CORPUS / "corpora" / "corpus.toml").read_text("utf-8")
    right = right.replace("SHA", hashlib.sha256((folder / "a.txt").read_bytes()).hexdigest())
    (folder / "corpus.toml").write_bytes(mutated([right.encode()], rng))
    yield run(f"niah-gen corpora show {folder}", folder)
    yield run(f"niah-gen plan plain --needle velden-archive --length 600 --corpus {folder}", folder)


def languages(place: Place, rng: random.Random) -> Iterator[Ended]:
    folder = place.work / "languages"
    path = damaged(place._replace(work=folder), rng, seeds_of("languages"), "xx.toml")
    os.environ["NIAH_LANGUAGES"] = str(folder)
    try:
        yield run(f"niah-gen corpora add own {CORPUS}/texts/a.txt --language xx", path)
        own = place.work / "home" / "niah" / "corpora" / "own"
        yield run(f"niah-gen build plain --needle {place.work}/needle-xx.toml --corpus {own} "
                  f"--length 600 --depths 50 --out {place.work}/built", path)  # fmt: skip
        yield _evaluated(place.work / "rows-xx.jsonl", place.work / "answers.jsonl", path)
    finally:
        del os.environ["NIAH_LANGUAGES"]
        shutil.rmtree(place.work / "built", ignore_errors=True)


_BUILD = "--length 600 --depths 50 --repeats 1 --out OUT"
# By kind: the folder of its files, what a refusal may name instead of the file, and the commands; a number before one
# means that it runs in one of so many cases.
_COMMANDS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "texts": ("texts", "length", ("niah-gen corpora show FILE", "3 niah-gen corpora add own FILE --language en",
              f"4 niah-gen build plain --needle velden-archive,heyuan-archive --corpus FILE --language en,zh "
              f"{_BUILD}")),
    "recipes": ("recipes", "length", ("niah-gen plan FILE",)),
    "needles": ("needles", "", ("niah-gen needles FILE",
                                f"3 niah-gen build plain --needle FILE --corpus en_essays {_BUILD}")),
    "templates": ("templates", "", (f"niah-gen build plain --needle velden-archive --template FILE {_BUILD}",)),
    "system": ("texts-of-users", "length",
               ("niah-gen plan plain --chat --needle velden-archive --length 600 --system-file FILE",)),
    "questions": ("questions", "", ("niah-gen plan questions --set options.file=FILE",
                                    "3 niah-gen build questions --set options.file=FILE --out OUT")),
    "mrcr": ("mrcr", "", ("niah-gen build mrcr --set options.file=FILE --out OUT",)),
    "nolima": ("nolima", "", (f"niah-gen build nolima --set options.needle_set=FILE --corpus en_essays {_BUILD}",)),
    "longbench": ("longbench", "", ("niah-gen build WORK/longbench.toml --set options.file=FILE --out OUT",)),
    "needlebench-needles": ("needlebench-needles", "", (
        "niah-gen build needlebench2-single --set options.needles=FILE --language en --corpus en_essays "
        "--set options.count=2 --length 2000 --depths 50 --repeats 1 --out OUT",)),
    "needlebench-names": ("needlebench-names", "options.names",
                          ("niah-gen build needlebench2-atc --set options.names=FILE --out OUT",)),
    "squad": ("ruler-squad", "", ("niah-gen build ruler-qa_1 --set options.questions=FILE --corpus en_essays "
                                  "--length 700 --repeats 1 --out OUT",)),
    "hotpotqa": ("ruler-hotpotqa", "", (
        "niah-gen build ruler-qa_1 --set options.task=qa_2 --set options.questions=FILE --corpus en_essays "
        "--length 700 --repeats 1 --out OUT",)),
    "words": ("ruler-words", "length", ("niah-gen build ruler-cwe --set options.words=FILE --corpus en_essays "
                                        "--length 800 --repeats 1 --out OUT",)),
    "tokenizers": ("tokenizers", "", ("niah-gen recount DATASET --tokenizer FILE",
                                      f"3 niah-gen build plain --needle velden-archive --tokenizer FILE {_BUILD}")),
    "pieces": ("pieces", "", ("niah-gen recount DATASET --tokenizer FILE",)),
    "chat-templates": ("chat-templates", "", ("niah-gen recount DATASET --tokenizer FOLDER",)),
    "rubrics": ("rubrics", "", ("niah-score judge export DATASET SCORES --model m --rubric FILE --out OUT",)),
}  # fmt: skip
READERS: dict[str, Case] = {
    "answers": answers, "rows": rows, "manifests": manifests, "contents": contents, "scores": scores,
    "verdicts": verdicts, "shards": shards, "log_probs": log_probs, "corpus_declarations": corpus_declarations,
    "languages": languages, **{name: of_files(*commands) for name, commands in _COMMANDS.items()},
}  # fmt: skip
# How many cases of the fastest readers run for each case of the others.
PACE = {"answers": 4, "rows": 2}
