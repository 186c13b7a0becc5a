"""The full proof finds what is wrong with rows whose files are as their manifest says."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import niah_gen
from niah_gen.checks import prove as proving
from niah_gen.checks.hashes import verify
from niah_gen.checks.prove import Figures, prove
from niah_gen.dataset.read import RowGroup, jobs_for, over_row_groups
from niah_gen.errors import IntegrityError, NiahError, ResourceError, TokenizerError
from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.rows.ids import row_id
from niah_gen.tokenizers.find import BytePairTokenizer
from niah_score.contract import (
    COLUMNS,
    MANIFEST,
    FileEntry,
    Row,
    Truth,
    content_digest,
    file_sha256,
    prompt_digest,
    read_manifest,
    row_digest,
    sha256_hex,
)

RowDict = dict[str, Any]
RECIPE: dict[str, Any] = {
    "name": "p", "lengths": [700], "depths": [0, 40, 100], "needles": ["velden-archive", "heyuan-archive"],
}  # fmt: skip
ENGLISH = "jsonl/en-700/test-00000-of-00001.jsonl"
CHINESE = "jsonl/zh-700/test-00000-of-00001.jsonl"


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three English and three Chinese rows, as JSONL."""
    return niah_gen.build(RECIPE, tmp_path_factory.mktemp("lines"), formats=["jsonl"])


@pytest.fixture
def copy(lines: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(lines, tmp_path / "copy"))


def read(folder: Path, path: str = ENGLISH) -> list[RowDict]:
    return [json.loads(line) for line in (folder / path).read_text("utf-8").splitlines()]


def seal(folder: Path, path: str, data: bytes, rows: int) -> None:
    """Write a data file, and its hash into the manifest."""
    (folder / path).write_bytes(data)
    entry = FileEntry(path, file_sha256(folder / path), rows, len(data))
    manifest = read_manifest(folder)
    files = tuple(entry if old.path == path else old for old in manifest.files)
    (folder / MANIFEST).write_bytes(replace(manifest, files=files).to_json())


def write(folder: Path, rows: list[Any], path: str = ENGLISH) -> None:
    """Write rows, so that re-hashing alone finds nothing but their number."""
    seal(folder, path, b"".join(json.dumps(row).encode() + b"\n" for row in rows), len(rows))


def own_up(folder: Path) -> None:
    """Digest, tokens and number of rows in the manifest as the JSONL rows really are."""
    rows = [row for path in (ENGLISH, CHINESE) for row in read(folder, path)]
    digest = content_digest(row_digest(cast(Row, row)) for row in rows)
    manifest = read_manifest(folder)
    tokens = sum(row["prompt_tokens"] for row in rows)
    changed = replace(manifest, rows=len(rows), tokens=tokens, content_digest=digest)
    (folder / MANIFEST).write_bytes(changed.to_json())


def rename(row: RowDict, tokenizer: BytePairTokenizer) -> None:
    """Digest, tokens and id as the row's prompt really has them."""
    row["prompt_sha256"] = prompt_digest(row["prompt"])
    row["prompt_tokens"] = tokenizer.count(row["prompt"])
    row["id"] = row_id(row["id"][:8], cast(Truth, row))


def problems_of(folder: Path, *, rebuild: bool = False) -> list[str]:
    assert not [problem for problem in verify(folder)[1] if not problem.startswith(MANIFEST)]
    return list(prove(folder, jobs=1, rebuild=rebuild).problems)


def of_rows(problems: list[str]) -> list[str]:
    return [problem for problem in problems if not problem.startswith(MANIFEST)]


def assert_only(problems: list[str], number: int, row: RowDict, *words: str, path: str = ENGLISH) -> None:
    """Every problem of a row is of that one, and the words are among them."""
    where = f"{path} row {number} ({row['id']}): "
    assert problems
    assert [problem for problem in of_rows(problems) if not problem.startswith(where)] == []
    for word in words:
        assert any(word in problem for problem in of_rows(problems)), (word, problems)


