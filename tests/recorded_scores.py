"""Compares every value of twelve scored runs with the recorded ones, so that no change of a score goes unnoticed.

make same-scores                           compare; ends with 1 and names the values if any is another
python tests/recorded_scores.py --record   record again, after a change of scores that CHANGELOG declares

Each run is built and scored by the command line, as users do it. The answers are made here: right, wrong, hedged,
denied, wrapped in markup or reasoning, cut off, empty, failed. Recorded are the summaries, the cells, the scores, the
comparisons, perplexity and gain. A number is equal if it differs by less than 1e-9 of itself, so that sums may be
taken in another order.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl

from niah_score.contract import METRIC_NAMES

RECORD = Path(__file__).with_name("recorded_scores.json.gz")
_SHOWN = 40
# What summary.json says of the release and of the files beside it, in which paths of this machine stand.
_NOT_SCORES = ("version", "sha256", "self_sha256", "bytes", "size")

# By name: what is built.
DATASETS: dict[str, tuple[str, ...]] = {
    "default": ("default", "--length", "1000,2000", "--worlds", "2"),
    "chats": ("default", "--length", "2000", "--rows-per-context", "4", "--language", "zh"),
    "plain": ("plain", "--length", "1000,2000", "--repeats", "2", "--set", 'controls=["absent","no_context"]'),
    "key-values": ("key-values", "--length", "1000,2000"),
    "gkamradt": ("gkamradt-single", "--corpus", "en_essays", "--length", "1000,2000"),
    "cdme": ("cdme-8k", "--corpus", "zh_articles", "--length", "1000,2000"),
    "ruler": ("ruler-vt", "--length", "4096", "--repeats", "12"),
    "longbench": ("longbench-passage_retrieval_en", "--corpus", "en_essays"),
    "common-words": ("common-words", "--length", "4000"),
    "perplexity": ("perplexity", "--length", "1000", "--set", "options.tokens=1000", "--set", "options.documents=4"),
}
# By name: the dataset, the writer of its answers, and the options of `niah-score score`.
RUNS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "default": ("default", "plain", ()),
    "default, another model": ("default", "openai", ()),
    "chats, missing": ("chats", "gappy", ("--missing", "zero")),
    "plain, excluded": ("plain", "gappy", ("--missing", "exclude", "--metric", "exact", "--metric", "word_f1")),
    "plain, mean of samples": ("plain", "samples", ("--samples", "mean")),
    "plain, majority of samples": ("plain", "samples", ("--samples", "majority", "--text", "raw")),
    "key-values as CSV": ("key-values", "csv", ("--text", "extracted")),
    "gkamradt's results": ("gkamradt", "gkamradt", ()),
    "OpenCompass's predictions": ("cdme", "opencompass", ()),
    "RULER's predictions": ("ruler", "ruler", ()),
    "LongBench's predictions": ("longbench", "longbench", ("--by-order",)),
    "every metric": ("common-words", "parquet", tuple(part for name in METRIC_NAMES for part in ("--metric", name))),
}
COMPARED = {
    "two runs": ("default", "default, another model"),
    "samples": ("plain, mean of samples", "plain, majority of samples"),
}


def main(arguments: Sequence[str]) -> int:
    """Compare or record; the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        found = values(Path(folder))
    if "--record" in arguments:
        RECORD.write_bytes(gzip.compress(json.dumps(found, sort_keys=True).encode(), mtime=0))
        print(f"{len(found):,} values recorded")
        return 0
    expected = json.loads(gzip.decompress(RECORD.read_bytes()))
    other = [
        name
        for name in sorted(expected.keys() | found.keys())
        if not _equal(expected.get(name, "nothing"), found.get(name, "nothing"))
    ]
    for name in other[:_SHOWN]:
        print(f"{name}: {found.get(name, 'nothing')!r}, recorded {expected.get(name, 'nothing')!r}", file=sys.stderr)
    print(f"{len(expected) - len(other):,} of {len(expected):,} values are the recorded ones")
    return 1 if other else 0


