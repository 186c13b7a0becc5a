"""Corpora that repeat a word or a digit without end are searched for needles in time linear in their size."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from repetitions import at_most

import niah_gen
from niah_gen.errors import FitError

RECIPE = {
    "lengths": [1000], "depths": [50], "languages": ["en"], "needles": ["velden-archive", "tibblesham-buttons"],
    "boundary": "word",
}  # fmt: skip
SENTENCES = {
    "and": f"I counted 5 {'and ' * 40}the 6 of them. ",
    "ones": f"{'1 ' * 500}12 ",
    "han": f"{'The house by the river was old and cold. ' * 20}{'一' * 40} ",
    "digit": "1",
}


@pytest.mark.slow
def test_a_corpus_of_repetitions_is_used_or_refused_in_seconds(tmp_path: Path) -> None:
    for name, sentence in SENTENCES.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.txt").write_text(sentence * (250_000 // len(sentence.encode())), "utf-8")
        # Without a word of a usual length, there is no place for a needle.
        with at_most(20), suppress(FitError):
            assert list(niah_gen.iter_rows({**RECIPE, "corpora": [str(folder)]}))
