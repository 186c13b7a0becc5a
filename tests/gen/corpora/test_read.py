"""Reading corpora: documents with their place, and errors with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from each import each

from niah_gen.corpora.documents import Document, read_documents
from niah_gen.corpora.find import locate
from niah_gen.corpora.language import language_of
from niah_gen.corpora.read import checked_files, corpus_digest, read_corpus
from niah_gen.errors import CorpusError, IntegrityError
from niah_score.contract import sha256_hex


def test_a_text_file_is_one_document_with_unix_line_ends_and_no_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffOne.\r\nTwo.\rThree.\n".encode())
    assert list(read_documents(tmp_path / "a.txt", "a.txt")) == [Document("One.\nTwo.\nThree.\n", "a.txt", 1)]


def test_each_json_line_is_a_document_with_its_line_number(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"body": "One."}\n\n{"body": "Two."}\n')
    documents = list(read_documents(tmp_path / "a.jsonl", "x/a.jsonl", "body"))
    assert documents == [Document("One.", "x/a.jsonl", 1), Document("Two.", "x/a.jsonl", 3)]


@each(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b'{"text": "x"}\n\xff', r":2: byte 0xff at offset 14 is not UTF-8"),
        (b"\xff\xfe{\x00", ":1: the file is UTF-16"),
        (b'{"text": "x"}\n{"text"', ":2: not a JSON object"),
        (b"[1]", ":1: expected a string field 'text', found list"),
        (b'{"text": "\\ud800"}', r":1: half a surrogate pair \(\\ud800\)"),
        (b"[" * 100_000, ":1: not a JSON object"),
    ],
)
def test_an_invalid_document_is_reported_with_file_and_line(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(data)
    with pytest.raises(CorpusError, match=rf"a\.jsonl:? ?{message}"):
        list(read_documents(tmp_path / "a.jsonl", "a.jsonl"))


@each(
    ("text", "language"),
    [("中" * 20 + "a" * 80, "zh"), ("中" * 19 + "a" * 81, "en"), ("中 " * 2 + " " * 100, "zh"), ("", "en")],
)
def test_a_text_is_chinese_if_at_least_a_fifth_of_its_characters_are(text: str, language: str) -> None:
    assert language_of([Document(part, "a", 1) for part in (text[:7], text[7:])]) == language


TEXTS = Path(__file__).parents[2] / "corpora" / "texts"


@each("language", ["ar", "es", "fr", "ja"])
def test_an_undeclared_language_is_recognised_by_script_and_frequent_words(language: str) -> None:
    assert read_corpus(locate(str(TEXTS / language))).language == language


@each(
    ("text", "language"),
    [("The end of the day is near, and it was not long.", "en"), ("1 2 3", "en"), ("Zug um Zug kam die Nacht.", "en")],
)
def test_a_text_of_no_recognised_language_counts_as_english(text: str, language: str) -> None:
    assert language_of([Document(text, "a", 1)]) == language


def test_a_long_text_in_an_unknown_script_is_refused_with_advice() -> None:
    with pytest.raises(CorpusError, match=r"in Cyrillic script, .*--language.*\$NIAH_LANGUAGES"):
        language_of([Document("Утро было тихое, и река молчала. " * 50, "a", 1)])
    assert language_of([Document("Утро было тихое, и река молчала.", "a", 1)]) == "en"


def test_the_digest_covers_names_and_hashes_in_order_and_pins_are_checked(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("Second.")
    (tmp_path / "a.txt").write_text("First.")
    corpus = read_corpus(locate(str(tmp_path)))
    lines = f"a.txt\n{sha256_hex(b'First.')}\nb.txt\n{sha256_hex(b'Second.')}\n"
    assert corpus.sha256 == corpus_digest(corpus.files) == sha256_hex(lines.encode())
    assert [document.text for document in corpus.documents] == ["First.", "Second."]
    (tmp_path / "corpus.toml").write_text(
        'name = "n"\nlanguage = "en"\nlicense = "l"\nsource = "s"\n'
        f'[[files]]\npath = "b.txt"\nsha256 = "{sha256_hex(b"First.")}"\n'
    )
    with pytest.raises(IntegrityError, match=r"b\.txt: sha256 is .*the file was changed or damaged"):
        checked_files(locate(str(tmp_path)))
    (tmp_path / "b.txt").unlink()
    with pytest.raises(CorpusError, match=r"b\.txt: cannot be read"):
        checked_files(locate(str(tmp_path)))
