"""Puts a dataset that was built in a temporary folder to an address such as `s3://bucket/path`, the manifest last.

Stores have no renames and no locks. Builders of one plan write the same bytes; the first manifest stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from niah_gen.dataset.complete import Notice, merge
from niah_gen.dataset.folders import PARTIAL, SHEET
from niah_gen.errors import IntegrityError, NiahError, listed
from niah_score.contract import MANIFEST, is_safe_path
from niah_score.errors import AddressError
from niah_score.machine.addresses import (
    Address,
    fetch,
    object_at,
    objects_below,
    parse_address,
    put_new_object,
    read_object,
    remove_objects,
    upload,
)
from niah_score.machine.fetched import manifest_at, named_by_address
from niah_score.machine.scratch import scratch_folder
from niah_score.text.visible import one_line


def finished_at(goal: Address, plan_digest: str, formats: Sequence[str]) -> bool:
    """Whether the finished dataset of a plan is at an address, with all objects by size.

    Raises NiahError if it is there without a format, IntegrityError if it is another plan's or not whole.
    """
    there = objects_below(goal)
    if MANIFEST not in there:
        return False
    manifest = manifest_at(goal)
    if manifest.plan_digest != plan_digest:
        raise IntegrityError(f"{goal}: holds the finished dataset of another plan; choose another --out")
    lacking = {*formats} - {entry.suffix for entry in manifest.files if entry.rows is not None}
    if lacking:
        raise NiahError(
            f"{goal}: is finished, without {', '.join(sorted(lacking))}, and a finished dataset at an address is never "
            "changed; build it again with all formats at another --out"
        )
    wrong = [e.path for e in manifest.files if e.path not in there or there[e.path].bytes != e.bytes]
    if wrong:
        head = f"{goal}: is finished, but {len(wrong)} of its objects are missing or of another size"
        raise IntegrityError(listed(f"{head}; copy it again, or remove it and build it again", [*map(one_line, wrong)]))
    return True


def send(folder: Path, goal: Address) -> Address:
    """Upload a dataset, or a partial one, and return its address; a whole one replaces the shards beside it.

    Raises IntegrityError if other objects are there.
    """
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    others = [] if goal.name.endswith(PARTIAL) else sorted({*objects_below(goal)} - names)
    if others:
        head = f"{goal}: {len(others)} objects there are not part of the dataset; remove them, or choose another --out"
        raise IntegrityError(listed(head, [*map(one_line, others)]))
    for name in sorted(names - {MANIFEST}, key=lambda name: (name == SHEET, name)):
        upload(folder / name, goal / name)
    if MANIFEST in names:
        data = (folder / MANIFEST).read_bytes()
        if not put_new_object(goal / MANIFEST, data) and read_object(goal / MANIFEST) != data:
            raise IntegrityError(f"{goal}: another build has finished there, and its {MANIFEST} differs; verify it")
        shards = Address(f"{goal}{PARTIAL}")
        remove_objects(shards / name for name in sorted(objects_below(shards), key=lambda name: name == SHEET))
    return goal


def merge_at(address: str, notice: Notice | None = None) -> str:
    """Check all shards that `build --shard` wrote at an address and complete the dataset; returns its address.

    address: of the partial dataset, of the dataset, or one with a single partial dataset below it. The shards are
    fetched. Raises IntegrityError.
    """
    partial = _partial_below(parse_address(address))
    goal = Address(partial.text.removesuffix(PARTIAL))
    names = [*objects_below(partial)]
    for name in names:
        if not is_safe_path(name):
            raise IntegrityError(f"{partial}: {one_line(name)!r} is not the name of a file; remove it")
    with scratch_folder() as scratch, named_by_address(scratch, partial.parent):
        for name in names:
            fetch(partial / name, scratch / partial.name / name)
        send(merge(scratch / partial.name, notice), goal)
    return str(goal)


def _partial_below(address: Address) -> Address:
    partial = address if address.name.endswith(PARTIAL) else Address(f"{address}{PARTIAL}")
    if object_at(partial / SHEET) is not None:
        return partial
    sheets = [name for name in objects_below(address) if name.endswith(f"{PARTIAL}/{SHEET}")]
    if len(sheets) != 1:
        shown = one_line(", ".join(str(address / name.removesuffix(f"/{SHEET}")) for name in sheets))
        what = f"{len(sheets)} unfinished datasets ({shown})" if sheets else "no unfinished dataset"
        raise AddressError(
            f"{address}: {what} here; name the one that `build --shard` printed, which ends in {PARTIAL}"
        )
    return address / sheets[0].removesuffix(f"/{SHEET}")
