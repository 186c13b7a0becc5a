"""`verify` at an address: every object is read, and those that are missing, damaged or extra are named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from folders import tree
from made_store import BUCKET, MadeStore, made_store
from small_dataset import SMALL

import niah_gen
from niah_gen.checks.at_address import verify_at
from niah_gen.checks.sources import corpus_places
from niah_score.contract import MANIFEST, ContractError, CorpusEntry, read_manifest
from niah_score.errors import AddressError


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return niah_gen.build({**SMALL, "lengths": [600]}, tmp_path_factory.mktemp("small"))


@pytest.fixture
def store(small: Path) -> Iterator[type[MadeStore]]:
    with made_store() as made:
        made.objects |= {f"bucket/x/{small.name}/{name}": data for name, data in tree(small).items()}
        yield made


def test_flipped_bits_and_short_missing_or_extra_objects_are_reported(store: type[MadeStore], small: Path) -> None:
    address = f"{BUCKET}/x/{small.name}"
    assert verify_at(address)[1] == []
    good = dict(store.objects)
    for name, data in good.items():
        short = name.removeprefix(f"bucket/x/{small.name}/")
        if short == MANIFEST:
            continue
        for damaged, message in (
            (data[:7] + bytes([data[7] ^ 1]) + data[8:], "sha256 is"),
            (data[:-1], "bytes, expected"),
        ):
            store.objects[name] = damaged
            (problem,) = verify_at(address)[1]
            assert problem.startswith(f"{short}: ")
            assert message in problem
        del store.objects[name]
        assert verify_at(address)[1] == [f"{short}: missing"]
        store.objects[name] = data
    store.objects[f"bucket/x/{small.name}/data/.hidden"] = b""
    assert verify_at(address)[1] == ["data/.hidden: not in the manifest; a reader that lists objects would count it"]


def test_only_names_and_sizes_are_compared_if_objects_are_not_read(store: type[MadeStore], small: Path) -> None:
    address = f"{BUCKET}/x/{small.name}"
    name = f"bucket/x/{small.name}/recipe.toml"
    store.objects[name] = b"?" * len(store.objects[name])
    store.objects[f"bucket/x/{small.name}/data/.hidden"] = b""
    read: list[str] = []
    store.on_read = read.append
    (problem,) = verify_at(address, read=False)[1]
    assert problem.startswith("data/.hidden: not in the manifest")
    assert {path.rpartition("/")[2] for path in read} == {MANIFEST}
    store.objects[name] += b"?"
    assert "bytes, expected" in verify_at(address, read=False)[1][0]


def test_an_object_name_with_control_characters_is_shown_on_one_line(store: type[MadeStore], small: Path) -> None:
    store.objects[f"bucket/x/{small.name}/data/a\nrecipe.toml: fine\x1b[2J"] = b""
    (problem,) = verify_at(f"{BUCKET}/x/{small.name}")[1]
    assert problem.startswith("data/a recipe.toml: fine\\x1b[2J: not in the manifest")


def test_an_address_without_a_valid_manifest_is_named_and_refused(store: type[MadeStore], small: Path) -> None:
    with pytest.raises(ContractError, match=r"^made://bucket/y: no manifest\.json"):
        verify_at(f"{BUCKET}/y")
    store.objects[f"bucket/x/{small.name}/{MANIFEST}"] = b"{"
    with pytest.raises(ContractError, match=rf"^made://bucket/x/{small.name}/manifest\.json: cannot be read as JSON"):
        verify_at(f"{BUCKET}/x/{small.name}")
    with pytest.raises(AddressError, match="check the bucket"):
        verify_at("made://other/y")


def test_a_corpus_that_the_manifest_places_at_an_address_is_not_fetched(store: type[MadeStore], small: Path) -> None:
    asked: list[str] = []
    store.on_read = asked.append
    manifest = read_manifest(small)
    entry = CorpusEntry(f"{BUCKET}/texts", 1, "0" * 64, 1, 1, 0.0, "x", "x")
    places, reason = corpus_places(replace(manifest, corpora=(entry,)), [])
    assert places == []
    assert reason is not None
    assert "is not on this machine" in reason
    assert asked == []
