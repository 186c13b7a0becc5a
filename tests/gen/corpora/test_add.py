"""Adding a user's own corpora: what is copied is checked, and nothing is ever half-installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_dataset import tree_but_locks

from niah_gen.corpora import add
from niah_gen.corpora.add import add_corpus, add_dataset
from niah_gen.corpora.declarations import DECLARATION
from niah_gen.corpora.find import data_folder, installed_names, locate
from niah_gen.corpora.read import read_corpus
from niah_gen.errors import CorpusError
from niah_score.errors import LockedError
from niah_score.machine.files import STAGING, locked

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
    place = add_corpus("mine", [tmp_path / "texts", tmp_path / "last.parquet"], license="CC-BY-4.0")
    located = locate("mine")
    corpus = read_corpus(located)
    assert located.folder == place == data_folder() / "mine"
    assert sorted(tree_but_locks(place)) == ["a.jsonl", "b.txt", DECLARATION, "last.parquet"]
    assert [file.path for file in corpus.files] == ["a.jsonl", "b.txt", "last.parquet"]
    assert (corpus.language, corpus.license, corpus.source) == ("zh", "CC-BY-4.0", "local files")
    assert [document.text[:2] for document in corpus.documents] == ["第一", "第二", "最后"]
    assert installed_names().count("mine") == 1
    field = put(tmp_path / "x.jsonl", '{"body": "Words."}\n')
    add_corpus("fields", [field], language="zh", text_field="body")
    corpus = read_corpus(locate(str(folder / "fields")))
    assert (corpus.language, corpus.documents[0].text) == ("zh", "Words.")


def test_files_that_cannot_be_part_of_a_corpus_are_listed_together(tmp_path: Path, folder: Path) -> None:
    texts = tmp_path / "texts"
    bad = [put(texts / "bad.txt"), put(texts / "cut.jsonl", '{"text": "a"}\n{"text": "b'), put(texts / "empty.txt", "")]
    bad[0].write_bytes(b"one\ntwo\nthr\xffee\n")
    (tmp_path / "void").mkdir()
    names = ["page.html", "same.txt", "deep/Same.txt", "a\\b.txt"]
    wrong = [tmp_path / "nowhere.txt", *(put(tmp_path / name) for name in names)]
    for sources, parts in (
        (bad, ["bad.txt:3: byte 0xff", "cut.jsonl:2: not a JSON", "empty.txt: the file is empty"]),
        (wrong, ["nowhere.txt: no such file", "page.html: expected a .txt", "Same.txt: has the same name as",
                 "would not work on every system"]),
        ([put(tmp_path / "blank.jsonl", '{"text": " "}\n')], ["blank.jsonl: no document holds any text"]),
        ([tmp_path / "void"], ["no file was given, or none in the folders"]),
    ):  # fmt: skip
        with pytest.raises(CorpusError) as caught:
            add_corpus("mine", sources)
        assert [part for part in parts if part not in str(caught.value)] == [], caught.value
        assert tree_but_locks(folder) == {}


def test_wrong_names_and_languages_are_refused(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = put(tmp_path / "x.txt")
    add_corpus("mine", [text])
    before = tree_but_locks(folder)
    put(tmp_path / "shelf" / "theirs" / "a.txt")
    monkeypatch.setenv("NIAH_CORPORA", str(tmp_path / "shelf"))
    for name, message in {
        **dict.fromkeys(("", "-x", "_x", "a b", "a/b", "..", "名", "a\n", "a.b"), "expected letters, digits, _ and -"),
        **dict.fromkeys(("cdme", "PG19", "en_essays"), "belongs to a corpus of the package"),
        "mine": "'mine' is there already",
        "theirs": "'theirs' is there already",
    }.items():
        with pytest.raises(CorpusError, match=message):
            add_corpus(name, [text])
    with pytest.raises(CorpusError, match=r"'de' has no file; expected one of en, zh, ar, es, fr, ja.* write de\.toml"):
        add_corpus("other", [text], language="de")
    with locked(folder / "other" / STAGING / "lock"), pytest.raises(LockedError, match="another process"):
        add_corpus("other", [text])
    assert tree_but_locks(folder) == before


def test_a_file_changed_meanwhile_is_refused(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = put(tmp_path / "x.txt")
    monkeypatch.setattr(add, "_checked", lambda *arguments: str(text.write_bytes(b"\xff")))
    with pytest.raises(CorpusError, match="changed while it was copied"):
        add_corpus("mine", [text])
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


def test_wrong_options_for_a_repository_are_refused_and_nothing_is_installed(repository: Path, folder: Path) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"column": "text"}, r"row 1: expected a string in column 'text', found None; it has body, stars"),
        ({"column": "stars"}, r"row 1: expected a string in column 'stars', found 1"),
        ({"split": "test"}, r"split 'test': cannot be loaded .*train"),
        ({"config": "french"}, r"of config 'french': cannot be loaded .*default"),
        ({"revision": COMMIT}, r"expected a folder, without a revision"),
        ({"name": "cdme"}, r"belongs to a corpus of the package"),
        ({"repository": "owner/name", "revision": COMMIT}, r"owner/name@0123.*: cannot be loaded .*reach.*; check"),
    ]
    hub = [None, "main", COMMIT[:8], COMMIT.upper(), COMMIT + "0"]
    cases += [({"repository": "owner/name", "revision": one}, "expected the 40 hex digits of a commit") for one in hub]
    names = ["json", "owner/name/more", "./nowhere", "https://huggingface.co/datasets/a/b", ""]
    cases += [({"repository": name, "revision": COMMIT}, "OWNER/NAME") for name in names]
    for wrong, message in cases:
        options = {"name": "mine", "repository": str(repository), "revision": None, "column": "body", **wrong}
        with pytest.raises(CorpusError, match=message):
            add_dataset(**options)
        assert tree_but_locks(folder) == {}, wrong
