"""Frequent words: lists and coded texts are counted exactly by tokenizers that encode them whole."""

from __future__ import annotations

import pytest
from proved import proved_rows


@pytest.mark.parametrize("task", ["common-words", "coded-words"])
@pytest.mark.parametrize("vocabulary_file", ["tokenizer_json", "piece_model"])
def test_texts_are_counted_exactly_by_tokenizers_that_must_encode_them_whole(
    task: str, vocabulary_file: str, request: pytest.FixtureRequest
) -> None:
    tokenizer = str(request.getfixturevalue(vocabulary_file))
    for row in proved_rows(task, tokenizer=tokenizer, lengths=[3000], options={"rows": 1}):
        assert 0 <= 2800 - row["prompt_tokens"] <= 30
