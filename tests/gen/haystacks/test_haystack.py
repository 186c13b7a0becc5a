"""Filling token budgets: each placement's rule, from its corpus to its last token."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

import niah_gen
from niah_gen.corpora.find import Corpus, CorpusFile, Document
from niah_gen.errors import FitError
from niah_gen.haystacks.haystack import Haystack, Order, PublishedFiller, published_room
from niah_gen.prompts.templates import Frame
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.assemble import check_fit
from niah_gen.rows.plan import make_plan
from niah_gen.tasks.needle_library import Needle
from niah_gen.tokenizers.find import BytePairTokenizer, Tokenizer
from niah_gen.tokenizers.spliced import encode
from niah_score.contract import Row

OddText = Callable[[random.Random, int], str]
Write = Callable[[Path, Sequence[str]], Path]

steady = examples(40)

EMPTY = Frame("text", "", "", (), -1)


def corpus_of(texts: Sequence[str], language: str = "en") -> Corpus:
    documents = tuple(Document(text, f"{number}.txt", 1) for number, text in enumerate(texts))
    return Corpus("test", language, "CC0-1.0", "made up", (CorpusFile("0.txt", "0" * 64),), "0" * 64, documents)


def order(
    tokenizer: Tokenizer,
    length: int,
    *,
    longest: int = 0,
    reserve: int = 0,
    repeat: int = 0,
    seed: int = 0,
    needle: str = "N",
    around: Frame = EMPTY,
) -> Order:
    asked = Needle("n", "en", (needle,), "What?", ("N.",), (), "edit")
    return Order(length, max(length, longest), reserve, repeat, seed, asked, (encode(needle, tokenizer),), around)


def filler_of(corpus: Corpus, tokenizer: Tokenizer, placement: str = "gkamradt") -> PublishedFiller:
    return PublishedFiller(corpus, tokenizer, placement)


def text_of(haystack: Haystack | None) -> str:
    assert haystack is not None
    return haystack.source.text(0, haystack.end)


def token_list(tokenizer: BytePairTokenizer, text: str) -> list[int]:
    return list(tokenizer.encode(text).ids.tolist())


def decoded(tokenizer: BytePairTokenizer, ids: Sequence[int]) -> str:
    return tokenizer.encoding.decode(list(ids))


TEXTS = [f"Document number {number} says this. It also says that. 第{number}篇文章。" * 3 for number in range(9)]


# gkamradt -----------------------------------------------------------------------------------------------------------


def test_gkamradt_lays_all_documents_end_to_end_in_order(cl100k: BytePairTokenizer) -> None:
    found = filler_of(corpus_of(TEXTS), cl100k).gkamradt(order(cl100k, 150))
    assert "".join(TEXTS).startswith(text_of(found))
    assert found.tokens == 150 - 1 == cl100k.count(text_of(found))


def test_gkamradt_repeats_the_corpus_until_the_longest_length_is_reached(cl100k: BytePairTokenizer) -> None:
    whole = "".join(TEXTS[:2])
    once = cl100k.count(whole)
    filler = filler_of(corpus_of(TEXTS[:2]), cl100k)
    found = filler.gkamradt(order(cl100k, 4 * once))
    assert (whole * 5).startswith(text_of(found))
    assert found.passes == round(found.tokens / once, 4) > 3.9
    assert filler.usage(4 * once, ()).tokens == once


def test_gkamradt_repeats_whole_copies_only(cl100k: BytePairTokenizer) -> None:
    """The corpus in tokens is looked at as one text: copies are added until it is long enough, never a part of one."""
    filler = filler_of(corpus_of(["odd"]), cl100k)
    for longest in range(1, 12):
        whole = filler._repeated(longest).whole
        assert whole.data.decode() == "odd" * (len(whole.data) // 3)
        copies = len(whole.data) // 3
        assert whole.size >= longest
        assert copies == 1 or cl100k.count("odd" * (copies - 1)) < longest


def test_gkamradt_needs_no_further_copy_when_the_corpus_is_just_as_long(cl100k: BytePairTokenizer) -> None:
    once = cl100k.count("".join(TEXTS))
    assert filler_of(corpus_of(TEXTS), cl100k)._repeated(once).whole.size == once


def test_gkamradt_trims_at_every_token_as_encoding_again_would(tokenizer: BytePairTokenizer, odd_text: OddText) -> None:
    """With a needle of one token, whatever the second encoding changes at the end is in the haystack."""
    rng = random.Random(11)
    for _ in range(25):
        text = odd_text(rng, 25)
        tokens = token_list(tokenizer, text)
        filler = filler_of(corpus_of([text or "x"]), tokenizer)
        for length in range(2, len(tokens)):
            again = token_list(tokenizer, decoded(tokenizer, tokens[:length]))[: length - 1]
            found = filler.gkamradt(order(tokenizer, length, longest=len(tokens)))
            assert found.source.ids[: found.tokens].tolist() == again
            assert text_of(found) == decoded(tokenizer, again)


def test_gkamradt_is_not_repeated_when_it_is_long_enough(cl100k: BytePairTokenizer) -> None:
    assert filler_of(corpus_of(TEXTS), cl100k).gkamradt(order(cl100k, 100)).passes == 1.0


@steady
@given(seed=st.integers(0, 2**32 - 1))
def test_gkamradt_trims_encodes_again_and_trims(tokenizer: BytePairTokenizer, odd_text: OddText, seed: int) -> None:
    rng = random.Random(seed)
    texts = [odd_text(rng, rng.randint(1, 20)) or "x" for _ in range(rng.randint(1, 4))]
    needle = odd_text(rng, 2) or "needle"
    longest = rng.randint(1, 300)
    taken = tokenizer.count(needle)
    length = taken + rng.randint(1, longest)
    longest = max(longest, length)
    whole = "".join(texts)
    tokens = token_list(tokenizer, whole)
    while len(tokens) < longest:
        whole += "".join(texts)
        tokens = token_list(tokenizer, whole)
    if len(tokens) > length:
        tokens = token_list(tokenizer, decoded(tokenizer, tokens[:length]))
    tokens = tokens[: length - taken]
    found = filler_of(corpus_of(texts), tokenizer).gkamradt(order(tokenizer, length, longest=longest, needle=needle))
    assert found.source.ids[: found.tokens].tolist() == tokens
    assert text_of(found) == decoded(tokenizer, tokens)


def test_gkamradt_gives_a_length_the_same_after_a_longer_one(cl100k: BytePairTokenizer) -> None:
    filler = filler_of(corpus_of(TEXTS), cl100k)
    alone = filler.gkamradt(order(cl100k, 90, longest=700))
    filler.gkamradt(order(cl100k, 700, longest=700))
    assert text_of(filler.gkamradt(order(cl100k, 90, longest=700))) == text_of(alone)


# OpenCompass --------------------------------------------------------------------------------------------------------


def shuffled(texts: Sequence[str], repeat: int) -> list[str]:
    """As published: one list, shuffled again and again, the global generator reseeded before each time."""
    left = list(texts)
    for counter in range(repeat + 1):
        random.Random(counter).shuffle(left)
    return left


@pytest.mark.parametrize("repeat", [0, 1, 2, 9])
def test_opencompass_repeat_alone_equals_that_repeat_in_sequence(cl100k: BytePairTokenizer, repeat: int) -> None:
    sequence = filler_of(corpus_of(TEXTS), cl100k)
    texts = [text_of(sequence.opencompass(order(cl100k, 120, repeat=number))) for number in range(repeat + 1)]
    alone = filler_of(corpus_of(TEXTS), cl100k).opencompass(order(cl100k, 120, repeat=repeat))
    assert text_of(alone) == texts[-1]
    ids = [token for text in shuffled(TEXTS, repeat) for token in token_list(cl100k, text)]
    assert texts[-1] == decoded(cl100k, ids[:119])
    assert len(set(texts)) > repeat * 0.7


def test_opencompass_gives_the_same_filler_whatever_lengths_came_before(cl100k: BytePairTokenizer) -> None:
    lengths = [60, 500, 120, 60, 499]
    shared = filler_of(corpus_of(TEXTS), cl100k)
    for length in lengths:
        alone = filler_of(corpus_of(TEXTS), cl100k).opencompass(order(cl100k, length))
        again = shared.opencompass(order(cl100k, length))
        assert (again.tokens, text_of(again), again.id) == (alone.tokens, text_of(alone), alone.id)


def test_opencompass_does_not_touch_the_global_generator(cl100k: BytePairTokenizer) -> None:
    state = random.getstate()
    filler_of(corpus_of(TEXTS), cl100k).opencompass(order(cl100k, 120, repeat=3))
    assert random.getstate() == state


def test_a_corpus_too_short_for_opencompass_is_used_up_once(cl100k: BytePairTokenizer) -> None:
    found = filler_of(corpus_of(TEXTS), cl100k).opencompass(order(cl100k, 100_000))
    assert text_of(found) == "".join(shuffled(TEXTS, 0))
    assert found.tokens == sum(map(cl100k.count, TEXTS))
    assert found.passes == 1.0


def test_opencompass_keeps_the_tokens_that_documents_have_alone(cl100k: BytePairTokenizer) -> None:
    """`12` and `34` are two tokens here, though `1234` would be encoded as `123` and `4`."""
    found = filler_of(corpus_of(["12", "34"]), cl100k).opencompass(order(cl100k, 4))
    assert found.tokens == 2
    assert found.source.ids.tolist() == [
        token for text in shuffled(["12", "34"], 0) for token in token_list(cl100k, text)
    ]


def test_a_haystack_cut_inside_a_character_ends_in_the_replacement_sign(cl100k: BytePairTokenizer) -> None:
    text = "𠮷" * 40
    size = cl100k.count(text)
    ends = {
        text_of(filler_of(corpus_of([text]), cl100k).opencompass(order(cl100k, room + 1)))[-1]
        for room in range(1, size)
    }
    assert ends == {"𠮷", "\ufffd"}


# OpenCompass, processed ---------------------------------------------------------------------------------------------


def test_each_processed_record_starts_with_the_document_after_the_last_ones(cl100k: BytePairTokenizer) -> None:
    filler = filler_of(corpus_of(TEXTS), cl100k)
    room = cl100k.count(TEXTS[0]) + cl100k.count(TEXTS[1]) - 5
    assert filler.records(room) == [range(2), range(2, 4), range(4, 6), range(6, 8)]
    for repeat in range(4):
        found = filler.opencompass_processed(order(cl100k, room + 1, repeat=repeat))
        ids = token_list(cl100k, TEXTS[2 * repeat]) + token_list(cl100k, TEXTS[2 * repeat + 1])
        assert text_of(found) == decoded(cl100k, ids[:room])


def test_a_document_that_fills_a_record_to_the_token_ends_it(cl100k: BytePairTokenizer) -> None:
    room = cl100k.count(TEXTS[0])
    assert filler_of(corpus_of([TEXTS[0]] * 3), cl100k).records(room) == [range(1), range(1, 2), range(2, 3)]
    assert filler_of(corpus_of([TEXTS[0]] * 3), cl100k).records(room + 1) == [range(2)]


def test_processed_records_end_with_the_corpus(cl100k: BytePairTokenizer) -> None:
    filler = filler_of(corpus_of(TEXTS), cl100k)
    room = cl100k.count(TEXTS[0])
    assert filler.opencompass_processed(order(cl100k, room + 1, repeat=8)) is not None
    assert filler.opencompass_processed(order(cl100k, room + 1, repeat=9)) is None
    assert filler.opencompass_processed(order(cl100k, 10_000)) is None


def test_a_plan_leaves_out_the_records_that_the_corpus_lacks_and_says_so(write_jsonl: Write, tmp_path: Path) -> None:
    corpus = write_jsonl(tmp_path / "short.jsonl", TEXTS)
    recipe = load_recipe(
        {
            "placement": "opencompass-processed",
            "corpora": [str(corpus)],
            "lengths": [30, 300],
            "depths": [0, 50],
            "repeats": 5,
            "reserve": 0,
            "guide": False,
            "needles": [{"needle": "A fact.", "question": "What?", "answer": "That."}],
        }
    )
    plan = make_plan(recipe)
    records = {length: {cell.repeat for cell in plan.cells if cell.length == length} for length in (30, 300)}
    assert records[30] == {0, 1, 2, 3, 4}
    assert records[300] < {0, 1, 2, 3, 4}
    assert plan.shortfalls == (f"short, length 300: the corpus ends after {len(records[300])} of 5 records",)
    assert len(list(niah_gen.iter_rows(recipe))) == len(plan.cells) == 10 + 2 * len(records[300])


def test_a_recipe_that_makes_no_row_is_refused(write_jsonl: Write, tmp_path: Path) -> None:
    corpus = write_jsonl(tmp_path / "short.jsonl", ["A short text.", "Another one."])
    recipe = {"placement": "opencompass-processed", "corpora": [str(corpus)], "lengths": [5000], "guide": False}
    with pytest.raises(FitError, match="makes no rows: short, length 5000: the corpus ends after 0 of 1 records"):
        make_plan(load_recipe({**recipe, "template": "opencompass", "needles": ["xiaoming-internship"]}))


# Lengths that cannot hold -------------------------------------------------------------------------------------------


def test_published_budgets_need_one_token_of_filler() -> None:
    assert published_room(231, 200, 30) == 1
    with pytest.raises(FitError, match=r"length 230 leaves no room for a haystack: reserve takes 200 tokens .* 30"):
        published_room(230, 200, 30)


@pytest.mark.parametrize("placement", ["native", "gkamradt", "opencompass", "opencompass-processed"])
@pytest.mark.parametrize("length", [1, 200, 210])
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


def rows_of(**changes: object) -> list[Row]:
    recipe: dict[str, Any] = {"lengths": [700, 1500], "depths": [0, 33, 50, 100], "guide": False, **changes}
    return list(niah_gen.iter_rows(recipe))


# Leaks --------------------------------------------------------------------------------------------------------------


def haystack_ending(tokenizer: Tokenizer, text: str, rest: str) -> Haystack:
    source = encode(text + rest, tokenizer)
    end = len(text.encode())
    return Haystack(source, end, source.tokens_before(end), 1.0)


@pytest.mark.parametrize(
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
            "four hundred and seventeen",
        ),
        ("red and green", [["green"], ["blue", "red"]], "green, red"),
        ("nothing here", [["needle"]], None),
        ("anything", [], None),
    ],
)
def test_a_leak_is_a_keyword_as_the_scorer_finds_it(
    cl100k: BytePairTokenizer, text: str, keywords: list[list[str]], leak: str | None
) -> None:
    assert haystack_ending(cl100k, text, "").leak(keywords) == leak


@pytest.mark.parametrize(
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
def test_a_leak_is_looked_for_in_the_filler_and_not_behind_its_end(
    cl100k: BytePairTokenizer, text: str, rest: str, keyword: str, leaks: bool
) -> None:
    assert (haystack_ending(cl100k, text, rest).leak([[keyword]]) == keyword) == leaks


@steady
@given(
    text=st.text("ab1,. 中\u0301０", max_size=40),
    rest=st.text("ab1,. 中\u0301０", max_size=10),
    word=st.text("ab1中", min_size=1, max_size=5),
)
def test_leak_equals_holding_the_folded_filler(cl100k: BytePairTokenizer, text: str, rest: str, word: str) -> None:
    from niah_score.text import fold, holds

    assert (haystack_ending(cl100k, text, rest).leak([[word]]) is not None) == holds(fold(text), word)


def test_leaks_stand_in_the_rows(write_texts: Write, tmp_path: Path) -> None:
    texts = ["The gate was painted long ago. It is green today. " * 10]
    corpus = write_texts(tmp_path / "texts", texts)
    needle = {"needle": "The gate is green.", "question": "Which?", "keywords": [["green", "verdant"], ["gate"]]}
    for placement in ("gkamradt", "opencompass"):
        rows = rows_of(placement=placement, corpora=[str(corpus)], needles=[needle], lengths=[300])
        assert {row["leak"] for row in rows} == {"green, gate"}


def test_the_haystack_id_is_of_its_bytes(cl100k: BytePairTokenizer) -> None:
    one, other = haystack_ending(cl100k, "same text", ""), haystack_ending(cl100k, "same text", " and more")
    assert one.id == other.id != haystack_ending(cl100k, "same texts", "").id
    assert len(one.id) == 12
