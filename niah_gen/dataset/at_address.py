"""Builds a dataset at an address such as `s3://bucket/path`: all or nothing, resumable, without renames or locks.

    <out>/<name>/<version>-<digest8>/             the dataset, once manifest.json is there, which is written last
    <out>/<name>/<version>-<digest8>.partial/     work in progress: `claim.json`, and `parts/` with a record per shard

Each shard is made in a temporary folder, uploaded, and checked against the store's checksum; then its record is
written. A shard is reused only if its record and its objects agree.

Stores have no locks that end with their holder. So the first builder writes a claim: the plan, the formats, and the
versions of the libraries that write the files. Builders with the same claim write the same bytes and may work at the
same time; all others are refused. Claim and manifest are never overwritten.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from niah_gen.dataset.complete import Notice, describe, intact_records, usable_record, wrong_record
from niah_gen.dataset.folders import PARTIAL, SHEET, BuildFolders
from niah_gen.dataset.releases import releases_of
from niah_gen.dataset.shards import MOST_RECORD_BYTES, ShardRecord
from niah_gen.dataset.sheet import read_sheet, sheet_bytes
from niah_gen.errors import IntegrityError, LockedError, NiahError, listed
from niah_score.contract import MANIFEST, canonical_json, seal_is_broken, sealed, strict_json
from niah_score.errors import AddressError
from niah_score.machine.addresses import (
    Address,
    fetch,
    object_at,
    objects_below,
    parse_address,
    put_new_object,
    put_object,
    read_object,
    remove_objects,
    upload,
)
from niah_score.machine.fetched import manifest_at, named_by_address, object_problem
from niah_score.machine.scratch import scratch_folder
from niah_score.text.visible import one_line

CLAIM = "claim.json"
PARTS = "parts"
# Concurrent requests, where there are many small ones.
_THREADS = 8


@dataclass(frozen=True, slots=True)
class BuildAddresses:
    """The addresses of one dataset and of its unfinished build."""

    final: Address

    @property
    def partial(self) -> Address:
        return Address(f"{self.final}{PARTIAL}")

    def record(self, number: int) -> Address:
        """The record of a finished shard."""
        return self.partial / f"{PARTS}/{number:05d}.json"

    def shard_folder(self) -> AbstractContextManager[Path]:
        """A temporary folder to make the files of one shard in."""
        return scratch_folder()

    def keep(self, record: ShardRecord, folder: Path) -> None:
        """Upload the files of a shard, then write its record, unless the dataset has been finished meanwhile."""
        if object_at(self.final / MANIFEST) is not None:
            return
        marks = {entry.path: upload(folder / entry.path, self.final / entry.path).mark for entry in record.files}
        put_object(
            self.record(record.number), canonical_json(sealed({"shard": record.to_bytes().decode(), "marks": marks}))
        )


Target = BuildFolders | BuildAddresses


def begin(target: BuildAddresses, plan_digest: str, formats: Sequence[str]) -> bool:
    """Claim an address for a build; True if the dataset is already complete there.

    Raises IntegrityError if other objects or a damaged dataset are there, NiahError if the finished dataset lacks a
    format, LockedError if another build has claimed the address.
    """
    if _is_complete(target, plan_digest, formats):
        return True
    claim = canonical_json({"plan_digest": plan_digest, "formats": list(formats), "releases": releases_of(formats)})
    place = target.partial / CLAIM
    if object_at(place) is None:
        there = objects_below(target.final)
        # Checked again: another builder may have started, or finished, in between.
        if there and object_at(place) is None and not _is_complete(target, plan_digest, formats):
            head = f"{target.final}: holds {len(there)} objects but no {MANIFEST}, and no build has claimed it"
            raise IntegrityError(listed(f"{head}; remove them, or choose another --out", [*map(one_line, there)]))
    if not put_new_object(place, claim):
        other = _read_if_there(place)
        if other is None:  # another builder has just finished
            return begin(target, plan_digest, formats)
        if other != claim:
            raise LockedError(
                f"{target.final}: another build has claimed this address, with {_in_words(other)}; this one would use "
                f"{_in_words(claim)}. Finish that build with the same formats and versions or, once nobody is building "
                f"there, remove {target.partial}/ and {target.final}/"
            )
    return False


def found_records(
    target: Target, plan_digest: str, stems: Mapping[int, str], formats: Sequence[str]
) -> dict[int, ShardRecord | str]:
    """By number, the record of each shard whose files or objects are all intact, or what is wrong with the shard."""
    if isinstance(target, BuildFolders):
        return {number: usable_record(target, plan_digest, number, stem, formats) for number, stem in stems.items()}
    there = objects_below(target.final)
    written = objects_below(target.partial / PARTS)

    def look(number: int) -> ShardRecord | str:
        place = target.record(number)
        data = _read_if_there(place) if place.name in written else None
        if data is None:
            return "not written"
        record, marks = _read_record(data)
        if record is None:
            return f"{place.name} is damaged"
        if wrong := wrong_record(record, plan_digest, number, stems[number], formats):
            return wrong
        problems = [
            object_problem(final, entry, there.get(entry.path), marks.get(entry.path)) for entry in record.files
        ]
        return "; ".join(filter(None, problems)) or record

    final = target.final
    with ThreadPoolExecutor(_THREADS) as threads:
        return dict(zip(stems, threads.map(look, stems), strict=True))


def _read_if_there(address: Address) -> bytes | None:
    """The content of a claim or record, which another builder may be removing; None if it is gone."""
    try:
        return read_object(address, MOST_RECORD_BYTES)
    except AddressError:
        if object_at(address) is not None:
            raise
        return None


def put_sheet(target: BuildAddresses, sheet: Mapping[str, Any]) -> None:
    """Write what `merge` needs to know about the plan."""
    put_object(target.partial / SHEET, sheet_bytes(sheet))


def complete_at(target: BuildAddresses, sheet: Mapping[str, Any], tell: Notice) -> Address:
    """Check all shards; write recipe, preview, card and, last, the manifest; then remove claim and records.

    Raises IntegrityError listing every shard that is missing or damaged, or every object that does not belong there.
    """
    digest, formats = sheet["plan_digest"], sheet["formats"]
    stems = dict(enumerate(sheet["shards"]))
    checked = found_records(target, digest, stems, formats)
    # Another builder of the same dataset may have finished it.
    if _is_complete(target, digest, formats):
        return target.final
    records = intact_records(target.partial, stems, checked)
    with scratch_folder() as scratch:
        folder = scratch / "dataset"
        with named_by_address(folder, target.partial):
            manifest = describe(folder, sheet, records, tell)
        others = set(objects_below(target.final)) - {entry.path for entry in manifest.files} - {MANIFEST}
        if others:
            head = f"{target.final}: {len(others)} objects there are not part of the dataset"
            raise IntegrityError(
                listed(f"{head}; remove them, and run the same command again", [*map(one_line, sorted(others))])
            )
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

    address: of the partial dataset, of the dataset, or one with a single partial dataset below it. Raises
    IntegrityError.
    """
    target = _partial_below(parse_address(address))
    with scratch_folder() as scratch, named_by_address(scratch, target.partial):
        fetch(target.partial / SHEET, scratch / SHEET)
        sheet = read_sheet(scratch / SHEET, target.final.name)
    tell = notice or (lambda sentence: None)
    for note in sheet.get("notes", ()):
        tell(note)
    return str(complete_at(target, sheet, tell))


