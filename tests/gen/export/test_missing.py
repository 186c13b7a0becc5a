"""Which rows already have an answer: errors do not count, and answers to other datasets are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from niah_gen.errors import NiahError
from niah_gen.export.base import IndexedRow, indexed
from niah_gen.export.missing import answered
from niah_score.contract import open_dataset, sha256_hex

Write = Callable[..., Path]


@pytest.fixture(scope="module")
def index(grid: Path) -> list[IndexedRow]:
    return indexed(open_dataset(grid))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes records to a new JSON Lines file."""

    def lines(*records: dict[str, Any]) -> Path:
        file = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
        file.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
        return file

    return lines


def refused(paths: list[Path], index: list[IndexedRow]) -> str:
    with pytest.raises(NiahError) as caught:
        answered(paths, index)
    return str(caught.value)


def test_a_row_with_only_an_error_is_unanswered_until_a_retry_succeeds(index: list[IndexedRow], write: Write) -> None:
    one, two, three, four, *_ = (row.id for row in index)
    first = write(
        {"id": one, "prediction": "7"}, {"id": two, "error": "overloaded"}, {"id": three, "error": "overloaded"},
        {"id": four, "prediction": ""}, {"id": "stranger", "prediction": "7"},
    )  # fmt: skip
    second = write({"id": two, "prediction": "7"}, {"id": one, "error": "overloaded"})
    result = answered([first, second], index)
    assert result.ids == {one, two, four}
    assert (result.errors, result.strangers, result.broken) == (3, 1, 0)


def test_rows_that_share_a_prompt_each_need_their_own_answer(index: list[IndexedRow], write: Write) -> None:
    digest = sha256_hex(b"PROMPT")
    rows = [row._replace(prompt_sha256=digest) for row in index[:3]]
    answer = {"prompt": "PROMPT", "prediction": "7"}
    failed = {"prompt": "PROMPT", "error": "overloaded"}
    assert answered([write(answer)], rows).ids == {rows[0].id}
    assert answered([write(failed, answer)], rows).ids == {rows[1].id}
    assert answered([write(answer, answer), write(answer)], rows).ids == {row.id for row in rows}


def test_answers_that_cannot_be_matched_to_rows_are_refused(
    index: list[IndexedRow], write: Write, tmp_path: Path
) -> None:
    assert "none of the 2 answers belongs to a row of this dataset" in refused(
        [write({"id": "a", "prediction": "7"}, {"id": "b", "prediction": "7"})], index
    )
    assert "neither ids nor prompts" in refused([write({"prediction": "7"})], index)
    assert "no such file" in refused([tmp_path / "gone.jsonl"], index)
