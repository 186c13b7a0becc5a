"""Coreference: controls ask at every depth where they read the conversation, and once where they do not."""

from __future__ import annotations

from proved import proved_rows


def test_controls_quote_the_reply_at_every_depth_or_ask_the_question_alone_once_for_each_k() -> None:
    rows = proved_rows({
        "name": "talks", "task": "coreference", "lengths": [2000], "depths": [20, 50], "options": {"like": [2, 4]},
        "form": "chat", "controls": ["literal", "no_context"], "languages": ["zh"],
    })  # fmt: skip
    assert sorted(str(row["control"]) for row in rows) == ["None"] * 4 + ["literal"] * 4 + ["no_context"] * 2
    assert all("“" in (row["question"] or "") for row in rows if row["control"] == "literal")
