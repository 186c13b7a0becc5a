"""Adding a user's own corpora: what is copied is checked, and nothing is ever half-installed."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from folders import tree_but_locks

from niah_gen.corpora import add as own_corpora
from niah_gen.corpora.add import add_corpus, add_dataset
from niah_gen.corpora.declarations import DECLARATION
from niah_gen.corpora.find import data_folder, installed_names, locate
from niah_gen.corpora.read import read_corpus
from niah_gen.errors import CorpusError, ResourceError

COMMIT = "0123456789abcdef0123456789abcdef01234567"

pytestmark = pytest.mark.usefixtures("own_surroundings")


# --- the user's own files ---


def test_a_users_files_become_a_corpus_that_is_located_by_name(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "b.txt").write_text("第二篇文章。" * 20, "utf-8")
    (texts / "a.jsonl").write_text('{"text": "第一篇文章。", "title": "一"}\n', "utf-8")
    (texts / "ignored.md").write_text("not a text", "utf-8")
    pq.write_table(pa.table({"text": ["最后一篇。"]}), tmp_path / "last.parquet")
    place = add_corpus("mine", [texts, tmp_path / "last.parquet"], license="CC-BY-4.0", source="my shelf")
    assert sorted(tree_but_locks(place)) == ["a.jsonl", "b.txt", DECLARATION, "last.parquet"]
    located = locate("mine")
    corpus = read_corpus(located)
    assert located.folder == place == data_folder() / "mine"
    assert [file.path for file in corpus.files] == ["a.jsonl", "b.txt", "last.parquet"]
    assert (corpus.language, corpus.license, corpus.source) == ("zh", "CC-BY-4.0", "my shelf")
    assert [document.text[:2] for document in corpus.documents] == ["第一", "第二", "最后"]
    assert installed_names().count("mine") == 1


def test_the_language_and_the_text_field_can_be_given(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"body": "Words."}\n', "utf-8")
    add_corpus("mine", [tmp_path / "x.jsonl"], language="zh", text_field="body", folder=folder)
    corpus = read_corpus(locate(str(folder / "mine")))
    assert (corpus.language, corpus.documents[0].text) == ("zh", "Words.")


@pytest.mark.parametrize(
    ("file", "data", "message"),
    [
        ("bad.txt", b"one\ntwo\nthr\xffee\n", r"bad\.txt:3: byte 0xff"),
        ("empty.txt", b"", r"empty\.txt: the file is empty"),
        ("blank.jsonl", b'{"text": " "}\n{"text": ""}\n', r"blank\.jsonl: no document holds any text"),
        (
            "field.jsonl",
            b'{"text": "a"}\n\n{"body": "b"}\n',
            r"field\.jsonl:3: expected a string field 'text', found body",
        ),
        ("cut.jsonl", b'{"text": "a"}\n{"text": "b', r"cut\.jsonl:2: not a JSON object"),
        ("not.parquet", b"PAR?", r"not\.parquet: not a readable Parquet file"),
    ],
)
def test_an_unreadable_file_is_named_with_its_line_and_nothing_is_installed(
    file: str, data: bytes, message: str, tmp_path: Path, folder: Path
) -> None:
    (tmp_path / file).write_bytes(data)
    with pytest.raises(CorpusError, match=message):
        add_corpus("mine", [tmp_path / file], folder=folder)
    assert tree_but_locks(folder) == {}


def test_bad_files_are_listed_together_up_to_twenty(tmp_path: Path, folder: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number:02d}.txt").write_bytes(b"")
    with pytest.raises(CorpusError) as caught:
        add_corpus("mine", [tmp_path], folder=folder)
    assert str(caught.value).count("the file is empty") == 20
    assert str(caught.value).endswith("and 10 more")


def test_sources_that_cannot_be_copied_are_listed_together(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "void").mkdir()
    (tmp_path / "deep").mkdir()
    (tmp_path / "page.rtf").write_text("<p>", "utf-8")
    (tmp_path / "same.txt").write_text("One.", "utf-8")
    (tmp_path / "deep" / "Same.txt").write_text("Two.", "utf-8")
    (tmp_path / "a\\b.txt").write_text("Three.", "utf-8")
    names = ["void", "page.rtf", "nowhere.txt", "same.txt", "deep", "a\\b.txt"]
    with pytest.raises(CorpusError) as caught:
        add_corpus("mine", [tmp_path / name for name in names], folder=folder)
    message = str(caught.value)
    for part in ("void: the folder holds no", "page.rtf: expected a .txt", "nowhere.txt: no such file or folder"):
        assert part in message
    assert "Same.txt: has the same name as" in message
    assert "would not work on every system" in message
    with pytest.raises(CorpusError, match="no file or folder was given"):
        add_corpus("mine", [], folder=folder)
    assert not folder.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not let such a name exist")
def test_a_file_name_that_is_not_valid_text_is_refused(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.txt")
    path.write_text("Text.", "utf-8")
    with pytest.raises(CorpusError, match="would not work on every system") as caught:
        add_corpus("mine", [path], folder=folder)
    str(caught.value).encode()


@pytest.mark.parametrize("name", ["", "-x", "_x", "a b", "a/b", "..", "名", "a\n", "a.b"])
def test_an_invalid_corpus_name_is_refused(name: str, tmp_path: Path, folder: Path) -> None:
    (tmp_path / "x.txt").write_text("Text.", "utf-8")
    with pytest.raises(CorpusError, match="expected letters, digits, _ and -"):
        add_corpus(name, [tmp_path / "x.txt"], folder=folder)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [("cdme", "`niah-gen corpora fetch` installs"), ("CDME", "`niah-gen corpora fetch`"), ("en_essays", "the package")],
)
def test_the_names_of_known_and_bundled_corpora_are_refused(
    name: str, message: str, tmp_path: Path, folder: Path
) -> None:
    (tmp_path / "x.txt").write_text("Text.", "utf-8")
    with pytest.raises(CorpusError, match=message):
        add_corpus(name, [tmp_path / "x.txt"], folder=folder)


def test_a_corpus_name_that_is_already_taken_is_refused(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.txt").write_text("Text.", "utf-8")
    add_corpus("mine", [tmp_path / "x.txt"], folder=folder)
    before = tree_but_locks(folder)
    (tmp_path / "x.txt").write_text("Another text.", "utf-8")
    with pytest.raises(CorpusError, match="'mine' is there already"):
        add_corpus("mine", [tmp_path / "x.txt"], folder=folder)
    monkeypatch.setenv("NIAH_CORPORA", str(folder))
    with pytest.raises(CorpusError, match="'mine' is there already"):
        add_corpus("mine", [tmp_path / "x.txt"])
    (folder / "other.jsonl").write_text('{"text": "a"}', "utf-8")
    with pytest.raises(CorpusError, match=r"other\.jsonl"):
        add_corpus("other", [tmp_path / "x.txt"])
    (folder / "other.jsonl").unlink()
    assert tree_but_locks(folder) == before


def test_a_file_that_changes_while_it_is_added_is_refused(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.txt").write_text("Text.", "utf-8")
    checked = own_corpora._checked_language

    def change(*arguments: Any) -> str:
        language = checked(*arguments)
        (tmp_path / "x.txt").write_bytes(b"\xff")
        return language

    monkeypatch.setattr(own_corpora, "_checked_language", change)
    with pytest.raises(CorpusError, match="changed while it was copied"):
        add_corpus("mine", [tmp_path / "x.txt"], folder=folder)
    assert tree_but_locks(folder) == {}


def test_an_unsupported_language_and_a_licence_of_invalid_text_are_refused(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "x.txt").write_text("Text.", "utf-8")
    with pytest.raises(CorpusError, match=r"'de' has no file; expected one of en, zh, ar, es, fr, ja.* write de\.toml"):
        add_corpus("mine", [tmp_path / "x.txt"], language="de", folder=folder)
    with pytest.raises(CorpusError, match="valid text"):
        add_corpus("mine", [tmp_path / "x.txt"], license="\udcff", folder=folder)
    assert tree_but_locks(folder) == {}


def test_files_larger_than_the_free_space_are_refused_before_copying(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.txt").write_text("Text.", "utf-8")
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=4))
    with pytest.raises(ResourceError, match=r"its files take 5 bytes, and the disk of .* has 4 left; make room"):
        add_corpus("mine", [tmp_path / "x.txt"], folder=folder)
    assert tree_but_locks(folder) == {}


def test_compressed_json_lines_are_added_as_they_are(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(b'{"text": "One."}\n{"text": "Two."}\n'))
    place = add_corpus("mine", [tmp_path / "x.jsonl.gz"], folder=folder)
    assert sorted(tree_but_locks(place)) == [DECLARATION, "x.jsonl.gz"]
    assert [document.text for document in read_corpus(locate(str(place))).documents] == ["One.", "Two."]


# --- from a `datasets` repository ---


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A local `datasets` repository with one Parquet file; the Hub is out of reach."""
    # Not set in the environment: a module imported meanwhile would keep the value for all later tests.
    import datasets
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hf" / "datasets")
    folder = tmp_path / "shelf"
    folder.mkdir()
    rows = {"body": ["Line one.\nLine two.", "引号\u2028“中文”", "Third."], "stars": [1, 2, 3]}
    pq.write_table(pa.table(rows), folder / "train-00000-of-00001.parquet")
    return folder


