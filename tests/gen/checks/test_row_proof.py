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
    RECIPE,
    assert_only,
    change_haystack,
    move,
    rare_word,
    read,
    rename,
    write,
)
from proved import problems_of, prove

import niah_gen
from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.tokenizers.find import BytePairTokenizer

# One column is damaged; its file is re-hashed, so that verify finds nothing ------------------------------------------


def test_a_changed_prompt_contradicts_its_digest_and_haystack_id(copy: Path) -> None:
    rows = read(copy)
    at = rows[1]["needle_spans"][0]["end"] + 2
    rows[1]["prompt"] = rows[1]["prompt"][:at] + "X" + rows[1]["prompt"][at + 1 :]
    write(copy, rows)
    problems = problems_of(copy)
    assert_only(problems, 2, rows[1], "prompt_sha256 is", "haystack_id is")


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
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
    ],
)
def test_a_wrong_column_is_named_with_its_row(copy: Path, column: str, value: Callable[[Any], Any], words: str) -> None:
    rows = read(copy)
    old = rows[1][column]
    rows[1][column] = value(old)
    write(copy, rows)
    assert_only(problems_of(copy), 2, rows[1], words.format(old=old, new=rows[1][column]))


def test_a_shifted_needle_span_is_reported_with_the_real_place(copy: Path) -> None:
    rows = read(copy)
    (span,) = rows[1]["needle_spans"]
    rows[1]["needle_spans"] = [{"start": span["start"] + 3, "end": span["end"] + 3}]
    write(copy, rows)
    assert_only(problems_of(copy), 2, rows[1], f"stands; it stands at {span['start']} to {span['end']}")


# One row is changed so that all its other columns still agree --------------------------------------------------------


def test_a_needle_that_occurs_twice_is_reported(copy: Path, cl100k: BytePairTokenizer) -> None:
    rows = read(copy)
    row = rows[1]
    row["prompt"] = row["prompt"].replace("</document>", f"{row['needles'][0]}\n</document>")
    rename(row, cl100k)
    write(copy, rows)
    assert_only(problems_of(copy), 2, row, "needle 1 stands 2 times in the prompt, expected once: 'The municipal")


def test_a_missing_needle_is_reported(copy: Path, cl100k: BytePairTokenizer) -> None:
    rows = read(copy)
    row = rows[1]
    row["prompt"] = row["prompt"].replace("drawer 417", "drawer 471")
    rename(row, cl100k)
    write(copy, rows)
    assert_only(problems_of(copy), 2, row, "needle 1 is nowhere in the prompt", "needle 1 is not at its span")


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


@pytest.mark.slow
def test_a_needle_inside_a_word_is_reported_when_words_are_the_boundaries(
    tmp_path: Path, cl100k: BytePairTokenizer
) -> None:
    folder = niah_gen.build({**RECIPE, "boundary": "word"}, tmp_path, formats=["jsonl"])
    rows = read(folder)
    move(rows[1], lambda context: context.index(" and ") + 2, cl100k, " ")
    write(folder, rows)
    assert_only(problems_of(folder), 2, rows[1], "needle 1 stands inside a word: ")


def test_a_needle_with_the_wrong_joiner_is_reported(copy: Path, cl100k: BytePairTokenizer) -> None:
    rows = read(copy)
    row = rows[1]
    start = row["needle_spans"][0]["start"]
    row["prompt"] = row["prompt"][: start - 1] + "\t" + row["prompt"][start:]
    rename(row, cl100k)
    write(copy, rows)
    assert_only(problems_of(copy), 2, row, r"needle 1 is joined by '\t', expected ' '")


def test_a_keyword_in_the_haystack_is_reported_as_a_leak(copy: Path, cl100k: BytePairTokenizer) -> None:
    rows = read(copy)
    change_haystack(rows[0], rare_word(rows[0]), "４１７", cl100k)
    write(copy, rows)
    assert_only(problems_of(copy), 1, rows[0], "leak is None, expected '417'")


def test_a_prompt_above_its_budget_is_reported(copy: Path, cl100k: BytePairTokenizer) -> None:
    rows = read(copy)
    word = rare_word(rows[0])
    change_haystack(rows[0], word, f"{word} really really really really really", cl100k)
    write(copy, rows)
    assert_only(problems_of(copy), 1, rows[0], "tokens, above its budget of 500")


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


def test_wrong_columns_of_rows_with_a_published_placement_are_reported(tmp_path: Path) -> None:
    recipe = {
        "name": "published", "lengths": [900], "depths": [0, 100], "placement": "gkamradt", "corpora": ["en_essays"],
        "needles": ["sf-dolores-park"], "form": "text",
    }  # fmt: skip
    folder = niah_gen.build(recipe, tmp_path, formats=["jsonl"])
    path = "jsonl/en-900/test-00000-of-00001.jsonl"
    untouched = read(folder, path)
    for column, value, words in (
        ("needle_depths", [100.5], "the depth of needle 1 is 100.5, expected 0 to 100"),
        ("needle_spans", [{"start": 9, "end": 9}], "needle 1 spans 9 to 9, outside the context"),
        ("needle_spans", [{"start": 500, "end": 499}], "needle 1 spans 500 to 499, outside the context"),
        ("prompt_tokens", 1, "prompt_tokens is 1, expected"),
        ("boundary", "sentence", "boundary is 'sentence', expected 'token'"),
        ("needles", ["So."], "needles is ['So.'], expected"),
    ):
        write(folder, [untouched[0], {**untouched[1], column: value}], path)
        assert_only(problems_of(folder), 2, untouched[1], words, path=path)
