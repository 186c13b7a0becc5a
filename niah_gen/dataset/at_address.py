"""Builds a dataset at an address such as `s3://bucket/path`: whole or not at all, resumable, without renames or locks.

    <out>/<name>/<version>-<digest8>/             the dataset; manifest.json is written last, and without it it is none
    <out>/<name>/<version>-<digest8>.partial/     while it is built: `claim.json`, and `parts/` with a record per shard

Each shard is made in a temporary folder, uploaded, and proved by the store's checksum; then its record is written. A
shard is used again only if its record and its objects agree.

Stores have no locks that end with their holder. So the first builder writes a claim: the plan, the formats, and the
releases of what writes the files. Whoever builds the same with the same releases writes the same bytes, and may do so
at the same time; anybody else is refused. Claim and manifest are written only where there is none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from niah_gen.dataset.complete import Notice, describe, usable_record, wrong_record
from niah_gen.dataset.folders import PARTIAL, SHEET, BuildFolders
from niah_gen.dataset.releases import releases_of
from niah_gen.dataset.shards import ShardRecord
from niah_gen.dataset.sheet import read_sheet, sheet_bytes
from niah_gen.errors import IntegrityError, LockedError, NiahError, listed
from niah_score.contract import MANIFEST, FileEntry, canonical_json, seal_is_broken, sealed, strict_json
from niah_score.errors import AddressError
from niah_score.machine.addresses import (
    Address,
    StoredObject,
    fetch,
    object_at,
    objects_below,
    parse_address,
    put_new_object,
    put_object,
    read_object,
    remove_objects,
    stored_sha256,
    upload,
)
from niah_score.machine.fetched import manifest_at, naming
from niah_score.machine.scratch import scratch_folder

CLAIM = "claim.json"
PARTS = "parts"
# Requests that are under way at once, where there are many small ones.
_THREADS = 8
_MOST_RECORD_BYTES = 512 * 2**20


@dataclass(frozen=True, slots=True)
class BuildAddresses:
    """The places of one dataset at an address."""

    final: Address

    @property
    def partial(self) -> Address:
        return Address(f"{self.final}{PARTIAL}")

    def record(self, number: int) -> Address:
        """The record of a finished shard."""
        return self.partial / f"{PARTS}/{number:05d}.json"

    def shard_folder(self) -> AbstractContextManager[Path]:
        """Where the files of one shard are made."""
        return scratch_folder()

    def keep(self, record: ShardRecord, folder: Path) -> None:
        """Upload the files of a shard, then write its record. A dataset that is finished by now is left alone."""
        if object_at(self.final / MANIFEST) is not None:
            return
        marks = {entry.path: upload(folder / entry.path, self.final / entry.path).mark for entry in record.files}
        put_object(
            self.record(record.number), canonical_json(sealed({"shard": record.to_bytes().decode(), "marks": marks}))
        )


Target = BuildFolders | BuildAddresses


def begin(target: BuildAddresses, plan_digest: str, formats: Sequence[str]) -> bool:
    """Claim an address for a build; True if the dataset is there and complete already.

    Raises IntegrityError where other objects are there or a finished dataset is damaged, NiahError where one lacks a
    format, LockedError where another build has claimed it.
    """
    if _is_complete(target, plan_digest, formats):
        return True
    claim = canonical_json({"plan_digest": plan_digest, "formats": list(formats), "releases": releases_of(formats)})
    place = target.partial / CLAIM
    if object_at(place) is None:
        there = objects_below(target.final)
        # Looked up again: another builder may have begun, or finished, in between.
        if there and object_at(place) is None and not _is_complete(target, plan_digest, formats):
            head = f"{target.final}: holds {len(there)} objects and no {MANIFEST}, and is no build that was begun"
            raise IntegrityError(listed(f"{head}; remove them, or choose another --out", list(there)))
    if not put_new_object(place, claim):
        found = _small(place)
        if found is None:  # another builder has finished just now
            return begin(target, plan_digest, formats)
        if found != claim:
            raise LockedError(
                f"{target.final}: is being built otherwise, or was: with {_said(found)}; this build is with "
                f"{_said(claim)}. Finish it with those, or remove {target.partial}/ and {target.final}/ once nobody "
                "builds there"
            )
    return False


def found_records(
    target: Target, plan_digest: str, stems: Mapping[int, str], formats: Sequence[str]
) -> dict[int, ShardRecord | str]:
    """The record of each shard whose files or objects are all intact, or what is wrong. `stems`: by their numbers."""
    if isinstance(target, BuildFolders):
        return {number: usable_record(target, plan_digest, number, stem, formats) for number, stem in stems.items()}
    there = objects_below(target.final)
    written = objects_below(target.partial / PARTS)

    def look(number: int) -> ShardRecord | str:
        place = target.record(number)
        data = _small(place) if place.name in written else None
        if data is None:
            return "not written"
        record, marks = _read_record(data)
        if record is None:
            return f"{place.name} is damaged"
        if wrong := wrong_record(record, plan_digest, number, stems[number], formats):
            return wrong
        problems = [_problem(final, entry, there.get(entry.path), marks.get(entry.path)) for entry in record.files]
        return "; ".join(filter(None, problems)) or record

    final = target.final
    with ThreadPoolExecutor(_THREADS) as threads:
        return dict(zip(stems, threads.map(look, stems), strict=True))


def _small(address: Address) -> bytes | None:
    """An object that another builder may be removing; None if it is gone."""
    try:
        return read_object(address, _MOST_RECORD_BYTES)
    except AddressError:
        if object_at(address) is not None:
            raise
        return None


def put_sheet(target: BuildAddresses, sheet: Mapping[str, Any]) -> None:
    """Write what `merge` needs to know of the plan."""
    put_object(target.partial / SHEET, sheet_bytes(sheet))


def complete_at(target: BuildAddresses, sheet: Mapping[str, Any], tell: Notice) -> Address:
    """Check all shards; write recipe, preview, card and, last, the manifest; then remove claim and records.

    Raises IntegrityError listing every shard that is not there or not intact, and every object that is no part of it.
    """
    digest, formats = sheet["plan_digest"], sheet["formats"]
    found = found_records(target, digest, dict(enumerate(sheet["shards"])), formats)
    # Another builder of the same may have been faster.
    if _is_complete(target, digest, formats):
        return target.final
    records = [record for record in found.values() if isinstance(record, ShardRecord)]
    if len(records) < len(found):
        problems = [
            f"file {number} ({sheet['shards'][number]}): {record}"
            for number, record in found.items()
            if isinstance(record, str)
        ]
        head = f"{target.partial}: {len(problems)} files are not there; run their shards, or the build, again"
        raise IntegrityError(listed(head, problems))
    with scratch_folder() as scratch:
        folder = scratch / "dataset"
        manifest = describe(folder, sheet, records, tell)
        others = set(objects_below(target.final)) - {entry.path for entry in manifest.files} - {MANIFEST}
        if others:
            head = f"{target.final}: {len(others)} objects there are no part of the dataset"
            raise IntegrityError(listed(f"{head}; remove them, and run the same command again", sorted(others)))
        for entry in manifest.files:
            if entry.rows is None:
                upload(folder / entry.path, target.final / entry.path)
        data = manifest.to_json()
        if not put_new_object(target.final / MANIFEST, data) and read_object(target.final / MANIFEST) != data:
            raise IntegrityError(
                f"{target.final}: another build has finished there, and its {MANIFEST} differs; verify it: "
                f"`niah-gen verify {target.final}`"
            )
    _remove_partial(target)
    return target.final


def merge_at(address: str, notice: Notice | None = None) -> str:
    """Check all shards that `build --shard` wrote at an address and complete the dataset; returns its address.

    address: the partial one, the dataset's, or one above that holds just one partial one. Raises IntegrityError.
    """
    target = _find_partial(parse_address(address))
    with scratch_folder() as scratch, naming(scratch, target.partial):
        fetch(target.partial / SHEET, scratch / SHEET)
        sheet = read_sheet(scratch / SHEET)
    if not target.final.name.endswith(f"-{sheet['plan_digest'][:8]}"):
        raise IntegrityError(
            f"{target.partial}: its {SHEET} is of dataset {sheet['plan_digest'][:8]}; it was renamed, or is another "
            "build's: run any of the shards again"
        )
    tell = notice or (lambda sentence: None)
    for note in sheet.get("notes", ()):
        tell(note)
    return str(complete_at(target, sheet, tell))


def _is_complete(target: BuildAddresses, plan_digest: str, formats: Sequence[str]) -> bool:
    """Whether the finished dataset is there, every object with its size; what building it left is removed then."""
    if object_at(target.final / MANIFEST) is None:
        return False
    manifest = manifest_at(target.final)
    if manifest.plan_digest != plan_digest:
        raise IntegrityError(
            f"{target.final}: holds the finished dataset of another plan ({manifest.plan_digest[:16]}, this one is "
            f"{plan_digest[:16]}); choose another --out"
        )
    lacking = set(formats) - {entry.suffix for entry in manifest.files if entry.rows is not None}
    if lacking:
        raise NiahError(
            f"{target.final}: is finished, without {', '.join(sorted(lacking))}, and a finished dataset at an address "
            "is never changed; choose another --out, or build it again in another place with all formats"
        )
    there = objects_below(target.final)
    wrong = [entry.path for entry in manifest.files if _size(there, entry.path) != entry.bytes]
    if wrong:
        head = f"{target.final}: is finished, but {len(wrong)} of its objects are missing or of another size"
        raise IntegrityError(listed(f"{head}; copy it again, or remove it and build it again", wrong))
    _remove_partial(target)
    return True


def _size(there: Mapping[str, StoredObject], path: str) -> int | None:
    return there[path].bytes if path in there else None


def _remove_partial(target: BuildAddresses) -> None:
    """Remove what building needed, the claim last."""
    names = sorted(objects_below(target.partial), key=lambda name: name == CLAIM)
    remove_objects(target.partial / name for name in names)


def _read_record(data: bytes) -> tuple[ShardRecord | None, Mapping[str, Any]]:
    """A record, and what the store said of its objects; None if it is damaged."""
    try:
        outer = strict_json(data)
        if seal_is_broken(outer) or not isinstance(outer["marks"], dict):
            return None, {}
        return ShardRecord.from_bytes(outer["shard"].encode()), outer["marks"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None, {}


def _problem(final: Address, entry: FileEntry, stored: StoredObject | None, mark: object) -> str | None:
    """What is wrong with an object against its entry; read back where the store's mark does not settle it."""
    if stored is None:
        return f"{entry.path}: missing"
    if stored.bytes != entry.bytes:
        return f"{entry.path}: {stored.bytes} bytes, expected {entry.bytes}"
    if stored.mark is not None and stored.mark == mark:
        return None
    found = stored_sha256(final / entry.path)
    return None if found == entry.sha256 else f"{entry.path}: sha256 is {found}, expected {entry.sha256}"


def _said(claim: bytes) -> str:
    """The formats and releases of a claim, in words."""
    try:
        found = json.loads(claim)
        releases = ", ".join(f"{name} {number}" for name, number in sorted(found["releases"].items()))
        return f"{'+'.join(found['formats'])} by {releases}"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"a {CLAIM} that cannot be read"


def _find_partial(address: Address) -> BuildAddresses:
    candidates = [address] if address.name.endswith(PARTIAL) else [Address(f"{address}{PARTIAL}")]
    found = [place for place in candidates if object_at(place / SHEET) is not None]
    if not found:
        ending = f"{PARTIAL}/{SHEET}"
        below = [name.removesuffix(f"/{SHEET}") for name in objects_below(address) if name.endswith(ending)]
        found = [address / name for name in below]
    if len(found) != 1:
        what = f"{len(found)} unfinished datasets ({', '.join(map(str, found))})" if found else "no part of a dataset"
        raise AddressError(f"{address}: {what} here; name the one that `build --shard` printed, it ends in {PARTIAL}")
    return BuildAddresses(Address(found[0].text.removesuffix(PARTIAL)))
