"""Encodes each document of a corpus once, for the published placements."""

from __future__ import annotations

from niah_gen.corpora.read import Corpus
from niah_gen.tokenizers.counted import Counted, counted
from niah_gen.tokenizers.find import Tokenizer


class EncodedDocuments:
    """The documents of a corpus by number, each encoded alone when it is first used."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer) -> None:
        self._corpus = corpus
        self._tokenizer = tokenizer
        self._known: dict[int, Counted] = {}
        self._tokens: int | None = None

    def __len__(self) -> int:
        return len(self._corpus.documents)

    def __getitem__(self, number: int) -> Counted:
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = counted(self._corpus.documents[number].text, self._tokenizer)
        return known

    def tokens(self) -> int:
        """Tokens of all documents, each encoded alone. Counted once."""
        if self._tokens is None:
            texts = enumerate(document.text for document in self._corpus.documents)
            known = self._known
            self._tokens = sum(known[n].size if n in known else self._tokenizer.count(text) for n, text in texts)
        return self._tokens
