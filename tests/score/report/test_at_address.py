"""Scores written to an address: the summary comes last, and old scores are replaced only on request."""

from __future__ import annotations

import pytest
from made_store import BUCKET, MadeStore, below

from niah_score.errors import ScoreError
from niah_score.machine.stores import Address
from niah_score.report.at_address import scores_for

PLACE = Address(f"{BUCKET}/scores")


def write(*names: str, overwrite: bool = False) -> None:
    with scores_for(PLACE, overwrite=overwrite) as folder:
        for name in names:
            (folder / name).write_text(f"{names}")


def test_the_summary_is_written_last_and_removed_first(store: type[MadeStore]) -> None:
    done: list[str] = []
    store.on_write = lambda kind, path: done.append(f"{kind} {path.rpartition('/')[2]}")
    write("summary.json", "cells.csv", "samples.parquet", "notes.txt")
    assert done == ["put samples.parquet", "put cells.csv", "put summary.json"]
    done.clear()
    store.objects["bucket/scores/mine.txt"] = b"mine"
    write("summary.json", "scores.parquet", "cells.csv", overwrite=True)
    removed, written = done[:2], done[2:]
    # In alphabetical order "samples.parquet" would come first.
    assert removed == ["remove summary.json", "remove samples.parquet"]
    assert written == ["put scores.parquet", "put cells.csv", "put summary.json"]
    assert set(below(store, "scores")) == {"summary.json", "scores.parquet", "cells.csv", "mine.txt"}


def test_existing_scores_are_kept_without_overwrite_and_when_writing_fails(store: type[MadeStore]) -> None:
    write("summary.json", "cells.csv")
    before = dict(store.objects)
    with pytest.raises(ScoreError, match=r"^made://bucket/scores: already holds scores .*--overwrite"):
        write("summary.json", "cells.csv")
    with pytest.raises(ValueError, match="mine"), scores_for(PLACE, overwrite=True):
        raise ValueError("mine")
    assert store.objects == before
