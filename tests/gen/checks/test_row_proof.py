"""Proving a row finds any column that contradicts the recipe, the tokenizer or the prompt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from each import each
from proofs import (
    CHINESE,
    ENGLISH,
    assert_only,
    move,
    read,
    rename,
    write,
)
from proved import problems_of, prove

import niah_gen
from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.tokenizers.find import BytePairTokenizer

# One column is damaged; its file is re-hashed, so that verify finds nothing ------------------------------------------


COLUMNS: tuple[tuple[str, Callable[[Any], Any], str], ...] = (
    ("prompt_tokens", lambda old: old + 1, "prompt_tokens is {new}, expected {old}"),
    ("needle_depths", lambda old: [old[0] + 0.01], "the depth of needle 1 is"),
    ("haystack_id", lambda old: "0" * 12, "haystack_id is '000000000000', expected '{old}'"),
    ("haystack_tokens", lambda old: old - 1, "haystack_tokens is {new}, expected {old}"),
    ("leak", lambda old: "417", "leak is '417', expected None"),
    ("seed", lambda old: old + 1, "seed is {new}, expected {old}"),
    ("needle_spans", lambda old: [{"start": old[0]["start"] - 1, "end": old[0]["end"]}], "not at its span"),
    ("needle_spans", lambda old: [{"start": 0, "end": 5}], "spans 0 to 5, outside the context"),
    ("needle_spans", lambda old: [{"start": old[0]["start"], "end": 10**6}], "outside the context"),
    ("needle_spans", lambda old: [], "expected the same number of each"),
    ("boundary", lambda old: "word", "boundary is 'word', expected 'sentence'"),
    ("template", lambda old: "niah-zh", "template is 'niah-zh', expected 'niah-en'"),
    ("language", lambda old: "zh", "do not belong in config en-700"),
    ("length", lambda old: 800, "length is 800; the recipe asks for 700"),
    ("corpus", lambda old: "books", "corpus is 'books'; the recipe asks for en_essays, zh_articles"),
    ("needle_id", lambda old: "heyuan-archive", "needle_id is 'heyuan-archive'; the recipe asks for"),
    ("answers", lambda old: ["Drawer 418."], "answers is ['Drawer 418.'], expected ['Drawer 417.']"),
    ("keywords", lambda old: [["417"]], "keywords is [['417']], expected [['417', 'four hundred and"),
    ("question", lambda old: old + " ", "question is"),
    ("metric", lambda old: "exact", "metric is 'exact', expected 'keyword'"),
    ("needles", lambda old: [old[0] + "\n"], "needles is"),
    ("context_message", lambda old: 0, "context_message is 0, expected -1"),
    ("haystack_passes", lambda old: 0.5, "haystack_passes is 0.5, expected at least 1"),
    ("max_new_tokens", lambda old: 1, "max_new_tokens is 1, expected 200"),
    ("control", lambda old: "absent", "control is 'absent'; the recipe asks for None"),
    ("repeat", lambda old: 1, "repeat is 1; the recipe asks for 0"),
    ("depth_percent", lambda old: 41.0, "depth_percent is 41.0; the recipe asks for 0.0, 40.0, 100.0"),
    ("depth_percent", lambda old: 100.0, "id is"),
    ("id", lambda old: old[:-1] + "x", "expected '{old}'"),
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


def test_a_needle_that_occurs_twice_is_reported(copy: Path, cl100k: BytePairTokenizer) -> None:
    rows = read(copy)
    row = rows[1]
    row["prompt"] = row["prompt"].replace("</document>", f"{row['needles'][0]}\n</document>")
    rename(row, cl100k)
    write(copy, rows)
    assert_only(problems_of(copy), 2, row, "needle 1 stands 2 times in the prompt, expected once: 'The municipal")


def far_end(context: str) -> int:
    """The sentence end that is farthest from 40 % of a text."""
    return max(sentence_ends(context)[:-1], key=lambda end: abs(end - 0.4 * len(context)))


@pytest.mark.parametrize(
    ("path", "joiner", "shift", "words"),
    [
        (ENGLISH, " ", 0, "a place nearer to 40.00 % was free"),
        (ENGLISH, " ", -1, "needle 1 does not stand where a sentence ends"),
        (ENGLISH, " ", 1, "needle 1 does not stand where a sentence ends"),
        (CHINESE, "", 0, "a place nearer to 40.00 % was free"),
        (CHINESE, "", -1, "needle 1 does not stand where a sentence ends"),
        (CHINESE, "", 1, "needle 1 does not stand where a sentence ends"),
    ],
)
def test_a_needle_off_any_boundary_or_at_the_wrong_one_is_reported(
    copy: Path, cl100k: BytePairTokenizer, path: str, joiner: str, shift: int, words: str
) -> None:
    rows = read(copy, path)
    move(rows[1], lambda context: far_end(context) + shift, cl100k, joiner)
    write(copy, rows, path)
    assert_only(problems_of(copy), 2, rows[1], words, path=path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("using only the document", "using just the document", "the prompt does not begin as its template does"),
        ("\nAnswer:", "\nAnswer: ", "the prompt does not end as its template does"),
    ],
)
def test_a_prompt_that_departs_from_its_template_is_reported(
    copy: Path, cl100k: BytePairTokenizer, old: str, new: str, words: str
) -> None:
    rows = read(copy)
    rows[1]["prompt"] = rows[1]["prompt"].replace(old, new)
    rename(rows[1], cl100k)
    write(copy, rows)
    assert_only(problems_of(copy), 2, rows[1], words)


@each(
    ("change", "words"),
    [
        (lambda messages: messages.append({"role": "user", "content": "Go."}), "not those of its template"),
        (lambda messages: messages[0].update(role="tool"), "the prompt has messages of ['tool', "),
        (lambda messages: messages[0].update(content="Be brief."), "message 0 is 'Be brief.', expected "),
    ],
)
def test_chat_messages_that_depart_from_the_template_are_reported(
    change: Callable[[list[Any]], None], words: str, tmp_path: Path
) -> None:
    recipe = {
        "name": "chat", "lengths": [900], "depths": [0, 40], "placement": "gkamradt", "corpora": ["en_essays"],
        "needles": ["sf-dolores-park"],
    }  # fmt: skip
    folder = niah_gen.build(recipe, tmp_path, formats=["jsonl"])
    path = "jsonl/en-900/test-00000-of-00001.jsonl"
    rows = read(folder, path)
    assert prove(folder).problems == ()
    change(rows[1]["prompt"])
    write(folder, rows, path)
    assert_only(problems_of(folder), 2, rows[1], words, path=path)
