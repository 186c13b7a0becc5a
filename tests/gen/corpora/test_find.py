"""Finding corpora by name, by path, and at addresses, from which they are fetched once while they are unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from made_store import BUCKET, MadeStore, made_store

from niah_gen.corpora.find import fetched_corpus, locate
from niah_gen.corpora.read import corpus_sha256, read_corpus
from niah_gen.errors import CorpusError
from niah_score.contract import sha256_hex
from niah_score.errors import AddressError

TEXT = "The crane was oiled in spring. Nobody has used it since. "
HARBOUR = f"{BUCKET}/texts/harbour"

pytestmark = pytest.mark.usefixtures("own_surroundings")


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


def test_a_folder_or_object_at_an_address_is_the_same_corpus_as_its_local_copy(
    store: type[MadeStore], tmp_path: Path
) -> None:
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