@pytest.mark.slow
def test_the_first_rows_of_a_column_become_a_corpus(repository: Path, folder: Path) -> None:
    calls = []
    place = add_dataset(
        "mine",
        str(repository),
        revision=None,
        column="body",
        documents=2,
        folder=folder,
        progress=lambda path, done, total: calls.append((path, done, total)),
    )
    lines = (place / "documents.jsonl").read_text("utf-8").split("\n")
    assert [json.loads(line)["text"] for line in lines if line] == ["Line one.\nLine two.", "引号\u2028“中文”"]
    assert "中文" in lines[1]
    corpus = read_corpus(locate(str(place)))
    # No absolute path: the source of a corpus is copied into every manifest.
    assert corpus.source == "shelf train column body"
    assert [document.line for document in corpus.documents] == [1, 2]
    assert calls == [("documents.jsonl", 1, 2), ("documents.jsonl", 2, 2)]


def test_all_rows_of_a_small_repository_become_a_corpus(repository: Path, folder: Path) -> None:
    place = add_dataset(
        "mine", str(repository), revision=None, column="body", language="zh", license="MIT", folder=folder
    )
    corpus = read_corpus(locate(str(place)))
    assert (len(corpus.documents), corpus.language, corpus.license) == (3, "zh", "MIT")