def test_every_row_of_every_form_language_and_format_is_proved(tmp_path: Path) -> None:
    recipe = {
        "name": "all", "lengths": [700, 1000, 2000], "depths": [0, 33.3, 50, 100], "repeats": 2,
        "needles": ["velden-archive", "orrould-clockmaker", "heyuan-archive"],
    }  # fmt: skip
    for form in ("text", "chat"):
        formats = ["parquet", "jsonl", "jsonl.gz", "jsonl.zst"]
        folder = niah_gen.build({**recipe, "form": form, "question_position": "both"}, tmp_path, formats=formats)
        proof = prove(folder)
        assert proof.problems == ()
        assert proof.figures.rows == 4 * proof.manifest.rows == 4 * 72
        assert proof.figures.below is not None
        assert 0 <= proof.figures.below[0] <= proof.figures.below[1] <= 8


@pytest.mark.parametrize(
    "changes",
    [
        {"boundary": "word"},
        {"fresh_haystacks": True},
        {"leaks": "report", "needles": [{"needle": "The hinge is 41.", "question": "What?", "keywords": ["the"]}]},
        {
            "task": "multi",
            "needles": [{"needles": ["One is 1171.", "Two is 2282.", "Six is 6636."], "question": "What?"}],
        },
        {
            "task": "multi",
            "spread": [100, 0, 0],
            "needles": [{"needles": ["One is 1171.", "Two is 2282.", "Six is 6636."], "question": "What?"}],
        },
    ],
)
def test_native_rows_of_every_kind_are_proved(changes: dict[str, Any], tmp_path: Path) -> None:
    recipe = {**RECIPE, "languages": ["en"], "lengths": [900, 1400], **changes}
    if "spread" in changes:
        del recipe["depths"]
    assert prove(niah_gen.build(recipe, tmp_path)).problems == ()


