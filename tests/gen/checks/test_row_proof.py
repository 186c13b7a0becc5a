"""What proves a row finds any column that contradicts the recipe, the tokenizer or the prompt, in every family."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from proofs import assert_only, move, read, rename, write
from proved import problems_of
from traced import problems_of as problems_in
from traced import rows_of_preset

from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.tokenizers.find import BytePairTokenizer

COLUMNS: tuple[tuple[str, Callable[[Any], Any], str], ...] = (
    ("prompt_tokens", lambda old: old + 1, "prompt_tokens is {new}, expected {old}"),
    ("needle_depths", lambda old: [old[0] + 0.01], "the depth of needle 1 is"),
    ("haystack_id", lambda old: "0" * 12, "haystack_id is '000000000000', expected '{old}'"),
    ("haystack_tokens", lambda old: old - 1, "haystack_tokens is {new}, expected {old}"),
    ("needle_spans", lambda old: [{"start": old[0]["start"] - 1, "end": old[0]["end"]}], "not at its span"),
    ("answers", lambda old: ["Drawer 418."], "answers is ['Drawer 418.'], expected ['Drawer 417.']"),
    ("leak", lambda old: "417", "leak is '417', expected None"),
    ("keywords", lambda old: [["417"]], "keywords is [['417']], expected [['417', 'four hundred and"),
    ("question", lambda old: old + " ", "question is"),
    ("needles", lambda old: [old[0] + "\n"], "needles is"),
)


def test_a_wrong_column_is_named_with_its_row(copy: Path) -> None:
    untouched = read(copy)
    for column, value, words in COLUMNS:
        rows = [dict(row) for row in untouched]
        old = rows[1][column]
        rows[1][column] = value(old)
        write(copy, rows)
        assert_only(problems_of(copy), 2, rows[1], words.format(old=old, new=rows[1][column]))


# One row is changed so that all its other columns still agree --------------------------------------------------------


def far_end(context: str) -> int:
    """The sentence end that is farthest from 40 % of a text."""
    return max(sentence_ends(context)[:-1], key=lambda end: abs(end - 0.4 * len(context)))


def test_a_prompt_that_contradicts_recipe_or_template_is_reported(copy: Path, cl100k: BytePairTokenizer) -> None:
    def replace(row: Any, old: str, new: str) -> None:
        row["prompt"] = row["prompt"].replace(old, new)
        rename(row, cl100k)

    untouched = read(copy)
    again = f"{untouched[1]['needles'][0]}\n</document>"
    changes: tuple[tuple[Callable[[Any], None], str], ...] = (
        (lambda row: replace(row, "</document>", again), "needle 1 stands 2 times in the prompt, expected once"),
        (lambda row: replace(row, "only the", "just the"), "the prompt does not begin as its template does"),
        (lambda row: replace(row, "\nAnswer:", "\nAnswer: "), "the prompt does not end as its template does"),
        (lambda row: move(row, far_end, cl100k, " "), "a place nearer to 40.00 % was free"),
        (lambda row: move(row, lambda text: far_end(text) + 1, cl100k, " "), "does not stand where a sentence ends"),
    )
    for change, words in changes:
        rows = [dict(row) for row in untouched]
        change(rows[1])
        write(copy, rows)
        assert_only(problems_of(copy), 2, rows[1], words)


def test_a_row_with_the_truth_of_another_is_reported_in_every_family() -> None:
    for name in (
        "key-values", "passkey", "number-string", "json-key-values", "variable-tracking", "variable-prose",
        "uuid-chain", "ancestral-trace", "ancestral-facts", "graph-walks", "coreference",
    ):  # fmt: skip
        rows = rows_of_preset(name, controls=[], languages=["en"], depths=[40], repeats=2)
        for row in rows:
            assert problems_in(row) == [], name
        other = next(row for row in rows if row["answers"] != rows[0]["answers"])
        truth = {column: other[column] for column in ("answers", "keywords")}
        assert problems_in(rows[0], **truth), name