def test_a_repository_of_json_lines_is_read_too(repository: Path, folder: Path) -> None:
    (repository / "train-00000-of-00001.parquet").unlink()
    (repository / "train.jsonl").write_text('{"body": "One."}\n{"body": "Two."}\n', "utf-8")
    place = add_dataset("mine", str(repository), revision=None, column="body", folder=folder)
    assert [document.text for document in read_corpus(locate(str(place))).documents] == ["One.", "Two."]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"column": "text"}, r"row 1: no column 'text'; it has body, stars"),
        ({"column": "stars"}, r"row 1: expected a string in 'stars', found 1"),
        ({"split": "test"}, r"cannot be loaded as split 'test' .*train"),
        ({"config": "french"}, r"of config 'french' .*default"),
        ({"documents": 0}, r"at least one document"),
        ({"revision": COMMIT}, r"is a folder here"),
        ({"name": "cdme"}, r"`niah-gen corpora fetch` installs"),
        ({"language": "de"}, r"language 'de' has no file; expected one of en, zh"),
    ],
)
def test_wrong_options_for_a_repository_are_refused_and_nothing_is_installed(
    wrong: dict[str, Any], message: str, repository: Path, folder: Path
) -> None:
    options: dict[str, Any] = {"name": "mine", "revision": None, "column": "body", **wrong}
    with pytest.raises(CorpusError, match=message):
        add_dataset(repository=str(repository), folder=folder, **options)
    assert tree_but_locks(folder) == {}


