"""Addresses of object stores: what counts as one, how objects are read and written, and how errors are reported."""

from __future__ import annotations

import builtins
import errno
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from made_datasets import folder_of
from made_store import BUCKET, FORMS, MadeStore, made_store
from small_dataset import tree

from niah_gen.errors import RecipeError
from niah_score.contract import MANIFEST, ContractError, open_dataset
from niah_score.errors import AddressError, IntegrityError, StoreError
from niah_score.join.rows import read_rows
from niah_score.machine import stores

SECRET = "p4ssw0rd-p4ssw0rd"


def test_no_form_of_an_address_shows_a_secret_or_is_taken_for_a_path(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for form in FORMS:
        text = form.format(SECRET)
        assert stores.is_address(text), text
        assert SECRET not in stores.shown_address(text), stores.shown_address(text)
        with pytest.raises(AddressError) as refused:
            stores.parse_address(text)
        assert SECRET not in str(refused.value), text
        if " " not in text and "://" in text[1:]:
            for sentence in (f"{text}: not found; {text}, too", f"found {text!r}", f"({text})"):
                assert SECRET not in stores.without_secrets(sentence), stores.without_secrets(sentence)
    for plain in ("see https://host/a/b, then s3://bucket/x.", "pip install 'niah-kit[remote]'", "a: b; c:/d @ e"):
        assert stores.without_secrets(plain) == plain


def test_a_scheme_makes_an_address_and_anything_else_is_a_path(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for text in ("s3://b/x", "gs://b", "memory://x/y", "file:///tmp/x", "S3://b/x"):
        assert stores.is_address(text), text
        assert stores.is_address(stores.parse_address(text)), text
    (tmp_path / "a::b.jsonl").touch()
    for text in ("build", "./s3:/b", "/a/b", "C://x", "C:\\x", "-", "a:b", "task:NAME", "a::b.jsonl"):
        assert not stores.is_address(text), text
    address = stores.parse_address("S3://bucket/a/b/")
    assert address == "s3://bucket/a/b"
    assert (address.name, address.parent, address / "c/d") == ("b", "s3://bucket/a", "s3://bucket/a/b/c/d")
    assert stores.parse_address("hf://datasets/me/set@main/x") == "hf://datasets/me/set@main/x"
    for texts, message in (
        (("s3://", "s3:////", "s3://b//x", "s3://b/../c"), "without empty parts"),
        (("s3://b/x\ny",), "control characters"), (("zip://x::s3://b/y",), "neither an address"),
    ):  # fmt: skip
        for text in texts:
            with pytest.raises(AddressError, match=message):
                stores.parse_address(text)


def test_an_address_in_place_of_a_path_is_refused_unless_that_path_exists(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert stores.is_address_as_path(Path("s3://bucket/x"))
    assert not stores.is_address_as_path(Path("build/x"))
    with pytest.raises(AddressError, match=r"^s3://bucket/x: is an address, but a local path is expected"):
        stores.refuse_addresses([None, 3, "s3://text", [Path("here"), Path("s3://bucket/x")]])
    with pytest.raises(AddressError, match=r"^s3://\.\.\.: is") as refused:
        stores.refuse_addresses([Path(f"s3://me:{SECRET}@bucket")])
    assert SECRET not in str(refused.value)
    (tmp_path / "s3:" / "bucket").mkdir(parents=True)
    stores.refuse_addresses([Path("s3://bucket")])


@pytest.mark.parametrize("base", [BUCKET, "memory://bucket", "file://{folder}"])
def test_objects_are_written_listed_read_and_removed_alike_in_any_store(
    base: str, store: type[MadeStore], tmp_path: Path, monkeypatch: Any
) -> None:
    top = stores.parse_address(base.format(folder=tmp_path / "far")) / "top"
    assert stores.objects_below(top) == {}
    stores.put_new_object(top / "a", b"one")
    stores.put_new_object(top / "deep/er/b", b"three")
    (tmp_path / "c").write_bytes(b"c" * 70_000)
    stores.upload(tmp_path / "c", top / "deep/c")
    objects = stores.objects_below(top)
    assert {name: stored.bytes for name, stored in objects.items()} == {"a": 3, "deep/c": 70_000, "deep/er/b": 5}
    assert stores.objects_below(top / "a") == {"": objects["a"]}
    assert stores.read_object(top / "a") == b"one"
    with monkeypatch.context() as small:
        small.setattr(stores, "_MOST_BYTES", 2)
        with pytest.raises(StoreError, match="larger than 2 bytes"):
            stores.read_object(top / "a")
    assert stores.stored_sha256(top / "a") == "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
    assert stores.fetch(top / "deep/c", tmp_path / "new" / "c") == stores.stored_sha256(top / "deep/c")
    assert (tmp_path / "new" / "c").read_bytes() == b"c" * 70_000
    assert not stores.put_new_object(top / "a", b"two")
    assert stores.put_new_object(top / "d", b"two")
    assert (stores.read_object(top / "a"), stores.read_object(top / "d")) == (b"one", b"two")
    stores.remove_objects([top / "a", top / "never-there", top / "d", top / "deep/c", top / "deep/er/b"])
    assert stores.objects_below(top) == {}


def test_an_upload_is_proved_by_reading_it_back(store: type[MadeStore], tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"content")
    stores.upload(tmp_path / "x", stores.Address(f"{BUCKET}/x"))
    for spoiled in (b"conten", b"conten?"):
        store.spoil = lambda path, data, spoiled=spoiled: spoiled
        with pytest.raises(StoreError, match=r"^made://bucket/x: does not hold the bytes that were uploaded") as raised:
            stores.upload(tmp_path / "x", stores.Address(f"{BUCKET}/x"))
        assert raised.value.exit_code == 5


def test_an_object_that_is_replaced_while_it_is_fetched_is_an_error(
    store: type[MadeStore], tmp_path: Path, monkeypatch: Any
) -> None:
    store.objects["bucket/x"] = b"first"
    real, marks = MadeStore.info, count()
    monkeypatch.setattr(MadeStore, "info", lambda *about, **more: {**real(*about, **more), "ETag": str(next(marks))})
    with pytest.raises(StoreError, match="changed while it was fetched"):
        stores.fetch(stores.Address(f"{BUCKET}/x"), tmp_path / "x")


def test_an_object_is_not_overwritten_in_a_store_that_cannot_create_exclusively(
    store: type[MadeStore], monkeypatch: Any
) -> None:
    plain = MadeStore.pipe_file

    def refuses(self: MadeStore, path: str, value: bytes, mode: str = "overwrite") -> None:
        if mode == "create":
            raise NotImplementedError
        plain(self, path, value)

    monkeypatch.setattr(MadeStore, "pipe_file", refuses)
    assert stores.put_new_object(stores.Address(f"{BUCKET}/x"), b"one")
    assert not stores.put_new_object(stores.Address(f"{BUCKET}/x"), b"two")
    assert store.objects == {"bucket/x": b"one"}


class NoCredentialsError(Exception):
    """Has the name that botocore gives its exception."""


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (FileNotFoundError("The specified bucket does not exist"), 2, "check the bucket"),
        (PermissionError("Access Denied"), 2, r"cannot be used \(Access Denied\); check the address, the credentials"),
        (NoCredentialsError("Unable to locate credentials"), 2, "check the address, the credentials"),
        (ImportError("Please install gcsfs to access Google Storage"), 2, "Please install gcsfs"),
        (ConnectionError("no route"), 5, r"cannot be used \(no route\)"),
        (TimeoutError(), 5, r"cannot be used \(TimeoutError\)"),
        (RuntimeError(f"GET https://host/x?X-Sig={SECRET} failed\n{SECRET}"), 5, r"GET https://host/x failed"),
        (RuntimeError("x" * 5000), 5, r"x{300} \.\.\.\)"),
    ],
)
def test_an_error_of_a_store_is_one_line_with_an_exit_code_and_no_secrets(
    store: type[MadeStore], monkeypatch: Any, error: Exception, code: int, message: str
) -> None:
    monkeypatch.setenv("MY_STORE_SECRET", SECRET)

    def fail(self: MadeStore, path: str, **_: object) -> None:
        raise error

    monkeypatch.setattr(MadeStore, "find", fail)
    with pytest.raises((AddressError, StoreError), match=message) as raised:
        stores.objects_below(stores.Address(f"{BUCKET}/x"))
    assert raised.value.exit_code == code
    assert str(raised.value).startswith("made://bucket/x: ")
    assert "\n" not in str(raised.value)
    assert SECRET not in str(raised.value)


def test_an_unknown_scheme_and_a_missing_library_are_reported(monkeypatch: Any) -> None:
    with pytest.raises(AddressError, match=r"^nonsense://bucket/x: cannot be used \(Protocol not known: nonsense"):
        stores.objects_below(stores.Address("nonsense://bucket/x"))
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "fsspec":
            raise ModuleNotFoundError("No module named 'fsspec'", name="fsspec")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(AddressError, match=r"pip install 'niah-kit\[remote\]'"):
        stores.objects_below(stores.Address("gs://bucket/x"))


# Datasets ------------------------------------------------------------------------------------------------------------

FAR = f"{BUCKET}/sets/contract"


@pytest.fixture
def far(tmp_path: Path) -> Iterator[type[MadeStore]]:
    """A store with the contract dataset as Parquet, a card and a preview."""
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "README.md").write_text("A card.")
    folder = folder_of("parquet", tmp_path / "made")
    with made_store() as made:
        for path in folder.rglob("*"):
            if path.is_file():
                made.objects[f"bucket/sets/contract/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
        yield made


def test_the_rows_of_a_dataset_are_fetched_or_everything_or_one_file(far: type[MadeStore], tmp_path: Path) -> None:
    with stores.dataset_here(str(tmp_path)) as folder:
        assert folder == tmp_path
    with stores.dataset_here(FAR) as folder:
        assert folder.name == "contract"
        files = set(tree(folder))
        assert files == {MANIFEST, *(entry.entry.path for entry in open_dataset(folder).files())}
    assert not folder.exists()
    with stores.dataset_here(f"{FAR}/", everything=True) as folder:
        assert tree(folder).keys() - files == {"README.md"}
    name = next(name for name in far.objects if name.endswith(".parquet"))
    with stores.dataset_here(f"made://{name}") as path:
        assert path.read_bytes() == far.objects[name]
    for damaged in (far.objects[name][:-1], far.objects[name][:-1] + b"?"):
        far.objects[name] = damaged
        with stores.dataset_here(FAR) as folder, pytest.raises(IntegrityError, match="the file is damaged"):
            read_rows(folder)


def test_errors_name_the_address_and_not_the_local_copy(far: type[MadeStore]) -> None:
    made: list[Callable[[str], Exception]] = [
        lambda path: ValueError(f"{path} is odd"),
        lambda path: RecipeError([f"{path}: odd"], path),
        lambda path: OSError(errno.EACCES, "Permission denied", path),
    ]
    for error in made:
        with pytest.raises(type(error("x"))) as raised, stores.dataset_here(FAR) as folder:
            raise error(str(folder / "data" / "x"))
        assert str(raised.value) == str(error(f"{FAR}/data/x"))
    with (
        pytest.raises(ContractError, match=rf"^{BUCKET}/none: no manifest\.json"),
        stores.dataset_here(f"{BUCKET}/none"),
    ):
        pass
    with pytest.raises(AddressError, match="check the bucket"), stores.dataset_here("made://other/none"):
        pass
    # If this machine's disk is full, it matters which disk that is.
    with pytest.raises(OSError, match="No space left") as full, stores.dataset_here(FAR) as folder:
        raise OSError(errno.ENOSPC, "No space left on device", str(folder / "x"))
    assert full.value.filename == str(folder / "x")
