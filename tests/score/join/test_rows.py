"""Rows are read from folders, single files and hand-made files, and only if they are what their manifest lists."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from each import each
from hypothesis import given
from hypothesis import strategies as st
from made import CONTRACT
from made_datasets import folder_of, list_files, with_fields
from made_parts import part_rows, parts_folder
from properties import examples

from niah_score.contract import DATA_FORMATS, MANIFEST, ContractError
from niah_score.errors import IntegrityError, ScoreError
from niah_score.join import rows as rows_module
from niah_score.join.rows import find_files, read_rows

GOOD: dict[str, Any] = {"id": "a", "answers": ["It is 1171."], "keywords": [["1171", "eleven seventy-one"]]}


FILE = CONTRACT / "data" / "en-1k" / "test-00000-of-00001.parquet"


def text(*records: object) -> bytes:
    """Records, or lines as they are, as JSON Lines."""
    return "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in records).encode()


def lines(path: Path, *records: object) -> Path:
    path.write_bytes(text(*records))
    return path


def test_a_folder_its_parquet_and_its_jsonl_files_hold_the_same_rows() -> None:
    folder = read_rows(CONTRACT)
    assert folder.manifest is not None
    assert folder.table.height == folder.manifest.rows
    assert folder.digest8 == folder.manifest.plan_digest[:8]
    assert folder.table["id"].is_sorted()
    for language in ("en", "zh"):
        files = (
            f"{kind}/{language}-1k/test-00000-of-00001.{end}" for kind, end in (("data", "parquet"), ("jsonl",) * 2)
        )
        one, other = (read_rows(CONTRACT / file).whole().drop("order", "target") for file in files)
        assert one.equals(other)
        assert one.equals(folder.whole().filter(pl.col("language") == language).drop("order", "target"))


@each(
    ("change", "answers", "keywords"),
    [
        ({}, ["It is 1171."], GOOD["keywords"]),
        ({"answers": None, "answer": "It."}, ["It."], GOOD["keywords"]),
        ({"answers": "It."}, ["It."], GOOD["keywords"]),
        ({"keywords": ["a", "b"]}, ["It is 1171."], [["a"], ["b"]]),
        ({"keywords": ["a", ["b", "c"]]}, ["It is 1171."], [["a"], ["b", "c"]]),
        ({"keywords": "a"}, ["It is 1171."], [["a"]]),
        ({"keywords": None}, ["It is 1171."], []),
        ({"something": {"else": 1}, "id": 17}, ["It is 1171."], GOOD["keywords"]),
    ],
)
def test_hand_made_rows_may_use_shorter_forms_in_jsonl(
    tmp_path: Path, change: dict[str, Any], answers: list[str], keywords: list[list[str]]
) -> None:
    record = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    files = [lines(tmp_path / "rows.jsonl", record)]
    if record.get("keywords") in (None, GOOD["keywords"]) and isinstance(record.get("answers"), list):
        files.append(tmp_path / "rows.parquet")  # whose columns are lists
        pl.DataFrame([record]).write_parquet(files[1])
    for file in files:
        table = read_rows(file).whole()
        assert table["id"].to_list() == [str(record["id"])]
        assert "something" not in table.columns
        assert table["answers"].to_list() == [answers]
        assert table["keywords"].to_list() == [keywords]
        assert table["metric"].to_list() == ["keyword" if keywords else "edit"]


WRONG: list[tuple[object, str]] = [
    ({**GOOD, "id": ""}, "id: found ''"), ({**GOOD, "id": None}, "id: found 'None'"),
    ({**GOOD, "id": 1.5}, "id: found '1.5'"), ({**GOOD, "answers": []}, "answers: found '[]'"),
    ({**GOOD, "answers": [5]}, "answers: found '[5]'"), ({**GOOD, "keywords": [[]]}, "keywords: found '[[]]'"),
    ({**GOOD, "keywords": [[5]]}, "keywords"), ({**GOOD, "keywords": {"a": 1}}, "keywords"),
    ({**GOOD, "length": "8k"}, "length"), ({**GOOD, "length": True}, "length"), ({**GOOD, "length": 2**63}, "length"),
    ({**GOOD, "depth_percent": "top"}, "depth_percent"), ({**GOOD, "needles": "text"}, "needles"),
    ({**GOOD, "keywords": 5}, "keywords: found '5'"), ({**GOOD, "decoys": True}, "decoys: found 'True'"),
    ({**GOOD, "rejects": 1.5}, "rejects: found '1.5'"), ({**GOOD, "keywords": [" "]}, "keywords: found"),
    ({**GOOD, "chance": 100.5}, "chance: found 100.5, expected a number from 0 to 100"),
    ({**GOOD, "keywords": [["a"]], "rejects": [["b"], ["c"]]}, "rejects: found 2, expected one for each of the 1"),
    ([1], "not a JSON object"),
]  # fmt: skip
GAPS: list[tuple[str, object]] = [
    ("answers", ["y", None]), ("needles", [None]), ("keywords", [None]), ("keywords", [["y", None]]),
    ("keywords", [[]]), ("decoys", [["z"], []]), ("decoys", [[None]]), ("rejects", [None]),
    ("keywords", [[""]]), ("rejects", [[""]]),
]  # fmt: skip


# Columns of a Parquet file that are no rows', or hold other values than rows.
WRONG_COLUMNS: list[tuple[dict[str, list[object]], str]] = [
    ({"answers": ["x"]}, ": answers: holds String, expected List"), ({"id": [[1]]}, ": id: holds List"),
    ({"length": [1.5]}, ": length: holds Float64, expected Int64"), ({"length": [True]}, ": length: holds Boolean"),
    ({"length": [2**62]}, ": row 1: length: found"), ({"depth_percent": [float("nan")]}, ": row 1: depth_percent"),
    ({"depth_percent": [float("inf")]}, ": row 1: depth_percent: found inf, expected a number from 0 to 100"),
    ({"chance": [200.0]}, ": row 1: chance: found 200.0"), ({"keywords": [["a"]]}, ": keywords: holds List"),
]  # fmt: skip


def with_gap(name: str, value: object) -> bytes:
    """A Parquet file with a null or an empty group in its second row."""
    kind = pa.list_(pa.string()) if name in ("answers", "needles") else pa.list_(pa.list_(pa.string()))
    rows: list[dict[str, Any]] = [{"id": "a", name: None, "answers": ["x"]}, {"id": "b", "answers": ["y"], name: value}]
    return parquet(
        pa.Table.from_pylist(rows, pa.schema({"id": pa.string(), "answers": pa.list_(pa.string()), name: kind}))
    )


def parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())


def flushed(text: bytes) -> bytes:
    """A .zst file whose writer was killed after a whole line."""
    packer = zstandard.ZstdCompressor().compressobj()
    return packer.compress(text) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)


def refused() -> Iterator[tuple[bytes, type[Exception], str]]:
    """Files of rows that are not read, and the pattern of what is said after their name."""
    yield b"", ScoreError, ": holds no rows"
    yield b"{", ScoreError, ":1: not a JSON object"
    cut = ": the compressed file is damaged or cut off"
    yield b"\x1f\x8b\x08\x00", IntegrityError, cut
    # The rest reads well, and would pass for a smaller dataset.
    three = text(*({**GOOD, "id": f"{n}"} for n in range(3)))
    yield gzip.compress(three)[:-8], IntegrityError, cut
    yield flushed(three), IntegrityError, cut
    yield b"PAR1 and no more", IntegrityError, ": the Parquet file is damaged"
    # Without a manifest that would reveal the damage before the file is opened.
    renamed = FILE.read_bytes().replace(b"boundary", b"bo\xf5ndary")
    yield renamed, IntegrityError, ": the Parquet file is damaged"
    yield parquet(pa.table({"id": ["a"]})), ScoreError, ": has no column answers .*niah-score perplexity"
    yield parquet(pa.table({"a": ["a"]})), ScoreError, ": has no column id and no answers"
    for columns, message in WRONG_COLUMNS:
        table = pl.DataFrame({"id": ["a"], "answers": [["x"]], **columns}, strict=False).to_arrow()
        yield parquet(table), ScoreError, re.escape(message)
    for name, value in GAPS:
        yield with_gap(name, value), ScoreError, f": row 2: {name}: holds a null, a blank text or an empty group"
    for record, message in WRONG:
        yield text({**GOOD, "id": "first"}, record), ScoreError, f":2: {re.escape(message)}"
    twice = '{"id": "b", "answers": ["x"], "prompt": "y", "prompt": ":"}'
    yield text(GOOD, twice), ScoreError, ":2: .*the key 'prompt' appears twice in one object"
    again = text(*({**GOOD, "id": name} for name in "abca"))
    yield again, ScoreError, ": id 'a' is in two or more rows; every id must name one row"


@each(("content", "kind", "message"), [*refused()])
def test_a_file_that_rows_cannot_be_read_from_is_refused_with_its_name_and_line(
    tmp_path: Path, content: bytes, kind: type[Exception], message: str
) -> None:
    file = tmp_path / "rows"
    file.write_bytes(content)
    with pytest.raises(kind, match=re.escape(str(file)) + message):
        read_rows(file)


def test_what_is_no_dataset_and_one_with_fewer_rows_than_its_manifest_says_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScoreError, match="no such dataset"):
        read_rows(tmp_path / "nothing")
    with pytest.raises(ContractError, match="not a finished dataset"):
        read_rows(tmp_path)
    folder = folder_of("jsonl", tmp_path / "copy")
    with pytest.raises(IntegrityError, match=r"its files hold 9 rows, manifest\.json says 10"):
        read_rows(with_fields(folder, rows=10))
    with pytest.raises(ScoreError, match="holds no rows"):
        read_rows(with_fields(folder, files=[]))


def test_a_newer_schema_version_is_refused_and_named(tmp_path: Path) -> None:
    table = pq.read_table(FILE)
    newer = tmp_path / "newer.parquet"
    pq.write_table(table.replace_schema_metadata({"niah_schema_version": "2"}), newer)
    with pytest.raises(ScoreError, match="schema version 2 is newer than the 1"):
        read_rows(newer)


texts = st.lists(st.text(alphabet="ab:#1", max_size=3), min_size=1, max_size=3)
words = st.lists(st.text(alphabet="ab:#1", min_size=1, max_size=3), min_size=1, max_size=3)
some_records = st.lists(
    st.fixed_dictionaries(
        {"answers": texts, "keywords": st.none() | st.lists(words, max_size=3), "needles": st.none() | texts}
    ),
    min_size=1,
    max_size=12,
)


@examples(30)
@given(some_records, st.integers(1, 5), st.integers(1, 5), st.sampled_from([1, 8, 1 << 20]))
def test_rows_read_in_any_batches_match_the_file_and_share_equal_targets(
    records: list[dict[str, Any]], groups: int, batch: int, limit: int
) -> None:
    """Against the records themselves; ids count down, so that rows have to be sorted."""
    text = pa.list_(pa.string())
    kinds = {"id": pa.string(), "answers": text, "keywords": pa.list_(text), "needles": text}
    named = [{"id": f"{99 - number}", **record} for number, record in enumerate(records)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "_BATCH", batch)
        file = Path(folder) / "rows.parquet"
        # So small that a column begins with numbers and goes on with texts.
        small = {"dictionary_pagesize_limit": limit, "write_batch_size": 1}
        pq.write_table(pa.Table.from_pylist(named, pa.schema(kinds)), file, row_group_size=groups, **small)
        rows = read_rows(file)
    expected = [{name: value or [] for name, value in record.items()} for record in named]
    assert rows.whole().select(*kinds).to_dicts() == expected[::-1]
    assert rows.whole()["metric"].to_list() == ["keyword" if one["keywords"] else "edit" for one in expected[::-1]]
    assert rows.targets.height == len({json.dumps({**one, "id": ""}, sort_keys=True) for one in expected})
    assert rows.digest8 == sha256("\n".join(sorted(one["id"] for one in named)).encode()).hexdigest()[:8]


def test_an_empty_row_in_a_later_batch_is_reported_by_its_number_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_module, "_BATCH", 2)
    for name, value in (("id", ""), ("answers", [])):
        columns: dict[str, list[Any]] = {"id": list("abcde"), "answers": [["x"]] * 5}
        columns[name][3] = value
        pl.DataFrame(columns).write_parquet(tmp_path / "rows.parquet")
        with pytest.raises(ScoreError, match="row 4: id and answers must not be empty"):
            read_rows(tmp_path / "rows.parquet")


def test_a_parquet_file_that_yields_fewer_rows_than_it_states_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Arrow does silently if one column is shorter than the others."""
    pl.DataFrame({"id": list("abc"), "answers": [["x"]] * 3}).write_parquet(tmp_path / "rows.parquet")
    whole = pq.ParquetFile.iter_batches
    monkeypatch.setattr(rows_module, "_BATCH", 2)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda *args, **how: islice(whole(*args, **how), 1))
    with pytest.raises(IntegrityError, match="holds 2 rows instead of 3; copy it again, or build it again"):
        read_rows(tmp_path / "rows.parquet")


