"""Lengths that cannot hold a haystack, leaks of keywords in a haystack, and its id."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest
from built_rows import rows_of
from each import each
from filler import Write
from properties import examples
from repetitions import at_most

import niah_gen
from niah_gen.corpora.find import locate
from niah_gen.corpora.read import read_corpus
from niah_gen.errors import FitError
from niah_gen.haystacks.boundaries import joiner_of, sentence_ends
from niah_gen.haystacks.haystack import SEAM, Haystack, published_room, room_for_filler
from niah_gen.prompts.frame import make_frame
from niah_gen.prompts.templates import template_for
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.assemble import check_fit
from niah_gen.rows.plan import make_plan
from niah_gen.tasks.needle_library import needle_library
from niah_gen.tokenizers.counted import counted
from niah_gen.tokenizers.find import BytePairTokenizer, Tokenizer, find_tokenizer

_MARKS = [*" \n\t.,;:!?()[]{}\"'/-–—…“”‘’。《》！（）：；？0123456789aZéжの文", "e\u0301", "\n\n", "..."]


def test_filler_of_the_room_that_is_left_fits_with_needles_anywhere() -> None:
    draw = random.Random(7)
    for name, corpus in (("cl100k_base", "en_essays"), ("o200k_base", "zh_articles")):
        tokenizer, found = find_tokenizer(name), read_corpus(locate(corpus))
        language, joiner = found.language, joiner_of(found.language)
        library = [needle.needles[0].strip() for needle in needle_library().values() if needle.language == language]
        template = template_for("niah", language)
        assert template is not None
        frame = make_frame(template, "text", "native", False, "What?")
        for document in draw.sample(found.documents, 40):
            filler = document.text.strip()
            ends = sentence_ends(filler, language)
            needles = [*draw.sample(library, 2), "".join(draw.choices(_MARKS, k=12)).strip() or "x"]
            room = room_for_filler(0, 0, frame, needles, joiner, tokenizer)
            text = filler
            for at, needle in zip(sorted(draw.choices(ends, k=3), reverse=True), needles, strict=True):
                text = text[:at] + joiner + needle + text[at:]
            tokens = tokenizer.count(frame.before + text + frame.after)
            assert -room - 8 * SEAM <= tokens - tokenizer.count(filler) <= -room


steady = examples(40)


def test_published_budgets_need_one_token_of_filler() -> None:
    assert published_room(231, 200, 30) == 1
    with pytest.raises(FitError, match=r"length 230 leaves no room for a haystack: reserve takes 200 tokens .* 30"):
        published_room(230, 200, 30)


@each("placement", ["native", "gkamradt", "opencompass", "opencompass-processed"])
@each("length", [1, 200, 210])
def test_a_length_that_cannot_hold_its_needle_is_refused_by_every_placement(placement: str, length: int) -> None:
    recipe = {
        "placement": placement,
        "lengths": [length, 2000],
        "depths": [0],
        "guide": False,
        "corpora": ["en_essays"],
        "needles": ["velden-archive"],
    }
    with pytest.raises(FitError, match=f"length {length} leaves no room"):
        list(niah_gen.iter_rows(recipe))
    with pytest.raises(FitError):
        check_fit(make_plan(load_recipe(recipe)))


# Leaks --------------------------------------------------------------------------------------------------------------


def haystack_ending(tokenizer: Tokenizer, text: str, rest: str) -> Haystack:
    source = counted(text + rest, tokenizer)
    end = len(text)
    return Haystack(source, end, source.tokens_to(end), 1.0)


@each(
    ("text", "keywords", "leak"),
    [
        ("He sat in Dolores Park today.", [["Dolores Park"]], "Dolores Park"),
        ("He sat in dolores  \n park today.", [["Dolores Park"]], "Dolores Park"),
        ("Ｄｏｌｏｒｅｓ　Ｐａｒｋ", [["Dolores Park"]], "Dolores Park"),
        ("He went to Dolores Parkway.", [["Dolores Park"]], None),
        ("Drawer 1,417 is shut.", [["417"]], None),
        ("Drawer 1,417 is shut.", [["1417"]], "1417"),
        ("他在上海人工智能实验室工作。", [["上海人工智能实验室"]], "上海人工智能实验室"),
        (
            "four hundred and seventeen",
            [["417", "four hundred and seventeen"], ["drawer"]],
            "417",
        ),
        ("At 7:52 p.m. on 23 February", [["19:52"], ["23/2", "23 February"]], "19:52, 23 February"),
        ("red and green", [["green"], ["blue", "red"]], "green, red"),
        ("nothing here", [["needle"]], None),
        ("anything", [], None),
    ],
)
def test_leaks_are_the_keywords_that_the_scorer_would_find(
    cl100k: BytePairTokenizer, text: str, keywords: list[list[str]], leak: str | None
) -> None:
    assert haystack_ending(cl100k, text, "").leak(keywords) == leak


@each(
    ("text", "rest", "keyword", "leaks"),
    [
        ("He sat in Dolores Park", "way and slept.", "Dolores Park", True),
        ("The number is 1,024", "5 in all.", "1024", True),
        ("The number is 1,02", "4 in all.", "1024", False),
        ("The number is 12", "34.", "1234", False),
        ("The number is 12", "34.", "12", True),
        ("He sat in Dolores", " Park.", "Dolores Park", False),
        ("It was a cafe", "\u0301.", "cafe", True),
        ("他在上海", "人工智能实验室。", "上海人工智能实验室", False),
        ("words " * 500 + "the keyword", "s", "keyword", True),
    ],
)
def test_leaks_are_searched_for_in_the_filler_and_not_after_its_end(
    cl100k: BytePairTokenizer, text: str, rest: str, keyword: str, leaks: bool
) -> None:
    assert (haystack_ending(cl100k, text, rest).leak([[keyword]]) == keyword) == leaks


def test_leaks_are_recorded_in_the_rows(write_texts: Write, tmp_path: Path) -> None:
    texts = ["The gate was painted long ago. It is green today. " * 10]
    corpus = write_texts(tmp_path / "texts", texts)
    needle = {"needle": "The gate is green.", "question": "Which?", "keywords": [["green", "verdant"], ["gate"]]}
    for placement in ("gkamradt", "opencompass"):
        rows = rows_of(placement=placement, corpora=[str(corpus)], needles=[needle], lengths=[300])
        assert {row["leak"] for row in rows} == {"green, gate"}


def test_the_haystack_id_depends_only_on_its_bytes(cl100k: BytePairTokenizer) -> None:
    one, other = haystack_ending(cl100k, "same text", ""), haystack_ending(cl100k, "same text", " and more")
    assert one.id == other.id != haystack_ending(cl100k, "same texts", "").id
    assert len(one.id) == 12


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
