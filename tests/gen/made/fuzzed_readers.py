"""Gives damaged files to every reader, and prints a line for each case that does not end as documented.

    python fuzzed_readers.py WORK FIRST LAST [READER ...]

Runs cases FIRST to LAST - 1 of each reader, the readers in turn, and writes the number of the current case to
WORK/case, so that a parent can tell where this process crashed. A case must exit with code 0, 2, 3, 4 or 5, name the
file or its folder unless the code is 0 or 3, and raise no other exception. Its processor time, which other processes
cannot use up, is bounded: a case that needs more is killed by SIGPROF.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
from pathlib import Path

from changed_rows import rows_of
from fuzzed_kinds import CORPUS, PACE, READERS, Place, run
from made_log_probs import sums_of, window_sums_of, written
from planned_answers import SERVICES, Planned, answer_all

import niah_gen

SECONDS = 20.0
_CODES = (0, 2, 3, 4, 5)
_RECIPE = {"name": "fuzz", "lengths": [600], "depths": [0, 100], "needles": ["velden-archive"], "languages": ["en"]}
_WINDOWS = {"lengths": [128], "options": {"tokens": 128, "documents": 1}, "languages": ["en"]}


def prepared(work: Path) -> Place:
    """The folders that cases use, in WORK."""
    clean, cases = work / "clean", work / "cases"
    shutil.rmtree(cases, ignore_errors=True)
    cases.mkdir(parents=True)
    os.environ["XDG_DATA_HOME"] = str(cases / "home")
    shutil.rmtree(clean, ignore_errors=True)
    dataset = niah_gen.build(_RECIPE, clean / "build", formats=["parquet", "jsonl"])
    windows = niah_gen.build("perplexity", clean / "build", overrides=_WINDOWS, formats=["jsonl"])
    for part in (1, 2):
        parts = niah_gen.build(_RECIPE, clean / "parts", formats=["jsonl"], shard=(part, 2))
    ids = [row["id"] for row in rows_of(dataset)]
    answers = [{"id": name, "prediction": "Blue, 1417. " * 3} for name in ids]
    written(cases / "answers.jsonl", answers)
    for line in (
        f"niah-score score {dataset} {cases}/answers.jsonl --out {clean}/scores",
        f"niah-score judge export {dataset} {clean}/scores --model m --out {clean}/requests",
    ):
        invoked = run(line)
        assert invoked.code == 0, invoked.said
    service = SERVICES["openai-batch"]
    requests = service.requests(clean / "requests")
    verdicts = {request["custom_id"]: Planned("right", "Rating: [[7]]") for request in requests}
    answer_all(service, requests, verdicts, clean / "verdicts.jsonl")
    written(cases / "gains.jsonl", sums_of(ids))
    written(cases / "logprobs.jsonl", window_sums_of(rows_of(windows)))
    shutil.copy(CORPUS / "rows" / "rows.jsonl", cases / "rows.jsonl")
    rows = [json.loads(line) for line in (cases / "rows.jsonl").open()]
    written(cases / "answers-to-rows.jsonl", [{"id": row["id"], "prediction": row["answers"][0]} for row in rows])
    (cases / "longbench.toml").write_text(
        'name = "own"\ntask = "longbench-file"\nlanguages = ["en"]\n'
        '[options]\ndataset = "passage_retrieval_en"\nrows = 2\n'
    )
    seen = {"answers": ["x"], "keywords": [["1 417"]], "keyword_kinds": ["number"], "language": "xx"}
    written(cases / "rows-xx.jsonl", [{"id": name, **seen} for name in ids])
    (cases / "needle-xx.toml").write_text(
        '[gate]\nlanguage = "xx"\nneedle = "Das Stadttor von Ostrel wird am 3. März mit 1.418 Kerzen erleuchtet."\n'
        'question = "Mit wie vielen Kerzen?"\nanswer = "Mit 1.418 Kerzen."\nkeywords = [{number = 1418}]\n', "utf-8",
    )  # fmt: skip
    return Place(cases, dataset, windows, clean / "scores", parts, clean / "verdicts.jsonl")


def one_case(place: Place, name: str, number: int) -> list[str]:
    """Run one case; return what is wrong with how it ended."""
    rng = random.Random(f"{name}/{number}")
    faults = []
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        for ended in READERS[name](place, rng):
            if ended.code not in _CODES:
                faults.append(f"exit code {ended.code}: {ended.said[-300:]}")
            elif ended.code in (2, 4, 5) and ended.named and not any(part in ended.said for part in ended.named):
                faults.append(f"exit code {ended.code} names none of {ended.named}: {ended.said[-300:]}")
            if "Traceback" in ended.said:
                faults.append(f"a traceback: {ended.said[-300:]}")
    except Exception as error:
        import traceback

        where = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in where if "/niah_" in frame.filename]
        at = "; ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in ours[-3:])
        faults.append(f"{type(error).__name__}: {str(error)[:200]} at {at}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        # A corpus left by an earlier case would keep any other from being added under its name.
        for folder in ("out", "damaged", "home"):
            shutil.rmtree(place.work / folder, ignore_errors=True)
    return faults


def main() -> None:
    """Run the cases that the command line names."""
    work, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    names = sys.argv[4:] or list(READERS)
    place = prepared(work)
    os.chdir(place.work)
    for number in range(first, last):
        for name in names:
            for step in range(PACE.get(name, 1)):
                case = number * PACE.get(name, 1) + step
                (work / "case").write_text(f"{number} {name} {case}")
                for fault in one_case(place, name, case):
                    print(json.dumps([name, case, fault], ensure_ascii=True), flush=True)
    (work / "case").write_text("done")


if __name__ == "__main__":
    main()