def test_parts_are_read_with_a_whole_dataset_and_with_one_of_its_files(tmp_path: Path) -> None:
    folder = parts_folder(tmp_path / "parts", part_rows(("single", "anchor")))
    (file,) = folder.rglob("*.jsonl")
    for dataset in (folder, file):
        assert [(part.name, part.weight) for part in read_rows(dataset).parts] == [("single", 0.4), ("anchor", 0.0)]
    alone = tmp_path / "alone.jsonl"
    alone.write_bytes(file.read_bytes())
    assert read_rows(alone).parts == ()
    assert read_rows(CONTRACT).parts == ()


@pytest.fixture(params=DATA_FORMATS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return folder_of(request.param, tmp_path / "dataset")


def test_damage_is_named_with_a_remedy_in_a_folder_and_in_a_file_that_a_manifest_above_it_lists(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = next(iter(find_files(folder).files))
    rows = read_rows(file)
    assert (rows.manifest, rows.name) == (None, "test-00000-of-00001")
    data = bytearray(file.read_bytes())
    data[500] ^= 1
    file.write_bytes(data)
    monkeypatch.chdir(file.parent)
    for path in (folder, file, Path(file.name)):
        with pytest.raises(
            IntegrityError, match=rf"{file.name}: sha256 is .*copy the dataset again, or build it again"
        ):
            read_rows(path)
    (folder / MANIFEST).write_bytes((folder / MANIFEST).read_bytes()[:-50])
    with pytest.raises(ContractError, match=r"manifest\.json: not a manifest of schema version"):
        read_rows(file)


def test_a_file_that_holds_all_rows_has_the_name_of_its_dataset(tmp_path: Path) -> None:
    folder = folder_of("jsonl", tmp_path / "dataset")
    one, other = find_files(folder).files
    one.write_bytes(one.read_bytes() + other.read_bytes())
    shutil.rmtree(other.parent)
    list_files(folder)
    whole, alone = read_rows(folder), read_rows(one)
    assert (alone.name, alone.digest8, alone.manifest) == (whole.name, whole.digest8, whole.manifest)
