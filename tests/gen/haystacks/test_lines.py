"""Lines of generated haystacks, counted by their parts, checked against the tokens of the whole text."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.errors import FitError
from niah_gen.haystacks.fit import MOST_BELOW
from niah_gen.haystacks.haystack import FillRequest, Haystack, Secret
from niah_gen.haystacks.line_tokens import line_tokens
from niah_gen.haystacks.lines import Line, LinesFiller, draw_lines, lay_lines, most_lines
from niah_gen.haystacks.noise import NOISE, NoiseFiller
from niah_gen.haystacks.slots import Digits, Uuids, Words, texts
from niah_gen.haystacks.splice import DepthTargets, place_nearest
from niah_gen.haystacks.spread import depth_lines
from niah_gen.prompts.frame import Frame, FrameMessage
from niah_gen.tokenizers.find import BytePairTokenizer, OffsetTokenizer, Tokenizer
from niah_gen.tokenizers.spliced import Counter, encode

PAIRS = Words(("crisp", "dim", "shy", "unfathomable"), tuple(f"{a}{b}" for a in "bcdfg" for b in ("oat", "ell")), "-")
CHINESE = Words(("翠绿", "碧蓝", "雪白", "漆黑"), ("灯塔", "港口", "码头", "渔船", "海湾", "山谷", "长廊"))
FORMS = {
    "words": Line(("One of the numbers for ", PAIRS, " is: ", Digits(7), ".")),
    "uuids": Line(("One of the uuids for ", Uuids(), " is: ", Uuids(), ".")),
    "chinese": Line(("与“", CHINESE, "”对应的魔法数字是：", Digits(10), "。")),
    "json": Line(('"', Uuids(), '": "', Uuids(), '"'), joiner=",\n"),
    "assignment": Line(("VAR ", Words(("ABCDE", "QXZJK", "MNOPW")), " = ", Digits(5))),
    "slot first": Line((Digits(4), ". ", PAIRS)),
    "mixed": Line(("(", Uuids(), ") ", Digits(3), "; /", Digits(11), " 、", CHINESE, "！")),
}  # fmt: skip
FEW = 20  # lines that every form has values for


def lines_of(line: Line, count: int, seed: str) -> list[str]:
    drawn = [texts(slot, values) for slot, values in zip(line.slots, draw_lines(line, count, seed), strict=True)]
    return [line.text(*values) for values in zip(*drawn, strict=True)]


def count_of(line: Line) -> int:
    return 3 if "ABCDE" in str(line.parts) else FEW


@pytest.mark.parametrize("name", FORMS)
@given(seed=st.integers(0, 2**32))
@examples(15)
def test_the_tokens_of_lines_add_up_to_those_of_the_whole_text(
    tokenizer: BytePairTokenizer, name: str, seed: int
) -> None:
    line = FORMS[name]
    count = count_of(line)
    known = line_tokens(line.parts, line.joiner, tokenizer)
    assert known is not None
    each = known.of(draw_lines(line, count, str(seed)), count)
    lines = lines_of(line, count, str(seed))
    tail = line.parts[-1] if isinstance(line.parts[-1], str) else ""
    so_far = ""
    counts = []
    for text in lines:
        so_far += text
        counts.append(tokenizer.count(so_far[: len(so_far) - len(tail)]))
        so_far += line.joiner
    assert np.diff(counts).tolist() == each[1:].tolist()


def test_uuids_with_long_runs_of_letters_are_counted_exactly(tokenizer: BytePairTokenizer) -> None:
    line = FORMS["json"]
    known = line_tokens(line.parts, line.joiner, tokenizer)
    assert known is not None
    drawn = draw_lines(line, 30_000, "many")
    data, _ = lay_lines(line, drawn, 30_000)
    each = known.of(drawn, 30_000)
    first = data.index(b"\n") - 2
    assert int(each[1:].sum()) == tokenizer.count(data[first:].decode()) - tokenizer.count('",\n')


@each("name", FORMS)
def test_laid_out_lines_match_the_texts_of_their_form(name: str) -> None:
    line = FORMS[name]
    count = count_of(line)
    data, sizes = lay_lines(line, draw_lines(line, count, "a"), count)
    expected = [text + line.joiner for text in lines_of(line, count, "a")]
    assert data.decode() == "".join(expected)
    assert sizes.tolist() == [len(text.encode()) for text in expected]
    assert all(line.values_in(text) is not None for text in lines_of(line, count, "a"))


def test_lines_that_are_alike_share_their_first_value() -> None:
    line = Line(("a ", Digits(4), " b ", Digits(7)), alike=3)
    keys = texts(line.slots[0], draw_lines(line, 30, "s")[0])
    assert sorted(keys.count(key) for key in set(keys)) == [3] * 10


@each(
    ("parts", "message"),
    [(("a", "b"), "alternate between texts"), ((Digits(2), Digits(3)), "must alternate"),
     (("a\n", Digits(2)), "no line end"), (("a",), "must have a slot")],
)  # fmt: skip
def test_a_line_of_an_invalid_form_is_refused(parts: tuple[str | Digits, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Line(parts)


def request(line: Line | None, length: int, tokenizer: Tokenizer, count: int = 1, seed: int = 0) -> FillRequest:
    """A request to hide `count` needles: lines of the form, or other texts."""
    others = [f"The pass key is 7{number}123." for number in range(count)]
    hide = lines_of(line, count, f"needles {seed}") if line else others
    frame = Frame((FrameMessage(None, "Before.\n\n\n\nAfter?"),), 0, "Before.\n\n", "\n\nAfter?", "After?")
    return FillRequest(
        length, length, 100, 0, seed, Secret("k", tuple(hide)), tuple(encode(text, tokenizer) for text in hide), frame,
        depth_lines(count, "even", 25, 0), line.joiner if line else "\n",
    )  # fmt: skip


def below(asked: FillRequest, haystack: Haystack, tokenizer: Tokenizer) -> list[int]:
    """How many tokens prompts stay below the budget, at several depths."""
    left = []
    for depth in (0, 3, 37, 50, 81.5, 99, 100):
        targets = DepthTargets(depth, 25, asked.lines, asked.joiner)
        spliced = place_nearest(haystack, list(asked.needles), targets)
        text = asked.frame.before + "".join(p.fragment().text for p in spliced.pieces) + asked.frame.after
        parts = [asked.frame.before, *(piece.content for piece in spliced.pieces), asked.frame.after]
        assert Counter(tokenizer).count(parts) == tokenizer.count(text)
        left.append(asked.length - asked.reserve - tokenizer.count(text))
    return left


MANY_WORDS = Words(tuple(f"w{number}{'unfathomable' * (number % 4)}" for number in range(90)), ("oat", "ell"), "-")
MANY = {
    "words": Line(("One of the numbers for ", MANY_WORDS, " is: ", Digits(7), ".")),
    "uuids": FORMS["uuids"],
    "json": FORMS["json"],
    "whole": Line(("no cut in “", Digits(9), "”")),
}  # fmt: skip


@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize("own", [True, False], ids=["lines", "others"])
@given(length=st.integers(500, 2500), seed=st.integers(0, 99), count=st.integers(1, 3))
@examples(5)
def test_prompts_end_just_below_their_budget(
    tokenizer: BytePairTokenizer, name: str, own: bool, length: int, seed: int, count: int
) -> None:
    asked = request(MANY[name] if own else None, length, tokenizer, count, seed)
    haystack = LinesFiller("t", MANY[name], tokenizer).fill(asked)
    assert haystack.places is not None
    assert haystack.before is not None
    data = haystack.data
    for place, before in zip(haystack.places.tolist(), haystack.before.tolist(), strict=True):
        assert tokenizer.count(data[:place].decode()) == before
    left = below(asked, haystack, tokenizer)
    assert min(left) >= 0
    assert max(left) <= MOST_BELOW


@pytest.mark.parametrize("language", NOISE)
@given(length=st.integers(200, 2500), count=st.integers(1, 3))
@examples(10)
def test_noise_ends_after_a_sentence_just_below_the_budget(
    tokenizer: BytePairTokenizer, language: str, length: int, count: int
) -> None:
    asked = request(None, length, tokenizer, count)
    haystack = NoiseFiller(NOISE[language], tokenizer).fill(asked)
    assert haystack.places is not None
    assert haystack.before is not None
    text = haystack.data.decode()
    line = "".join(NOISE[language])
    beginnings = ["".join(NOISE[language][:number]) for number in range(1, len(NOISE[language]) + 1)]
    *lines, last = text.split("\n")
    assert set(lines) <= {line}
    assert last in beginnings
    for place, before in zip(haystack.places.tolist(), haystack.before.tolist(), strict=True):
        assert tokenizer.count(text.encode()[:place].decode()) == before
    left = below(asked, haystack, tokenizer)
    assert min(left) >= 0
    assert max(left) <= MOST_BELOW


def test_a_tokenizer_that_is_not_local_gets_lines_of_the_same_form(
    tiny_bpe: OffsetTokenizer, cl100k: BytePairTokenizer
) -> None:
    line = MANY["words"]
    for filler in (LinesFiller("t", line, tiny_bpe), NoiseFiller(NOISE["en"], tiny_bpe)):
        asked = request(line, 3000, tiny_bpe)
        haystack = filler.fill(asked)
        assert min(below(asked, haystack, tiny_bpe)) >= 0
    own = LinesFiller("t", line, tiny_bpe).fill(request(line, 3000, tiny_bpe)).data.split(b"\n")
    other = LinesFiller("t", line, cl100k).fill(request(line, 2000, cl100k)).data.split(b"\n")
    assert all(line.values_in(text.decode()) for text in (*own, *other))


def test_no_line_contains_a_value_of_a_needle_or_a_keyword(cl100k: BytePairTokenizer) -> None:
    line = Line(("a ", Digits(2), " b ", Digits(3), "."))
    for seed in range(20):
        asked = request(line, 200, cl100k, 2, seed)
        values = {value for text in asked.secret.texts for value in line.values_in(text) or ()}
        keyed = FillRequest(
            asked.length, asked.longest, asked.reserve, 0, seed, Secret("k", asked.secret.texts, (("77",), ("778",))),
            asked.needles, asked.frame, asked.lines, "\n",
        )  # fmt: skip
        text = LinesFiller("t", line, cl100k).fill(keyed).data.decode()
        drawn = [value for each in text.split("\n") for value in line.values_in(each) or ()]
        assert len(drawn) == len(set(drawn))
        assert not {*values, "77", "778"} & set(drawn)


def test_too_few_different_values_are_reported(cl100k: BytePairTokenizer) -> None:
    line = Line(("a ", Digits(1), " b ", Digits(3), "."))
    with pytest.raises(FitError, match="different digits"):
        draw_lines(line, 10, "s")
    with pytest.raises(FitError, match="take 85 lines, but there are different values for only 6"):
        LinesFiller("t", line, cl100k).fill(request(line, 700, cl100k))
    assert most_lines(Line(("a ", Digits(1), " b ", Digits(1)))) == 4


def test_the_text_of_lines_is_never_encoded_as_a_whole(
    cl100k: BytePairTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = MANY["uuids"]
    asked = request(line, 20_000, cl100k)
    longest = 0
    encode_, count_ = cl100k.encode, cl100k.count

    def spy(call: Callable[[str], object]) -> Callable[[str], object]:
        def spied(text: str) -> object:
            nonlocal longest
            longest = max(longest, len(text))
            return call(text)

        return spied

    filler = LinesFiller("t", line, cl100k)
    monkeypatch.setattr(cl100k, "encode", spy(encode_))
    monkeypatch.setattr(cl100k, "count", spy(count_))
    haystack = filler.fill(asked)
    assert longest < 3000 < len(haystack.data)


def test_a_haystack_depends_only_on_its_coordinates(cl100k: BytePairTokenizer) -> None:
    line = MANY["uuids"]
    fresh = [LinesFiller("t", line, cl100k).fill(request(line, length, cl100k)).id for length in (1000, 3000, 1500)]
    filler = LinesFiller("t", line, cl100k)
    order = random.Random(0).sample([(1000, 0), (3000, 1), (1500, 2)], 3)
    assert all(filler.fill(request(line, length, cl100k)).id == fresh[number] for length, number in order)
