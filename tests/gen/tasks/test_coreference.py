"""Coreference: rows of one k share a conversation, ask at every depth, and only their own answer scores."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from proved import proved_rows

from niah_score.contract import Row
from niah_score.metrics import METRICS, target_of

RECIPE: dict[str, Any] = {
    "name": "talks", "task": "coreference", "lengths": [2000], "depths": [0, 20, 50, 100], "options": {"like": [2, 4]},
}  # fmt: skip


@pytest.mark.parametrize("form", ["chat", "text"])
def test_depths_share_a_conversation_and_only_the_answer_of_the_row_scores(form: str) -> None:
    rows = proved_rows(RECIPE, form=form)
    assert len({row["prompt_sha256"] for row in rows}) == len(rows)
    talks: dict[str | None, list[Row]] = defaultdict(list)
    for row in rows:
        talks[row["haystack_id"]].append(row)
    assert [[row["depth_percent"] for row in talk] for talk in talks.values()] == [RECIPE["depths"]] * 2 * 2
    for row, other in zip(rows, [*rows[1:], rows[0]], strict=True):
        for name in ("mrcr", "mrcr_v2"):
            assert METRICS[name].judge(row["answers"][0], target_of(row)).value == 100
            assert METRICS[name].judge(other["answers"][0], target_of(row)).value == 0
        assert len(row["decoys"]) == int(str(row["needle_id"]).partition("-")[0]) - 1
        assert len(row["answer_prefix"] or "") == 12


def test_controls_quote_the_reply_at_every_depth_or_ask_the_question_alone_once_for_each_k() -> None:
    rows = proved_rows(RECIPE, form="chat", depths=[20, 50], controls=["literal", "no_context"], languages=["zh"])
    assert sorted(str(row["control"]) for row in rows) == ["None"] * 4 + ["literal"] * 4 + ["no_context"] * 2
    assert all("“" in (row["question"] or "") for row in rows if row["control"] == "literal")
