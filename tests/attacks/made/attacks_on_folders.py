"""Attacks on dataset folders and partial ones: what each does to a sound one, and what must be reported about it.

Each seals the record again, as an attacker who knows how would do, unless the attack is on the seal itself.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from niah_score.contract import canonical_json, file_sha256, sealed

PARQUET = "data/en-600/test-00000-of-00001.parquet"
LINES = "jsonl/en-600/test-00000-of-00001.jsonl"
CARD = "README.md"


@dataclass(frozen=True)
class Place:
    """A copy of a dataset that may be damaged; `other`: another dataset; `outside`: a folder that nothing may touch."""

    folder: Path
    other: Path
    outside: Path

    @property
    def manifest(self) -> Path:
        return self.folder / "manifest.json"

    def record(self) -> dict[str, Any]:
        return dict(json.loads(self.manifest.read_bytes()))

    def state(self, record: object) -> None:
        """Write a manifest exactly as given."""
        self.manifest.write_text(json.dumps(record), "utf-8")

    def reseal(self, **fields: object) -> None:
        """Change fields of the manifest, and seal it again."""
        self.state(sealed({**self.record(), **fields}))

    def relist(self, path: str, **fields: object) -> None:
        """Change what the manifest says about a file, and seal it again."""
        files = [{**entry, **fields} if entry["path"] == path else entry for entry in self.record()["files"]]
        self.reseal(files=files)

    def replace(self, path: str, data: bytes, rows: int | None) -> None:
        """Replace a file and what the manifest says about it."""
        (self.folder / path).write_bytes(data)
        self.relist(path, sha256=file_sha256(self.folder / path), bytes=len(data), rows=rows)

    def add(self, path: str, **fields: object) -> None:
        """List one more file."""
        entry = {"path": path, "sha256": "0" * 64, "rows": None, "bytes": 1, **fields}
        self.reseal(files=[*self.record()["files"], entry])


@dataclass(frozen=True)
class Attack:
    """One attack on a dataset or a partial folder. `says`: words that the message must contain; `code`: its exit code.

    `full`: whether it takes `verify --full` to see it. `score`: the exit code of the scorer: 4 by default, 0 if
    everything that it reads is intact.
    """

    what: str
    damage: Callable[[Any], object]
    says: str
    full: bool = False
    score: int = 4
    code: int = 4


def _link(place: Place, path: str) -> None:
    goal = place.outside / "file"
    shutil.move(place.folder / path, goal)
    (place.folder / path).symlink_to(goal)


def _link_folder(place: Place) -> None:
    shutil.move(place.folder / "data", place.outside / "data")
    (place.folder / "data").symlink_to(place.outside / "data")


def _hard_link(place: Place) -> None:
    (place.outside / "secret").write_bytes(b"x" * 10)
    (place.folder / CARD).unlink()
    os.link(place.outside / "secret", place.folder / CARD)


def _fifo(place: Place, path: str) -> None:
    (place.folder / path).unlink(missing_ok=True)
    os.mkfifo(place.folder / path)


def _rows(place: Place) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place.folder / LINES).read_text("utf-8").splitlines()]


def _write_rows(place: Place, rows: list[dict[str, Any]]) -> None:
    place.replace(LINES, b"".join(canonical_json(row) + b"\n" for row in rows), len(rows))


def _double_row(place: Place) -> None:
    rows = _rows(place)
    _write_rows(place, [rows[0], *rows[:-1]])


def _other_rows(place: Place) -> None:
    place.replace(PARQUET, (place.other / PARQUET).read_bytes(), 3)


def _span(place: Place) -> None:
    rows = _rows(place)
    rows[0]["needle_spans"] = [{"start": 5, "end": 9}]
    _write_rows(place, rows)


def _table(place: Place, change: Callable[[pa.Table], pa.Table]) -> None:
    table = change(pq.read_table(place.folder / PARQUET))
    pq.write_table(table, place.folder / PARQUET)
    place.replace(PARQUET, (place.folder / PARQUET).read_bytes(), len(table))


def _schema(place: Place) -> None:
    at = pq.read_schema(place.folder / PARQUET).get_field_index("answers")
    _table(place, lambda table: table.set_column(at, "answers", pa.array([7] * len(table))))


def _without_column(place: Place) -> None:
    _table(place, lambda table: table.drop_columns(["keywords"]))


def _deep_line(place: Place) -> None:
    place.replace(LINES, b'{"id":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", 3)


def _raw(place: Place, change: Callable[[bytes], bytes]) -> None:
    place.manifest.write_bytes(change(place.manifest.read_bytes()))


def _doubled(data: bytes) -> bytes:
    return data.replace(b'"rows": 3,\n  "tokens"', b'"rows": 3,\n  "rows": 3,\n  "tokens"', 1)


def _field(name: str, value: object) -> Callable[[Place], object]:
    return lambda place: place.reseal(**{name: value})


def _entry(path: str, **fields: object) -> Callable[[Place], object]:
    return lambda place: place.relist(path, **fields)


def _without(name: str) -> Callable[[Place], object]:
    return lambda place: place.state(
        sealed({k: v for k, v in place.record().items() if k not in (name, "self_sha256")})
    )


def _unsealed(place: Place) -> None:
    place.state({name: value for name, value in place.record().items() if name != "self_sha256"})


def _many(place: Place, count: int = 200) -> None:
    for number in range(count):
        (place.folder / f"extra-{number:06d}").touch()


def _case_twins(place: Place) -> None:
    (place.folder / "readme.MD").write_bytes(b"x")
    place.add("readme.MD", sha256=file_sha256(place.folder / "readme.MD"))


# Names from POSIX, Windows and elsewhere that have led programs out of their folders.
HOSTILE_NAMES = {
    "an absolute path": "/etc/passwd", "a folder above": "../outside/file",
    "a folder above, in the middle": "data/../../outside/file", "a drive": "C:/Windows/system.ini",
    "a NUL": "data/a\0b", "a name of 300 characters": "n" * 300, "a device of Windows": "data/NUL.parquet",
    "two spellings of one file": "data//en-600/./x", "an escape of terminals": "data/\x1b]52;c;aGk=\x07",
}  # fmt: skip

ON_FILES = (
    Attack("a file is there that nobody lists", lambda p: (p.folder / PARQUET.replace("0-of", "1-of")).touch(),
           "not in the manifest", score=0),
    Attack("a file has a name that turns the terminal's text around", lambda p: (p.folder / "a\u202eb").touch(),
           "a\\u202eb", score=0),
    Attack("200 files are there that nobody lists", _many, "and 180 more", score=0),
    Attack("the recipe is a link to elsewhere", lambda p: _link(p, "recipe.toml"), "a symbolic link", score=0),
    Attack("the folder of data is a link to elsewhere", _link_folder, "data: a symbolic link", score=0),
    Attack("the card is a hard link to somebody's file", _hard_link, CARD, score=0),
    Attack("a data file is a pipe that nobody writes to", lambda p: _fifo(p, PARQUET), "not a regular file"),
    Attack("the manifest is a pipe", lambda p: _fifo(p, "manifest.json"), "manifest.json"),
)  # fmt: skip

ON_ROWS = (
    Attack("a row stands twice", _double_row, "row", full=True, score=0),
    Attack("the rows are another dataset's", _other_rows, "row", full=True),
    Attack("a span covers other text", _span, "needle", full=True, score=0),
    Attack("a column has another type", _schema, "its schema differs from that of rows: answers", full=True, score=2),
    Attack("a column is gone", _without_column, "its schema differs from that of rows: keywords", full=True, score=2),
    Attack("a line of a data file is nested 100,000 deep", _deep_line, "row", full=True, score=0),
    Attack("the recipe asks for something else", lambda p: p.replace("recipe.toml", b'name = "x"\n', None),
           "recipe.toml", full=True, score=0),
)  # fmt: skip

ON_THE_MANIFEST = (
    Attack("it is no JSON", lambda p: _raw(p, lambda data: data[:-20]), "not a manifest of schema version"),
    Attack("a byte order mark leads it", lambda p: _raw(p, lambda data: b"\xef\xbb\xbf" + data), "byte order mark"),
    Attack("a key stands twice in it", lambda p: _raw(p, _doubled), "'rows' appears twice"),
    Attack("it is nested 100,000 deep", lambda p: _raw(p, lambda data: b"[" * 100_000), "nested more than 64 deep"),
    Attack("a number is NaN", _field("tokens", float("nan")), "NaN"),
    Attack("the count of rows is negative", _field("rows", -3), "rows is -3"),
    Attack("the count of rows is another", _field("rows", 4), "but its field rows says 4"),
    Attack("no file is listed", _field("files", []), "lists no file with rows", score=2),
    Attack("a field is gone", _without("tokenizer"), "tokenizer"),
    Attack("a file holds other rows than it says", _entry(PARQUET, rows=2), "but its field rows says 3", score=0),
    Attack("a file is listed twice", lambda p: p.add(CARD), "2 times", score=0),
    Attack("two names are one where case does not count", _case_twins, "is not a file of its own inside the folder"),
    Attack("its schema is newer", _field("schema_version", 2), "newer than"),
    Attack("its plan digest is another's", _field("plan_digest", "0" * 64), "plan_digest is 0000", full=True, score=0),
    Attack("its content digest is another's", _field("content_digest", "0" * 64), "content_digest", full=True, score=0),
    Attack("its seal is gone", _unsealed, "has no self_sha256", score=0),
    Attack("a note is added under the old seal", lambda p: p.state({**p.record(), "notes": ["x"]}), "damaged, or"),
    *(
        Attack(f"it lists {what}", lambda p, name=name: p.add(name), "is not a file of its own inside the folder")  # type: ignore[misc]
        for what, name in HOSTILE_NAMES.items()
    ),
)  # fmt: skip


def everything(folder: Path) -> dict[str, tuple[int, int]]:
    """Everything below a folder, with sizes and modification times."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in folder.rglob("*")
    }


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
