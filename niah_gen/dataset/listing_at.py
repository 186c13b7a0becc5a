"""Lists the datasets below an address, and the builds that are unfinished there."""

from __future__ import annotations

from pathlib import Path

from niah_gen.dataset.at_address import CLAIM, PARTS
from niah_gen.dataset.folders import PARTIAL
from niah_gen.dataset.listing import ListedFolder, Listing
from niah_score.contract import MANIFEST, ContractError, Dataset
from niah_score.machine.addresses import Address, objects_below, parse_address
from niah_score.machine.fetched import manifest_at


def datasets_at(text: str) -> Listing:
    """All datasets at an address and below it. Of their objects only manifests are read. Raises what a store does."""
    top = parse_address(text)
    there = objects_below(top)
    found: dict[str, ListedFolder] = {}
    for name in there:
        place, _, last = name.rpartition("/")
        if last == MANIFEST:
            found[place] = _listed(top / place if place else top, {
                below.removeprefix(f"{place}/" if place else ""): stored.bytes
                for below, stored in there.items()
                if below.startswith(f"{place}/" if place else "")
            })  # fmt: skip
        elif place.endswith(PARTIAL) and last == CLAIM:
            records = sum(below.startswith(f"{place}/{PARTS}/") for below in there)
            problem = f"unfinished, {records} files written; the same build, or merge, goes on from there"
            found[place] = ListedFolder(top / place, problem=problem)
    return Listing(tuple(listed for _, listed in sorted(found.items())), 0)


def _listed(place: Address, sizes: dict[str, int]) -> ListedFolder:
    """A dataset, whether its objects are all there with their sizes, or why it is none."""
    try:
        manifest = manifest_at(place)
    except ContractError as error:
        return ListedFolder(place, problem=str(error).removeprefix(f"{place}: "))
    wrong = sum(sizes.get(entry.path) != entry.bytes for entry in manifest.files)
    problem = f"{wrong} of {len(manifest.files)} files missing or of another size: niah-gen verify"
    return ListedFolder(place, Dataset(Path(place.name), manifest), problem if wrong else None)
