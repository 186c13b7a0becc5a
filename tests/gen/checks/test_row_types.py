"""A value or line that does not fit the schema is named, and nothing else of its row is checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from proofs import ENGLISH, of_rows, problems_of, read, seal, write


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("length", "700", "length is '700', expected int"),
        ("length", 700.0, "length is 700.0, expected int"),
        ("length", True, "length is True, expected int"),
        ("repeat", 2**40, "repeat is 1099511627776, expected int"),
        ("depth_percent", 40, "depth_percent is 40, expected float | None"),
        ("depth_percent", float("nan"), "depth_percent is nan, expected float | None"),
        ("id", None, "id is None, expected str"),
        ("question", "\ud800", r"question is '\ud800', expected str | None"),
        ("prompt", None, "prompt is None, expected str"),
        ("prompt", "half \udc00 a pair", "prompt is"),
        ("prompt", [{"role": "user", "content": "Hello"}], "prompt is [{"),
        ("answers", "Drawer 417.", "answers is 'Drawer 417.', expected list[str]"),
        ("answers", [None], "answers is [None], expected list[str]"),
        ("needle_spans", [[1, 2]], "needle_spans is [[1, 2]], expected list[Span]"),
        ("needle_spans", [{"start": 1}], "needle_spans is [{'start': 1}], expected list[Span]"),
        ("needle_spans", [{"start": "1", "end": 2}], "needle_spans is"),
        ("needle_depths", [None], "needle_depths is [None], expected list[float]"),
        ("haystack_tokens", {"a": 1}, "haystack_tokens is {'a': 1}, expected int"),
        ("hint", "417", "column 'hint' is not one of schema version 1"),
    ],
)
def test_a_value_of_the_wrong_type_is_the_only_problem_of_its_row(
    copy: Path, column: str, value: object, words: str
) -> None:
    rows = read(copy)
    rows[0][column] = value
    write(copy, rows)
    where = f"{ENGLISH} row 1 ({rows[0]['id']}): " if rows[0]["id"] else f"{ENGLISH} row 1: "
    (problem,) = of_rows(problems_of(copy))
    assert problem.startswith(where + words)


def test_a_missing_column_is_named(copy: Path) -> None:
    rows = read(copy)
    del rows[0]["needle_depths"]
    write(copy, rows)
    (problem,) = of_rows(problems_of(copy))
    assert problem.endswith("column needle_depths is missing")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"", "the row cannot be read (Expecting value"),
        (b"{", "the row cannot be read (Expecting property name"),
        (b"\xff{}", "the row cannot be read ('utf-8' codec"),
        ('{"id": 1}'.encode("utf-16-le"), "the row cannot be read"),
        (b"[" * 100_000, "the row cannot be read (maximum recursion"),
        (b'{"length": ' + b"9" * 5000 + b"}", "the row cannot be read (Exceeds the limit"),
        (b"null", "the row is None, expected an object"),
        (b"[1]", "the row is [1], expected an object"),
    ],
)
def test_a_line_that_is_not_a_row_is_named_and_others_are_proved(copy: Path, line: bytes, words: str) -> None:
    data = (copy / ENGLISH).read_bytes().splitlines()
    data[1] = line
    seal(copy, ENGLISH, b"\n".join(data), 3)
    (problem,) = of_rows(problems_of(copy))
    assert problem.startswith(f"{ENGLISH} row 2: {words}")
