"""Hashing prompts that begin alike, checked against hashing each of them from its first byte."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.rows.prefix_hash import PrefixHash

TEXTS = tuple(memoryview(bytes((n * step) % 251 for n in range(90_000))) for step in (1, 3))
prompts = st.tuples(
    st.sampled_from([b"", b"a", b"Read this: "]),
    st.integers(0, 1),
    st.sampled_from([0, 1, 30_000]),
    st.integers(0, 90_000),
    st.binary(max_size=9),
)


@examples(60)
@given(st.lists(prompts, max_size=8), st.booleans())
def test_the_digest_is_that_of_the_whole_prompt_whatever_was_hashed_before(
    asked: list[tuple[bytes, int, int, int, bytes]], copied: bool
) -> None:
    hashed = PrefixHash()
    for before, number, start, end, needle in asked:
        text = TEXTS[number]
        stretch = bytes(text[start:end]) if copied else text[start:end]
        pieces = [before, stretch, needle, text[end:]]
        assert hashed.hexdigest(pieces) == hashlib.sha256(b"".join(pieces)).hexdigest()


def test_memory_that_may_change_is_hashed_again() -> None:
    hashed, memory = PrefixHash(), bytearray(80_000)
    first = hashed.hexdigest([memoryview(memory)])
    memory[0] = 1
    assert hashed.hexdigest([memoryview(memory)]) != first