@pytest.mark.parametrize(
    ("preset", "changes"),
    [
        ("gkamradt-single", {"depths": [0, 37, 100]}),
        ("gkamradt-multi", {"depths": [0, 37, 100]}),
        ("cdme-8k", {"repeats": 2}),
        ("cdme-8k-cot3-italy", {"repeats": 2}),
        ("cdme-processed-8k", {"repeats": 3}),
        ("cdme-processed-8k", {"depths": [10.2, 10.7, 30]}),
    ],
)
def test_published_placements_are_proved_by_the_rules_that_they_keep(
    preset: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    corpora = ["zh_articles"] if preset.startswith("cdme") else ["en_essays"]
    folder = niah_gen.build(preset, tmp_path, overrides={"lengths": [1000, 2000], "corpora": corpora, **changes})
    proof = prove(folder)
    assert proof.problems == ()
    assert str(proof.figures) == "every row proved"


def test_depths_of_a_tokenizer_without_locality_may_be_estimated(
    tokenizer_json: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = {**RECIPE, "lengths": [2500], "tokenizer": str(tokenizer_json)}
    folder = niah_gen.build(recipe, tmp_path)
    with pytest.raises(TokenizerError, match=r"tiny-bpe.* --tokenizer PATH"):
        prove(folder)
    proof = prove(folder, tokenizer=str(tokenizer_json))
    assert (proof.problems, proof.not_rebuilt) == ((), None)
    monkeypatch.setenv("NIAH_TOKENIZERS", str(tokenizer_json.parent.parent))
    assert prove(folder).problems == ()


def test_another_tokenizer_of_the_same_name_is_refused(copy: Path) -> None:
    manifest = read_manifest(copy)
    other = replace(manifest.tokenizer, sha256="0" * 64)
    (copy / MANIFEST).write_bytes(replace(manifest, tokenizer=other).to_json())
    with pytest.raises(IntegrityError, match="counted with 0000"):
        prove(copy)


# One row is damaged; its file is re-hashed, so that verify finds nothing ---------------------------------------------


def test_a_changed_word_of_the_prompt_is_found_in_digest_and_haystack(copy: Path) -> None:
    rows = read(copy)
    at = rows[1]["needle_spans"][0]["end"] + 2
    rows[1]["prompt"] = rows[1]["prompt"][:at] + "X" + rows[1]["prompt"][at + 1 :]
    write(copy, rows)
    problems = problems_of(copy)
    assert_only(problems, 2, rows[1], "prompt_sha256 is", "haystack_id is")
    assert any(problem.startswith(f"{MANIFEST}: content_digest") for problem in problems)


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
        ("needle_spans", lambda old: [], "expected as many of each"),
        ("boundary", lambda old: "word", "boundary is 'word', expected 'sentence'"),
        ("template", lambda old: "niah-zh", "template is 'niah-zh', expected 'niah-en'"),
        ("language", lambda old: "zh", "do not belong into config en-700"),
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


@pytest.mark.parametrize("own", [False, True])
def test_an_id_of_another_family_is_told_from_its_neighbours(copy: Path, own: bool) -> None:
    rows = read(copy)
    rows[2]["id"] = "0" * 8 + rows[2]["id"][8:]
    write(copy, rows)
    if own:
        own_up(copy)
    problems = problems_of(copy)
    assert_only(problems, 3, rows[2], "its id begins with 00000000, expected")
    assert len(problems) == (1 if own else 2)


def test_a_dataset_whose_ids_are_all_of_another_family_is_told_once(copy: Path) -> None:
    for path in (ENGLISH, CHINESE):
        write(copy, [{**row, "id": "0" * 8 + row["id"][8:]} for row in read(copy, path)], path)
    own_up(copy)
    manifest = read_manifest(copy)
    (copy / MANIFEST).write_bytes(replace(manifest, generator_version="0.0.1").to_json())
    (problem,) = problems_of(copy)
    assert "those of this dataset with 00000000; niah 0.0.1 made the dataset" in problem


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
def test_a_value_of_the_wrong_type_is_named_and_nothing_else_is_asked_of_the_row(
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
        (b"", "no row can be read (Expecting value"),
        (b"{", "no row can be read (Expecting property name"),
        (b"\xff{}", "no row can be read ('utf-8' codec"),
        ('{"id": 1}'.encode("utf-16-le"), "no row can be read"),
        (b"[" * 100_000, "no row can be read (maximum recursion"),
        (b'{"length": ' + b"9" * 5000 + b"}", "no row can be read (Exceeds the limit"),
        (b"null", "the row is None, expected an object"),
        (b"[1]", "the row is [1], expected an object"),
    ],
)
def test_a_line_that_is_no_row_is_named_and_the_others_are_proved(copy: Path, line: bytes, words: str) -> None:
    data = (copy / ENGLISH).read_bytes().splitlines()
    data[1] = line
    seal(copy, ENGLISH, b"\n".join(data), 3)
    (problem,) = of_rows(problems_of(copy))
    assert problem.startswith(f"{ENGLISH} row 2: {words}")


# One row is changed so that all its other columns still agree --------------------------------------------------------


def test_a_needle_that_stands_twice_is_found(copy: Path, cl100k: BytePairTokenizer) -> None:
    rows = read(copy)
    row = rows[1]
    row["prompt"] = row["prompt"].replace("</document>", f"{row['needles'][0]}\n</document>")
    rename(row, cl100k)
    write(copy, rows)
    own_up(copy)
    assert_only(problems_of(copy), 2, row, "needle 1 stands 2 times in the prompt, expected once: 'The municipal")


def test_a_needle_that_is_nowhere_is_found(copy: Path, cl100k: BytePairTokenizer) -> None:
    rows = read(copy)
    row = rows[1]
    row["prompt"] = row["prompt"].replace("drawer 417", "drawer 471")
    rename(row, cl100k)
    write(copy, rows)
    own_up(copy)
    assert_only(problems_of(copy), 2, row, "needle 1 is nowhere in the prompt", "needle 1 is not at its span")


def move(row: RowDict, places: Callable[[str], int], tokenizer: BytePairTokenizer, joiner: str) -> None:
    """Put the only needle at another place of its haystack, and change every column that follows from it."""
    (span,) = row["needle_spans"]
    start, end = span["start"] - len(joiner), span["end"]
    needle = row["prompt"][start:end]
    bare = row["prompt"][:start] + row["prompt"][end:]
    before, context = re.split(r"(?<=<document>\n)|(?<=<文档>\n)", bare)
    context, after = re.split(r"(?=\n</document>)|(?=\n</文档>)", context)
    place = places(context)
    row["prompt"] = before + context[:place] + needle + context[place:] + after
    first = len(before) + place + len(joiner)
    row["needle_spans"] = [{"start": first, "end": first + end - span["start"]}]
    row["needle_depths"] = [100 * tokenizer.count(context[:place]) / tokenizer.count(context)]
    rename(row, tokenizer)


def far_end(context: str) -> int:
    """The end of a sentence that is farthest from 40 % of a text."""
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
def test_a_needle_off_its_boundary_or_at_another_one_is_found(
    copy: Path, cl100k: BytePairTokenizer, path: str, joiner: str, shift: int, words: str
) -> None:
    rows = read(copy, path)
    move(rows[1], lambda context: far_end(context) + shift, cl100k, joiner)
    write(copy, rows, path)
    own_up(copy)
    assert_only(problems_of(copy), 2, rows[1], words, path=path)


def test_a_needle_inside_a_word_is_found_where_words_are_the_boundaries(
    tmp_path: Path, cl100k: BytePairTokenizer
) -> None:
    folder = niah_gen.build({**RECIPE, "boundary": "word"}, tmp_path, formats=["jsonl"])
    rows = read(folder)
    move(rows[1], lambda context: context.index(" and ") + 2, cl100k, " ")
    write(folder, rows)
    own_up(folder)
    assert_only(problems_of(folder), 2, rows[1], "needle 1 stands inside a word: ")


def test_a_needle_that_is_not_joined_as_its_language_joins_is_found(copy: Path, cl100k: BytePairTokenizer) -> None:
    rows = read(copy)
    row = rows[1]
    start = row["needle_spans"][0]["start"]
    row["prompt"] = row["prompt"][: start - 1] + "\t" + row["prompt"][start:]
    rename(row, cl100k)
    write(copy, rows)
    own_up(copy)
    assert_only(problems_of(copy), 2, row, r"needle 1 is joined by '\t', expected ' '")


def change_haystack(row: RowDict, old: str, new: str, tokenizer: BytePairTokenizer) -> None:
    """Change a word that follows the needle of a first row (depth 0), and every column that follows from it."""
    assert row["prompt"].count(old) == 1
    row["prompt"] = row["prompt"].replace(old, new)
    start = row["needle_spans"][0]["end"] + 1
    haystack = row["prompt"][start : row["prompt"].index("\n</document>")]
    row["haystack_id"] = sha256_hex(haystack.encode())[:12]
    row["haystack_tokens"] = tokenizer.count(haystack)
    rename(row, tokenizer)


def rare_word(row: RowDict) -> str:
    """A word of the filler that stands in the prompt once."""
    words: list[str] = re.findall(r"(?<= )[a-z]{5,}(?= )", row["prompt"][row["needle_spans"][0]["end"] :])
    return next(word for word in words if row["prompt"].count(word) == 1)


def test_a_keyword_in_the_haystack_is_found(copy: Path, cl100k: BytePairTokenizer) -> None:
    rows = read(copy)
    change_haystack(rows[0], rare_word(rows[0]), "４１７", cl100k)
    write(copy, rows)
    own_up(copy)
    assert_only(problems_of(copy), 1, rows[0], "leak is None, expected '417'")


def test_text_that_the_corpus_does_not_hold_is_found_by_building_the_row_again(
    copy: Path, cl100k: BytePairTokenizer
) -> None:
    rows = read(copy)
    word = rare_word(rows[0])
    change_haystack(rows[0], word, word[:-1], cl100k)
    write(copy, rows)
    own_up(copy)
    assert_only(problems_of(copy, rebuild=True), 1, rows[0], "the recipe builds another row here; it differs in ")


def test_rows_are_not_built_again_from_another_corpus_of_that_name(own_corpora: Path, tmp_path: Path) -> None:
    text = "A t\ufffdle was told. It had an end! \ufffdWas it good? It w\ufffds\ufffd. " * 40
    (own_corpora / "notes.txt").write_text(text, "utf-8")
    recipe = {**RECIPE, "corpora": ["notes"], "needles": ["velden-archive"]}
    folder = niah_gen.build(recipe, tmp_path)
    proof = prove(folder)
    assert (proof.problems, proof.not_rebuilt) == ((), None)
    (own_corpora / "notes.txt").rename(tmp_path / "notes.txt")
    proof = prove(folder)
    assert proof.problems == ()
    assert proof.not_rebuilt == "corpus notes is not on this machine; name its folder with --corpus"
    assert prove(folder, corpora=[str(tmp_path / "notes.txt")]).not_rebuilt is None
    (own_corpora / "notes.txt").write_text(text + "More.", "utf-8")
    assert "another corpus is called notes" in str(prove(folder).not_rebuilt)
    with pytest.raises(IntegrityError, match="which is none of the dataset's corpora"):
        prove(folder, corpora=["notes"])


def test_a_needle_beside_its_span_is_found_where_it_really_stands(copy: Path) -> None:
    rows = read(copy)
    (span,) = rows[1]["needle_spans"]
    rows[1]["needle_spans"] = [{"start": span["start"] + 3, "end": span["end"] + 3}]
    write(copy, rows)
    assert_only(problems_of(copy), 2, rows[1], f"stands; it stands at {span['start']} to {span['end']}")


def test_a_prompt_above_its_budget_is_found(copy: Path, cl100k: BytePairTokenizer) -> None:
    rows = read(copy)
    word = rare_word(rows[0])
    change_haystack(rows[0], word, f"{word} really really really really really", cl100k)
    write(copy, rows)
    own_up(copy)
    assert_only(problems_of(copy), 1, rows[0], "tokens, above its budget of 500")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Read the document", "Read this document", "the prompt does not begin as its template does"),
        ("\nAnswer:", "\nAnswer: ", "the prompt does not end as its template does"),
    ],
)
def test_a_prompt_that_is_not_its_templates_is_found(
    copy: Path, cl100k: BytePairTokenizer, old: str, new: str, words: str
) -> None:
    rows = read(copy)
    rows[1]["prompt"] = rows[1]["prompt"].replace(old, new)
    rename(rows[1], cl100k)
    write(copy, rows)
    own_up(copy)
    assert_only(problems_of(copy), 2, rows[1], words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda messages: messages.append({"role": "user", "content": "Go."}), "not those of its template"),
        (lambda messages: messages[0].update(role="tool"), "the prompt has messages of ['tool', "),
        (lambda messages: messages[0].update(content="Be brief."), "message 0 is 'Be brief.', expected "),
    ],
)
def test_chat_messages_that_are_not_the_templates_are_found(
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


def test_what_published_rows_can_be_held_to_is(tmp_path: Path) -> None:
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


# Rows are there once, in order, and all of them ----------------------------------------------------------------------


def test_swapped_rows_are_named(copy: Path) -> None:
    rows = read(copy)
    write(copy, [rows[1], rows[0], rows[2]])
    own_up(copy)
    first, second = problems_of(copy)
    assert first == f"{ENGLISH} row 1 ({rows[1]['id']}): stands where row {rows[0]['id']} belongs"
    assert second == f"{ENGLISH} row 2 ({rows[0]['id']}): stands where row {rows[1]['id']} belongs"


@pytest.mark.parametrize("at", [1, 3])
def test_a_repeated_row_is_named(copy: Path, at: int) -> None:
    rows = read(copy)
    again = rows[0]
    rows.insert(at, again)
    write(copy, rows)
    own_up(copy)
    (problem,) = problems_of(copy)
    assert problem == f"{ENGLISH} row {at + 1} ({again['id']}): an earlier row has this id"


def test_a_second_row_of_one_cell_is_named_though_its_id_is_its_own(copy: Path, cl100k: BytePairTokenizer) -> None:
    rows = read(copy)
    other = dict(rows[1])
    move(other, lambda context: sentence_ends(context)[4], cl100k, " ")
    assert other["id"] != rows[1]["id"]
    write(copy, [*rows[:2], other, rows[2]])
    own_up(copy)
    moved, again = problems_of(copy)
    assert moved.endswith("a place nearer to 40.00 % was free")
    assert again == f"{ENGLISH} row 3 ({other['id']}): an earlier row has these coordinates"


def test_a_missing_row_is_named_by_its_coordinates(copy: Path) -> None:
    rows = read(copy)
    write(copy, [rows[0], rows[2]])
    own_up(copy)
    (problem,) = problems_of(copy)
    assert "lack the row of en, en_essays, length 700, needle velden-archive, repeat 0, depth 40" in problem


def test_a_language_without_rows_is_named(copy: Path) -> None:
    write(copy, [], CHINESE)
    own_up(copy)
    assert problems_of(copy) == [f"{MANIFEST}: corpus zh_articles has no row in the .jsonl files"]


def test_another_number_of_rows_than_the_manifest_says_is_told(copy: Path) -> None:
    data = (copy / ENGLISH).read_bytes().splitlines(keepends=True)
    seal(copy, ENGLISH, b"".join(data[:2]), 3)
    problems = problems_of(copy)
    assert problems[0] == f"{ENGLISH}: holds 2 rows, the manifest says 3"
    assert f"{MANIFEST}: rows is 6, the .jsonl files hold 5" in problems


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("content_digest", "0" * 64, "content_digest is 0000"),
        ("plan_digest", "0" * 64, "plan_digest is 0000"),
        ("tokens", 1, "tokens is 1, the .jsonl rows add up to"),
        ("name", "other", "name is 'other', but recipe.toml says 'p'"),
        ("version", "2.0.0", "version is '2.0.0', but recipe.toml says '1.0.0'"),
    ],
)
def test_a_manifest_that_its_rows_and_recipe_belie_is_told(copy: Path, field: str, value: Any, words: str) -> None:
    (copy / MANIFEST).write_bytes(replace(read_manifest(copy), **{field: value}).to_json())
    (problem,) = problems_of(copy)
    assert problem.startswith(f"{MANIFEST}: {words}")


