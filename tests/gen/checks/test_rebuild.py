"""`verify --full` builds the rows again: it names what differs, even in files that match their manifest's hashes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from changed_rows import ENGLISH, RECIPE, read, seal, write
from commands import invoke

import niah_gen
from niah_gen.checks.hashes import verify
from niah_gen.checks.rebuild import rebuild
from niah_gen.cli.commands import app
from niah_gen.errors import IntegrityError
from niah_score.contract import MANIFEST, read_manifest


def problems_of(folder: Path) -> list[str]:
    assert not [problem for problem in verify(folder)[1] if not problem.startswith(MANIFEST)]
    return rebuild(folder, jobs=1).problems


def rows_named(problems: list[str]) -> list[str]:
    return [problem for problem in problems if not problem.startswith(MANIFEST)]


def test_without_its_tokenizer_or_corpora_a_dataset_is_read_but_not_rebuilt(
    tokenizer_json: Path, own_corpora: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "A t\ufffdle was told. It had an end! \ufffdWas it good? It w\ufffds\ufffd. " * 120
    (own_corpora / "notes.txt").write_text(text, "utf-8")
    recipe = {
        **RECIPE, "corpora": ["notes"], "needles": ["velden-archive"], "tokenizer": str(tokenizer_json),
        "lengths": [2500],
    }  # fmt: skip
    folder = niah_gen.build(recipe, tmp_path)
    done = rebuild(folder)
    assert done.problems == []
    assert "--tokenizer PATH" in str(done.not_rebuilt)
    ended = invoke(app, "verify", folder, "--full")
    assert ended.returncode == 5
    assert "3 rows as the manifest says, but not built again: " in ended.stderr
    assert rebuild(folder, tokenizer=str(tokenizer_json)).not_rebuilt is None
    monkeypatch.setenv("NIAH_TOKENIZERS", str(tokenizer_json.parent.parent))
    assert rebuild(folder).not_rebuilt is None
    (own_corpora / "notes.txt").rename(tmp_path / "notes.txt")
    done = rebuild(folder)
    assert done.not_rebuilt == "corpus notes is not on this machine; name its folder with --corpus"
    assert rebuild(folder, corpora=[str(tmp_path / "notes.txt")]).not_rebuilt is None
    (own_corpora / "notes.txt").write_text(text + "More.", "utf-8")
    assert "another corpus is called notes" in str(rebuild(folder).not_rebuilt)
    with pytest.raises(IntegrityError, match="which is not that of any of the dataset's corpora"):
        rebuild(folder, corpora=["notes"])


def test_a_manifest_field_that_contradicts_rows_or_recipe_is_reported(copy: Path) -> None:
    whole = read_manifest(copy)
    fields: tuple[tuple[str, Any, str], ...] = (
        ("content_digest", "0" * 64, "content_digest is 0000"),
        ("plan_digest", "0" * 64, "plan_digest is 0000"),
        ("tokens", 1, "tokens is 1, the .jsonl rows give"),
        ("name", "other", "name is 'other', but recipe.toml says 'p'"),
        ("version", "2.0.0", "version is '2.0.0', but recipe.toml says '1.0.0'"),
    )
    for field, value, words in fields:
        (copy / MANIFEST).write_bytes(replace(whole, **{field: value}).to_json())
        (problem,) = problems_of(copy)
        assert problem.startswith(f"{MANIFEST}: {words}")
    changed: tuple[dict[str, Any], ...] = ({"sha256": "0" * 64}, {"documents": 1})
    for change in changed:
        corpora = (replace(whole.corpora[0], **change), whole.corpora[1])
        (copy / MANIFEST).write_bytes(replace(whole, corpora=corpora).to_json())
        (problem,) = problems_of(copy)
        assert ("plan_digest" if "sha256" in change else "corpus en_essays: documents is 1,") in problem


def test_rows_that_are_missing_repeated_swapped_or_of_another_type_are_named(copy: Path) -> None:
    rows = read(copy)
    for changed, named, words in (
        ([rows[1], rows[0], rows[2]], [1, 2], "the recipe builds another row here; it differs in id"),
        ([rows[0], rows[2]], [2], "the .jsonl file en-700/test-00000-of-00001 holds 2 rows, the recipe builds 3"),
        ([*rows, rows[0]], [4], "the recipe builds no such row"),
        ([rows[0], rows[1], {**rows[2], "prompt": 5}], [3], "differs in prompt"),
    ):
        write(copy, changed)
        problems = problems_of(copy)
        where = tuple(f"{ENGLISH} row {number}" for number in named)
        assert len(rows_named(problems)) == len(named)
        assert all(problem.startswith(where) for problem in rows_named(problems)), problems
        assert any(words in problem for problem in problems), problems
        assert any("content_digest" in problem for problem in problems)


def test_no_row_is_built_without_a_recipe_that_can_be_read(copy: Path) -> None:
    seal(copy, "recipe.toml", b"lengths = 'many'", 0)
    assert any(problem.startswith("recipe.toml: no row can be built without it") for problem in rebuild(copy).problems)
    (copy / "recipe.toml").unlink()
    problems = rebuild(copy).problems
    assert problems[0] == "recipe.toml: missing"
    assert "no row can be built without it" in problems[-1]


def test_another_schema_is_reported_without_full(tmp_path: Path) -> None:
    folder = niah_gen.build({**RECIPE, "languages": ["en"]}, tmp_path)
    path = next(path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet"))
    table = pq.read_table(folder / path)
    other = table.schema.set(table.schema.get_field_index("length"), pa.field("length", pa.int64()))
    for changed, words in (
        (table.cast(other), "length"),
        (table.append_column("hint", pa.array(["417"] * 3)), "hint"),
        (table.select([*table.column_names[1:], "id"]), "the order of its columns"),
    ):
        pq.write_table(changed, folder / path)
        seal(folder, path, (folder / path).read_bytes(), 3)
        assert f"{path}: its schema differs from that of rows: {words}" in verify(folder)[1]
    pq.write_table(table.slice(0, 2), folder / path)
    seal(folder, path, (folder / path).read_bytes(), 3)
    assert f"{path}: holds 2 rows, the manifest says 3" in verify(folder)[1]
