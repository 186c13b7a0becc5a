"""Compares a dataset at an address with its manifest, reading every byte a block at a time."""

from __future__ import annotations

from niah_gen.checks.hashes import added_by_hub, manifest_problems, renamed
from niah_score.contract import MANIFEST, Manifest, read_sealed_manifest
from niah_score.machine.addresses import objects_below, parse_address
from niah_score.machine.fetched import manifest_here, object_problem
from niah_score.text.visible import one_line


def verify_at(text: str, *, read: bool = True) -> tuple[Manifest, list[str]]:
    """Check every object of a dataset at an address. Returns the manifest, and a sentence for each problem.

    read: if False, only names and sizes are compared. Nothing is kept on this machine. Raises ContractError if there is
    no valid manifest, AddressError and StoreError.
    """
    address = parse_address(text)
    with manifest_here(address) as folder:
        manifest, unsealed = read_sealed_manifest(folder)
    objects = objects_below(address)
    checked = (object_problem(address, entry, objects.get(entry.path), read=read) for entry in manifest.files)
    problems = [problem for problem in checked if problem]
    listed = {entry.path for entry in manifest.files} | {MANIFEST}
    problems += [
        f"{one_line(name)}: not in the manifest; a reader that lists objects would count it"
        for name in objects
        if name not in listed and not added_by_hub(name)
    ]
    problems += [unsealed] if unsealed else []
    return manifest, [*problems, *manifest_problems(manifest), *renamed(address.name, manifest)]
