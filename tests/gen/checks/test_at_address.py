"""verify at an address: every object is read, and what is missing, damaged or too much is named."""

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


def test_every_flipped_bit_every_missing_and_every_added_object_is_found(store: type[MadeStore], small: Path) -> None:
    far = f"{BUCKET}/x/{small.name}"
    assert verify_at(far)[1] == []
    good = dict(store.objects)
    for name, data in good.items():
        short = name.removeprefix(f"bucket/x/{small.name}/")
        if short == MANIFEST:
            continue
        for damaged, said in (
            (data[:7] + bytes([data[7] ^ 1]) + data[8:], "sha256 is"),
            (data[:-1], "bytes, expected"),
        ):
            store.objects[name] = damaged
            (problem,) = verify_at(far)[1]
            assert problem.startswith(f"{short}: ")
            assert said in problem
        del store.objects[name]
        assert verify_at(far)[1] == [f"{short}: missing"]
        store.objects[name] = data
    store.objects[f"bucket/x/{small.name}/data/.hidden"] = b""
    assert verify_at(far)[1] == ["data/.hidden: not in the manifest; a reader that lists objects would count it"]


def test_a_place_without_a_valid_manifest_is_no_dataset_and_is_named_by_its_address(
    store: type[MadeStore], small: Path
) -> None:
    with pytest.raises(ContractError, match=r"^made://bucket/y: no manifest\.json"):
        verify_at(f"{BUCKET}/y")
    store.objects[f"bucket/x/{small.name}/{MANIFEST}"] = b"{"
    with pytest.raises(ContractError, match=rf"^made://bucket/x/{small.name}/manifest\.json: cannot be read as JSON"):
        verify_at(f"{BUCKET}/x/{small.name}")
    with pytest.raises(AddressError, match="check the bucket"):
        verify_at("made://other/y")


def test_a_manifest_that_names_an_address_as_a_corpus_makes_nobody_fetch_it(
    store: type[MadeStore], small: Path
) -> None:
    asked: list[str] = []
    store.on_read = asked.append
    manifest = read_manifest(small)
    entry = CorpusEntry(f"{BUCKET}/texts", 1, "0" * 64, 1, 1, 0.0, "x", "x")
    found, why = corpus_places(replace(manifest, corpora=(entry,)), [])
    assert found == []
    assert why is not None
    assert "is not on this machine" in why
    assert asked == []
