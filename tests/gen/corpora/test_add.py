"""Adding a user's own corpora: what is copied is checked, and nothing is ever half-installed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import filelock
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from folders import tree_but_locks

from niah_gen.corpora import add as own_corpora
from niah_gen.corpora.add import add_corpus, add_dataset
from niah_gen.corpora.declarations import DECLARATION
from niah_gen.corpora.find import data_folder, installed_names, locate
from niah_gen.corpora.read import read_corpus
from niah_gen.errors import CorpusError, LockedError

COMMIT = "0123456789abcdef0123456789abcdef01234567"

pytestmark = pytest.mark.usefixtures("own_surroundings")


def put(path: Path, text: str = "Text.") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_a_users_files_become_a_corpus_that_is_located_by_name(tmp_path: Path, folder: Path) -> None:
    put(tmp_path / "texts" / "b.txt", "第二篇文章。" * 20)
    put(tmp_path / "texts" / "a.jsonl", '{"text": "第一篇文章。", "title": "一"}\n')
    put(tmp_path / "texts" / "ignored.md", "not a text")
    pq.write_table(pa.table({"text": ["最后一篇。"]}), tmp_path / "last.parquet")
    place = add_corpus("mine", [tmp_path / "texts", tmp_path / "last.parquet"], license="CC-BY-4.0", source="my shelf")
    assert sorted(tree_but_locks(place)) == ["a.jsonl", "b.txt", DECLARATION, "last.parquet"]
    located = locate("mine")
    corpus = read_corpus(located)
    assert located.folder == place == data_folder() / "mine"
    assert [file.path for file in corpus.files] == ["a.jsonl", "b.txt", "last.parquet"]
    assert (corpus.language, corpus.license, corpus.source) == ("zh", "CC-BY-4.0", "my shelf")
    assert [document.text[:2] for document in corpus.documents] == ["第一", "第二", "最后"]
    assert installed_names().count("mine") == 1
    field = put(tmp_path / "x.jsonl", '{"body": "Words."}\n')
    add_corpus("fields", [field], language="zh", text_field="body", folder=folder)
    corpus = read_corpus(locate(str(folder / "fields")))
    assert (corpus.language, corpus.documents[0].text) == ("zh", "Words.")


def test_files_that_cannot_be_part_of_a_corpus_are_listed_together(tmp_path: Path, folder: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "bad.txt").write_bytes(b"one\ntwo\nthr\xffee\n")
    put(texts / "cut.jsonl", '{"text": "a"}\n{"text": "b')
    put(texts / "not.parquet", "PAR?")
    for number in range(20):
        put(texts / f"{number:02d}.txt", "")
    with pytest.raises(CorpusError) as caught:
        add_corpus("mine", [texts / "bad.txt", texts / "cut.jsonl", texts / "not.parquet", texts / "00.txt"])
    message = str(caught.value)
    for part in (
        "bad.txt:3: byte 0xff",
        "cut.jsonl:2: not a JSON",
        "not.parquet: damaged",
        "00.txt: the file is empty",
    ):
        assert part in message
    with pytest.raises(CorpusError, match=r"and 3 more$"):
        add_corpus("mine", [texts], folder=folder)
    with pytest.raises(CorpusError, match=r"blank\.jsonl: no document holds any text"):
        add_corpus("mine", [put(tmp_path / "blank.jsonl", '{"text": " "}\n')], folder=folder)

    (tmp_path / "void").mkdir()
    names = ["void", "page.html", "nowhere.txt", "same.txt", "deep/Same.txt", "a\\b.txt"]
    for name in names[1:2] + names[3:]:
        put(tmp_path / name)
    with pytest.raises(CorpusError) as caught:
        add_corpus("mine", [tmp_path / name for name in names], folder=folder)
    message = str(caught.value)
    for part in (
        "void: no file of a corpus", "page.html: expected a .txt", "convert Markdown, HTML and others to text",
        "nowhere.txt: no such file", "Same.txt: has the same name as", "would not work on every system",
    ):  # fmt: skip
        assert part in message
    with pytest.raises(CorpusError, match="no file or folder was given"):
        add_corpus("mine", [], folder=folder)
    assert tree_but_locks(folder) == {}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not let such a name exist")
def test_a_file_name_that_is_not_valid_text_is_refused(tmp_path: Path, folder: Path) -> None:
    path = put(tmp_path / os.fsdecode(b"\xff.txt"))
    with pytest.raises(CorpusError, match="would not work on every system") as caught:
        add_corpus("mine", [path], folder=folder)
    str(caught.value).encode()


def test_names_languages_and_licences_that_cannot_be_used_are_refused(tmp_path: Path, folder: Path) -> None:
    text = put(tmp_path / "x.txt")
    for name in ("", "-x", "_x", "a b", "a/b", "..", "名", "a\n", "a.b"):
        with pytest.raises(CorpusError, match="expected letters, digits, _ and -"):
            add_corpus(name, [text], folder=folder)
    for name, message in {"cdme": "`niah-gen corpora fetch`", "PG19": "corpora fetch", "en_essays": "package"}.items():
        with pytest.raises(CorpusError, match=message):
            add_corpus(name, [text], folder=folder)
    with pytest.raises(CorpusError, match=r"'de' has no file; expected one of en, zh, ar, es, fr, ja.* write de\.toml"):
        add_corpus("mine", [text], language="de", folder=folder)
    with pytest.raises(CorpusError, match="valid text"):
        add_corpus("mine", [text], license="\udcff", folder=folder)
    assert tree_but_locks(folder) == {}


def test_a_corpus_name_that_is_already_taken_is_refused(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = put(tmp_path / "x.txt")
    add_corpus("mine", [text], folder=folder)
    before = tree_but_locks(folder)
    put(text, "Another text.")
    monkeypatch.setenv("NIAH_CORPORA", str(folder))
    for place in (folder, None):
        with pytest.raises(CorpusError, match="'mine' is there already"):
            add_corpus("mine", [text], folder=place)
    assert tree_but_locks(folder) == before
    with filelock.FileLock(folder / ".other.lock"), pytest.raises(LockedError, match="another process"):
        add_corpus("other", [text], folder=folder)


def test_a_file_that_changes_while_it_is_added_is_refused(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = put(tmp_path / "x.txt")
    checked = own_corpora._checked_language

    def change(*arguments: Any) -> str:
        language = checked(*arguments)
        text.write_bytes(b"\xff")
        return language

    monkeypatch.setattr(own_corpora, "_checked_language", change)
    with pytest.raises(CorpusError, match="changed while it was copied"):
        add_corpus("mine", [text], folder=folder)
    assert tree_but_locks(folder) == {}


# --- from a `datasets` repository ---


@pytest.fixture
def repository(tmp_path: Path, offline: None) -> Path:
    """A local `datasets` repository with one Parquet file; the Hub is out of reach."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    rows = {"body": ["Line one.\nLine two.", "引号\u2028“中文”", "Third."], "stars": [1, 2, 3]}
    pq.write_table(pa.table(rows), folder / "train-00000-of-00001.parquet")
    return folder


