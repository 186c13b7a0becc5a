"""The context of a row: the text that contains its facts."""

from __future__ import annotations

from typing import cast

from prompt_text import context_of
from traced import rows_of_preset

from niah_score.contract import Row


def test_the_context_of_texts_and_chats_has_the_needles_at_their_spans() -> None:
    for form in ("text", "chat"):
        for row in rows_of_preset("graph-walks", form=form, controls=[], languages=["en"]):
            for needle, span in zip(row["needles"], row["needle_spans"], strict=True):
                assert context_of(cast(Row, row))[span["start"] : span["end"]] == needle
