"""Native haystacks: whole sentences, exact budgets, nothing that gives the needle away."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from rendering import MANY, Write, assert_counted, corpus_of
from rendering import request as any_request
from small_dataset import rows_of

from niah_gen.errors import FitError
from niah_gen.haystacks.boundaries import sentence_ends
from niah_gen.haystacks.haystack import FillRequest
from niah_gen.haystacks.native import NativeFiller
from niah_gen.tokenizers.find import BytePairTokenizer, OffsetTokenizer, Tokenizer
from niah_score.text import fold, holds


def request(tokenizer: Tokenizer, length: int, needle: str = "Nobody knew the number.", **more: Any) -> FillRequest:
    return any_request(tokenizer, length, needle=needle, **more)


def sentences_of(text: str) -> list[str]:
    return [text[a:b].strip() for a, b in pairwise([0, *sentence_ends(text)])]


STORIES = [
    "The boat left at dawn. Nobody waved. “Was it cold?” she asked. It was, i.e. below zero!\n\nA title\n\nThen rain.",
    "今天下雨了。他没有带伞，只好等着。“什么时候停？”没人知道！\n后来天晴了。",
    "One. Two? Three! Mr. Four went home… And five.",
]
LEAKY = [
    "The gate is green. It was painted.", "A gate stood here. Nobody saw it.", "The sea was calm. Ships came in.",
] * 4  # fmt: skip


# Haystacks ----------------------------------------------------------------------------------------------------------


def test_corpora_and_lengths_that_make_no_haystack_are_refused(cl100k: BytePairTokenizer, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    def ends(text: str) -> list[int]:
        return [at for at, char in enumerate(text, 1) if char.isascii() and char.isalpha()]

    latin = OffsetTokenizer("latin", tmp_path / "file", lambda text: (ends(text), ends(text)), lambda t: len(ends(t)))
    tokenizer: Tokenizer
    for tokenizer, texts, length, keywords, problem in (
        (cl100k, ["words without any end " * 50], 400, [], r'no sentence that ends in punctuation.*boundary = "word"'),
        (latin, ["今天下雨了。他没有带伞。"], 400, [], "tokenizer 'latin' finds no token in corpus 'test'"),
        (cl100k, ["A very long sentence " + "goes on and on " * 30 + "until here."], 60, [],
         "length 60 leaves no room for a sentence.*ask for longer lengths"),
        (cl100k, ["The gate.", "The sea. A ship."], 100, ["the"],
         r"every document of test holds one of its keywords or its text \('the'\)"),
    ):  # fmt: skip
        with pytest.raises(FitError, match=problem):
            NativeFiller(corpus_of(texts), tokenizer).fill(request(tokenizer, length, keywords=keywords))


# Texts in which the sentence ends of a document easily differ from those of the whole haystack.
SMALL_LETTERS = [f"ibm made machine {n}. It sold {n * 7} of them. Nobody knew why." for n in range(40)]
GLUED = ["他走了。He left. " + "啊" * 400 + "。她来了。The end."] * 5 + ["今天下雨。"]
LISTS = ["word " * 400 + ". 12. Next one. So it ends.", "It was 1999. 12. Then. It ended."] * 4
NUMBERS = [f"1999. 2000! 123456789. 3.14159? {n}." for n in range(30)]
DOTS = ["!!! ??? ... !? ... …… !!", "。。。！！！"]


@each("texts", [STORIES, MANY, SMALL_LETTERS, GLUED, LISTS, NUMBERS, DOTS])
def test_whole_sentences_of_the_corpus_have_a_place_at_each_end_that_counts_the_tokens_before_it(
    tokenizer: BytePairTokenizer, texts: list[str]
) -> None:
    filler = NativeFiller(corpus_of(texts), tokenizer)
    known = {text[a:b].strip() for text in texts for a, b in pairwise([0, *sentence_ends(text)])}
    for length in range(40, 400, 31):
        haystack = filler.fill(request(tokenizer, length))
        assert haystack.data == NativeFiller(corpus_of(texts), tokenizer).fill(request(tokenizer, length)).data
        text = haystack.data.decode()
        assert texts not in (STORIES, MANY) or {line.strip() for line in sentences_of(text)} <= known
        assert_counted(haystack, tokenizer)
        assert haystack.places is not None
        assert haystack.places.tolist() == [0, *sentence_ends(text)]


def test_text_after_the_last_end_and_long_segments_are_left_out_and_counted(cl100k: BytePairTokenizer) -> None:
    filler = NativeFiller(corpus_of(["It ends here. Notes [1] and [2]"]), cl100k)
    assert b"Notes" not in filler.fill(request(cl100k, 60)).data
    tokens = cl100k.count("It ends here. Notes [1] and [2]\n")
    assert filler.usage(60, ()).share_left_out == pytest.approx(1 - cl100k.count("It ends here.\n") / tokens, abs=1e-6)
    table = "Value " * 257
    texts = [f"One is here. {table}. Two is here.", f"{table}. Three is here.", f"Four is here. {'word ' * 200}too."]
    filler = NativeFiller(corpus_of(texts), cl100k)
    text = filler.fill(request(cl100k, 300)).data.decode()
    assert "Value" not in text
    for kept in ("One is here. Two is here.", "\nThree is here.", "word word"):
        assert kept in f"\n{text}"
    assert 0.6 < filler.usage(300, ()).share_left_out < 0.8


def test_no_sentence_is_repeated_before_the_corpus_runs_out(cl100k: BytePairTokenizer) -> None:
    texts = [f"This is story {n}. Number {n} ends {'well ' * (n % 9)}here." for n in range(60)]
    filler = NativeFiller(corpus_of(texts), cl100k)
    once = sum(cl100k.count(text + "\n") for text in texts)
    for length in range(100, once + 90, 13):
        haystack = filler.fill(request(cl100k, length))
        sentences = sentences_of(haystack.data.decode())
        assert (len(set(sentences)) < len(sentences)) == (haystack.passes > 1)
        if length < once:
            assert haystack.passes == 1.0


# Leaks --------------------------------------------------------------------------------------------------------------


def test_documents_that_hold_a_keyword_are_dropped_and_reported(cl100k: BytePairTokenizer) -> None:
    filler = NativeFiller(corpus_of(LEAKY), cl100k)
    asked = request(cl100k, 300, keywords=["GREEN"])
    haystack = filler.fill(asked)
    assert "green" not in haystack.text
    assert "A gate stood here." in haystack.text
    assert haystack.notes == (
        "4 of 12 documents of test hold a keyword or the text of needle n and are left out of its haystacks",
    )
    assert filler.usage(300, [asked.secret]).share_left_out == pytest.approx(1 / 3, abs=0.05)
    needle = NativeFiller(corpus_of(LEAKY), cl100k).fill(request(cl100k, 300, needle="Ships came in."))
    assert b"Ships came in." not in needle.data
    other = request(cl100k, 300).secret
    assert filler.usage(300, [asked.secret, other._replace(id="m")]).share_left_out == 0


def test_leaks_can_be_refused_or_only_reported(cl100k: BytePairTokenizer) -> None:
    asked = request(cl100k, 300, keywords=["green"])
    with pytest.raises(
        FitError, match=r"4 of 12 documents of test give it away, the first at 0\.txt:1, which holds 'green'"
    ):
        NativeFiller(corpus_of(LEAKY), cl100k, leaks="refuse").fill(asked)
    kept = NativeFiller(corpus_of(LEAKY), cl100k, leaks="report").fill(asked)
    assert kept.leak(asked.secret.keywords) == "green"


def test_leaks_across_seams_are_recorded_and_needles_across_them_refused(write_texts: Write, tmp_path: Path) -> None:
    corpus = write_texts(tmp_path / "seam", ["So it ends here.", "And goes on. It is dull here."])
    needle = {"needle": "The gate is shut.", "question": "Which?", "keywords": ["here. And"]}
    rows = rows_of(corpora=[str(corpus)], needles=[needle], lengths=[400])
    assert {row["leak"] for row in rows} == {"here. And"}
    # Next to "So it goes." in the corpus, "So it goes. So it goes." could be read twice.
    corpus = write_texts(tmp_path / "edge", ["It rained. So it goes. It ended."])
    needle = {"needle": "So it goes. So it goes.", "question": "Which?", "answer": "So."}
    with pytest.raises(FitError, match="already stands in the filler, the prompt or another needle"):
        rows_of(corpora=[str(corpus)], needles=[needle], lengths=[400])


@examples(100)
@given(data=st.data())
def test_a_keyword_that_is_cleared_occurs_in_no_haystack(cl100k: BytePairTokenizer, data: st.DataObject) -> None:
    words = [
        "bog", "oak", "four", "hundred", "417", "p.m.", "St.", "Orr", "he said!", "so it ends.", "雨", "铜灯",
        "四百", "十七",
    ]  # fmt: skip
    phrase = st.lists(st.sampled_from(words), min_size=1, max_size=3).map(" ".join)
    sentence = phrase.map(lambda text: f"{text}。" if text[-1] >= "一" else f"{text}.")
    documents = data.draw(st.lists(st.lists(sentence, min_size=1, max_size=4).map("\n".join), min_size=2, max_size=6))
    keyword = data.draw(phrase)
    asked = request(cl100k, data.draw(st.integers(60, 200)), keywords=[keyword])
    try:
        haystack = NativeFiller(corpus_of(documents), cl100k).fill(asked)
    except FitError:
        return
    if keyword in haystack.cleared:
        assert not holds(fold(haystack.data.decode()), keyword)
