"""Turns a corpus into RULER's essays: its documents joined, cut to a number of words and split into sentences.

Sentences are split by NLTK's punkt and its trained tables, which are read from NLTK_DATA.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from niah_gen.corpora.read import Corpus
from niah_gen.errors import RecipeError
from niah_gen.tokenizers.counted import Counted, counted, join, part
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import file_sha256

_FOLDER = Path("tokenizers") / "punkt_tab" / "english"
# The sha256 of the files that the published prompts were made with; other files split differently.
_DIGESTS = {
    "abbrev_types.txt": "92a3e070f43d9b4c5534758ca40ad7343b04e7e29bfe0c2eb658a39445a4f779",
    "collocations.tab": "8e2da1225e4dd2cc9dba261ee231ccb134859e21b46006e7f472c5ee269af0cf",
    "ortho_context.tab": "4bbcca25ed3d3f06c02402abf8419b9f033b8adc06e7b482eca4e45f81a5dc4c",
    "sent_starters.txt": "f3f8535483e1dba487241b764945168123bca3209a9645e59acd1225dc76edac",
}
# Punkt judges a sentence end by the words around it, so cutting a text changes only its last sentences: this many are
# split again.
_AGAIN = 8


class Essays:
    """A corpus as RULER's essays: its words with single spaces between them."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer) -> None:
        self.words = re.sub(r"\s+", " ", "".join(document.text for document in corpus.documents)).split(" ")
        self._tokenizer = tokenizer
        self._passes = 0
        self.cut = lru_cache(maxsize=4)(self._cut)

    def _cut(self, words: int) -> tuple[Counted, list[int]]:
        """The sentences of the first words with single spaces between them, and the code point where each ends.

        The corpus is repeated if it has too few words.
        """
        passes = max(1, -(-words // len(self.words)))
        if passes > self._passes:
            self._spans, self._ends, self._source = self._split(" ".join(self.words * passes).lstrip())
            self._passes = passes
        text = " ".join((self.words * passes)[:words]).strip()
        kept = max(0, bisect_right(self._spans, len(text), key=lambda span: span[1]) - _AGAIN)
        _, ends, tail = self._split(text[self._spans[kept][0] :])
        if not kept:
            return tail, ends
        # The kept sentences, and the space after them.
        at = self._ends[kept - 1] + 1
        first = part(self._source, 0, at, self._tokenizer)
        return join([first, tail], self._tokenizer), [*self._ends[:kept], *(at + end for end in ends)]

    def _split(self, text: str) -> tuple[list[tuple[int, int]], list[int], Counted]:
        """Where the sentences of a text are, where they end once they are joined by single spaces, and that text."""
        spans = list(_splitter().span_tokenize(text))
        joined = " ".join(text[start:end] for start, end in spans)
        ends = accumulate((1 + end - start for start, end in spans), initial=-1)
        return spans, list(ends)[1:], counted(joined, self._tokenizer)


@lru_cache(maxsize=2)
def essays_of(corpus: Corpus, tokenizer: Tokenizer) -> Essays:
    """A corpus as essays; the tasks of a recipe share them."""
    return Essays(corpus, tokenizer)


@lru_cache(maxsize=1)
def _splitter() -> Any:
    """Raises RecipeError if NLTK or its data is not on this machine."""
    try:
        from nltk.data import FileSystemPathPointer
        from nltk.data import path as usual
        from nltk.tokenize.punkt import PunktSentenceTokenizer, load_punkt_params
    except ImportError:
        raise RecipeError(["essays are split by NLTK, which is not installed; pip install 'niah-kit[build]'"]) from None
    listed = [part for part in os.environ.get("NLTK_DATA", "").split(os.pathsep) if part]
    folders = [Path(base) / _FOLDER for base in (*listed, *usual)]
    folder = next((folder for folder in folders if all((folder / name).is_file() for name in _DIGESTS)), None)
    if folder is None:
        raise RecipeError(
            [
                f"essays are split by NLTK's punkt_tab data, which is not on this machine; add the folder that holds "
                f"{_FOLDER.as_posix()} to $NLTK_DATA, or run `python -m nltk.downloader punkt_tab`"
            ]
        )
    for name, sha256 in _DIGESTS.items():
        actual = file_sha256(folder / name)
        if actual != sha256:
            raise RecipeError([f"{folder / name}: sha256 is {actual}; RULER's prompts need {sha256}"])
    splitter = PunktSentenceTokenizer()
    splitter._params = load_punkt_params(FileSystemPathPointer(str(folder)))
    return splitter
