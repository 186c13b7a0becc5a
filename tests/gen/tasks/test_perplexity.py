"""Perplexity: windows of every length score the same tokens exactly once, and damaged rows are refused."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from each import each
from proved import proved_rows

from niah_gen.errors import FitError, RecipeError
from niah_gen.tokenizers.find import find_tokenizer
from niah_score.contract import Row

OPTIONS = {"tokens": 800, "documents": 3}
RECIPE: dict[str, Any] = {"lengths": [200, 500, 800], "options": OPTIONS}
TOKENIZER = find_tokenizer("cl100k_base")


def rows_of(**fields: Any) -> list[Row]:
    return proved_rows("perplexity", **{**RECIPE, **fields})


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return rows_of()


def by_document(rows: Sequence[Row]) -> dict[tuple[str, str | None, int | None], list[Row]]:
    documents = defaultdict(list)
    for row in rows:
        documents[row["corpus"], row["needle_id"], row["length"]].append(row)
    return documents


def target(row: Row) -> str:
    span = row["target_span"]
    assert span is not None
    return str(row["prompt"])[span["start"] : span["end"]]


def test_windows_of_every_length_score_each_token_but_the_first_once(rows: list[Row]) -> None:
    texts, counts = defaultdict(set), defaultdict(set)
    for (corpus, name, _), windows in by_document(rows).items():
        texts[corpus, name].add("".join(map(target, windows)))
        spans = [row["target_token_span"] for row in windows]
        counts[corpus, name].add(sum(span["end"] - span["start"] for span in spans if span))
    assert len(texts) == 6
    for key, variants in texts.items():
        (text,) = variants
        (tokens,) = counts[key]
        assert 790 <= tokens <= 799
        first = str(next(row for row in rows if (row["corpus"], row["needle_id"]) == key)["prompt"])
        assert TOKENIZER.count(first[: first.index(text[:50])] + text) >= tokens + 1


def test_windows_have_their_length_and_end_with_what_is_scored(rows: list[Row]) -> None:
    for row in rows:
        assert row["target_token_span"] is not None
        assert row["prompt_tokens"] == row["target_token_span"]["end"]
        assert (row["length"] or 0) - 8 <= row["prompt_tokens"] <= (row["length"] or 0)
        assert "\ufffd" not in str(row["prompt"])


def test_documents_depend_on_the_seed_and_not_on_the_other_lengths(rows: list[Row]) -> None:
    known = {row["id"]: row for row in rows}
    assert all(known[row["id"]] == row for row in rows_of(lengths=[500]))
    names, other = ({(row["needle_id"], row["haystack_id"]) for row in some} for some in (rows, rows_of(seed=1)))
    assert len(names) == 6
    assert other - names


def test_windows_scored_whole_divide_a_document_into_four() -> None:
    for windows in by_document(rows_of(lengths=[200], options={**OPTIONS, "score": "window"})).values():
        assert len(windows) == 4
        assert all(row["target_span"] == {"start": 0, "end": len(str(row["prompt"]))} for row in windows)


def test_without_joining_only_documents_that_are_long_enough_are_used(tmp_path: Path) -> None:
    texts = [f"Document {number}. " + f"Line {number} of a long day. " * 200 for number in range(3)] + ["Too short. "]
    file = tmp_path / "books.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    alone = rows_of(corpora=[str(file)], options={**OPTIONS, "join": False}, lengths=[800])
    assert {str(row["prompt"])[:10] for row in alone} == {f"Document {number}" for number in range(3)}
    with pytest.raises(FitError, match="has 3 texts of 800 tokens, expected 4"):
        rows_of(corpora=[str(file)], options={**OPTIONS, "documents": 4}, lengths=[800])


@each(("fields", "message"), [
    ({"lengths": [500, 900]}, "use --set options.tokens=900"),
    ({"lengths": [32]}, "too short for a window"),
    ({"reserve": 10}, "set reserve to 0"),
    ({"form": "chat"}, "leave out --chat"),
    ({"options": {**OPTIONS, "stride": 190}}, "leaves windows of 200 tokens no context"),
    ({"options": {**OPTIONS, "stride": 5}}, "stride is 5"),
    ({"options": {**OPTIONS, "tokens": 10}}, "tokens is 10"),
    ({"options": {**OPTIONS, "documents": 0}}, "documents is 0"),
    ({"options": {**OPTIONS, "score": "all"}}, "expected one of stride, window"),
    ({"options": {**OPTIONS, "score": "window", "stride": 64}}, "leave it out"),
    ({"controls": ["absent"]}, "has no control"),
])  # fmt: skip
def test_recipes_that_allow_no_windows_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        rows_of(**fields)
