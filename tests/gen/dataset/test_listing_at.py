"""Listing an address: datasets, what is wrong with them, and unfinished builds."""

from __future__ import annotations

from made_store import BUCKET, MadeStore

import niah_gen
from niah_gen.dataset.listing import listing_lines
from niah_gen.dataset.listing_at import datasets_at

RECIPE = {"name": "far", "task": "key-values", "languages": ["en"], "lengths": [400, 500], "depths": [0]}


def test_intact_damaged_and_unfinished_datasets_are_listed_as_such(store: type[MadeStore]) -> None:
    whole = niah_gen.build_at(RECIPE, f"{BUCKET}/a")
    short = niah_gen.build_at({**RECIPE, "name": "short"}, f"{BUCKET}/a")
    partial = niah_gen.build_at({**RECIPE, "name": "part"}, f"{BUCKET}/b", shard=(1, 2))
    store.objects["bucket/c/manifest.json"] = b"{}"
    store.objects["bucket/c/more.txt"] = b"x"
    del store.objects[f"{short.removeprefix('made://')}/recipe.toml"]
    lines = [line.split("  ") for line in listing_lines(datasets_at(BUCKET).folders)]
    assert [line[0].rstrip() for line in lines] == [whole, short, partial, f"{BUCKET}/c"]
    descriptions = {line[0]: "  ".join(line[1:]) for line in lines}
    assert "2 rows" in descriptions[whole]
    assert "missing" not in descriptions[whole]
    assert "1 of 5 files missing or of another size: niah-gen verify" in descriptions[short]
    assert "unfinished, 1 files written" in descriptions[partial]
    assert "not a manifest" in descriptions[f"{BUCKET}/c"]
    (listed,) = datasets_at(whole).folders
    assert str(listed.folder).rstrip("/") == whole
    assert datasets_at(f"{BUCKET}/nothing").folders == ()
