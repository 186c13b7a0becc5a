"""Corpora are found by name or path, and every file format is read."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from made_store import BUCKET, MadeStore, made_store
from properties import examples

from niah_gen.corpora import read as reading
from niah_gen.corpora.find import fetched_corpus, locate
from niah_gen.corpora.read import (
    DOCUMENT_BYTES,
    Bounds,
    CorpusDraw,
    Document,
    corpus_sha256,
    drawn_documents,
    language_of,
    read_corpus,
    read_documents,
)
from niah_gen.errors import CorpusError, IntegrityError, ResourceError
from niah_score.contract import sha256_hex
from niah_score.errors import AddressError

TEXTS = Path(__file__).parents[2] / "corpora" / "texts"
DIGEST = "ab" * 32
LINES = b'{"text": "One."}\n{"text": "Two.", "summary": "2"}\n'

pytestmark = pytest.mark.usefixtures("own_surroundings")


def test_documents_are_read_with_their_line_from_every_kind_of_file(tmp_path: Path) -> None:
    packed: dict[str, Callable[[bytes], bytes]]
    packed = {"jsonl": bytes, "jsonl.gz": gzip.compress, "jsonl.zst": zstandard.compress}
    for suffix, pack in packed.items():
        path = tmp_path / f"a.{suffix}"
        # Several frames, as appending to a compressed file makes.
        path.write_bytes(pack(LINES) + pack(b'\n\r\n{"text": "Three.", "n": NaN}'))
        assert list(read_documents(path, "x")) == [
            Document("One.", "x", 1), Document("Two.", "x", 2, "2"), Document("Three.", "x", 5),
        ], suffix  # fmt: skip
        if suffix != "jsonl":
            path.write_bytes(pack(LINES)[:-3])
            with pytest.raises(CorpusError, match=rf"a\.{suffix}: the compressed file is damaged or cut off"):
                list(read_documents(path, "x"))
    (tmp_path / "a.txt").write_bytes("\ufeffOne.\r\nTwo.\rThree.\n".encode())
    assert list(read_documents(tmp_path / "a.txt", "a.txt")) == [Document("One.\nTwo.\nThree.\n", "a.txt", 1)]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"body": ["One.", "Two."], "summary": ["1", None], "n": [[1], [2]]}), path)
    assert list(read_documents(path, "a", "body")) == [Document("One.", "a", 1, "1"), Document("Two.", "a", 2)]
    with pytest.raises(CorpusError, match=r"a\.parquet: no column 'text'; it has body, summary, n"):
        list(read_documents(path, "a"))
    with pytest.raises(CorpusError, match=r"a\.parquet:1: expected a text in 'n', found \[1\]"):
        list(read_documents(path, "a", "n"))
    pq.write_table(pa.table({"text": ["Words. " * 100 + str(n) for n in range(500)]}), path, compression="zstd")
    data = bytearray(path.read_bytes())
    data[20:400] = bytes(380)
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=r"a\.parquet: the Parquet file is damaged"):
        list(read_documents(path, "a"))


def test_an_invalid_document_is_reported_with_file_and_line(tmp_path: Path) -> None:
    for data, message in {
        b"": "the file is empty",
        b'{"text": "x"}\n\xff': r":2: byte 0xff at offset 14 is not UTF-8; save it as UTF-8",
        b"\xff\xfe{\x00": ":1: byte 0xff at offset 0 is not UTF-8; save it as UTF-8",
        b'{"text": "x"}\n{"text"': ":2: not a JSON object",
        b"[1]": r":1: expected a text in 'text', found None; it has \[\]",
        b'{"body": 1}': r":1: expected a text in 'text', found None; it has \['body'\]",
        b'{"text": "\\ud800"}': ":1: half a surrogate pair",
        b"[" * 100_000: ":1: not a JSON object",
    }.items():
        (tmp_path / "a.jsonl").write_bytes(data)
        with pytest.raises(CorpusError, match=rf"a\.jsonl:? ?{message}"):
            list(read_documents(tmp_path / "a.jsonl", "a.jsonl"))
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\nthr\xffee\n")
    with pytest.raises(CorpusError, match=r"a\.txt:3: byte 0xff at offset 11 is not UTF-8"):
        list(read_documents(tmp_path / "a.txt", "a.txt"))


def test_a_document_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LONGEST_BYTES", 1000)
    (tmp_path / "a.jsonl").write_bytes(LINES + b'{"text": "' + b"x" * 5000)
    (tmp_path / "b.txt").write_text("x" * 1001)
    pq.write_table(pa.table({"text": ["x" * 1001]}), tmp_path / "c.parquet")
    for name, message in {
        "a.jsonl": r"a\.jsonl:3: the line is longer than 1,000 bytes; write each document on its own line",
        "b.txt": r"b\.txt: 1,001 bytes, and a \.txt file is one document, of at most 1,000",
        "c.parquet": r"c\.parquet:1: a text of more than 1,000 characters; split it",
    }.items():
        with pytest.raises(ResourceError, match=message):
            list(read_documents(tmp_path / name, name))


def test_the_language_is_recognised_by_script_and_frequent_words() -> None:
    for text, language in {
        "中" * 20 + "a" * 80: "zh", "中" * 19 + "a" * 81: "en", "": "en",
        "The end of the day is near, and it was not long.": "en", "1 2 3": "en", "Zug um Zug kam die Nacht.": "en",
        "Утро было тихое, и река молчала.": "en",
    }.items():  # fmt: skip
        assert language_of([text[:7], text[7:]]) == language, text
    for language in ("ar", "es", "fr", "ja"):
        assert read_corpus(locate(str(TEXTS / language))).language == language
    with pytest.raises(CorpusError, match=r"in Cyrillic script, .*--language.*\$NIAH_LANGUAGES"):
        language_of(["Утро было тихое, и река молчала. " * 50])


def test_the_digest_covers_names_and_hashes_in_order_and_pins_are_checked(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("Second.")
    (tmp_path / "a.txt").write_text("First.")
    corpus = read_corpus(locate(str(tmp_path)))
    lines = f"a.txt\n{sha256_hex(b'First.')}\nb.txt\n{sha256_hex(b'Second.')}\n"
    assert corpus.sha256 == sha256_hex(lines.encode())
    assert [document.text for document in corpus.documents] == ["First.", "Second."]
    (tmp_path / "corpus.toml").write_text(
        'name = "n"\nlanguage = "en"\nlicense = "l"\nsource = "s"\n'
        f'[[files]]\npath = "b.txt"\nsha256 = "{sha256_hex(b"First.")}"\n'
    )
    with pytest.raises(IntegrityError, match=r"b\.txt: sha256 is .*it was changed or damaged"):
        read_corpus(locate(str(tmp_path)))
    (tmp_path / "b.txt").unlink()
    with pytest.raises(CorpusError, match=r"b\.txt: cannot be read"):
        read_corpus(locate(str(tmp_path)))


# --- drawing from a corpus that is too large ---


def size_of(document: Document) -> int:
    return len((document.text + document.summary).encode()) + DOCUMENT_BYTES


def drawn_slowly(documents: Sequence[Document], limits: Bounds) -> list[Document]:
    """The rule as documented: all lots at once, sorted."""
    lots = {n: hashlib.sha256(f"{DIGEST}/{limits.seed}/{n}".encode()).hexdigest() for n in range(len(documents))}
    chosen: list[int] = []
    for number in sorted(lots, key=lots.__getitem__):
        if sum(size_of(documents[n]) for n in chosen) >= limits.drawn:
            break
        chosen.append(number)
    return [documents[number] for number in sorted(chosen)]


@examples(300)
@given(
    st.lists(st.text("aé中\n", max_size=40), max_size=30),
    st.builds(Bounds, st.integers(0, 8000), st.integers(1, 8000), st.integers(0, 3)),
)
def test_the_draw_equals_sorting_all_lots(contents: list[str], limits: Bounds) -> None:
    documents = [Document(text, "a.jsonl", number, text[:3]) for number, text in enumerate(contents, 1)]
    drawn, draw = drawn_documents(documents, DIGEST, limits)
    if sum(map(size_of, documents)) <= limits.whole:
        assert (list(drawn), draw) == (documents, None)
    else:
        assert list(drawn) == drawn_slowly(documents, limits)
        assert draw == CorpusDraw(limits.drawn, limits.seed, len(documents))


TEXT = "The crane was oiled in spring. Nobody has used it since. "
HARBOUR = f"{BUCKET}/texts/harbour"


def files_of(spec: Path | str) -> list[str]:
    return [file.path for file in locate(str(spec)).declaration.files]


def test_only_the_first_kind_of_files_in_a_folder_is_read_and_pages_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(*names: str) -> None:
        for name in names:
            (tmp_path / name).write_bytes(b"")

    advice = r"expected a \.txt, \.jsonl, .* or \.jsonl\.zst file; convert Markdown, HTML and others to text first"
    put("README.md", "page.html", "notes.rtf", "other.gz", ".txt")
    for spec in (tmp_path, tmp_path / "README.md", tmp_path / "page.html", tmp_path / "other.gz"):
        with pytest.raises(CorpusError, match=advice):
            locate(str(spec))
    put("b.jsonl.zst", "a.jsonl.gz")
    assert files_of(tmp_path) == ["a.jsonl.gz", "b.jsonl.zst"]
    put("a.jsonl", "b.txt", "c.parquet")
    assert files_of(tmp_path) == ["a.jsonl", "b.txt", "c.parquet"]

    monkeypatch.setenv("NIAH_CORPORA", f"{tmp_path}/nowhere:{tmp_path.parent}:{tmp_path}")
    assert locate(str(tmp_path / "b.jsonl.zst")).name == "b"
    assert files_of("b") == ["b.txt"]
    shelf = tmp_path.name
    assert locate(f"{shelf}/c").name == f"{shelf}/c"
    with pytest.raises(CorpusError, match=r"has no file 'cc'; did you mean 'c'\?"):
        locate(f"{shelf}/cc")


# --- at addresses ---


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[MadeStore]]:
    """A store with a folder of texts; this test has a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fetched_corpus.cache_clear()
    with made_store() as made:
        for name in ("b", "a"):
            made.objects[f"bucket/texts/harbour/{name}.txt"] = (TEXT * 40 + name).encode()
        made.objects["bucket/texts/harbour/README.md"] = b"# Harbour"
        made.objects["bucket/texts/harbour/old/c.txt"] = b"Not a part of it."
        yield made
    fetched_corpus.cache_clear()


