"""Finding corpora: which files of a folder belong to one, and what it is called."""

from __future__ import annotations

from pathlib import Path

import pytest
from each import each

from niah_gen.corpora.declarations import stem_of, suffix_of
from niah_gen.corpora.find import corpus_files, left_out_files, locate
from niah_gen.errors import CorpusError

pytestmark = pytest.mark.usefixtures("own_surroundings")


def put(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).write_bytes(b"")
    return folder


def test_only_the_first_kind_of_files_that_a_folder_contains_is_read(tmp_path: Path) -> None:
    put(tmp_path, "README.md", "page.html", "x.HTML", "notes.rtf", ".md")
    assert corpus_files(tmp_path) == ["README.md", "page.html"]
    put(tmp_path, "b.jsonl.zst", "a.jsonl.gz")
    assert corpus_files(tmp_path) == ["a.jsonl.gz", "b.jsonl.zst"]
    put(tmp_path, "a.jsonl", "b.txt", "c.parquet", ".txt")
    assert corpus_files(tmp_path) == ["a.jsonl", "b.txt", "c.parquet"]
    assert left_out_files(locate(str(tmp_path))) == ["README.md", "a.jsonl.gz", "b.jsonl.zst", "page.html"]
    assert left_out_files(locate(str(tmp_path / "b.txt"))) == []


@each(
    ("name", "suffix", "stem"),
    [
        ("a.txt", ".txt", "a"),
        ("x/a.b.jsonl.gz", ".jsonl.gz", "a.b"),
        ("a.jsonl.zst", ".jsonl.zst", "a"),
        ("a.markdown", ".markdown", "a"),
        ("a.gz", None, "a"),
        (".txt", None, ".txt"),
    ],
)
def test_the_suffix_is_the_part_that_says_how_a_file_is_read(name: str, suffix: str | None, stem: str) -> None:
    assert (suffix_of(name), stem_of(name)) == (suffix, stem)


def test_compressed_files_are_named_without_their_suffix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "wiki.jsonl.zst", "other.gz")
    assert locate(str(tmp_path / "wiki.jsonl.zst")).name == "wiki"
    monkeypatch.setenv("NIAH_CORPORA", str(tmp_path))
    assert locate("wiki").declaration.files[0].path == "wiki.jsonl.zst"
    (tmp_path / "shelf").mkdir()
    put(tmp_path / "shelf", "one.jsonl.gz", "two.jsonl.gz")
    assert locate("shelf/two").name == "shelf/two"
    with pytest.raises(CorpusError, match=r"has no file 'twoo'; did you mean 'two'\?"):
        locate("shelf/twoo")
    with pytest.raises(CorpusError, match=r"other\.gz: expected a \.txt, \.jsonl, \.parquet, \.jsonl\.gz"):
        locate(str(tmp_path / "other.gz"))