def test_a_row_without_a_string_is_named(repository: Path, folder: Path) -> None:
    pq.write_table(pa.table({"body": ["One.", None]}), repository / "train-00000-of-00001.parquet")
    with pytest.raises(CorpusError, match=r"row 2: expected a string in 'body', found None"):
        add_dataset("mine", str(repository), revision=None, column="body", folder=folder)
    assert tree_but_locks(folder) == {}


def test_a_full_disk_error_states_the_space_that_all_rows_need(
    repository: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FullDisk(io.BytesIO):
        def write(self, data: Any) -> int:
            if self.tell():
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)

    monkeypatch.setattr(own_corpora, "atomic_file", lambda path: nullcontext(FullDisk()))
    message = (
        r"was full after 1 of 3 rows, 33 bytes; all would take about 99; make room, or take fewer with --documents"
    )
    with pytest.raises(ResourceError, match=message):
        add_dataset("mine", str(repository), revision=None, column="body", documents=3, folder=folder)
    assert tree_but_locks(folder) == {}


@pytest.mark.parametrize("revision", [None, "main", "v1.0", COMMIT[:8], COMMIT.upper(), COMMIT + "0"])
def test_a_repository_on_the_hub_needs_a_pinned_revision(revision: str | None, folder: Path) -> None:
    with pytest.raises(CorpusError, match=r"expected the 40 hex digits of a commit .*git ls-remote"):
        add_dataset("mine", "owner/name", revision=revision, column="text", folder=folder)
    assert not folder.exists()


@pytest.mark.parametrize("name", ["json", "owner/name/more", "./nowhere", "https://huggingface.co/datasets/a/b", ""])
def test_a_repository_must_be_a_folder_or_an_owner_and_a_name(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorpusError, match="OWNER/NAME"):
        add_dataset("mine", name, revision=COMMIT, column="text", folder=folder)


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


def test_an_unreachable_hub_is_reported_and_nothing_is_installed(
    repository: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CorpusError, match=r"owner/name@0123.* cannot be loaded .*reach.*; check"):
        add_dataset("mine", "owner/name", revision=COMMIT, column="text", folder=folder)
    assert tree_but_locks(folder) == {}


@pytest.mark.parametrize("code", ["ar", "es", "fr", "ja"])
def test_a_corpus_in_another_language_is_added_from_a_folder_a_file_or_a_repository(
    code: str, tmp_path: Path, folder: Path
) -> None:
    texts = sorted((Path(__file__).parents[2] / "corpora" / "texts" / code).iterdir())
    record = "".join(json.dumps({"text": text.read_text("utf-8")}) + "\n" for text in texts)
    (tmp_path / "repository").mkdir()
    for file in (tmp_path / "one.jsonl", tmp_path / "repository" / "data.jsonl"):
        file.write_text(record, "utf-8")
    places = [
        add_corpus("of-folder", [texts[0].parent], folder=folder),
        add_corpus("of-file", [tmp_path / "one.jsonl"], folder=folder),
        add_dataset("of-repository", str(tmp_path / "repository"), revision=None, column="text", folder=folder),
    ]
    corpora = [read_corpus(locate(str(place))) for place in places]
    assert [corpus.language for corpus in corpora] == [code] * 3
    assert len({tuple(document.text for document in corpus.documents) for corpus in corpora}) == 1
