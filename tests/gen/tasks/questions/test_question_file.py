"""Files of question sets: what is read from them, and what is refused with its line and field."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from each import each
from question_sets import write_set

from niah_gen.errors import RecipeError
from niah_gen.tasks.questions.question_file import read_questions

ROW = {"document": "Ida Holt lit the lamp.", "question": "Who?", "answers": ["Ida"]}


def problems_of(path: Path, form: str = "", columns: tuple[str, ...] = ()) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        read_questions(path, form, columns)
    return list(caught.value.problems)


def of_rows(tmp_path: Path, *rows: dict[str, Any], name: str = "own.jsonl") -> Path:
    return write_set(tmp_path / name, list(rows))


@each("name", ["own.jsonl", "own.parquet"])
def test_questions_can_be_read_in_any_order(name: str, tmp_path: Path) -> None:
    rows = [{**ROW, "document": f"{ROW['document']} It was night {number}."} for number in range(9)]
    file = read_questions(of_rows(tmp_path, *rows, name=name), "", ())
    assert (file.form.name, list(file.places)) == ("plain", [f"q{number}" for number in range(1, 10)])
    for number in (0, 8, 3, 4, 4, 1):
        document, item = file.question(f"q{number + 1}")
        assert (item.id, document) == (f"q{number + 1}", rows[number]["document"])


def test_blank_lines_windows_line_ends_and_a_byte_order_mark_add_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    line = json.dumps(ROW).encode()
    path.write_bytes(b"\xef\xbb\xbf" + line + b"\r\n\r\n" + line + b"\n \n")
    file = read_questions(path, "", ())
    assert list(file.places) == ["q1", "q3"]
    assert file.question("q3").document == ROW["document"]


def test_files_of_another_kind_are_refused_with_a_remedy(tmp_path: Path) -> None:
    of_rows(tmp_path, ROW, name="own.parquet").rename(tmp_path / "own.pq")
    for name, data, problem in (
        # The command never overwrites the array.
        ("own.jsonl", json.dumps([ROW]).encode(), "> own-lines.jsonl"),
        ("own.json", json.dumps([ROW]).encode(), "> own.jsonl"),
        ("own.jsonl.gz", gzip.compress(b"{}"), "is packed with gzip, expected plain JSON Lines; unpack it"),
        ("own.pq", (tmp_path / "own.pq").read_bytes(), "is Parquet by its content; rename it to end in .parquet"),
        ("none.jsonl", b"\n", "none.jsonl has no rows"),
    ):
        (tmp_path / name).write_bytes(data)
        (reported,) = problems_of(tmp_path / name)
        assert reported.startswith(f"options.file: {name}")
        assert reported.endswith(problem)


def test_up_to_twenty_problems_are_reported_with_line_and_field(tmp_path: Path) -> None:
    path = of_rows(tmp_path, ROW, {**ROW, "answers": [], "question": ""}, *[{**ROW, "document": 1}] * 30)
    problems = problems_of(path)
    assert problems[:2] == [
        "options.file: own.jsonl:2: question: expected a text that is not blank; found ''",
        "options.file: own.jsonl:2: answers: expected a text or a list of texts, none of them blank; found []",
    ]
    assert problems[2] == "options.file: own.jsonl:3: document: expected a text that is not blank; found 1"
    assert len(problems) == 21
    assert problems[20] == "options.file: and 12 more of that file"


def test_unknown_columns_are_reported_with_all_forms_and_a_remedy(tmp_path: Path) -> None:
    (problem,) = problems_of(of_rows(tmp_path, {"text": "x", "query": "y", "gold": "z"}))
    assert "own.jsonl has the columns text, query, gold, which fit no known form" in problem
    for name in ("plain: document, question, answers", "babilong: input, question, target", "longbench-v2: "):
        assert name in problem
    assert 'options.columns=["document=text", "question=query", "answers=gold"]' in problem


def test_columns_can_be_mapped_to_fields(tmp_path: Path) -> None:
    path = of_rows(tmp_path, {"text": ROW["document"], "query": "Who?", "gold": "Ida", "question": "another"})
    file = read_questions(path, "", ("document=text", "question=query", "answers=gold"))
    document, item = file.question("q1")
    assert (document, item.question, item.answers) == (ROW["document"], "Who?", ("Ida",))


def test_the_files_own_ids_are_used_only_if_all_are_present_and_distinct(tmp_path: Path) -> None:
    own = read_questions(of_rows(tmp_path, {**ROW, "id": 7}, {**ROW, "id": "b"}), "", ())
    assert list(own.places) == ["7", "b"]
    twice = read_questions(of_rows(tmp_path, {**ROW, "id": "a"}, {**ROW, "id": "a"}, name="2.jsonl"), "", ())
    some = read_questions(of_rows(tmp_path, {**ROW, "id": "a"}, ROW, name="3.jsonl"), "", ())
    assert list(twice.places) == list(some.places) == ["q1", "q2"]


def test_broken_and_missing_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(json.dumps(ROW).encode() + b'\n{"a": \n[1]\n')
    assert [problem.partition(" (")[0] for problem in problems_of(tmp_path / "bad.jsonl")] == [
        "options.file: bad.jsonl:2: not a JSON object in UTF-8",
        "options.file: bad.jsonl:3: expected a JSON object, found list",
    ]
    (tmp_path / "bad.parquet").write_bytes(b"PAR1")
    assert "bad.parquet is not a readable Parquet file" in problems_of(tmp_path / "bad.parquet")[0]
    assert "cannot be read" in problems_of(tmp_path / "gone.jsonl")[0]


def test_a_file_changed_while_it_is_read_is_reported(tmp_path: Path) -> None:
    path = of_rows(tmp_path, ROW, {**ROW, "question": "Why?"})
    file = read_questions(path, "", ())
    path.write_text("{}\n{}\n")
    with pytest.raises(RecipeError, match=r"own\.jsonl:2 was changed while it was read"):
        file.question("q2")
