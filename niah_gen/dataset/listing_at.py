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
    """All datasets at an address and below it. Only manifests are read. Raises AddressError and StoreError."""
    top = parse_address(text)
    objects = objects_below(top)
    folders: dict[str, ListedFolder] = {}
    for name in objects:
        place, slash, last = name.rpartition("/")
        prefix = place + slash
        if last == MANIFEST:
            below = (key for key in objects if key.startswith(prefix))
            sizes = {key.removeprefix(prefix): objects[key].bytes for key in below}
            folders[place] = _listed(top / place if place else top, sizes)
        elif place.endswith(PARTIAL) and last == CLAIM:
            records = sum(key.startswith(f"{prefix}{PARTS}/") for key in objects)
            problem = f"unfinished, {records} files written; run the same build again, or merge, to continue"
            folders[place] = ListedFolder(top / place, problem=problem)
    return Listing(tuple(listed for _, listed in sorted(folders.items())), 0)


def _listed(place: Address, sizes: dict[str, int]) -> ListedFolder:
    """The entry of a dataset, with what is wrong with its objects if anything, or why it is not a dataset."""
    try:
        manifest = manifest_at(place)
    except ContractError as error:
        return ListedFolder(place, problem=str(error).removeprefix(f"{place}: "))
    wrong = sum(sizes.get(entry.path) != entry.bytes for entry in manifest.files)
    problem = f"{wrong} of {len(manifest.files)} files missing or of another size: niah-gen verify"
    return ListedFolder(place, Dataset(Path(place.name), manifest), problem if wrong else None)
