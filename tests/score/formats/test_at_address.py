"""Answers at addresses: objects, patterns and folders are read, and messages use their addresses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from made_store import BUCKET, MadeStore, made_store

from niah_score.errors import AddressError
from niah_score.formats import at_address, expand
from niah_score.formats.at_address import answers_here


@pytest.fixture
def store() -> Iterator[type[MadeStore]]:
    with made_store() as made:
        for name in ("run/x_2.jsonl", "run/x_10.jsonl", "run/deep/y.csv", "run/notes.txt", "run/.hidden.jsonl"):
            made.objects[f"bucket/{name}"] = name.encode()
        yield made


def read(*named: str) -> list[str]:
    """Returns what is read, in order, and checks that messages use the addresses."""
    with answers_here(named) as answers:
        paths = expand(answers.named)
        assert answers.fetched
        contents = [path.read_text() for path in paths]
        assert [answers.said(f"{path}: odd") for path in paths] == [f"{BUCKET}/{text}: odd" for text in contents]
    assert not any(path.exists() for path in paths)
    return contents


def test_remote_objects_patterns_and_folders_are_read_like_local_files(store: type[MadeStore]) -> None:
    assert read(f"{BUCKET}/run/x_10.jsonl") == ["run/x_10.jsonl"]
    assert read(f"{BUCKET}/run/x_*.jsonl") == ["run/x_2.jsonl", "run/x_10.jsonl"]
    assert read(f"{BUCKET}/run/*/*.csv", f"{BUCKET}/run/x_2.jsonl") == ["run/deep/y.csv", "run/x_2.jsonl"]
    assert read(f"{BUCKET}/run") == ["run/deep/y.csv", "run/x_2.jsonl", "run/x_10.jsonl"]
    assert read(f"{BUCKET}/run/notes.txt") == ["run/notes.txt"]


@pytest.mark.parametrize("name", ["../../../../tmp/out.jsonl", "/tmp/out.jsonl", "a/../../x.jsonl", "a\\..\\x.jsonl"])
def test_no_object_name_leads_outside_the_folder(
    store: type[MadeStore], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.objects[f"bucket/run/{name}"] = b"{}"
    with pytest.raises(AddressError, match="cannot be a file name"), answers_here([f"{BUCKET}/run/*.jsonl"]):
        pass
    fetched: list[Path] = []
    monkeypatch.setattr(at_address, "fetch", lambda address, path: fetched.append(path))
    with suppress(AddressError), answers_here([f"{BUCKET}/run"]) as answers:
        folder = Path(answers.named[0]).resolve()
        assert [path for path in fetched if folder not in path.resolve().parents] == []
    assert not [path for path in fetched if ".." in path.parts]


def test_local_paths_stay_unchanged() -> None:
    with answers_here(["a.jsonl", "-", "b/*.csv"]) as answers:
        assert (answers.named, answers.fetched) == (["a.jsonl", "-", "b/*.csv"], False)


def test_an_address_without_objects_is_reported(store: type[MadeStore]) -> None:
    for place, message in (("run/*.zip", "no object matches"), ("none", "no object and no answer files below it")):
        with pytest.raises(AddressError, match=message), answers_here([f"{BUCKET}/{place}"]):
            pass
    with pytest.raises(AddressError, match="check the bucket"), answers_here(["made://other/x.jsonl"]):
        pass


def test_errors_name_the_address(store: type[MadeStore]) -> None:
    with (
        pytest.raises(ValueError, match=f"^{BUCKET}/run/x_2.jsonl is odd$"),
        answers_here([f"{BUCKET}/run/x_2.jsonl"]) as answers,
    ):
        raise ValueError(f"{answers.named[0]} is odd")