def again(spec: str) -> str:
    """The digest that a new process would compute."""
    fetched_corpus.cache_clear()
    return corpus_sha256(locate(spec))


def test_a_folder_or_object_at_an_address_is_the_corpus_of_its_copy(store: type[MadeStore], tmp_path: Path) -> None:
    folder = tmp_path / "harbour"
    folder.mkdir()
    for name in ("a.txt", "b.txt", "README.md"):
        (folder / name).write_bytes(store.objects[f"bucket/texts/harbour/{name}"])
    for far, near in ((f"{HARBOUR}/", folder), (f"{HARBOUR}/a.txt", folder / "a.txt")):
        assert read_corpus(locate(far)) == read_corpus(locate(str(near)))
    store.objects.clear()
    assert locate(f"{HARBOUR}/").name == "harbour", "looked up again by the same process"


def test_a_corpus_with_a_declaration_has_only_the_files_that_it_lists(store: type[MadeStore]) -> None:
    pin = sha256_hex(b"Not a part of it.")
    toml = f'name="x"\nlanguage="en"\nlicense="CC0-1.0"\nsource="me"\n[[files]]\npath="old/c.txt"\nsha256="{pin}"'
    store.objects["bucket/texts/harbour/corpus.toml"] = toml.encode()
    located = locate(HARBOUR)
    corpus = read_corpus(located)
    assert (corpus.name, corpus.license, files_of(HARBOUR)) == ("harbour", "CC0-1.0", ["old/c.txt"])
    assert sorted(path.name for path in located.folder.rglob("*") if path.is_file()) == ["c.txt", "corpus.toml"]
    for wrong, message in {
        toml.replace("old/c", "old/d"): r"lists old/d\.txt, which",
        "name = ": "not valid TOML",
    }.items():
        store.objects["bucket/texts/harbour/corpus.toml"] = wrong.encode()
        with pytest.raises(CorpusError, match=message):
            again(HARBOUR)


def test_an_address_without_any_corpus_file_is_reported(store: type[MadeStore]) -> None:
    store.objects["bucket/other/x.pdf"] = b"x"
    for place in ("nothing", "other"):
        with pytest.raises(CorpusError, match=f"^{BUCKET}/{place}: no file of a corpus there; expected a .txt"):
            locate(f"{BUCKET}/{place}")
    with pytest.raises(AddressError, match="check the bucket"):
        locate("made://other/x")
