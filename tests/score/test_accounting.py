"""Every row and line is accounted for: the counts match any damage done to the files, against a slow reference."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from made import Record, made
from properties import FACTOR, examples

from niah_score.errors import ScoreError
from niah_score.evaluation import evaluate
from niah_score.join.join import Lines

ROWS = [{**row, "prompt_sha256": sha256(f"prompt {row['id']}".encode()).hexdigest()} for row in made(8)]


class Reply(NamedTuple):
    """A line of an answer file: the row that it answers (from 8 on, no row of the dataset) and what it holds.

    `what`: right, wrong, null, blank, error (a failed request), retyped (no text), broken (no record at all). `told`:
    what says which row it is: id, prompt, id and prompt, foreign id and prompt, or id and other prompt.
    """

    row: int
    what: str
    told: str = "id"


class Written(NamedTuple):
    """A file: how it is packed, its lines, and whether its last one was cut off, as by a killed writer."""

    form: str
    lines: tuple[Reply, ...]
    cut: bool
    blank: bool


TEXTS = {"wrong": "No idea.", "blank": " ", "null": None}
EVERYWHERE = ("right", "right", "right", "wrong", "blank")
# What each form of file can hold besides.
MORE = {
    "jsonl": ("null", "retyped", "broken", "error"), "gz": ("null", "retyped", "broken", "error"),
    "zst": ("null", "retyped", "broken", "error"), "array": ("null", "retyped", "error"), "csv": ("broken",),
    "tsv": ("broken",), "parquet": ("null",), "batch": ("null", "retyped", "broken", "error"),
}  # fmt: skip
TOLD = ("id", "id and prompt", "prompt", "foreign id and prompt", "id and other prompt")
_RETYPED: tuple[Any, ...] = (5, 1.5, True, {"x": 1}, [1, 2])


def name_of(row: int) -> str:
    return str(ROWS[row]["id"]) if row < len(ROWS) else f"other-{row}"


def text_of(reply: Reply) -> Any:
    return f"I think {ROWS[reply.row % 8]['answers'][0]}" if reply.what == "right" else TEXTS.get(reply.what)


def plain(reply: Reply) -> Record:
    record: Record = {"prediction": text_of(reply)}
    if "id" in reply.told:
        record["id"] = "foreign" if "foreign" in reply.told else name_of(reply.row)
    if "prompt" in reply.told:
        record["prompt"] = "another" if "other" in reply.told else f"prompt {name_of(reply.row)}"
    if reply.what == "retyped":
        record["prediction"] = _RETYPED[reply.row % len(_RETYPED)]
    return record | ({"error": "boom"} if reply.what == "error" else {})


def batch(reply: Reply) -> Record:
    """A line of an OpenAI batch output."""
    record: Record = {"id": "batch_req_1", "custom_id": name_of(reply.row), "response": None, "error": None}
    if reply.what == "error":
        return record | {"error": {"code": "server_error", "message": "boom"}}
    message = {"role": "assistant", "content": plain(reply)["prediction"]}
    body = {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    return record | {"response": {"status_code": 200, "body": body}}


def json_lines(file: Written, record: Callable[[Reply], Record]) -> bytes:
    first = [record(Reply(99, "right"))]  # a file's format is recognised by its first records
    lines = [json.dumps(one) for one in first]
    lines += ['{"id": "row-001"' if reply.what == "broken" else json.dumps(record(reply)) for reply in file.lines]
    text = ("\n\n" if file.blank else "\n").join(lines) + "\n"
    return (text[:-4] if file.cut and file.lines else text).encode()


def table(file: Written, separator: str) -> bytes:
    sink = io.StringIO(newline="")
    rows = csv.writer(sink, delimiter=separator, quoting=csv.QUOTE_ALL)
    rows.writerows([("id", "prediction"), (name_of(99), "x")])
    for reply in file.lines:
        rows.writerow((name_of(reply.row), text_of(reply), "one too many")[: 3 if reply.what == "broken" else 2])
    return sink.getvalue().encode()


def parquet(file: Written) -> bytes:
    sink = io.BytesIO()
    lines = (Reply(99, "right"), *file.lines)
    names, texts = [name_of(reply.row) for reply in lines], [text_of(reply) for reply in lines]
    pq.write_table(pa.table({"id": names, "output": pa.array(texts, pa.string())}), sink, write_page_checksum=True)
    return sink.getvalue()


FORMS: dict[str, tuple[str, Callable[[Written], bytes]]] = {
    "jsonl": (".jsonl", lambda file: json_lines(file, plain)),
    "gz": (".jsonl.gz", lambda file: gzip.compress(json_lines(file, plain), mtime=0)),
    "zst": (".jsonl.zst", lambda file: zstandard.compress(json_lines(file, plain))),
    "array": (".json", lambda file: json.dumps([plain(reply) for reply in (Reply(99, "right"), *file.lines)]).encode()),
    "csv": (".csv", lambda file: table(file, ",")),
    "tsv": (".tsv", lambda file: table(file, "\t")),
    "parquet": (".parquet", parquet),
    "batch": (".jsonl", lambda file: json_lines(file, batch)),
}


def files() -> st.SearchStrategy[list[Written]]:
    def of_form(form: str) -> st.SearchStrategy[Written]:
        told = st.sampled_from(TOLD if form in ("jsonl", "gz", "zst", "array") else TOLD[:1])
        reply = st.builds(Reply, st.integers(0, 9), st.sampled_from((*EVERYWHERE, *MORE[form])), told)
        cut = st.booleans() if form in ("jsonl", "gz", "zst", "batch") else st.just(False)
        return st.builds(Written, st.just(form), st.lists(reply, max_size=8).map(tuple), cut, st.booleans())

    return st.lists(st.sampled_from(sorted(FORMS)).flatmap(of_form), min_size=1, max_size=3)


def counted(written: Sequence[Written], mode: str) -> tuple[Lines, dict[str, int], list[Reply | None], bool]:
    """The expected outcome, by going through the lines in order; the last value says whether a row has two answers."""
    counts: Counter[str] = Counter()
    kept: list[Reply | None] = [None] * len(ROWS)
    ambiguous = False
    for file in written:
        for place, reply in enumerate((Reply(99, "right"), *file.lines)):
            counts["read"] += 1
            if reply.what in ("retyped", "broken") or (file.cut and 0 < place == len(file.lines)):
                counts["malformed"] += 1
                continue
            if reply.row >= len(ROWS):
                counts["unknown"] += 1
                continue
            before = kept[reply.row]
            if before is None:
                counts["used"] += 1
                kept[reply.row] = reply
                continue
            counts["duplicate"] += 1
            ambiguous = ambiguous or "error" not in (reply.what, before.what)
            if (reply.what == "error", mode != "last") < (before.what == "error", True):
                kept[reply.row] = reply
    lines = Lines(*(counts[name] for name in Lines._fields))
    statuses = Counter("missing" if reply is None else _STATUS.get(reply.what, "ok") for reply in kept)
    return lines, dict(statuses), kept, ambiguous


_STATUS = {"blank": "empty", "null": "empty", "error": "error"}


# Eighty in `make test-slow`, ten thousand in `make soak`.
@examples(80 if FACTOR == 1 else 250, HealthCheck.data_too_large)
@given(written=files(), mode=st.sampled_from(["error", "first", "last"]), turned=st.integers(0, 3))
def test_the_counts_match_the_damage_done_to_the_files(
    tmp_path_factory: pytest.TempPathFactory, written: list[Written], mode: Any, turned: int
) -> None:
    folder: Path = tmp_path_factory.getbasetemp() / "accounting"
    folder.mkdir(exist_ok=True)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    paths = [folder / f"{number}{FORMS[file.form][0]}" for number, file in enumerate(written)]
    for path, file in zip(paths, written, strict=True):
        path.write_bytes(FORMS[file.form][1](file))
    lines, statuses, kept, ambiguous = counted(written, mode)

    def scored() -> Any:
        return evaluate(folder / "rows.jsonl", paths, missing="zero", on_duplicate=mode, metrics=["keyword"])

    if not any(kept) or (mode == "error" and ambiguous):
        expected = "answer the same row again" if mode == "error" and ambiguous else "belongs to dataset|no answers"
        with pytest.raises(ScoreError, match=expected):
            scored()
        return
    report = scored()
    assert report.exit_code == 3  # each file begins with an answer to no row
    assert report.lines == lines
    assert report.lines.read == sum(report.lines[1:])
    assert {status: count for status, count in report.statuses.items() if count} == statuses
    assert sum(report.statuses.values()) == len(ROWS)
    assert report.scores["score"].to_list() == [
        100.0 if expected and expected.what == "right" else 0.0 for expected in kept
    ]
    kinds = Counter(problem.kind for problem in report.problems)
    expected_kinds = {
        "missing": statuses.get("missing", 0),
        **{k: getattr(lines, k) for k in ("duplicate", "unknown", "malformed")},
    }
    expected_kinds["other_prompt"] = sum(
        one is not None and "other" in one.told and one.what != "error" for one in kept
    )
    assert dict(kinds) == {kind: count for kind, count in expected_kinds.items() if count}
    # Where no row is answered twice, the order in which files are named does not matter either.
    if not lines.duplicate and turned == 3:
        paths.reverse()
        again = scored()
        assert (again.lines, again.statuses) == (report.lines, report.statuses)
        assert again.scores.equals(report.scores)
