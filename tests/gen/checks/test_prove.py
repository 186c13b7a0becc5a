"""The full proof finds what is wrong with rows, even in files that match the hashes in their manifest."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from each import each
from proofs import CHINESE, ENGLISH, RECIPE, assert_only, problems_of, read, seal, write

import niah_gen
from niah_gen.checks import prove as proving
from niah_gen.checks.prove import Figures, prove
from niah_gen.errors import IntegrityError, NiahError, TokenizerError
from niah_score.contract import MANIFEST, FileEntry, file_sha256, read_manifest


@pytest.mark.slow
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


@each(
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


@pytest.mark.slow
@each(
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
def test_published_placements_are_proved_by_their_own_rules(
    preset: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    corpora = ["zh_articles"] if preset.startswith("cdme") else ["en_essays"]
    folder = niah_gen.build(preset, tmp_path, overrides={"lengths": [1000, 2000], "corpora": corpora, **changes})
    proof = prove(folder)
    assert proof.problems == ()
    assert str(proof.figures) == "every row proved"


@pytest.mark.slow
def test_a_proof_needs_the_tokenizer_that_the_dataset_was_built_with(
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


def test_a_different_tokenizer_of_the_same_name_is_refused(copy: Path) -> None:
    manifest = read_manifest(copy)
    other = replace(manifest.tokenizer, sha256="0" * 64)
    (copy / MANIFEST).write_bytes(replace(manifest, tokenizer=other).to_json())
    with pytest.raises(IntegrityError, match="counted with 0000"):
        prove(copy)


def test_rows_are_not_rebuilt_from_another_corpus_of_the_same_name(own_corpora: Path, tmp_path: Path) -> None:
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
    with pytest.raises(IntegrityError, match="which is not that of any of the dataset's corpora"):
        prove(folder, corpora=["notes"])


# Manifest and recipe -------------------------------------------------------------------------------------------------


def test_a_row_count_that_differs_from_the_manifest_is_reported(copy: Path) -> None:
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
def test_a_manifest_field_that_contradicts_rows_or_recipe_is_reported(
    copy: Path, field: str, value: Any, words: str
) -> None:
    (copy / MANIFEST).write_bytes(replace(read_manifest(copy), **{field: value}).to_json())
    (problem,) = problems_of(copy)
    assert problem.startswith(f"{MANIFEST}: {words}")


def test_another_corpus_hash_in_the_manifest_contradicts_pin_and_plan_digest(copy: Path) -> None:
    manifest = read_manifest(copy)
    corpora = (replace(manifest.corpora[0], sha256="0" * 64), manifest.corpora[1])
    (copy / MANIFEST).write_bytes(replace(manifest, corpora=corpora).to_json())
    problems = problems_of(copy)
    assert len(problems) == 2
    assert "sha256 of corpus en_essays is 0000" in problems[0]
    assert "plan_digest" in problems[1]


def test_a_changed_recipe_contradicts_rows_and_plan_digest(copy: Path) -> None:
    path = copy / "recipe.toml"
    text = path.read_text("utf-8").replace("seed = 0", "seed = 1")
    seal(copy, "recipe.toml", text.encode(), 0)
    manifest = read_manifest(copy)
    files = tuple(replace(entry, rows=None) if entry.path == "recipe.toml" else entry for entry in manifest.files)
    (copy / MANIFEST).write_bytes(replace(manifest, files=files).to_json())
    problems = problems_of(copy)
    assert "plan_digest" in problems[0]
    assert sum("seed is" in problem for problem in problems) == 6
    assert any("its row ids begin with" in problem for problem in problems)


# Files ---------------------------------------------------------------------------------------------------------------


def test_damaged_files_are_named_and_the_rows_of_other_files_are_checked(copy: Path) -> None:
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


def test_an_invalid_recipe_is_reported_even_with_the_right_hash(copy: Path) -> None:
    seal(copy, "recipe.toml", b"lengths = 'many'", 0)
    problems = prove(copy).problems
    assert any(problem.startswith("recipe.toml: no row can be proved without it") for problem in problems)


def parquet_of(folder: Path) -> str:
    return next(path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet"))


def test_wrong_rows_are_numbered_across_row_groups_and_wrong_schemas_reported(tmp_path: Path) -> None:
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
    assert problems[0] == f"{path}: its schema differs from that of rows: length"
    assert_only(problems[1:], 3, rows[2], "haystack_tokens is", path=path)


def test_an_extra_or_misplaced_column_is_reported(tmp_path: Path) -> None:
    folder = niah_gen.build({**RECIPE, "languages": ["en"]}, tmp_path)
    path = parquet_of(folder)
    table = pq.read_table(folder / path)
    for changed, words in (
        (table.append_column("hint", pa.array(["417"] * 3)), "hint"),
        (table.select([*table.column_names[1:], "id"]), "the order of its columns"),
    ):
        pq.write_table(changed, folder / path)
        seal(folder, path, (folder / path).read_bytes(), 3)
        assert problems_of(folder)[0] == f"{path}: its schema differs from that of rows: {words}"


@each(
    "damage", [lambda data: b"not Parquet", lambda data: data[:-20], lambda data: data[:400] + b"\0" * 400 + data[800:]]
)
def test_an_unreadable_parquet_file_is_reported_even_with_the_right_hash(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    folder = niah_gen.build({**RECIPE, "languages": ["en"]}, tmp_path)
    path = parquet_of(folder)
    seal(folder, path, damage((folder / path).read_bytes()), 3)
    (problem,) = problems_of(folder)
    assert problem.startswith(f"{folder / path}: cannot be read (")


@each(("suffix", "words"), [("jsonl.gz", ": cannot be read ("), ("jsonl.zst", ": holds ")])
def test_a_truncated_compressed_file_is_reported_even_with_the_right_hash(
    tmp_path: Path, suffix: str, words: str
) -> None:
    folder = niah_gen.build({**RECIPE, "languages": ["en"]}, tmp_path, formats=[suffix])
    path = f"jsonl/en-700/test-00000-of-00001.{suffix}"
    data = (folder / path).read_bytes()
    seal(folder, path, data[: len(data) // 2], 3)
    assert any(f"{path}{words}" in problem for problem in problems_of(folder))


@pytest.mark.parametrize("path", ["data/en-700/part.parquet", "jsonl/en-800/test-00000-of-00001.jsonl", "rows.jsonl"])
def test_a_file_with_rows_in_an_unexpected_place_is_reported(copy: Path, path: str) -> None:
    (copy / path).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(copy / ENGLISH, copy / path)
    manifest = read_manifest(copy)
    entry = FileEntry(path, file_sha256(copy / path), 0, (copy / path).stat().st_size)
    (copy / MANIFEST).write_bytes(replace(manifest, files=(*manifest.files, entry)).to_json())
    assert f"{path}: no place for rows of this recipe" in problems_of(copy)


def test_a_file_numbered_with_the_wrong_total_is_reported(copy: Path) -> None:
    path = ENGLISH.replace("of-00001", "of-00002")
    (copy / ENGLISH).rename(copy / path)
    manifest = read_manifest(copy)
    files = tuple(replace(entry, path=path) if entry.path == ENGLISH else entry for entry in manifest.files)
    (copy / MANIFEST).write_bytes(replace(manifest, files=files).to_json())
    assert problems_of(copy) == [f"{MANIFEST}: the .jsonl files of en-700 are not numbered 0 to 0"]


# Processes, progress and figures -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_processes_report_the_same_problems_in_the_same_order_as_one(copy: Path) -> None:
    for path in (ENGLISH, CHINESE):
        rows = read(copy, path)
        rows[0]["seed"] += 1
        rows[2]["leak"] = "this"
        write(copy, [*rows, rows[1]], path)
    alone, together = prove(copy, jobs=1), prove(copy, jobs=2)
    assert alone.count > 6
    assert alone == together


def test_problems_beyond_the_limit_are_counted_but_not_kept(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "KEPT_PROBLEMS", 4)
    for path in (ENGLISH, CHINESE):
        write(copy, [{**row, "seed": 1} for row in read(copy, path)], path)
    proof = prove(copy, jobs=1)
    assert len(proof.problems) == 4
    assert proof.count == 7
    assert proof.problems[3].startswith(CHINESE)


def test_zero_jobs_are_refused(lines: Path) -> None:
    with pytest.raises(NiahError, match="expected at least 1"):
        prove(lines, jobs=0)


class Recorder:
    """Records the progress that is reported to it."""

    def __init__(self) -> None:
        self.wanted = self.done = (0, 0)

    def start(self, rows: int, tokens: int) -> None:
        self.wanted = (rows, tokens)

    def advance(self, rows: int, tokens: int) -> None:
        self.done = (self.done[0] + rows, self.done[1] + tokens)


def test_progress_ends_at_the_total_that_it_announced(lines: Path) -> None:
    recorder = Recorder()
    proof = prove(lines, progress=recorder)
    assert recorder.done == recorder.wanted == (proof.manifest.rows, proof.manifest.tokens)


def test_the_largest_depth_error_is_rounded_up() -> None:
    assert str(Figures(3, (0, 5), 1.9)) == "every row proved: 0 to 5 tokens below its budget, depth within 1.9 points"
    assert str(Figures(3, (2, 2), 1.9001)).endswith("2 to 2 tokens below its budget, depth within 2 points")