def _equal(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(one) and math.isnan(other))
    return one == other


def values(folder: Path) -> dict[str, Any]:
    """Every value of every run by its name, such as `default/summary.json/overall/mean`."""
    with ThreadPoolExecutor(2) as pool:
        built = dict(zip(DATASETS, pool.map(lambda name: _build(folder, name), DATASETS), strict=True))
        runs = pool.map(lambda name: _scored(folder, built, name), RUNS)
        found = {f"{name}/{key}": value for name, own in zip(RUNS, runs, strict=True) for key, value in own.items()}
        others = [
            *((f"compared, {name}", lambda pair=pair: _compared(folder, pair)) for name, pair in COMPARED.items()),
            ("perplexity", lambda: _log_probabilities(folder, built["perplexity"], "perplexity")),
            ("gain", lambda: _log_probabilities(folder, built["plain"], "gain")),
        ]
        for (name, _), own in zip(others, pool.map(lambda one: one[1](), others), strict=True):
            found |= {f"{name}/{key}": value for key, value in own.items()}
    return found


def _run(folder: Path, module: str, *arguments: str, accepted: Sequence[int] = (0, 3)) -> str:
    """Run a command; its last line. Exit code 3 says that some lines could not be used, which some runs want."""
    command = [sys.executable, "-m", module, *arguments]
    environment = {**os.environ, "NIAH_CORPORA": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    if done.returncode not in accepted:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""


def _build(folder: Path, name: str) -> Path:
    return folder / _run(folder, "niah_gen.cli", "build", *DATASETS[name], "--out", f"built/{name}")


def _rows(dataset: Path) -> list[dict[str, Any]]:
    """The rows of a dataset in its order."""
    listed = json.loads((dataset / "manifest.json").read_text())["files"]
    files = [
        dataset / file["path"]
        for file in listed
        if file["path"].startswith("data/") and file["path"].endswith(".parquet")
    ]
    return [row for file in files for row in pl.read_parquet(file).to_dicts()]


def _scored(folder: Path, built: Mapping[str, Path], name: str) -> dict[str, Any]:
    dataset, form, options = RUNS[name]
    answers, out = folder / "answers" / name, folder / "scores" / name
    answers.mkdir(parents=True)
    rows = _rows(built[dataset])
    WRITERS[form](answers, [(row, spoken(row, rows, name)) for row in rows])
    # Some formats say the model and others do not; both are named as the run.
    said = ("--model", name, "--out", str(out), *options)
    _run(folder, "niah_score.cli", "score", str(built[dataset]), str(answers), *said)
    return dict(_of_folder(out))


def _of_folder(out: Path) -> Iterator[tuple[str, Any]]:
    """Every value of the JSON, CSV and Parquet files of a folder."""
    for file in sorted(out.rglob("*")):
        name = file.relative_to(out).as_posix()
        if file.suffix == ".json":
            yield from _flat(json.loads(file.read_text()), name)
        elif file.suffix == ".csv":
            for number, line in enumerate(csv.reader(file.open(encoding="utf-8-sig", newline=""))):
                yield f"{name}/{number}", [_number(value) for value in line] if len(line) < 2 else ",".join(line)
        elif file.suffix == ".jsonl":
            yield f"{name}/lines", sum(1 for _ in file.open())
        elif file.suffix == ".parquet":
            table = pl.read_parquet(file)
            yield f"{name}/columns", ",".join(table.columns)
            for column in table.columns:
                held = [_rounded(value) for value in table[column].to_list()]
                yield f"{name}/{column}", hashlib.sha256(json.dumps(held, ensure_ascii=False).encode()).hexdigest()[:16]


def _flat(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}/{key}")
    elif isinstance(value, list):
        yield f"{name}/items", len(value)
        for number, inner in enumerate(value):
            yield from _flat(inner, f"{name}/{number}")
    elif name.rpartition("/")[2] not in _NOT_SCORES:
        yield name, value


def _rounded(value: Any) -> Any:
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _compared(folder: Path, runs: Sequence[str]) -> dict[str, Any]:
    out = folder / "compared" / runs[0]
    _run(folder, "niah_score.cli", "compare", *(str(folder / "scores" / run) for run in runs), "--out", str(out))
    return dict(_of_folder(out))


def _log_probabilities(folder: Path, dataset: Path, command: str) -> dict[str, Any]:
    """The figures of log-probabilities that are drawn for each token, or for each condition of `gain`."""
    lines = []
    for row in _rows(dataset):
        draw = random.Random(f"{command} {row['id']}")
        if command == "perplexity":
            drawn = [None, *(round(-draw.expovariate(0.4), 6) for _ in range(row["prompt_tokens"] - 1))]
            if draw.random() < 0.1:
                drawn[draw.randrange(1, len(drawn))] = None
            lines.append({"id": row["id"], "token_logprobs": drawn})
        elif row["control"] is None:
            for condition, mean in (("full", 2.0), ("alone", 9.0), ("needle", 1.0)):
                if draw.random() < 0.97:
                    drawn_sum = round(-draw.expovariate(1 / mean), 6)
                    lines.append({"id": row["id"], "condition": condition, "logprob_sum": drawn_sum, "token_count": 4})
    file, out = folder / f"{command}.jsonl", folder / "scores" / command
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    missing = "partial" if command == "perplexity" else "exclude"
    _run(folder, "niah_score.cli", command, str(dataset), str(file), "--missing", missing, "--out", str(out))
    return dict(_of_folder(out))


_ENGLISH = {
    "sentence": "The answer is {}.", "denied": "It is not {}.", "hedged": "It might be {}, or perhaps {other}.",
    "absent": "The text does not say.", "refused": "I'm sorry, but I can't help with that.",
    "both": "Either {} or {other}.", "corrected": "{other}. No, wait: {}.", "thought": "Let me look for it.",
}  # fmt: skip
_CHINESE = {
    "sentence": "答案是{}。", "denied": "不是{}。", "hedged": "可能是{}，也可能是{other}。", "absent": "文中没有提到。",
    "refused": "抱歉，我无法回答这个问题。", "both": "{}或者{other}。", "corrected": "{other}。不对，应该是{}。",
    "thought": "让我找一找。",
}  # fmt: skip
_KINDS = (
    "right", "right", "right", "sentence", "sentence", "needle", "upper", "bold", "json", "boxed", "thinking", "final",
    "list", "partly", "denied", "hedged", "both", "corrected", "other", "decoy", "absent", "refused", "cut", "empty",
    "failed", "prompt",
)  # fmt: skip


def spoken(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], run: str) -> tuple[str, str]:
    """An answer to a row, and the kind that was drawn for it."""
    draw = random.Random(f"{run} {row['id']}")
    kind = draw.choice(_KINDS)
    phrases = _CHINESE if row["language"] == "zh" else _ENGLISH
    right = row["answers"][0] if row["answers"] else "42"
    other = draw.choice(rows)
    wrong = other["answers"][0] if other["answers"] else "41"
    decoy = draw.choice(row["decoys"])[0] if row["decoys"] else wrong
    prompt = row["prompt"] if isinstance(row["prompt"], str) else row["prompt"][-1]["content"]
    keywords = [group[0] for group in row["keywords"]] or [right]
    spoken = {
        "right": right,
        "needle": (row["needles"] or [right])[0],
        "upper": right.upper(),
        "bold": f"**{right}**",
        "json": json.dumps({"answer": right}, ensure_ascii=False),
        "boxed": f"So \\boxed{{{right}}}",
        "list": "\n".join(f"- {word}" for word in keywords),
        "thinking": f"<think>{phrases['thought']} {wrong}</think>\n{right}",
        "final": f"{phrases['thought']}\n\nFinal answer: {right}",
        "partly": ", ".join(keywords[: max(1, len(keywords) // 2)]),
        "other": wrong,
        "decoy": phrases["sentence"].format(decoy),
        "cut": right[: len(right) // 2],
        "empty": "",
        "failed": "",
        "prompt": prompt[-300:],
    }
    text = spoken[kind] if kind in spoken else phrases[kind].format(right.rstrip(".。"), other=decoy.rstrip(".。"))
    return text, kind


Answers = Sequence[tuple[Mapping[str, Any], tuple[str, str]]]


def _lines(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")


def _finish(kind: str) -> str:
    return "length" if kind == "cut" else "stop"


def _plain(folder: Path, answers: Answers) -> None:
    failed = {"error": "500: the server was busy"}
    _lines(folder / "a.jsonl", [
        {"id": row["id"], "prediction": text, "finish_reason": _finish(kind), **(failed if kind == "failed" else {})}
        for row, (text, kind) in answers
    ])  # fmt: skip


def _gappy(folder: Path, answers: Answers) -> None:
    """Every seventh answer is missing, one line belongs to no row, and one is no JSON."""
    _plain(folder, [answer for number, answer in enumerate(answers) if number % 7])
    with (folder / "a.jsonl").open("a") as file:
        file.write('{"id": "nobody", "prediction": "42"}\n{"id": \n')


def _samples(folder: Path, answers: Answers) -> None:
    """Three answers to each row, the last from the next row."""
    _plain(folder, [*answers, *answers, *((row, answers[number - 1][1]) for number, (row, _) in enumerate(answers))])


def _openai(folder: Path, answers: Answers) -> None:
    records = []
    for row, (text, kind) in answers:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": _finish(kind)}
        response = {"status_code": 200, "body": {"object": "chat.completion", "choices": [choice]}}
        error = {"code": "server_error", "message": "busy"} if kind == "failed" else None
        records.append({"custom_id": row["id"], "response": None if error else response, "error": error})
    _lines(folder / "a.jsonl", records)


def _csv(folder: Path, answers: Answers) -> None:
    with (folder / "a.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "prediction"), *((row["id"], text) for row, (text, _) in answers)])


def _parquet(folder: Path, answers: Answers) -> None:
    columns = {"id": [row["id"] for row, _ in answers], "prediction": [text for _, (text, _) in answers]}
    pl.DataFrame(columns).write_parquet(folder / "a.parquet")


def _gkamradt(folder: Path, answers: Answers) -> None:
    for number, (row, (text, _)) in enumerate(answers):
        record = {
            "model": "m", "context_length": row["length"], "depth_percent": row["depth_percent"], "version": 1,
            "needle": row["needles"][0], "model_response": text, "score": 1,
        }  # fmt: skip
        (folder / f"{number}_results.json").write_text(json.dumps(record))


def _opencompass(folder: Path, answers: Answers) -> None:
    records = {}
    for number, (row, (text, _)) in enumerate(answers):
        asked = [{"role": "HUMAN", "prompt": row["prompt"]}]
        records[str(number)] = {"origin_prompt": asked, "prediction": text, "gold": row["answers"][0]}
    (folder / "cdme.json").write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")


def _ruler(folder: Path, answers: Answers) -> None:
    records = []
    for number, (row, (text, _)) in enumerate(answers):
        record = {"index": number, "pred": text, "input": row["prompt"], "outputs": row["answers"]}
        records.append({**record, "others": {}, "truncation": -1, "length": row["length"]})
    _lines(folder / "vt.jsonl", records)


def _longbench(folder: Path, answers: Answers) -> None:
    records = []
    for row, (text, _) in answers:
        records.append({"pred": text, "answers": row["answers"], "all_classes": None, "length": row["length"]})
    _lines(folder / "retrieval.jsonl", records)


WRITERS: dict[str, Callable[[Path, Answers], None]] = {
    "plain": _plain, "gappy": _gappy, "samples": _samples, "openai": _openai, "csv": _csv, "parquet": _parquet,
    "gkamradt": _gkamradt, "opencompass": _opencompass, "ruler": _ruler, "longbench": _longbench,
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
