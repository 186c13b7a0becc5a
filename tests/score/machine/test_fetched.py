"""Datasets at addresses as folders of this machine: the rows alone or all of it, proved, and gone at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from made import CONTRACT
from made_datasets import folder_of
from made_store import BUCKET, MadeStore, made_store

from niah_score.contract import MANIFEST, ContractError, open_dataset
from niah_score.errors import AddressError
from niah_score.machine.fetched import dataset_here

FAR = f"{BUCKET}/sets/contract"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[type[MadeStore]]:
    """A store with the contract dataset as Parquet, a card and a preview."""
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "README.md").write_text("A card.")
    folder = folder_of("parquet", tmp_path / "made")
    with made_store() as made:
        for path in folder.rglob("*"):
            if path.is_file():
                made.objects[f"bucket/sets/contract/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
        yield made


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_path_is_itself(tmp_path: Path) -> None:
    with dataset_here(str(tmp_path)) as folder:
        assert folder == tmp_path
    assert tmp_path.is_dir()


def test_the_rows_are_fetched_and_nothing_else_unless_everything_is_asked_for(store: type[MadeStore]) -> None:
    with dataset_here(FAR) as folder:
        assert folder.name == "contract"
        found = files(folder)
        assert found == {MANIFEST, *(entry.entry.path for entry in open_dataset(folder).files())}
        assert "README.md" not in found
    assert not folder.exists()
    with dataset_here(f"{FAR}/", everything=True) as folder:
        assert files(folder) - found == {"README.md"} & files(CONTRACT) | {"README.md"}


def test_one_file_is_fetched_by_itself(store: type[MadeStore]) -> None:
    name = next(name for name in store.objects if name.endswith(".parquet"))
    with dataset_here(f"made://{name}") as path:
        assert path.read_bytes() == store.objects[name]


def test_an_object_that_is_not_what_the_manifest_lists_is_refused_by_its_address(store: type[MadeStore]) -> None:
    name = next(name for name in store.objects if name.endswith(".parquet"))
    good = store.objects[name]
    for damaged in (good[:-1], good[:-1] + b"?"):
        store.objects[name] = damaged
        with pytest.raises(ContractError, match=rf"^made://{name}: is not the file"), dataset_here(FAR):
            pass


def test_errors_name_the_address_and_not_where_it_was_fetched_to(store: type[MadeStore]) -> None:
    with pytest.raises(ValueError, match=f"^{FAR}/data/x is odd$"), dataset_here(FAR) as folder:
        raise ValueError(f"{folder / 'data' / 'x'} is odd")
    with pytest.raises(ContractError, match=rf"^{BUCKET}/none: no manifest\.json"), dataset_here(f"{BUCKET}/none"):
        pass
    with pytest.raises(AddressError, match="check the bucket"), dataset_here("made://other/none"):
        pass
