"""Windows have the same tokens as their text, and together they cover every token once."""

from __future__ import annotations

import random
from collections.abc import Callable

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.errors import FitError
from niah_gen.haystacks.windows import WindowedText, nominal_ends
from niah_gen.tokenizers.counted import counted
from niah_gen.tokenizers.find import BytePairTokenizer

OddText = Callable[[random.Random, int], str]


@given(seed=st.integers(0, 10**6), length=st.integers(64, 200), share=st.integers(1, 4))
@examples(25)
def test_windows_of_odd_texts_have_the_same_tokens_as_their_text(
    tokenizer: BytePairTokenizer, odd_text: OddText, seed: int, length: int, share: int
) -> None:
    text = counted(odd_text(random.Random(seed), 300), tokenizer)
    tokens = max(length, min(text.size, 400))
    windowed = WindowedText(text, tokens, tokenizer)
    stride = max(16, length * share // 5)
    ends = nominal_ends(tokens, length, stride)
    try:
        windows = [windowed.window(number, length, stride) for number in range(len(ends))]
    except FitError:
        return  # one piece of hundreds of tokens, where any cut would change them
    whole = text.ids.tolist()
    for window, end in zip(windows, ends, strict=True):
        alone = tokenizer.encode(text.text[window.start.point : window.end.point]).ids.tolist()
        assert alone == whole[window.start.token : window.end.token]
        assert len(alone) <= length
        assert window.end.token <= end
    assert [window.target for window in windows[1:]] == [window.end for window in windows[:-1]]
    assert windows[0].start.point == 0 < windows[0].target.token
    assert windowed.whole == text.text[: windows[-1].end.point]


@each("sentence", ["The ferry left at dawn, and the harbour was quiet. ", "渡船在黎明时分离开，港口十分安静。"])
@each("stride", [100, 256, 500])
def test_windows_of_ordinary_text_are_at_most_eight_tokens_short(
    cl100k: BytePairTokenizer, sentence: str, stride: int
) -> None:
    windowed = WindowedText(counted(sentence * 400, cl100k), 2000, cl100k)
    windows = [windowed.window(number, 600, stride) for number in range(len(nominal_ends(2000, 600, stride)))]
    scored = [window.end.token - window.target.token for window in windows]
    assert all(stride - 8 <= count <= stride + 8 for count in scored[1:-1])
    assert windows[0].target.token + sum(scored) == windows[-1].end.token <= 2000
    chunks = windowed.chunks(600)
    assert [chunk.start for chunk in chunks[1:]] == [chunk.end for chunk in chunks[:-1]]
    assert [chunk.target == chunk.start for chunk in chunks] == [True] * 3
    assert all(592 <= window.end.token - window.start.token <= 600 for window in (*windows, *chunks))
