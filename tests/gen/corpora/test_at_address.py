"""Corpora at addresses: fetched once, reused while they are unchanged, and the same as a local copy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from made_store import BUCKET, MadeStore, made_store

from niah_gen.corpora.at_address import cache_folder, fetched_corpus
from niah_gen.corpora.find import locate
from niah_gen.corpora.read import corpus_sha256, read_corpus
from niah_gen.errors import CorpusError
from niah_score.errors import AddressError

TEXT = "The crane was oiled in spring. Nobody has used it since. "


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


def test_a_folder_at_an_address_is_the_same_corpus_as_its_local_copy(store: type[MadeStore], tmp_path: Path) -> None:
    folder = tmp_path / "harbour"
    folder.mkdir()
    for name in ("a.txt", "b.txt", "README.md"):
        (folder / name).write_bytes(store.objects[f"bucket/texts/harbour/{name}"])
    far, near = locate(f"{BUCKET}/texts/harbour/"), locate(str(folder))
    assert far.name == near.name == "harbour"
    assert read_corpus(far) == read_corpus(near)


def test_a_single_object_is_a_corpus_named_by_its_stem(store: type[MadeStore]) -> None:
    corpus = read_corpus(locate(f"{BUCKET}/texts/harbour/a.txt"))
    assert (corpus.name, [file.path for file in corpus.files]) == ("a", ["a.txt"])


def test_a_corpus_with_a_declaration_has_only_the_files_that_it_lists(store: type[MadeStore]) -> None:
    toml = (
        'name = "x"\nlanguage = "en"\nlicense = "CC0-1.0"\nsource = "me"\n[[files]]\npath = "old/c.txt"\nsha256 = "{}"'
    )
    from hashlib import sha256

    pin = sha256(b"Not a part of it.").hexdigest()
    store.objects["bucket/texts/harbour/corpus.toml"] = toml.format(pin).encode()
    located = locate(f"{BUCKET}/texts/harbour")
    corpus = read_corpus(located)
    assert [file.path for file in corpus.files] == ["old/c.txt"]
    assert (corpus.name, corpus.license) == ("harbour", "CC0-1.0")
    assert sorted(path.name for path in located.folder.rglob("*") if path.is_file()) == ["c.txt", "corpus.toml"]
    store.objects["bucket/texts/harbour/corpus.toml"] = toml.format(pin).replace("old/c", "old/d").encode()
    with pytest.raises(CorpusError, match=r"lists old/d\.txt, which are not there"):
        again(f"{BUCKET}/texts/harbour")
    store.objects["bucket/texts/harbour/corpus.toml"] = b"name = "
    with pytest.raises(CorpusError, match="not valid TOML"):
        again(f"{BUCKET}/texts/harbour")


def test_changed_objects_are_fetched_again_and_others_only_from_stores_without_checksums(
    store: type[MadeStore],
) -> None:
    spec = f"{BUCKET}/texts/harbour"
    first = again(spec)
    read: list[str] = []
    store.on_read = read.append
    assert again(spec) == first
    assert read == []
    cached = locate(spec).folder / "a.txt"
    cached.write_bytes(cached.read_bytes().swapcase())
    assert again(spec) == first
    cached.unlink()
    assert again(spec) == first
    for record in cache_folder().glob("*/sha256/a.txt"):
        record.write_bytes(b"damaged")
    assert again(spec) == first
    store.objects["bucket/texts/harbour/a.txt"] += b" It rusts."
    changed = again(spec)
    assert changed != first
    del store.objects["bucket/texts/harbour/b.txt"]
    assert again(spec) not in (first, changed)
    assert sorted(path.name for path in locate(spec).folder.iterdir()) == ["a.txt"]
    store.tags = False
    last = again(spec)
    read.clear()
    assert again(spec) == last
    assert len(read) == 1
    store.objects["bucket/texts/harbour/a.txt"] = store.objects["bucket/texts/harbour/a.txt"].swapcase()
    assert again(spec) != last


def test_one_process_looks_an_address_up_once(store: type[MadeStore]) -> None:
    spec = f"{BUCKET}/texts/harbour"
    locate(spec)
    store.objects.clear()
    assert locate(spec).name == "harbour"


def test_an_address_without_any_corpus_file_is_reported(store: type[MadeStore]) -> None:
    store.objects["bucket/other/x.pdf"] = b"x"
    for place in ("nothing", "other"):
        with pytest.raises(CorpusError, match=f"^{BUCKET}/{place}: no file of a corpus there; expected a .txt"):
            locate(f"{BUCKET}/{place}")
    with pytest.raises(AddressError, match="check the bucket"):
        locate("made://other/x")
