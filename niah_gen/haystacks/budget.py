"""Says how many tokens a prompt leaves for filler, so that it surely fits its budget wherever its needles stand."""

from __future__ import annotations

from collections.abc import Sequence

from niah_gen.errors import FitError
from niah_gen.prompts.frame import Frame
from niah_gen.tokenizers.find import Tokenizer

# At most so many tokens does joining add at the seams of a needle, or of the filler with what stands around it.
# Measured in cl100k and o200k, between sentences and between words of both bundled corpora, with the needles of the
# library and with random marks, digits and white space: 0 nearly everywhere in prose, 1 or 2 beside other punctuation.
SEAM = 2


def room_for_filler(
    length: int, reserve: int, frame: Frame, needles: Sequence[str], joiner: str, tokenizer: Tokenizer
) -> int:
    """Tokens left for filler, which may be less than 1, when a prompt has at most `length - reserve` tokens.

    needles: each is counted with the joiner that joins it to the filler. What seams may add is left free.
    """
    around = sum(map(tokenizer.count, (frame.before, frame.after, *frame.others)))
    hidden = sum(tokenizer.count(joiner + needle) for needle in needles)
    return length - reserve - around - hidden - SEAM * (len(needles) + 1)


def no_room(length: int, reserve: int, room: int) -> FitError:
    """The error to raise if not even one sentence or line fits. `room`: what is left for filler."""
    return FitError(
        f"length {length} leaves no room for a sentence: the reserve for the answer takes {reserve} tokens, prompt and "
        f"needle {length - reserve - room}; ask for longer lengths (8k means 8k, 4k and 2k, 8000 just that one) or a "
        "smaller reserve"
    )
