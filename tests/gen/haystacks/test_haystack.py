"""Haystacks: where sentences end, lengths that cannot hold a needle, leaks of keywords, generated fillers."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from each import each
from rendering import Write, request_for
from repetitions import at_most
from small_dataset import rows_of

import niah_gen
from niah_gen.errors import FitError
from niah_gen.haystacks.boundaries import sentence_ends, word_ends
from niah_gen.haystacks.cut_document import Stretch, unit_edges
from niah_gen.haystacks.generated import NOISE, NoiseFiller, UnitsFiller
from niah_gen.haystacks.haystack import Haystack
from niah_gen.haystacks.lines import Line, LinesFiller
from niah_gen.haystacks.slots import Digits
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.assemble import check_fit
from niah_gen.rows.plan import make_plan
from niah_gen.tokenizers.counted import counted
from niah_gen.tokenizers.find import BytePairTokenizer


@each("placement", ["native", "gkamradt", "opencompass", "opencompass-processed"])
@each("length", [1, 210])
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
REPETITIONS = {
    "and": f"I counted 5 {'and ' * 40}the 6 of them. ",
    "ones": f"{'1 ' * 500}12 ",
    "han": f"{'The house by the river was old and cold. ' * 20}{'一' * 40} ",
    "digit": "1",
    "emoji": "".join(map(chr, range(0x1F600, 0x1F640))) + " ",
}


@pytest.mark.slow
def test_a_corpus_of_repetitions_is_used_or_refused_in_seconds(tmp_path: Path) -> None:
    for name, sentence in REPETITIONS.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.txt").write_text(sentence * (60_000 // len(sentence.encode())), "utf-8")
        # Without a word of a usual length, there is no place for a needle.
        with at_most(20), suppress(FitError):
            assert list(niah_gen.iter_rows({**RECIPE, "corpora": [str(folder)]}))


# Each text with | at its sentence ends.
SENTENCES = {
    "en": (
        "One.| Two!| Three?|", "He said “go.”| She went (at once.)| [Then not.]|", "It was \"over.\"| 'Was it?'| Yes…|",
        "Really?!| Yes!!!|", "One.|\nTwo.|\n\nThree.|", "One.|\tTwo.|\u3000Three.|", "No end here",
        "A heading\n\nA sentence.|",
        # Full stops in abbreviations and numbers, and words that merely resemble an abbreviation.
        "Pi is 3.14 or so.|", "See www.example.com for it.|", "The U.S. Senate met.|", "v1.2.3 is out.|",
        "Mr. Smith and Dr. Jones met Prof. Lee.|", "J. R. R. Tolkien wrote it.|", "At 9 a.m. Sunday it rained.|",
        "Cats, e.g. Tom, and dogs, i.e. Rex.|", "Tom vs. Jerry, No. 5, Fig. 3, pp. 4.|", "Acme Inc. Boston paid.|",
        "He drank the tea.| It was cold.|", "He came first.| Then she.|", "We did it for Mo.| Joe left.|",
        # A sentence does not end before small letters, nor after the number of a list item.
        "He waited. and then he left.|", "Wait... then go.| Stay.|", "“Why? because.” he said.|",
        "(Really!) and so on.|", "1. Boil it.|\n2. Cool it.|", "It was 1999.| Then it was not.|", "\n  a. First.|",
    ),
    "zh": (
        "今天很好。|明天呢？|好！|", "他说：“走吧。”|她走了。|", "（这是真的。）|他说。|",
        "《书里写道：好。》|「是的。」|『对！』|",
        "真的吗？！|是。|", "他想了想……|然后走了。|", "一个分句；另一个。|", "没有句号", "一，二、三：四", "他…走了。|",
    ),
    "fr": (
        "«\u00a0Vous venez\u202f?\u00a0»| Oui\u202f!| Non.|",
        "« Vous venez ? » demanda-t-il.| Elle hésita…| Puis non.|",
        "M. Aubry et le Dr. Lenoir, p. ex. ici, p. 12.| Fin.|", "— Venez ? — dit-il.| Bien.|",
    ),
    "es": (
        "¿Vienes?| ¡Claro!| «Ya voy», dijo.|", "—¿Vienes? —preguntó Ana.| El Sr. Ibarra calló.|",
        "«¿Y si no?», dijo.| Nada.|",
    ),
    "ar": ("هل تأتي؟| نعم!| قال: «لا».| ثم مضى.|", "جاء د. سالم، ثم ذهب؛ ولم يعد.| انتهى۔| نعم.|"),
    "ja": ("今日は雨だ。|「そうだ。」と言った。|本当？|はい！|『終わり。』|次。|",),
}  # fmt: skip
WORDS = {
    "en": ("One| two,| three.|", "  One|\n\ntwo| ", "don't|", "", " \n"),
    "zh": ("我们|去|公园。|", "他|说：|“今天天气|很|好，|走|吧。”|", "然后| 他|走|了|（真的）。|", "好|\n", "", " "),
    "ja": ("雨の|量を|量っていた。|ABCを|見た|",), "fr": ("Un|\u00a0deux,| trois.|",), "ar": ("نعم،| لا.|",),
}  # fmt: skip


def marked(text: str, ends: list[int]) -> str:
    for end in reversed(ends):
        text = text[:end] + "|" + text[end:]
    return text


def test_sentences_and_words_end_where_they_are_marked_in_every_language() -> None:
    for ends, texts in ((sentence_ends, SENTENCES), (word_ends, WORDS)):
        for language, all_marked in texts.items():
            plain = [text.replace("|", "") for text in all_marked]
            assert tuple(marked(text, ends(text, language)) for text in plain) == all_marked, language


# Other languages ------------------------------------------------------------------------------------------------------


def test_long_units_are_cut_at_white_space_or_a_comma() -> None:
    for text, least in (("word " * 1000, 1000), ("一二三，" * 900, 1000)):
        edges = unit_edges(text)
        assert max(end - start for start, end in pairwise(edges)) == least
        assert all(text[edge - 1] in " ，" for edge in edges[1:])
    assert unit_edges("x" * 2500) == [0, 1000, 2000, 2500]
    assert unit_edges("x" * 2500, [Stretch(900, 1100)]) == [0, 2000, 2500]


NEEDLE = "The pass key is 71234."


def test_no_line_contains_a_value_of_a_needle_or_a_keyword(cl100k: BytePairTokenizer) -> None:
    line = Line(("a ", Digits(2), " b ", Digits(3), "."))
    for seed in range(20):
        asked = request_for(["a 55 b 555."], 200, cl100k, "\n", seed, (("77",), ("778",)))
        haystack = LinesFiller("t", line, cl100k).fill(asked)
        said = [value for each in haystack.data.decode().split("\n") for value in line.values_in(each)]
        assert not {"55", "555", "77", "778"} & set(said)
        assert haystack.cleared == {"77", "778"}


def test_what_lines_units_and_lengths_cannot_be_is_reported(cl100k: BytePairTokenizer) -> None:
    asked = request_for([NEEDLE], 400, cl100k, keywords=(("71234",),))
    for made, problem in (("two\nlines", "expected one line"), (" ", "not empty"), (NEEDLE, "hold a keyword")):
        with pytest.raises(FitError, match=problem):
            UnitsFiller("t", lambda draw, made=made: made, cl100k).fill(asked)  # type: ignore[misc]
    few = LinesFiller("t", Line(("a ", Digits(1), " b ", Digits(3), ".")), cl100k)
    with pytest.raises(FitError, match=r"take \d+ lines, but there are different values for only"):
        few.fill(request_for(["A needle."], 700, cl100k))
    with pytest.raises(FitError, match="every line holds 'b'"):
        few.fill(request_for(["A needle."], 200, cl100k, keywords=(("b",),)))
    for length in (0, 118):
        short = request_for([NEEDLE], length, cl100k)
        for filler in (few, NoiseFiller(NOISE["en"], cl100k), UnitsFiller("t", lambda draw: "It leaves.", cl100k)):
            with pytest.raises(FitError, match="leaves no room"):
                filler.fill(short)
