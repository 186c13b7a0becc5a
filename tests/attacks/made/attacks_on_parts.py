"""Attacks on partial folders, which are collected from several machines before they are merged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attacks_on_folders import HOSTILE_NAMES, Attack

from niah_score.contract import canonical_json, file_sha256, sealed

DATA = "data/en-600/test-00000-of-00001.parquet"


@dataclass(frozen=True)
class Partial:
    """A copy of a partial folder that may be damaged; `outside`: a folder that nothing may touch."""

    folder: Path
    outside: Path

    @property
    def part(self) -> Path:
        return self.folder / "part-0-of-1.json"

    def plan(self, **fields: object) -> None:
        """Change what the part says of the plan, and seal it again."""
        record = json.loads(self.part.read_bytes())
        known = {name: value for name, value in fields.items() if name in record["manifest"]}
        changed = {**record, **fields, "manifest": {**record["manifest"], **known}}
        self.part.write_bytes(canonical_json(sealed(changed)))

    def say(self, **fields: object) -> None:
        """Change what the part says of its first shard, and seal it again."""
        record = json.loads(self.part.read_bytes())
        shards = {**record["shards"], "0": {**record["shards"]["0"], **fields}}
        self.part.write_bytes(canonical_json(sealed({**record, "shards": shards})))

    def relist(self, **fields: object) -> None:
        """Change what the part says about its first file."""
        entry = json.loads(self.part.read_bytes())["shards"]["0"]["files"][0]
        self.say(files=[{**entry, **fields}])


def _outside(place: Partial, path: str) -> None:
    """A record that names a file outside, with its true sha256 and size."""
    goal = place.outside / "file"
    shutil.copy(place.folder / DATA, goal)
    place.relist(path=path, sha256=file_sha256(goal), bytes=goal.stat().st_size)


def _moved(place: Partial, path: str) -> None:
    """Move a file or folder outside, and leave a link in its place."""
    goal = place.outside / "moved"
    shutil.move(place.folder / path, goal)
    (place.folder / path).symlink_to(goal)


def _final(place: Partial) -> None:
    place.folder.with_name(place.folder.name.removesuffix(".partial")).symlink_to(place.outside)


def _swapped(place: Partial) -> None:
    record = json.loads(place.part.read_bytes())
    place.say(files=record["shards"]["1"]["files"])


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _plan(name: str, value: Any) -> Callable[[Partial], object]:
    return lambda place: place.plan(**{name: value})


def _shard(name: str, value: Any) -> Callable[[Partial], object]:
    return lambda place: place.say(**{name: value})


_LINK, _OTHERS, _NONE = "a symbolic link, which is not followed", "written as", "holds what no build writes"
PARTIALS = (
    Attack("the folder is a link", lambda p: _moved(p, ""), _LINK),
    Attack("a data file is a link", lambda p: _moved(p, DATA), _LINK),
    Attack("a part is a link", lambda p: _moved(p, p.part.name), _LINK),
    Attack("the place of the dataset is a link", _final, _LINK),
    Attack("a part names a real file above", lambda p: _outside(p, "../../../../outside/file"), _OTHERS),
    *(
        Attack(f"a part names {what}", lambda p, name=name: p.relist(path=name), _OTHERS)  # type: ignore[misc]
        for what, name in HOSTILE_NAMES.items()
    ),
    Attack("a part names another file", _swapped, _OTHERS),
    Attack("a part counts tokens below 0", _shard("tokens", -10**9), "manifest.json"),
    Attack("a part shows a chat", _shard("shown", [{"prompt": [{"role": "user", "content": "x"}]}]), _NONE),
    Attack("a part is nested 100,000 deep", lambda p: p.part.write_bytes(b"[" * 100_000), "nested more than"),
    Attack("a part is a pipe", lambda p: _pipe(p.part), "part-0-of-1.json: ", code=2),
    Attack("a data file is another one", lambda p: (p.folder / DATA).write_bytes(b"x"), "1 bytes, expected"),
    Attack(
        "a part was changed", lambda p: p.part.write_bytes(p.part.read_bytes().replace(b"cl100k", b"cl101k")),
        "self_sha256",
    ),
    Attack("a part is of another dataset", _plan("plan_digest", "0" * 64), "belongs to dataset 00000000"),
    Attack("the plan names a file above", _plan("stems", ["../x/test-00000-of-00001"]), _OTHERS),
    Attack("the plan counts rows with texts", _plan("cells", [["x"]]), _NONE),
    Attack("the plan's parts weigh NaN", lambda p: p.part.write_bytes(b'{"parts":[{"weight":NaN}]}'), "NaN"),
    Attack("the plan's recipe asks for a folder above", _plan("recipe", {"name": "../../x"}), "name", code=2),
)  # fmt: skip
