"""Compares a dataset at an address with its manifest: every byte, read a block at a time, and nothing else there."""

from __future__ import annotations

from niah_gen.checks.hashes import manifest_problems
from niah_score.contract import MANIFEST, FileEntry, Manifest, read_sealed_manifest
from niah_score.machine.addresses import Address, StoredObject, objects_below, parse_address, stored_sha256
from niah_score.machine.fetched import manifest_here


def verify_at(text: str) -> tuple[Manifest, list[str]]:
    """Read every object of a dataset at an address; the manifest, and a sentence for each that is not as it says.

    Nothing is kept on this machine. Raises ContractError where no valid manifest is, AddressError and StoreError.
    """
    address = parse_address(text)
    with manifest_here(address) as folder:
        manifest, unsealed = read_sealed_manifest(folder)
    there = objects_below(address)
    found = [_problem(address, entry, there.get(entry.path)) for entry in manifest.files]
    problems = [problem for problem in found if problem]
    listed = {entry.path for entry in manifest.files} | {MANIFEST}
    problems += [
        f"{name}: not in the manifest; a reader that lists objects would count it"
        for name in there
        if name not in listed
    ]
    problems += [unsealed] if unsealed else []
    return manifest, problems + manifest_problems(manifest)


def _problem(address: Address, entry: FileEntry, stored: StoredObject | None) -> str | None:
    if stored is None:
        return f"{entry.path}: missing"
    if stored.bytes != entry.bytes:
        return f"{entry.path}: {stored.bytes} bytes, expected {entry.bytes}"
    found = stored_sha256(address / entry.path)
    return None if found == entry.sha256 else f"{entry.path}: sha256 is {found}, expected {entry.sha256}"