def test_another_corpus_in_the_manifest_is_told_by_pin_and_plan(copy: Path) -> None:
    manifest = read_manifest(copy)
    corpora = (replace(manifest.corpora[0], sha256="0" * 64), manifest.corpora[1])
    (copy / MANIFEST).write_bytes(replace(manifest, corpora=corpora).to_json())
    problems = problems_of(copy)
    assert len(problems) == 2
    assert "sha256 of corpus en_essays is 0000" in problems[0]
    assert "plan_digest" in problems[1]


def test_a_recipe_that_was_changed_belies_rows_and_plan(copy: Path) -> None:
    path = copy / "recipe.toml"
    text = path.read_text("utf-8").replace("seed = 0", "seed = 1")
    seal(copy, "recipe.toml", text.encode(), 0)
    manifest = read_manifest(copy)
    files = tuple(replace(entry, rows=None) if entry.path == "recipe.toml" else entry for entry in manifest.files)
    (copy / MANIFEST).write_bytes(replace(manifest, files=files).to_json())
    problems = problems_of(copy)
    assert "plan_digest" in problems[0]
    assert sum("seed is" in problem for problem in problems) == 6
    assert any("ids of its rows begin with" in problem for problem in problems)


# Files ---------------------------------------------------------------------------------------------------------------


