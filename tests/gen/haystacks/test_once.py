"""Needles that would occur twice in their prompt are refused."""

from __future__ import annotations

import numpy as np
from each import each

from niah_gen.errors import FitError
from niah_gen.haystacks.haystack import Haystack, Secret
from niah_gen.prompts.frame import Frame, FrameMessage
from niah_gen.tasks.hiding import check_once
from niah_gen.tokenizers.counted import counted
from niah_gen.tokenizers.find import BytePairTokenizer

LINE = "The sky is blue. Here we go.\n"


def refused(tokenizer: BytePairTokenizer, *texts: str, period: int = len(LINE)) -> bool:
    source = counted(LINE * 40, tokenizer)
    end = len(LINE) * 39 + 16
    places = np.array([0, *range(len(LINE) - 1, end, len(LINE)), end], dtype=np.int64)
    haystack = Haystack(source, end, source.tokens_to(end), 1.0, places, places, period=period)
    try:
        check_once(Secret("n", texts), Frame((FrameMessage(None, "Read.\nQ?"),), 0, "Read.\n", "Q?"), haystack)
    except FitError:
        return True
    return False


@each("period", [0, len(LINE)])
@each(
    ("texts", "twice"),
    [
        (("VAR ABC = 12.",), False),
        (("Here we go.",), True),
        (("go.\nThe sky",), True),
        (("blue. Here we go.\nThe sky is blue. Here we go.\nThe",), True),
        (("blue. Here we go.\nThe sky is green.",), False),
        (("VAR ABC = 12.", "12."), True),
        (("VAR ABC = 12.", "VAR ABC = 12."), True),
        (("VAR ABC = 12.", "VAR ABD = 12."), False),
        (("Read.",), True),
        (("\nThe sky is blue. Here we go.\n",), True),
        # These begin as they end, so that the filler and a part of one would read as the whole.
        (("we go.we",), True),
        (("e VAR 1 = 12 e",), False),
    ],
)
def test_a_text_that_would_occur_twice_is_refused(
    cl100k: BytePairTokenizer, texts: tuple[str, ...], twice: bool, period: int
) -> None:
    assert refused(cl100k, *texts, period=period) == twice
