"""Drawing documents of a large corpus, against a slow version of the rule; nothing but the rule decides."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from properties import examples

from niah_gen.corpora import documents as reading
from niah_gen.corpora.documents import Document, wanted_documents
from niah_gen.corpora.draw import Bounds, CorpusDraw, Reservoir, document_size
from niah_gen.corpora.find import locate
from niah_gen.corpora.read import read_corpus
from niah_gen.errors import CorpusError

DIGEST = "ab" * 32

texts = st.lists(st.text("aé中\n", max_size=40), max_size=30)
bounds = st.builds(Bounds, st.integers(0, 8000), st.integers(1, 8000), st.integers(0, 3))


def drawn_slowly(documents: Sequence[Document], limits: Bounds) -> list[Document]:
    """The rule as documented: all lots at once, sorted."""
    if sum(map(document_size, documents)) <= limits.whole:
        return list(documents)
    lots = {n: hashlib.sha256(f"{DIGEST}/{limits.seed}/{n}".encode()).hexdigest() for n in range(len(documents))}
    chosen: list[int] = []
    for number in sorted(lots, key=lots.__getitem__):
        if sum(document_size(documents[n]) for n in chosen) >= limits.drawn:
            break
        chosen.append(number)
    return [documents[number] for number in sorted(chosen)]


def fed(documents: Sequence[Document], limits: Bounds, asking: bool = True) -> Reservoir:
    reservoir = Reservoir(DIGEST, limits)
    for document in documents:
        reservoir.add(document if not asking or reservoir.wanted() else None)
    return reservoir


@examples(300)
@given(texts, bounds, st.booleans())
def test_the_draw_equals_sorting_all_lots_even_if_unwanted_documents_are_skipped(
    contents: list[str], limits: Bounds, asking: bool
) -> None:
    documents = [Document(text, "a.jsonl", number, text[:3]) for number, text in enumerate(contents, 1)]
    reservoir = fed(documents, limits, asking)
    assert list(reservoir.documents()) == drawn_slowly(documents, limits)
    if sum(map(document_size, documents)) <= limits.whole:
        assert reservoir.draw() is None
    else:
        assert reservoir.draw() == CorpusDraw(limits.drawn, limits.seed, len(documents))


@examples(100)
@given(texts, st.integers(1, 4000), st.integers(0, 4000))
def test_a_larger_draw_contains_every_document_of_a_smaller_one(contents: list[str], size: int, more: int) -> None:
    documents = [Document(text, "a.jsonl", number) for number, text in enumerate(contents, 1)]
    small = fed(documents, Bounds(0, size, 0)).documents()
    large = fed(documents, Bounds(0, size + more, 0)).documents()
    assert [document for document in large if document in small] == list(small)


def test_a_draw_exceeds_its_size_by_less_than_one_document() -> None:
    documents = [Document("x" * 744, "a.jsonl", number) for number in range(1, 500)]  # 1,000 bytes each
    assert len(fed(documents, Bounds(0, 10_000, 0)).documents()) == 10
    assert len(fed(documents, Bounds(0, 10_001, 0)).documents()) == 11
    assert len(fed(documents, Bounds(0, 1, 0)).documents()) == 1


def test_another_seed_and_another_digest_draw_other_documents() -> None:
    documents = [Document("x" * 744, "a.jsonl", number) for number in range(1, 500)]
    base = fed(documents, Bounds(0, 50_000, 0)).documents()
    other = Reservoir("cd" * 32, Bounds(0, 50_000, 0))
    for document in documents:
        other.add(document)
    assert len({base, fed(documents, Bounds(0, 50_000, 1)).documents(), other.documents()}) == 3


def test_all_documents_are_drawn_about_equally_often_over_many_seeds() -> None:
    documents = [Document("x" * 744, "a.jsonl", number) for number in range(40)]
    times = [0] * 40
    for seed in range(1000):
        for document in fed(documents, Bounds(0, 10_000, seed)).documents():
            times[document.line] += 1
    # 250 expected, standard deviation 14; the seeds are fixed.
    assert sum(times) == 10_000
    assert 190 < min(times) <= max(times) < 310


# --- files, read in pieces of any size ---


@examples(60, HealthCheck.function_scoped_fixture)
@given(
    contents=st.lists(st.text("ab中\n\r\u2028 ", max_size=50), min_size=1, max_size=25),
    chunk=st.integers(1, 200),
    end=st.sampled_from(["\n", "\r\n", "\n\n", "\n \n"]),
    suffix=st.sampled_from([".jsonl", ".jsonl.gz", ".jsonl.zst"]),
    limits=bounds,
)
def test_the_lines_drawn_do_not_depend_on_the_chunk_size(
    contents: list[str], chunk: int, end: str, suffix: str, limits: Bounds, tmp_path: Path
) -> None:
    lines = [json.dumps({"text": text}, ensure_ascii=bool(chunk % 2)) for text in [*contents, "one with text"]]
    path = tmp_path / f"a{suffix}"
    with pa.output_stream(str(path), compression={"gz": "gzip", "zst": "zstd"}.get(suffix[7:])) as file:
        file.write(end.join(lines).encode())
    with pytest.MonkeyPatch.context() as patch:
        whole = read_or_nothing(path, limits)
        patch.setattr(reading, "_CHUNK_BYTES", chunk)
        assert read_or_nothing(path, limits) == whole
    step = 1 if end in ("\n", "\r\n") else 2
    every = list(reading.read_documents(path, path.name))
    assert [(document.text, document.line) for document in every] == [
        (text, 1 + step * number) for number, text in enumerate([*contents, "one with text"])
    ]


def read_or_nothing(path: Path, limits: Bounds) -> object:
    """The corpus, or the message of its error: a draw may consist of blank documents only."""
    try:
        return read_corpus(locate(str(path)), limits)
    except CorpusError as error:
        return str(error)


@examples(60, HealthCheck.function_scoped_fixture)
@given(
    contents=st.lists(st.text("ab中", max_size=50), min_size=1, max_size=40),
    group=st.integers(1, 50),
    batch=st.integers(1, 50),
    dictionary=st.booleans(),
    kind=st.sampled_from([pa.string(), pa.large_string()]),
    limits=bounds,
)
def test_the_rows_drawn_do_not_depend_on_row_groups_and_batches(
    contents: list[str], group: int, batch: int, dictionary: bool, kind: pa.DataType, limits: Bounds, tmp_path: Path
) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"other": list(range(len(contents))), "text": pa.array(contents, kind)})
    pq.write_table(table, path, row_group_size=group, use_dictionary=dictionary, data_page_size=64)
    reservoir = Reservoir(DIGEST, limits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_MOST_BATCH_ROWS", batch)
        for document in wanted_documents(path, "a.parquet", "text", reservoir.wanted):
            reservoir.add(document)
    every = [Document(text, "a.parquet", number) for number, text in enumerate(contents, 1)]
    assert list(reservoir.documents()) == drawn_slowly(every, limits)
