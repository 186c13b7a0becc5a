"""Parquet: the types of columns, damaged files, and bounded memory."""

from __future__ import annotations

import io
import re
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import made_apart
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from answer_files import Write, only, parquet, parquet_bomb
from each import each

from niah_score.contract import prompt_digest
from niah_score.errors import ResourceError, ScoreError
from niah_score.formats import FORMATS, Answer, Malformed, parquet_apart, read_answers
from niah_score.formats.containers import parquet as container
from niah_score.formats.containers.streams import opened
from niah_score.formats.record import FieldNames

ANY = FieldNames()


def test_damaged_parquet_is_an_error(write: Write) -> None:
    data = parquet()
    for broken in (data[: len(data) // 2], data[:-4], data + b"tail", b"PAR1" + bytes(len(data)), b"PAR1"):
        with pytest.raises(ScoreError, match="damaged or cut off"):
            list(read_answers(write(broken)))


def test_flipped_bits_in_data_pages_never_go_unnoticed(write: Write) -> None:
    data = parquet()
    whole = list(read_answers(write(data)))
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    unseen = 0
    for place in range(4, end, 11):
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        try:
            unseen += list(read_answers(write(bytes(flipped)))) != whole
        except ScoreError:
            continue
    assert unseen == 0


def in_this_process(path: Path) -> Iterator[Answer | Malformed]:
    """The records of a file, read where memory can be measured."""
    with opened(path) as source:
        yield from container.read(source, container.fields_of(source, [FORMATS["parquet"]], ANY, None), ANY)


@contextmanager
def memory_within(most: int) -> Iterator[Callable[[], None]]:
    """Asserts at its end, and whenever `check` is called, that Python and Arrow each hold fewer than `most` bytes."""
    before = pa.total_allocated_bytes()
    tracemalloc.start()

    def check() -> None:
        assert pa.total_allocated_bytes() - before < most
        assert tracemalloc.get_traced_memory()[1] < most

    try:
        yield check
        check()
    finally:
        tracemalloc.stop()


def test_many_copies_of_one_text_are_read_without_holding_them_all_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "t"
    copies = pa.DictionaryArray.from_arrays(pa.array([0] * 250, pa.int32()), pa.array(["x" * 1_000_000]))
    noise = [Random(1).randbytes(300_000)] + [None] * 249
    pq.write_table(pa.table({"id": [f"{n}" for n in range(250)], "prediction": copies, "noise": noise}), path)
    assert path.stat().st_size < 400_000
    with memory_within(64_000_000) as check:
        read = 0
        for record in in_this_process(path):
            assert isinstance(record, Answer)
            read += len(record.text or "")
            check()
    assert read == 250_000_000


@pytest.mark.parametrize(("size", "rows"), [(1_000_000, 1000), (1, 3_000_000), (70_000_000, 1)])
def test_copies_of_a_text_count_at_their_unpacked_size(write: Write, size: int, rows: int) -> None:
    path = write(parquet_bomb(size, rows))
    assert path.stat().st_size < 60_000
    with pytest.raises(ResourceError, match="unpacks to more than 1000 times"), memory_within(150_000_000):
        list(in_this_process(path))


def test_a_dictionary_shared_by_many_batches_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "t"
    names = [f"52c3b6fc-en_essays-1000-d0500-velden-archive-r{number}-b1cdb100c5bb" for number in range(40_000)]
    predictions = [f"It is drawer {number % 997}, next to the archive of the town hall." for number in range(40_000)]
    pq.write_table(pa.table({"id": names, "prediction": predictions}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    assert len(list(read_answers(path))) == 40_000


def test_prompts_beside_ids_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "t"
    prompts = [Random(number).randbytes(1_000_000).hex() for number in range(40)]
    table = pa.table({"id": [f"{n}" for n in range(40)], "prompt": prompts, "output": ["y"] * 40})
    pq.write_table(table, path, row_group_size=4)
    with memory_within(60_000_000):
        digests = [record.prompt_sha256 for record in in_this_process(path) if isinstance(record, Answer)]
    assert digests == [prompt_digest(prompt) for prompt in prompts]


# Damage -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize(
    ("number", "message", "code"),
    [
        (6, "is damaged (its reader crashed: signal 6); get it again", 2),
        (9, "it may need more memory than there is", 5),
    ],
)
def test_a_file_that_crashes_its_reader_is_reported(
    write: Write, monkeypatch: pytest.MonkeyPatch, begun: bool, number: int, message: str, code: int
) -> None:
    path = write(parquet())
    monkeypatch.setattr(parquet_apart, "items_of", made_apart.crash_after if begun else made_apart.crash_at_once)
    with pytest.raises(ScoreError, match=re.escape(message)) as caught:
        list(read_answers(path, id_field=str(number)))
    assert str(caught.value).startswith(f"{path}: ")
    assert caught.value.exit_code == code
    monkeypatch.undo()
    assert len(list(read_answers(path))) == 200


def answer_files() -> dict[str, bytes]:
    """Parquet answers as different writers write them."""
    columns = {"id": [f"r{n}" for n in range(200)], "prediction": [f"answer {n**5}" for n in range(200)]}
    chats = [
        [{"role": "user", "content": "q"}, {"role": "assistant", "content": text}] for text in columns["prediction"]
    ]

    def written(table: dict[str, list[Any]], **options: Any) -> bytes:
        sink = io.BytesIO()
        pq.write_table(pa.table(table), sink, **options)
        return sink.getvalue()

    files = {
        f"{packed}{' with checksums' * checked}": written(columns, compression=packed, write_page_checksum=checked)
        for packed in ("none", "snappy", "zstd", "gzip")
        for checked in (False, True)
    }
    files["without dictionaries"] = written(columns, use_dictionary=False, row_group_size=20)
    files["pages of version 2"] = written(columns, data_page_version="2.0")
    files["chats"] = written({"id": columns["id"], "prediction": chats})
    files["lighteval"] = (Path(__file__).parents[1] / "examples" / "lighteval.parquet").read_bytes()
    return files


@pytest.mark.parametrize("count", [60, pytest.param(1500, marks=pytest.mark.soak)])
def test_a_flipped_bit_anywhere_yields_records_or_a_one_line_error(write: Write, count: int) -> None:
    """Never an abort, a traceback or a hang. Some footers abort the library: `signal 6` is among the messages."""
    files = answer_files()
    outcomes: Counter[str] = Counter()
    for seed in range(count):
        draw = Random(seed)
        name = draw.choice(sorted(files))
        data = bytearray(files[name])
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        outcomes[read_whole(write(bytes(data)))] += 1
    print(count, "flips:", dict(outcomes))
    assert outcomes["sentence"] > count // 3


def read_whole(path: Path) -> str:
    """Reads a file to its end and says how that went."""
    try:
        for record in read_answers(path):
            assert isinstance(record, Answer | Malformed)
    except ScoreError as error:
        message = str(error)
    else:
        return "records"
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return "crash told in a sentence" if "crashed" in message else "sentence"


@pytest.mark.parametrize(
    ("column", "named"),
    [
        (pa.array([1.5]), "column 'id' is double"),
        (pa.array([b"x"]), "column 'id' is binary"),
        (pa.array([True]), "column 'id' is bool"),
    ],
)
def test_ids_of_other_types_are_refused(write: Write, column: pa.Array, named: str) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": column, "prediction": ["x"]}), sink)
    with pytest.raises(ScoreError, match=named):
        list(read_answers(write(sink.getvalue())))


def test_texts_of_other_types_are_refused(write: Write) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": ["a"], "prediction": [1]}), sink)
    with pytest.raises(ScoreError, match="the answer is not text: column 'prediction' is int64"):
        list(read_answers(write(sink.getvalue())))


def test_texts_that_are_not_utf8_are_refused(write: Write) -> None:
    sink = io.BytesIO()
    raw = pa.array([b"caf\xe9"]).cast(pa.binary())
    text = pa.StringArray.from_buffers(1, raw.buffers()[1], raw.buffers()[2])
    pq.write_table(pa.table({"id": ["a"], "prediction": text}), sink)
    with pytest.raises(ScoreError, match="not UTF-8"):
        list(read_answers(write(sink.getvalue())))


def test_values_that_python_cannot_represent_are_refused(write: Write) -> None:
    sink = io.BytesIO()
    never = pa.array([10**16], pa.timestamp("ms"))
    pq.write_table(pa.table({"id": ["a"], "prediction": ["x"], "finish_reason": never}), sink)
    with pytest.raises(ScoreError, match="damaged or cut off"):
        list(read_answers(write(sink.getvalue())))


@each("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_texts_of_every_string_type_are_read(tmp_path: Path, kind: pa.DataType) -> None:
    path = tmp_path / "t"
    columns = {"id": pa.array(["001", "2", None]).cast(kind), "prediction": pa.array(["a", None, "c"]).cast(kind)}
    pq.write_table(pa.table(columns), path)
    records = list(read_answers(path))
    assert [(r.id, r.text) for r in records if isinstance(r, Answer)] == [("001", "a"), ("2", None)]
    assert isinstance(records[2], Malformed)
    assert records[2].message.startswith("id is null")


def test_integer_ids_and_chats_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t"
    chats = [[{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]]
    pq.write_table(pa.table({"idx": pa.array([2**64 - 1], pa.uint64()), "generated_text": chats}), path)
    answer = only(list(read_answers(path)))
    assert (answer.id, answer.text) == (str(2**64 - 1), "a")
