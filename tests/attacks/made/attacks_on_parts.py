"""Attacks on partial folders, which are collected from several machines before they are merged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attacks_on_folders import HOSTILE_NAMES

from niah_score.contract import canonical_json, file_sha256, sealed

DATA = "data/en-600/test-00000-of-00001.parquet"


@dataclass(frozen=True)
class Partial:
    """A copy of a partial folder that may be damaged; `outside`: a folder that nothing may touch."""

    folder: Path
    outside: Path

    @property
    def sheet(self) -> Path:
        return self.folder / "plan.json"

    def record(self, number: int = 0) -> Path:
        return self.folder / "parts" / f"{number:05d}.json"

    def state(self, **fields: object) -> None:
        """Change fields of plan.json, and seal it again."""
        self.sheet.write_bytes(canonical_json(sealed({**json.loads(self.sheet.read_bytes()), **fields})))

    def say(self, number: int = 0, **fields: object) -> None:
        """Change fields of a record, and seal it again."""
        self.record(number).write_bytes(
            canonical_json(sealed({**json.loads(self.record(number).read_bytes()), **fields}))
        )

    def relist(self, **fields: object) -> None:
        """Change what the first record says about its file."""
        body = json.loads(self.record().read_bytes())
        self.say(files=[{**body["files"][0], **fields}])


@dataclass(frozen=True)
class PartialAttack:
    """One attack. `says`: words that the message of `merge` must contain; `code`: its exit code."""

    what: str
    damage: Callable[[Partial], object]
    says: str
    code: int = 4


def _outside(place: Partial, path: str) -> None:
    """A record that names a file outside, with its true sha256 and size."""
    goal = place.outside / "file"
    shutil.copy(place.folder / "dataset" / DATA, goal)
    place.relist(path=path, sha256=file_sha256(goal), bytes=goal.stat().st_size)


def _absolute(place: Partial) -> None:
    _outside(place, str(place.outside / "file"))


def _outside_by(path: str) -> Callable[[Partial], object]:
    return lambda place: _outside(place, path)


def _one_byte(place: Partial) -> None:
    (place.folder / "dataset" / DATA).write_bytes(b"x")


def _other_tokenizer(place: Partial) -> None:
    place.sheet.write_bytes(place.sheet.read_bytes().replace(b"cl100k", b"cl101k"))


def _moved(place: Partial, path: str) -> None:
    """Move a file or folder outside, and leave a link in its place."""
    goal = place.outside / "moved"
    shutil.move(place.folder / path, goal)
    (place.folder / path).symlink_to(goal)


def _whole(place: Partial) -> None:
    goal = place.outside / "moved"
    shutil.move(place.folder, goal)
    place.folder.symlink_to(goal)


def _final(place: Partial) -> None:
    place.folder.with_name(place.folder.name.removesuffix(".partial")).symlink_to(place.outside)


def _swapped(place: Partial) -> None:
    one, two = place.record(0).read_bytes(), place.record(1).read_bytes()
    place.record(0).write_bytes(two)
    place.record(1).write_bytes(one)


def _chats(place: Partial) -> None:
    """Turn the prompts of the previewed rows into chats."""
    shown = json.loads(place.record().read_bytes())["shown"]
    place.say(shown=[{**row, "prompt": [{"role": "user", "content": row["prompt"]}]} for row in shown])


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _field(name: str, value: Any) -> Callable[[Partial], object]:
    return lambda place: place.state(**{name: value})


def _record_field(name: str, value: Any) -> Callable[[Partial], object]:
    return lambda place: place.say(**{name: value})


_OTHERS = "another file's record"
# They all end the same way.
OTHER_NAMES = tuple(
    PartialAttack(f"a record names {what}", lambda p, name=name: p.relist(path=name), "00000.json is")  # type: ignore[misc]
    for what, name in HOSTILE_NAMES.items()
)
PARTIALS = (
    PartialAttack("the folder is a link", _whole, "a symbolic link, which is not followed"),
    PartialAttack("the dataset in it is a link", lambda p: _moved(p, "dataset"), "dataset: a symbolic link"),
    PartialAttack("the records in it are behind a link", lambda p: _moved(p, "parts"), "parts: a symbolic link"),
    PartialAttack("a folder of its dataset is a link", lambda p: _moved(p, "dataset/data"), "data: a symbolic link"),
    PartialAttack("a data file is a link", lambda p: _moved(p, f"dataset/{DATA}"), "a symbolic link"),
    PartialAttack("a record is a link", lambda p: _moved(p, "parts/00000.json"), "00000.json is damaged"),
    PartialAttack("the place of the dataset is a link", _final, "a symbolic link, which is not followed"),
    PartialAttack("a record names a file above", _outside_by("../../../../outside/file"), _OTHERS),
    PartialAttack("a record names an absolute path", _absolute, _OTHERS),
    *OTHER_NAMES,
    PartialAttack("two records have changed places", _swapped, _OTHERS),
    PartialAttack("a record is another plan's", _record_field("plan_digest", "0" * 64), "written for another plan"),
    PartialAttack("a record counts tokens below 0", _record_field("tokens", -1), "00000.json is damaged"),
    PartialAttack("a record has numbers for digests", _record_field("digests", [1, 2, 3]), "00000.json is damaged"),
    PartialAttack("a record has fewer digests than rows", _record_field("digests", []), "00000.json is damaged"),
    PartialAttack("a record shows a chat in a dataset of texts", _chats, "00000.json is not of form text"),
    PartialAttack("a record lists nothing", _record_field("files", []), "written as"),
    PartialAttack("a record is nested 100,000 deep", lambda p: p.record().write_bytes(b"[" * 100_000), "is damaged"),
    PartialAttack("a record is a pipe", lambda p: _pipe(p.record()), "00000.json is damaged"),
    PartialAttack("a data file is a pipe", lambda p: _pipe(p.folder / "dataset" / DATA), "not a regular file"),
    PartialAttack("a data file is another one", _one_byte, "1 bytes, expected"),
    PartialAttack("the plan is a pipe", lambda p: _pipe(p.sheet), "no unfinished dataset here", code=2),
    PartialAttack("the plan was changed", _other_tokenizer, "self_sha256"),
    PartialAttack("the plan is nested 100,000 deep", lambda p: p.sheet.write_bytes(b"[" * 100_000), "nested more than"),
    PartialAttack("the plan is of another dataset", _field("plan_digest", "0" * 64), "belongs to dataset 00000000"),
    PartialAttack("the plan names a file above", _field("shards", ["../x/test-00000-of-00001"]), "field shards"),
    PartialAttack("the plan names a format of no kind", _field("formats", ["../x"]), "field formats"),
    PartialAttack("the plan counts rows with texts", _field("cells", [["x"]]), "field cells"),
    PartialAttack("the plan has no corpora", _field("corpora", None), "field corpora"),
    PartialAttack("the plan's tokenizer is a number", _field("tokenizer", 3), "damaged"),
    PartialAttack("the plan's parts weigh NaN", lambda p: p.sheet.write_bytes(b'{"parts":[{"weight":NaN}]}'), "NaN"),
    PartialAttack("the plan's recipe asks for a folder above", _field("recipe", {"name": "../../x"}), "name", code=2),
)  # fmt: skip
