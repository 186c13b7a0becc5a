"""Files, folders, patterns and addresses expand to answer files, each once, in the order given."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from made_store import BUCKET, MadeStore, made_store

from niah_score.errors import AddressError, ScoreError
from niah_score.formats import answers_here, expand, model_of, named_files, read_answers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (
        "predictions/m/X_0.json", "predictions/m/X_10.json", "predictions/m/X_2.json", "predictions/m/tmp_Y.json",
        "predictions/m/.hidden/Z.json", "predictions/m/run.log", "a.jsonl.gz", "notes",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_files_of_folders_and_patterns_are_sorted_by_their_numbers_and_arguments_keep_their_order(folder: Path) -> None:
    predictions, within = folder / "predictions", folder / "predictions" / "m"
    shards, notes, packed = ["X_0.json", "X_2.json", "X_10.json"], folder / "notes", folder / "a.jsonl.gz"
    link = folder / "b.jsonl"
    link.symlink_to(packed)
    cases: list[tuple[list[str | Path], list[str]]] = [
        ([predictions], [*shards, "tmp_Y.json"]), ([str(predictions)], [*shards, "tmp_Y.json"]),
        ([str(within / "X_*.json")], shards), ([str(predictions / "*")], [*shards, "tmp_Y.json"]),
        ([within / name for name in reversed(shards)], shards[::-1]), ([notes], ["notes"]),
        ([notes, str(within / "X_*"), packed], ["notes", *shards, "a.jsonl.gz"]),
        # A file that is named twice keeps its first place.
        ([within / "X_0.json", predictions, within / "X_10.json"], [*shards, "tmp_Y.json"]),
        ([packed, str(packed), predictions / ".." / "a.jsonl.gz", link], ["a.jsonl.gz"]),
    ]  # fmt: skip
    for named, expected in cases:
        assert [path.name for path in expand(named)] == expected, named


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need rights there")
def test_circular_links_are_reported_without_a_traceback(folder: Path) -> None:
    one, other = folder / "one.jsonl", folder / "other.jsonl"
    one.symlink_to(other)
    other.symlink_to(one)
    assert set(expand([str(folder / "o*.jsonl")])) == {one, other}
    assert expand([one]) == [one]
    with pytest.raises(ScoreError, match=r"one\.jsonl: cannot be read \(Too many levels of symbolic links\)"):
        list(read_answers(one))
    assert one not in expand([folder])


def test_arguments_that_match_no_file_are_errors(folder: Path) -> None:
    with pytest.raises(ScoreError, match="no answer files named"):
        expand([])
    with pytest.raises(ScoreError, match=r"none\*.jsonl: no such file"):
        expand([folder / "a.jsonl.gz", str(folder / "none*.jsonl")])
    (folder / "empty").mkdir()
    with pytest.raises(ScoreError, match="no answer files in this folder"):
        expand([folder / "empty"])
    for hostile in ("\0", "x" * 5000):
        with pytest.raises(ScoreError):
            expand([hostile])


# Addresses ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def store() -> Iterator[type[MadeStore]]:
    with made_store() as made:
        for name in ("run/x_2.jsonl", "run/x_10.jsonl", "run/deep/y.csv", "run/notes.txt", "run/.hidden.jsonl"):
            made.objects[f"bucket/{name}"] = name.encode()
        yield made


def read(*named: str) -> list[str]:
    """Returns what is read, in order, and checks that messages use the addresses."""
    with answers_here(named) as (local, said):
        paths = expand(local)
        contents = [path.read_text() for path in paths]
        assert [said(f"{path}: odd") for path in paths] == [f"{BUCKET}/{text}: odd" for text in contents]
    assert not any(path.exists() for path in paths)
    return contents


def test_remote_objects_patterns_and_folders_are_read_like_local_files(store: type[MadeStore]) -> None:
    assert read(f"{BUCKET}/run/x_10.jsonl") == ["run/x_10.jsonl"]
    assert read(f"{BUCKET}/run/x_*.jsonl") == ["run/x_2.jsonl", "run/x_10.jsonl"]
    assert read(f"{BUCKET}/run/deep/*.csv", f"{BUCKET}/run/x_2.jsonl") == ["run/deep/y.csv", "run/x_2.jsonl"]
    assert read(f"{BUCKET}/run") == ["run/deep/y.csv", "run/x_2.jsonl", "run/x_10.jsonl"]
    assert read(f"{BUCKET}/run/notes.txt") == ["run/notes.txt"]


@pytest.mark.parametrize("name", ["../../../../tmp/out.jsonl", "/tmp/out.jsonl", "a/../../x.jsonl", "a\\..\\x.jsonl"])
def test_no_object_name_leads_outside_the_folder(
    store: type[MadeStore], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.objects[f"bucket/run/{name}"] = b"{}"
    fetched: list[Path] = []
    monkeypatch.setattr(named_files, "fetch", lambda address, path: fetched.append(path))
    for place, below in (("run", "run"), ("run/*.jsonl", "")):
        with suppress(AddressError), answers_here([f"{BUCKET}/{place}"]) as (local, _):
            folder = Path(local[0]).resolve().parent / below
            assert [path for path in fetched if folder not in path.resolve().parents] == []
        assert not [path for path in fetched if ".." in path.parts]
        fetched.clear()
    store.objects["bucket/run/a\0.jsonl"] = b"{}"
    with pytest.raises(AddressError, match="cannot be a file name"), answers_here([f"{BUCKET}/run"]):
        pass


def test_an_address_without_objects_is_reported(store: type[MadeStore]) -> None:
    for place in ("run/*.zip", "none"):
        with pytest.raises(AddressError, match="no object there"), answers_here([f"{BUCKET}/{place}"]):
            pass
    with pytest.raises(AddressError, match="check the bucket"), answers_here(["made://other/x.jsonl"]):
        pass


def test_the_model_is_named_as_given_or_after_the_first_file() -> None:
    cases: list[tuple[str | None, str | list[str | Path], str]] = [
        ("a.b", ["x.jsonl"], "a.b"), ("m\udce9", ["x.jsonl"], "m\ufffd"), (None, "runs/gpt-4.1.jsonl", "gpt-4"),
        (None, [Path("p\udce9.jsonl.gz"), "y.jsonl"], "p\ufffd"), (None, "x-*.jsonl", "model"), (None, "-", "model"),
        ("", [], "model"), (None, [".hidden"], "model"),
    ]  # fmt: skip
    for given, files, name in cases:
        assert model_of(given, files) == name, (given, files)