def test_damaged_files_are_named_and_the_rows_of_the_others_proved(copy: Path) -> None:
    rows = read(copy)
    rows[1]["seed"] += 1
    write(copy, rows)
    (copy / CHINESE).write_bytes(b"{}\n")
    problems = prove(copy).problems
    assert len(problems) == 2
    assert problems[0].startswith(f"{CHINESE}: 3 bytes, expected")
    assert problems[1].startswith(f"{ENGLISH} row 2 ({rows[1]['id']}): seed is")


def test_no_row_can_be_proved_without_the_recipe(copy: Path) -> None:
    (copy / "recipe.toml").unlink()
    problems = prove(copy).problems
    assert problems[0] == "recipe.toml: missing"
    assert "no row can be proved without it" in problems[1]
    assert len(problems) == 2


def test_a_recipe_that_is_none_is_told_though_its_hash_is_right(copy: Path) -> None:
    seal(copy, "recipe.toml", b"lengths = 'many'", 0)
    problems = prove(copy).problems
    assert any(problem.startswith("recipe.toml: no row can be proved without it") for problem in problems)


def parquet_of(folder: Path) -> str:
    return next(path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet"))


def test_parquet_rows_are_named_across_row_groups_and_other_schemas_told(tmp_path: Path) -> None:
    folder = niah_gen.build({**RECIPE, "languages": ["en"]}, tmp_path)
    path = parquet_of(folder)
    table = pq.read_table(folder / path)
    rows = table.to_pylist()
    rows[2]["haystack_tokens"] += 1
    schema = table.schema.set(table.schema.get_field_index("length"), pa.field("length", pa.int64()))
    with pq.ParquetWriter(folder / path, schema) as file:
        for row in rows:
            file.write_table(pa.Table.from_pylist([row], schema))
    seal(folder, path, (folder / path).read_bytes(), 3)
    problems = problems_of(folder)
    assert problems[0] == f"{path}: its schema is not that of rows: length"
    assert_only(problems[1:], 3, rows[2], "haystack_tokens is", path=path)


def test_a_column_too_many_or_in_another_place_is_told(tmp_path: Path) -> None:
    folder = niah_gen.build({**RECIPE, "languages": ["en"]}, tmp_path)
    path = parquet_of(folder)
    table = pq.read_table(folder / path)
    for changed, words in (
        (table.append_column("hint", pa.array(["417"] * 3)), "hint"),
        (table.select([*table.column_names[1:], "id"]), "the order of its columns"),
    ):
        pq.write_table(changed, folder / path)
        seal(folder, path, (folder / path).read_bytes(), 3)
        assert problems_of(folder)[0] == f"{path}: its schema is not that of rows: {words}"


@pytest.mark.parametrize(
    "damage", [lambda data: b"not Parquet", lambda data: data[:-20], lambda data: data[:400] + b"\0" * 400 + data[800:]]
)
def test_a_parquet_file_that_cannot_be_read_is_told_though_its_hash_is_right(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    folder = niah_gen.build({**RECIPE, "languages": ["en"]}, tmp_path)
    path = parquet_of(folder)
    seal(folder, path, damage((folder / path).read_bytes()), 3)
    (problem,) = problems_of(folder)
    assert problem.startswith(f"{folder / path}: cannot be read (")


@pytest.mark.parametrize(("suffix", "words"), [("jsonl.gz", ": cannot be read ("), ("jsonl.zst", ": holds ")])
def test_a_compressed_file_that_ends_early_is_told_though_its_hash_is_right(
    tmp_path: Path, suffix: str, words: str
) -> None:
    folder = niah_gen.build({**RECIPE, "languages": ["en"]}, tmp_path, formats=[suffix])
    path = f"jsonl/en-700/test-00000-of-00001.{suffix}"
    data = (folder / path).read_bytes()
    seal(folder, path, data[: len(data) // 2], 3)
    assert any(f"{path}{words}" in problem for problem in problems_of(folder))


@pytest.mark.parametrize("path", ["data/en-700/part.parquet", "jsonl/en-800/test-00000-of-00001.jsonl", "rows.jsonl"])
def test_a_file_with_rows_in_a_place_for_none_is_told(copy: Path, path: str) -> None:
    (copy / path).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(copy / ENGLISH, copy / path)
    manifest = read_manifest(copy)
    entry = FileEntry(path, file_sha256(copy / path), 0, (copy / path).stat().st_size)
    (copy / MANIFEST).write_bytes(replace(manifest, files=(*manifest.files, entry)).to_json())
    assert f"{path}: no place for rows of this recipe" in problems_of(copy)


def test_files_that_are_not_numbered_through_are_told(copy: Path) -> None:
    path = ENGLISH.replace("of-00001", "of-00002")
    (copy / ENGLISH).rename(copy / path)
    manifest = read_manifest(copy)
    files = tuple(replace(entry, path=path) if entry.path == ENGLISH else entry for entry in manifest.files)
    (copy / MANIFEST).write_bytes(replace(manifest, files=files).to_json())
    assert problems_of(copy) == [f"{MANIFEST}: the .jsonl files of en-700 are not numbered 0 to 0"]


# All of it -----------------------------------------------------------------------------------------------------------


def mutations(value: Any, chance: random.Random) -> Iterator[Any]:
    """Values that differ from one, of its type and of others."""
    if isinstance(value, str):
        at = chance.randrange(len(value) + 1)
        yield value[:at] + chance.choice("x 7。\n\ufffd") + value[at:]
        if value:
            at = chance.randrange(len(value))
            yield value[:at] + value[at + 1 :]
            yield value[:at] + chr(ord(value[at]) ^ 1) + value[at + 1 :]
    elif isinstance(value, float):
        yield from (value + 0.001, value - 1, float(chance.randrange(100)) + 0.5, int(value))
    elif isinstance(value, int):
        yield from (value + 1, value - 1, -value - 7, float(value), chance.randrange(2**31))
    elif isinstance(value, list):
        yield from ([*value, *value[:1]] if value else [None], value[:-1], [])
        for number, item in enumerate(value):
            for other in mutations(item, chance):
                yield [*value[:number], other, *value[number + 1 :]]
    elif isinstance(value, dict):
        for name in value:
            for other in mutations(value[name], chance):
                yield {**value, name: other}
    else:
        yield from ("", "417", 0, 1.0, [], {})
    yield None


def test_any_change_to_any_column_of_a_row_is_found_and_the_row_named(copy: Path) -> None:
    """Where the haystack came from cannot be seen in the row: how often the corpus was gone through shows in sums."""
    chance = random.Random(0)
    untouched = read(copy)
    tried = 0
    for column in (*COLUMNS, *COLUMNS):
        for changed in mutations(untouched[1][column], chance):
            if changed == untouched[1][column] and type(changed) is type(untouched[1][column]):
                continue
            tried += 1
            rows = [dict(row) for row in untouched]
            rows[1][column] = changed
            write(copy, rows)
            problems = list(prove(copy, jobs=1, rebuild=False).problems)
            assert any(problem.startswith(f"{MANIFEST}: content_digest") for problem in problems), (column, changed)
            named = of_rows(problems)
            assert named or column == "haystack_passes", (column, changed)
            assert all(problem.startswith(f"{ENGLISH} row 2") for problem in named), (column, changed, named)
    assert tried > 300


def test_two_processes_find_the_same_in_the_same_order_as_one(copy: Path) -> None:
    for path in (ENGLISH, CHINESE):
        rows = read(copy, path)
        rows[0]["seed"] += 1
        rows[2]["leak"] = "this"
        write(copy, [*rows, rows[1]], path)
    alone, together = prove(copy, jobs=1), prove(copy, jobs=2)
    assert alone.count > 6
    assert alone == together


def test_problems_beyond_the_first_are_counted_and_not_kept(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "KEPT_PROBLEMS", 4)
    for path in (ENGLISH, CHINESE):
        write(copy, [{**row, "seed": 1} for row in read(copy, path)], path)
    proof = prove(copy, jobs=1)
    assert len(proof.problems) == 4
    assert proof.count == 7
    assert proof.problems[3].startswith(CHINESE)


def test_a_process_that_dies_is_a_matter_of_resources() -> None:
    with pytest.raises(ResourceError, match="a worker process died"):
        list(over_row_groups(os._exit, 1, [RowGroup("a", -1, 0), RowGroup("b", -1, 0)], 2))


def test_little_text_is_not_worth_a_second_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert [jobs_for(tokens) for tokens in (0, 1_000_000, 100_000_000)] == [1, 1, 7]


def test_no_jobs_are_refused(lines: Path) -> None:
    with pytest.raises(NiahError, match="expected at least 1"):
        prove(lines, jobs=0)


class Told:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.wanted = self.done = (0, 0)

    def start(self, rows: int, tokens: int) -> None:
        self.wanted = (rows, tokens)

    def advance(self, rows: int, tokens: int) -> None:
        self.done = (self.done[0] + rows, self.done[1] + tokens)


def test_progress_ends_where_it_said_it_would(lines: Path) -> None:
    told = Told()
    proof = prove(lines, progress=told)
    assert told.done == told.wanted == (proof.manifest.rows, proof.manifest.tokens)


def verify_full(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("niah-gen")), "verify", str(folder), "--full"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_says_what_was_proved_or_names_every_row_that_was_not(lines: Path, copy: Path) -> None:
    done = verify_full(lines)
    assert done.returncode == 0
    assert re.search(
        r": 4 files, 6 rows, all as the manifest says; every row proved: [0-4] to [0-8] tokens below its budget, "
        r"depth within [\d.]+ points; the recipe builds the same rows again\n$",
        done.stdout,
    )
    rows = read(copy)
    write(copy, [{**row, "seed": 1} for row in rows])
    done = verify_full(copy)
    assert done.returncode == 4
    assert done.stderr.startswith(f"niah-gen: {copy}: 4 problems\n  {ENGLISH} row 1 ({rows[0]['id']}): seed is 1, ")


def test_within_is_never_less_than_it_was() -> None:
    assert str(Figures(3, (0, 5), 1.9)) == "every row proved: 0 to 5 tokens below its budget, depth within 1.9 points"
    assert str(Figures(3, (2, 2), 1.9001)).endswith("2 to 2 tokens below its budget, depth within 2 points")
