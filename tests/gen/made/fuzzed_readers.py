"""Gives damaged files to every reader, and prints a line for each that ends other than documented.

    python fuzzed_readers.py WORK FIRST LAST [READER ...]

Cases FIRST to LAST - 1 of each reader, in turns; the number of the case in hand stands in WORK/case, so that a parent
can tell where this process crashed. Expected is exit code 0, 2, 3, 4 or 5; where that is not 0 or 3, a message that
names the file or its folder; no other exception; and no more than a bounded time of the processor, which no other
process can use up: a case that needs more is killed by SIGPROF.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import zstandard
from mutations import mutated
from typer.testing import CliRunner

import niah_gen
import niah_gen.cli.main
import niah_score.cli.main
from niah_score.contract import MANIFEST, ContractError, sealed
from niah_score.errors import ScoreError
from niah_score.evaluation import evaluate

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus"
ANSWERS = Path(__file__).parents[2] / "score" / "formats" / "examples"
SECONDS = 20.0
_CODES = (0, 2, 3, 4, 5)
_APPS = {"niah-gen": niah_gen.cli.main.app, "niah-score": niah_score.cli.main.app}
_RECIPE = {"name": "fuzz", "lengths": [600], "depths": [0, 100], "needles": ["velden-archive"], "languages": ["en"]}
_WINDOWS = {"lengths": [128], "options": {"tokens": 128, "documents": 1}, "languages": ["en"]}


class Ended(NamedTuple):
    """How a case ended: its exit code, what was said, and what must have been named if it was refused."""

    code: int
    said: str
    named: tuple[str, ...]


class Place(NamedTuple):
    """The folders that cases work on: `clean` ones, and `work`, where a case may write."""

    work: Path
    dataset: Path
    windows: Path
    scores: Path
    parts: Path
    verdicts: Path


Case = Callable[[Place, random.Random], Iterator[Ended]]


class FuzzedReader(NamedTuple):
    """What reads files of one kind; `pace`: how many of its cases are run for one of the slowest readers'."""

    case: Case
    pace: int = 1


def run(line: str, *named: object) -> Ended:
    """A command in this process; `named`: what a refusal must name one of."""
    words = line.split()
    done = CliRunner().invoke(_APPS[words[0]], words[1:])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ended(done.exit_code, done.output, tuple(Path(str(name)).name for name in named))


