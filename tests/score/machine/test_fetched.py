"""Datasets at addresses as local folders: the rows alone or everything, checked, and removed at the end."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from folders import tree
from made_datasets import folder_of
from made_store import BUCKET, MadeStore, made_store

from niah_gen.errors import RecipeError
from niah_score.contract import MANIFEST, ContractError, open_dataset
from niah_score.errors import AddressError
from niah_score.formats.record import LineError, NoAnswersError
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


def test_a_local_path_is_used_as_it_is(tmp_path: Path) -> None:
    with dataset_here(str(tmp_path)) as folder:
        assert folder == tmp_path
    assert tmp_path.is_dir()


def test_only_the_rows_are_fetched_unless_everything_is_requested(store: type[MadeStore]) -> None:
    with dataset_here(FAR) as folder:
        assert folder.name == "contract"
        files = set(tree(folder))
        assert files == {MANIFEST, *(entry.entry.path for entry in open_dataset(folder).files())}
        assert "README.md" not in files
    assert not folder.exists()
    with dataset_here(f"{FAR}/", everything=True) as folder:
        assert tree(folder).keys() - files == {"README.md"}


def test_one_file_is_fetched_on_its_own(store: type[MadeStore]) -> None:
    name = next(name for name in store.objects if name.endswith(".parquet"))
    with dataset_here(f"made://{name}") as path:
        assert path.read_bytes() == store.objects[name]


def test_an_object_that_differs_from_the_manifest_is_refused_with_its_address(store: type[MadeStore]) -> None:
    name = next(name for name in store.objects if name.endswith(".parquet"))
    good = store.objects[name]
    for damaged in (good[:-1], good[:-1] + b"?"):
        store.objects[name] = damaged
        with pytest.raises(ContractError, match=rf"^made://{name}: is not the file"), dataset_here(FAR):
            pass


def test_errors_name_the_address_and_not_the_local_copy(store: type[MadeStore]) -> None:
    with pytest.raises(ValueError, match=f"^{FAR}/data/x is odd$"), dataset_here(FAR) as folder:
        raise ValueError(f"{folder / 'data' / 'x'} is odd")
    made: list[Callable[[str], Exception]] = [
        lambda path: LineError(path, 3, f"{path} is odd"),
        lambda path: NoAnswersError(path, "no answers"),
        lambda path: RecipeError([f"{path}: odd"], path),
        lambda path: OSError(errno.EACCES, "Permission denied", path),
    ]
    for error in made:
        with pytest.raises(type(error("x"))) as raised, dataset_here(FAR) as folder:
            raise error(str(folder / "data" / "x"))
        assert str(raised.value) == str(error(f"{FAR}/data/x"))
    with pytest.raises(ContractError, match=rf"^{BUCKET}/none: no manifest\.json"), dataset_here(f"{BUCKET}/none"):
        pass
    with pytest.raises(AddressError, match="check the bucket"), dataset_here("made://other/none"):
        pass


def test_a_full_disk_error_names_the_local_path_and_not_the_address(store: type[MadeStore]) -> None:
    with pytest.raises(OSError, match="No space left") as raised, dataset_here(FAR) as folder:
        raise OSError(errno.ENOSPC, "No space left on device", str(folder / "x"))
    assert raised.value.filename == str(folder / "x")
