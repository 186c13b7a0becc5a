"""Compares encoded texts with the encoding of the whole text."""

from __future__ import annotations

from niah_gen.tokenizers.cuts import safe_cuts
from niah_gen.tokenizers.find import Tokenizer
from niah_gen.tokenizers.spliced import Encoded

PROSE = (
    "The man who didn't count his 12,345 steps (he couldn't) said: “Walk!” and walked. "
    "他说：“今天走了3公里。”然后回家，喝了一杯茶。\n\nNobody else had kept a record; everybody remembered. "
) * 4


def ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return list(tokenizer.encode(text).ids.tolist())


def assert_whole(encoded: Encoded, tokenizer: Tokenizer) -> None:
    """Tokens, ends, cuts and exact counts are those of the text encoded at once."""
    text = encoded.data.decode()
    tokens = tokenizer.encode(text)
    assert encoded.ids.tolist() == tokens.ids.tolist()
    assert encoded.ends.tolist() == tokens.ends.tolist()
    assert_exact(encoded, tokenizer)


def assert_exact(encoded: Encoded, tokenizer: Tokenizer) -> None:
    """Each cut is a safe cut of the text, and `exact` has the true token counts from the first cut on."""
    text = encoded.data.decode()
    assert set(encoded.cuts.tolist()) <= set(safe_cuts(text).tolist())
    assert len(encoded.exact) == len(encoded.cuts)
    for cut, exact in zip(encoded.cuts.tolist(), encoded.exact.tolist(), strict=True):
        assert exact == len(ids(tokenizer, encoded.data[encoded.cuts[0] : cut].decode()))
