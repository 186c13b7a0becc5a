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


# Of the folders that a command wrote: which files are damaged, what states their hashes, and the commands that read
# them, with the folder as FOLDER and an undamaged one as CLEAN. After `!`, every case runs a command, else one of them.
_FOLDERS: dict[str, tuple[str, tuple[str, ...], str, tuple[str, ...]]] = {
    "manifests": ("dataset", (MANIFEST,), MANIFEST, (
        "! niah-gen verify FOLDER", "! niah-gen list ABOVE", "niah-gen show FOLDER", "niah-gen card FOLDER",
        "niah-gen diff CLEAN FOLDER", "niah-gen recount FOLDER --tokenizer o200k_base", "niah-gen verify FOLDER --full",
        "niah-gen page FOLDER --out WORK/page.html --overwrite", "niah-gen publish FOLDER me/x --dry-run",
        "niah-gen export FOLDER --to text --out WORK/out --overwrite")),
    "contents": ("dataset", ("recipe.toml", "README.md", "data/*/*", "jsonl/*/*"), MANIFEST, (
        "niah-gen show FOLDER --row 2 --whole", "niah-gen card FOLDER", "niah-gen diff CLEAN FOLDER",
        "niah-gen recount FOLDER --tokenizer o200k_base", "niah-gen verify FOLDER --full",
        "niah-gen page FOLDER --out WORK/page.html --overwrite", "niah-gen show FOLDER --length 600",
        "niah-gen export FOLDER --to text --out WORK/out --overwrite",
        "niah-gen export FOLDER --to openai-batch --model m --out WORK/out --overwrite",
        "niah-gen export FOLDER --to lm-eval --out WORK/out --overwrite")),
    "scores": ("scores", ("summary.json", "scores.parquet", "problems.jsonl", "cells.csv"), "summary.json", (
        "niah-score report FOLDER", "niah-score report FOLDER --dataset DATASET", "niah-score compare CLEAN FOLDER",
        "niah-score plot FOLDER --terminal", "niah-score compare FOLDER CLEAN --format markdown",
        "niah-score judge export DATASET FOLDER --model m --out WORK/out",
        "niah-score plot FOLDER --out WORK/out --overwrite")),
    "shards": ("parts", ("**/*.json",), "", ("! niah-gen list ABOVE", "! niah-gen merge FOLDER")),
}  # fmt: skip


def of_folders(kind: str) -> Case:
    """Run commands on a copy of a folder with one damaged file, whose hash its head states in most cases."""
    clean_name, patterns, head, lines = _FOLDERS[kind]

    def case(place: Place, rng: random.Random) -> Iterator[Ended]:
        clean: Path = getattr(place, clean_name)
        folder = _copied(clean, place.work / kind / clean.name)
        path = rng.choice(sorted(folder.glob(rng.choice(patterns))))
        path.write_bytes(mutated([path.read_bytes()], rng))
        if head and rng.random() < 0.7:
            (folder / head).write_bytes(_resealed(folder, head, path))
        at = {"FOLDER": folder, "ABOVE": folder.parent, "CLEAN": clean, "DATASET": place.dataset}
        at["COPY"] = _copied(place.dataset, place.work / "dataset" / place.dataset.name)
        others = [line for line in lines if line[0] != "!"]
        always = [line[2:] for line in lines if line[0] == "!"]
        for line in [*always, rng.choice(others)] if others else always:
            words = (str(at.get(word, word)).replace("WORK/", f"{place.work}/") for word in line.split())
            yield run(" ".join(words), folder, path, clean)
        if kind in ("manifests", "contents"):
            yield _evaluated(folder, place.work / "answers.jsonl", folder)

    return case


def _resealed(folder: Path, head: str, path: Path) -> bytes:
    """The head of a folder, as if somebody else had written the folder so; as it is where it cannot be read."""
    data = (folder / head).read_bytes()
    try:
        record = json.loads(data)
        if path.name != head:
            own = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "bytes": path.stat().st_size}
            name, files = path.relative_to(folder).as_posix(), record["files"]
            if path.suffix == ".jsonl" and head == MANIFEST:  # is read only where there is no Parquet
                files = record["files"] = [one for one in files if not one["path"].startswith("data/")]
            (files[name] if isinstance(files, dict) else next(one for one in files if one["path"] == name)).update(own)
        return json.dumps(sealed(record)).encode()
    except (ValueError, RecursionError, TypeError, AttributeError):
        return data


def verdicts(place: Place, rng: random.Random) -> Iterator[Ended]:
    """A damaged file of a judge's answers."""
    path = damaged(place, rng, [place.verdicts])
    out = place.work / "judged"
    yield run(f"niah-score judge import {place.dataset} {place.scores} {path} --out {out} --overwrite", path)


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
    "answers": answers, "rows": rows, "verdicts": verdicts, "log_probs": log_probs,
    "corpus_declarations": corpus_declarations, "languages": languages,
    **{name: of_folders(name) for name in _FOLDERS},
    **{name: of_files(*commands) for name, commands in _COMMANDS.items()},
}  # fmt: skip
# How many cases of the fastest readers run for each case of the others.
PACE = {"answers": 4, "rows": 2}
