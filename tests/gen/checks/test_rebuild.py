"""Rows are built again from the recipe and compared with those of the dataset."""

from __future__ import annotations

from pathlib import Path

from proofs import assert_only, change_haystack, own_up, problems_of, rare_word, read, write

from niah_gen.tokenizers.find import BytePairTokenizer


def test_text_that_is_not_in_the_corpus_is_detected_by_rebuilding_the_row(
    copy: Path, cl100k: BytePairTokenizer
) -> None:
    rows = read(copy)
    # A word of one token, so that the prompt does not grow.
    change_haystack(rows[0], rare_word(rows[0]), "table", cl100k)
    write(copy, rows)
    own_up(copy)
    assert_only(problems_of(copy, rebuild=True), 1, rows[0], "the recipe builds another row here; it differs in ")
