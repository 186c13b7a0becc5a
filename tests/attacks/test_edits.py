"""Random edits of a manifest: `verify` reports them, or the manifest says the same as before."""

from __future__ import annotations

import copy
import random
from typing import Any

from attacks_on_folders import Place

from niah_gen.checks.hashes import verify
from niah_score.contract import ContractError, Manifest, open_dataset, sealed

EDITS = 150
# Fields that `verify` believes under a matching seal: a checksum is no signature. `verify --full` compares all of them
# but notes, generator_version and the descriptions of corpora with the recipe and the rows.
BELIEVED = {"name", "version", "plan_digest", "content_digest", "generator_version", "tokenizer", "corpora", "tokens"}
BELIEVED |= {"notes", "parts"}
VALUES: list[Any] = [
    None, True, 0, -1, 1, 2**62 + 1, 1.5, "", "x", "\u202e", [], {}, [1], "../x", "0" * 64, float("nan"), float("inf"),
]  # fmt: skip


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every table or list in a value with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in items for place in ((value, key), *places(inner))]


def edited(draw: random.Random, record: dict[str, Any]) -> dict[str, Any]:
    """The manifest with one edit: another value, a key added, removed or renamed, a list in another order."""
    record = copy.deepcopy(record)
    inside, key = draw.choice(places(record))
    kind = draw.choice(("value", "value", "gone", "extra", "renamed", "order", "number"))
    if kind == "value":
        inside[key] = draw.choice(VALUES)
    elif kind == "gone":
        del inside[key]
    elif kind == "extra" and isinstance(inside, dict):
        inside[f"extra{draw.randrange(9)}"] = draw.choice(VALUES)
    elif kind == "renamed" and isinstance(inside, dict):
        inside[f"{key}_"] = inside.pop(key)
    elif kind == "number" and isinstance(inside[key], int | float):
        inside[key] += draw.choice((1, -1, 1000, 0.5))
    elif isinstance(inside, list) and len(inside) > 1:
        inside.reverse()
    elif isinstance(inside[key], str):
        inside[key] = inside[key][::-1] + "x"
    else:
        inside[key] = [inside[key], inside[key]]
    return record


def problems_in(place: Place) -> list[str]:
    """What `verify` reports about a folder."""
    try:
        return verify(place.folder)[1]
    except ContractError as error:
        return [str(error)]


def manifest_of(place: Place) -> Manifest:
    return open_dataset(place.folder).manifest


def test_every_edit_under_the_old_seal_is_reported(place: Place) -> None:
    record = place.record()
    for number in range(EDITS):
        changed = edited(random.Random(f"{number}/edit"), record)
        place.state(changed)
        assert problems_in(place), (number, changed)


def test_an_edit_under_a_new_seal_passes_only_in_uncheckable_fields(place: Place) -> None:
    record = place.record()
    sound = manifest_of(place)
    passed = set()
    for number in range(EDITS):
        changed = edited(random.Random(f"{number}/resealed"), record)
        try:
            place.state(sealed(changed))
        except ValueError:
            continue
        if problems_in(place):
            continue
        now = manifest_of(place)
        passed |= {name for name in Manifest.__slots__ if getattr(now, name) != getattr(sound, name)}
    # Files may be listed in any order.
    assert passed <= {*BELIEVED, "files"}, passed