def test_the_first_rows_of_a_column_become_a_corpus(repository: Path, folder: Path) -> None:
    calls = []
    place = add_dataset(
        "mine", str(repository), revision=None, column="body", documents=2, license="MIT", folder=folder,
        progress=lambda path, done, total: calls.append((path, done, total)),
    )  # fmt: skip
    lines = (place / "documents.jsonl").read_text("utf-8").split("\n")
    assert [json.loads(line)["text"] for line in lines if line] == ["Line one.\nLine two.", "引号\u2028“中文”"]
    corpus = read_corpus(locate(str(place)))
    # No absolute path: the source of a corpus is copied into every manifest.
    assert (corpus.source, corpus.license) == ("shelf train column body", "MIT")
    assert [document.line for document in corpus.documents] == [1, 2]
    assert calls == [("documents.jsonl", 1, 2), ("documents.jsonl", 2, 2)]


def test_wrong_options_for_a_repository_are_refused_and_nothing_is_installed(repository: Path, folder: Path) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"column": "text"}, r"row 1: no column 'text'; it has body, stars"),
        ({"column": "stars"}, r"row 1: expected a string in 'stars', found 1"),
        ({"split": "test"}, r"cannot be loaded as split 'test' .*train"),
        ({"config": "french"}, r"of config 'french' .*default"),
        ({"documents": 0}, r"at least one document"),
        ({"revision": COMMIT}, r"is a folder here"),
        ({"name": "cdme"}, r"`niah-gen corpora fetch` installs"),
        ({"language": "de"}, r"language 'de' has no file; expected one of en, zh"),
        ({"repository": "owner/name", "revision": COMMIT}, r"owner/name@0123.* cannot be loaded .*reach.*; check"),
    ]
    hub = [None, "main", COMMIT[:8], COMMIT.upper(), COMMIT + "0"]
    cases += [({"repository": "owner/name", "revision": one}, "expected the 40 hex digits of a commit") for one in hub]
    names = ["json", "owner/name/more", "./nowhere", "https://huggingface.co/datasets/a/b", ""]
    cases += [({"repository": name, "revision": COMMIT}, "OWNER/NAME") for name in names]
    for wrong, message in cases:
        options = {"name": "mine", "repository": str(repository), "revision": None, "column": "body", **wrong}
        with pytest.raises(CorpusError, match=message):
            add_dataset(folder=folder, **options)
        assert tree_but_locks(folder) == {}, wrong


def test_a_pinned_repository_is_streamed_from_exactly_that_commit(
    repository: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    calls = []

    def load(*arguments: Any, **options: Any) -> Any:
        calls.append((arguments, options))
        return datasets.IterableDataset.from_generator(lambda: iter([{"text": "Words."}]))

    monkeypatch.setattr(datasets, "load_dataset", load)
    place = add_dataset("mine", "owner/name", revision=COMMIT, column="text", config="en", folder=folder)
    assert calls == [(("owner/name", "en"), {"split": "train", "streaming": True, "revision": COMMIT})]
    assert read_corpus(locate(str(place))).source == f"owner/name@{COMMIT} en train column text"
