"""Results of Anthropic message batches."""

from __future__ import annotations

from typing import Any

import pytest
from answer_files import ReadRecords, only, parts


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"type": "succeeded", "message": {"content": [{"type": "thinking", "thinking": "Hm."},
          {"type": "text", "text": "42"}], "stop_reason": "max_tokens"}}, ("42", "Hm.", "truncated", None)),
        ({"type": "succeeded", "message": {"content": [], "stop_reason": "refusal"}}, ("", None, "refused", None)),
        ({"type": "succeeded", "message": {"content": [{"type": "text", "text": "4"}],
          "stop_reason": "model_context_window_exceeded"}}, ("4", None, "truncated", None)),
        ({"type": "errored", "error": {"type": "error", "error": {"type": "invalid_request", "message": "Too long."}}},
         (None, None, "", "invalid_request: Too long.")),
        ({"type": "canceled"}, (None, None, "", "canceled")),
        ({"type": "expired"}, (None, None, "", "expired")),
    ],
)  # fmt: skip
def test_a_result_yields_its_text_reasoning_finish_and_error(
    read_records: ReadRecords, result: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    assert parts(only(read_records({"custom_id": "x", "result": result}))) == expected
