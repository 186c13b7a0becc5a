"""Lengths that cannot hold a haystack, leaks of keywords in a haystack, and its id."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from each import each
from rendering import Write
from repetitions import at_most
from small_dataset import rows_of

import niah_gen
from niah_gen.errors import FitError
from niah_gen.haystacks.haystack import Haystack
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.assemble import check_fit
from niah_gen.rows.plan import make_plan
from niah_gen.tokenizers.counted import counted
from niah_gen.tokenizers.find import BytePairTokenizer


@each("placement", ["native", "gkamradt", "opencompass", "opencompass-processed"])
@each("length", [1, 200, 210])
def test_a_length_that_cannot_hold_its_needle_is_refused_by_every_placement(placement: str, length: int) -> None:
    recipe = {
        "placement": placement, "lengths": [length, 2000], "depths": [0], "guide": False, "corpora": ["en_essays"],
        "needles": ["velden-archive"],
    }  # fmt: skip
    with pytest.raises(FitError, match=f"length {length} leaves no room"):
        list(niah_gen.iter_rows(recipe))
    with pytest.raises(FitError):
        check_fit(make_plan(load_recipe(recipe)))


# Leaks --------------------------------------------------------------------------------------------------------------


PARK, LAB = [["Dolores Park"]], [["上海人工智能实验室"]]
LEAKS: list[tuple[str, str, list[list[str]], str | None]] = [
    ("He sat in dolores  \n park today.", "", PARK, "Dolores Park"),
    ("Ｄｏｌｏｒｅｓ　Ｐａｒｋ", "", PARK, "Dolores Park"), ("He went to Dolores Parkway.", "", PARK, None),
    ("Drawer 1,417 is shut.", "", [["417"]], None), ("Drawer 1,417 is shut.", "", [["1417"]], "1417"),
    ("他在上海人工智能实验室工作。", "", LAB, "上海人工智能实验室"),
    ("four hundred and seventeen", "", [["417", "four hundred and seventeen"], ["drawer"]], "417"),
    ("At 7:52 p.m. on 23 February", "", [["19:52"], ["23/2", "23 February"]], "19:52, 23 February"),
    ("red and green", "", [["green"], ["blue", "red"]], "green, red"), ("nothing here", "", [["needle"]], None),
    # The end of the filler is an end of words and numbers.
    ("He sat in Dolores Park", "way and slept.", PARK, "Dolores Park"), ("He sat in Dolores", " Park.", PARK, None),
    ("The number is 1,024", "5 in all.", [["1024"]], "1024"), ("The number is 1,02", "4 in all.", [["1024"]], None),
    ("The number is 12", "34.", [["12"]], "12"), ("It was a cafe", "\u0301.", [["cafe"]], "cafe"),
    ("他在上海", "人工智能实验室。", LAB, None), ("words " * 500 + "the keyword", "s", [["keyword"]], "keyword"),
]  # fmt: skip


def test_leaks_are_the_keywords_that_the_scorer_would_find_in_the_filler(cl100k: BytePairTokenizer) -> None:
    for text, rest, keywords, leak in LEAKS:
        source = counted(text + rest, cl100k)
        haystack = Haystack(source, len(text), source.tokens_to(len(text)), 1.0)
        assert haystack.leak(keywords) == leak, (text, rest)


def test_leaks_are_recorded_in_the_rows(write_texts: Write, tmp_path: Path) -> None:
    texts = ["The gate was painted long ago. It is green today. " * 10]
    corpus = write_texts(tmp_path / "texts", texts)
    needle = {"needle": "The gate is green.", "question": "Which?", "keywords": [["green", "verdant"], ["gate"]]}
    for placement in ("gkamradt", "opencompass"):
        rows = rows_of(placement=placement, corpora=[str(corpus)], needles=[needle], lengths=[300])
        assert {row["leak"] for row in rows} == {"green, gate"}


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