def _is_complete(target: BuildAddresses, plan_digest: str, formats: Sequence[str]) -> bool:
    """Whether the finished dataset is there, with all objects by size; if so, remove what the build left."""
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
            "is never changed; build it again with all formats at another --out"
        )
    there = objects_below(target.final)
    wrong = [
        entry.path for entry in manifest.files if entry.path not in there or there[entry.path].bytes != entry.bytes
    ]
    if wrong:
        head = f"{target.final}: is finished, but {len(wrong)} of its objects are missing or of another size"
        raise IntegrityError(listed(f"{head}; copy it again, or remove it and build it again", [*map(one_line, wrong)]))
    _remove_partial(target)
    return True


def _remove_partial(target: BuildAddresses) -> None:
    """Remove what only the build needed, the claim last."""
    names = sorted(objects_below(target.partial), key=lambda name: name == CLAIM)
    remove_objects(target.partial / name for name in names)


def _read_record(data: bytes) -> tuple[ShardRecord | None, Mapping[str, Any]]:
    """A record and the store's checksum of each of its objects; None and nothing if it is damaged."""
    try:
        outer = strict_json(data)
        if seal_is_broken(outer) or not isinstance(outer["marks"], dict):
            return None, {}
        return ShardRecord.from_bytes(outer["shard"].encode()), outer["marks"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None, {}


def _in_words(claim: bytes) -> str:
    """The formats and library versions of a claim."""
    try:
        fields = json.loads(claim)
        releases = ", ".join(f"{name} {number}" for name, number in sorted(fields["releases"].items()))
        return f"{'+'.join(fields['formats'])} by {releases}"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"a {CLAIM} that cannot be read"


def _partial_below(address: Address) -> BuildAddresses:
    partial = address if address.name.endswith(PARTIAL) else Address(f"{address}{PARTIAL}")
    if object_at(partial / SHEET) is None:
        sheets = [name for name in objects_below(address) if name.endswith(f"{PARTIAL}/{SHEET}")]
        places = [address / name.removesuffix(f"/{SHEET}") for name in sheets]
        if len(places) != 1:
            shown = one_line(", ".join(map(str, places)))
            what = f"{len(places)} unfinished datasets ({shown})" if places else "no unfinished dataset"
            raise AddressError(
                f"{address}: {what} here; name the one that `build --shard` printed, which ends in {PARTIAL}"
            )
        partial = places[0]
    return BuildAddresses(Address(partial.text.removesuffix(PARTIAL)))