def damaged(place: Place, rng: random.Random, seeds: Sequence[Path], name: str = "") -> Path:
    """A damaged one of some files, in the working folder, under its name or another one."""
    chosen = rng.choice(seeds)
    path = place.work / "damaged" / (name or chosen.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(mutated([seed.read_bytes() for seed in (chosen, *seeds)], rng))
    return path


def seeds_of(kind: str) -> list[Path]:
    return sorted((CORPUS / kind).iterdir())


def of_files(kind: str, *lines: str, names: Sequence[str] = (), every: Sequence[int] = (), also: str = "") -> Case:
    """Runs command lines over a damaged file of a kind; FILE stands for it. `every`: how seldom each line is
    run; `also`: what a refusal may name instead of the file, such as a length that a text in it does not fit into.
    """

    def case(place: Place, rng: random.Random) -> Iterator[Ended]:
        seeds = seeds_of(kind)
        suffix = rng.choice(sorted({"".join(seed.suffixes) for seed in seeds}))
        seeds = [seed for seed in seeds if "".join(seed.suffixes) == suffix]
        if kind == "chat-templates":
            (place.work / "damaged").mkdir(exist_ok=True)
            shutil.copy(CORPUS / "tokenizers" / "tokenizer.json", place.work / "damaged" / "tokenizer.json")
        path = damaged(place, rng, seeds, rng.choice(names) if names else "")
        for number, line in enumerate(lines):
            if number < len(every) and rng.randrange(every[number]):
                continue
            filled = line
            for word, value in {
                "FILE": path, "OUT": place.work / "out", "DATASET": place.dataset, "WINDOWS": place.windows,
                "SCORES": place.scores, "FOLDER": path.parent, "WORK": place.work,
            }.items():  # fmt: skip
                filled = filled.replace(word, str(value))
            yield run(filled, path, *also.split())

    return case


def answers(place: Place, rng: random.Random) -> Iterator[Ended]:
    """Answer files of every stack and container, to rows that have their ids."""
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
    """A damaged file of a dataset whose manifest lists it as it is: what somebody else may have built."""
    folder = _copied(place.dataset, place.work / "dataset" / place.dataset.name)
    record = json.loads((folder / MANIFEST).read_bytes())
    entry = rng.choice([*record["files"], *(file for file in record["files"] if file["rows"])])
    path = folder / entry["path"]
    path.write_bytes(mutated([path.read_bytes()], rng))
    entry |= {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "bytes": path.stat().st_size}
    if path.suffix == ".parquet":
        # JSONL is read where there is no Parquet.
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
    """A damaged file of a folder that niah-score wrote; summary.json lists it as it is, in most cases."""
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
    """The answers of a judge."""
    path = damaged(place, rng, [place.verdicts])
    out = place.work / "judged"
    yield run(f"niah-score judge import {place.dataset} {place.scores} {path} --out {out} --overwrite", path)


def shards(place: Place, rng: random.Random) -> Iterator[Ended]:
    """The records of shards, and the plan beside them."""
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
        yield run(f"niah-gen corpora add own {CORPUS}/texts/a.txt --language xx", path, "corpus", "own")
        own = place.work / "home" / "niah" / "corpora" / "own"
        yield run(f"niah-gen build plain --needle {place.work}/needle-xx.toml --corpus {own} "
                  f"--length 600 --depths 50 --out {place.work}/built", path, "own", "xx", "corpus")  # fmt: skip
        yield _evaluated(place.work / "rows-xx.jsonl", place.work / "answers.jsonl", path)
    finally:
        del os.environ["NIAH_LANGUAGES"]
        shutil.rmtree(place.work / "built", ignore_errors=True)
        shutil.rmtree(place.work / "home", ignore_errors=True)


_BUILD = "--length 600 --depths 50 --repeats 1 --out OUT"
READERS: dict[str, FuzzedReader] = {
    "answers": FuzzedReader(answers, 4),
    "rows": FuzzedReader(rows, 2),
    "manifests": FuzzedReader(manifests),
    "contents": FuzzedReader(contents),
    "scores": FuzzedReader(scores),
    "verdicts": FuzzedReader(verdicts),
    "shards": FuzzedReader(shards),
    "log_probs": FuzzedReader(log_probs),
    "corpus_declarations": FuzzedReader(corpus_declarations),
    "languages": FuzzedReader(languages),
    "texts": FuzzedReader(
        of_files(
            "texts", "niah-gen corpora show FILE", "niah-gen corpora add own FILE --language en",
            f"niah-gen build plain --needle velden-archive --corpus FILE --language en,zh {_BUILD}", every=(1, 3, 4),
            also="corpus length",
        )
    ),
    "recipes": FuzzedReader(of_files("recipes", "niah-gen plan FILE", also="length")),
    "needles": FuzzedReader(of_files("needles", "niah-gen needles FILE",
                                     f"niah-gen build plain --needle FILE --corpus en_essays {_BUILD}", every=(1, 3))),
    "templates": FuzzedReader(
        of_files("templates", f"niah-gen build plain --needle velden-archive --template FILE {_BUILD}")
    ),
    "system": FuzzedReader(
        of_files("texts-of-users", "niah-gen plan plain --chat --needle velden-archive --length 600 --system-file FILE",
                 also="length")
    ),
    "questions": FuzzedReader(
        of_files("questions", "niah-gen plan questions --set options.file=FILE",
                 "niah-gen build questions --set options.file=FILE --out OUT", every=(1, 3))
    ),
    "mrcr": FuzzedReader(of_files("mrcr", "niah-gen build mrcr --set options.file=FILE --out OUT")),
    "nolima": FuzzedReader(
        of_files("nolima", "niah-gen build nolima --set options.needle_set=FILE --corpus en_essays --length 600 "
                 "--depths 50 --repeats 1 --out OUT")
    ),
    "longbench": FuzzedReader(
        of_files("longbench", "niah-gen build WORK/longbench.toml --set options.file=FILE --out OUT")
    ),
    "needlebench-needles": FuzzedReader(
        of_files("needlebench-needles", "niah-gen build needlebench2-single --set options.needles=FILE --language en "
                 "--corpus en_essays --set options.count=2 --length 2000 --depths 50 --repeats 1 --out OUT")
    ),
    "needlebench-names": FuzzedReader(
        of_files("needlebench-names", "niah-gen build needlebench2-atc --set options.names=FILE --out OUT",
                 also="options.names")
    ),
    "squad": FuzzedReader(
        of_files("ruler-squad", "niah-gen build ruler-qa_1 --set options.questions=FILE --corpus en_essays "
                 "--length 700 --repeats 1 --out OUT")
    ),
    "hotpotqa": FuzzedReader(
        of_files("ruler-hotpotqa", "niah-gen build ruler-qa_1 --set options.task=qa_2 --set options.questions=FILE "
                 "--corpus en_essays --length 700 --repeats 1 --out OUT")
    ),
    "words": FuzzedReader(
        of_files("ruler-words", "niah-gen build ruler-cwe --set options.words=FILE --corpus en_essays --length 800 "
                 "--repeats 1 --out OUT",
                 also="length")
    ),
    "tokenizers": FuzzedReader(
        of_files("tokenizers", "niah-gen recount DATASET --tokenizer FILE",
                 f"niah-gen build plain --needle velden-archive --tokenizer FILE {_BUILD}", every=(1, 3))
    ),
    "pieces": FuzzedReader(of_files("pieces", "niah-gen recount DATASET --tokenizer FILE")),
    "chat-templates": FuzzedReader(
        of_files("chat-templates", "niah-gen recount DATASET --tokenizer FOLDER", names=["tokenizer_config.json"])
    ),
    "rubrics": FuzzedReader(
        of_files("rubrics", "niah-score judge export DATASET SCORES --model m --rubric FILE --out OUT")
    ),
    "pictures": FuzzedReader(of_files("pictures", "niah-score plot FILE --terminal")),
}  # fmt: skip


def prepared(work: Path) -> Place:
    """The folders that cases work on; made once, in WORK."""
    clean, cases = work / "clean", work / "cases"
    shutil.rmtree(cases, ignore_errors=True)
    cases.mkdir(parents=True)
    os.environ["XDG_DATA_HOME"] = str(cases / "home")
    marker = clean / "places.json"
    if not marker.exists():
        shutil.rmtree(clean, ignore_errors=True)
        dataset = niah_gen.build(_RECIPE, clean / "build", formats=["parquet", "jsonl"])
        windows = niah_gen.build("perplexity", clean / "build", overrides=_WINDOWS, formats=["jsonl"])
        parts = niah_gen.build(_RECIPE, clean / "parts", formats=["jsonl"], shard=(1, 2))
        niah_gen.build(_RECIPE, clean / "parts", formats=["jsonl"], shard=(2, 2))
        ids = [json.loads(line)["id"] for file in dataset.glob("jsonl/*/*") for line in file.open()]
        said = [{"id": name, "prediction": "Blue, 1417. " * 3} for name in ids]
        _lines(clean / "said.jsonl", said)
        invoked = run(f"niah-score score {dataset} {clean}/said.jsonl --out {clean}/scores")
        assert invoked.code == 0, invoked.said
        invoked = run(f"niah-score judge export {dataset} {clean}/scores --model m --out {clean}/requests")
        assert invoked.code == 0, invoked.said
        asked = [json.loads(line) for file in (clean / "requests").iterdir() for line in file.open()]
        message = {"role": "assistant", "content": "Rating: [[7]]"}
        body = {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        given = [
            {"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}, "error": None}
            for request in asked
        ]
        _lines(clean / "verdicts.jsonl", given)
        sums = [{"id": i, "condition": c, "logprob_sum": -1.0, "token_count": 2}
                for i in ids for c in ("full", "alone", "needle")]  # fmt: skip
        _lines(clean / "gains.jsonl", sums)
        spans = [json.loads(line) for file in windows.glob("jsonl/*/*") for line in file.open()]
        _lines(clean / "logprobs.jsonl", [
            {"id": row["id"], "logprob_sum": -9.5,
             "token_count": row["target_token_span"]["end"] - row["target_token_span"]["start"]} for row in spans
        ])  # fmt: skip
        marker.write_text(json.dumps([str(dataset), str(windows), str(parts)]))
    dataset, windows, parts = map(Path, json.loads(marker.read_text()))
    shutil.copy(CORPUS / "rows" / "rows.jsonl", cases / "rows.jsonl")
    rows = [json.loads(line) for line in (cases / "rows.jsonl").open()]
    _lines(cases / "answers-to-rows.jsonl", [{"id": row["id"], "prediction": row["answers"][0]} for row in rows])
    (cases / "longbench.toml").write_text(
        'name = "own"\ntask = "longbench-file"\nlanguages = ["en"]\n'
        '[options]\ndataset = "passage_retrieval_en"\nrows = 2\n'
    )
    for name in ("said", "gains", "logprobs"):
        shutil.copy(clean / f"{name}.jsonl", cases / f"{'answers' if name == 'said' else name}.jsonl")
    seen = [{"id": name, "answers": ["x"], "keywords": [["1 417"]], "keyword_kinds": ["number"], "language": "xx"}
            for name in [json.loads(line)["id"] for line in (clean / "said.jsonl").open()]]  # fmt: skip
    _lines(cases / "rows-xx.jsonl", seen)
    (cases / "needle-xx.toml").write_text(
        '[gate]\nlanguage = "xx"\nneedle = "Das Stadttor von Ostrel wird am 3. März mit 1.418 Kerzen erleuchtet."\n'
        'question = "Mit wie vielen Kerzen?"\nanswer = "Mit 1.418 Kerzen."\nkeywords = [{number = 1418}]\n', "utf-8",
    )  # fmt: skip
    return Place(cases, dataset, windows, clean / "scores", parts, clean / "verdicts.jsonl")


def _lines(path: Path, records: Sequence[object]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


def one_case(place: Place, name: str, number: int) -> list[str]:
    """What is wrong with how one case ended."""
    rng = random.Random(f"{name}/{number}")
    found = []
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        for ended in READERS[name].case(place, rng):
            if ended.code not in _CODES:
                found.append(f"exit code {ended.code}: {ended.said[-300:]}")
            elif ended.code in (2, 4, 5) and ended.named and not any(part in ended.said for part in ended.named):
                found.append(f"exit code {ended.code} names none of {ended.named}: {ended.said[-300:]}")
            if "Traceback" in ended.said:
                found.append(f"a traceback: {ended.said[-300:]}")
    except Exception as error:
        import traceback

        where = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in where if "/niah_" in frame.filename]
        at = "; ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in ours[-3:])
        found.append(f"{type(error).__name__}: {str(error)[:200]} at {at}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        for folder in (place.work / "out", place.work / "damaged"):
            shutil.rmtree(folder, ignore_errors=True)
    return found


def main() -> None:
    """Run the cases that the command line names."""
    work, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    names = sys.argv[4:] or list(READERS)
    place = prepared(work)
    os.chdir(place.work)
    spent: dict[str, float] = {}
    for number in range(first, last):
        for name in names:
            begun = time.process_time()
            for step in range(READERS[name].pace):
                case = number * READERS[name].pace + step
                (work / "case").write_text(f"{number} {name} {case}")
                for fault in one_case(place, name, case):
                    print(json.dumps([name, case, fault], ensure_ascii=True), flush=True)
            spent[name] = spent.get(name, 0.0) + time.process_time() - begun
    (work / "case").write_text("done")
    if os.environ.get("NIAH_FUZZ_TIMES"):
        print(json.dumps(spent), file=sys.stderr)


if __name__ == "__main__":
    main()
