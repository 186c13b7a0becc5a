"""Inspect samples: how they ended or failed, and the digests of their prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from answer_files import only, parts
from each import each

from niah_score.contract import Message, prompt_digest
from niah_score.formats import read_answers


def inspect(**more: Any) -> dict[str, Any]:
    output = {"choices": [{"message": {"content": "42"}, "stop_reason": "stop"}], "completion": "42"}
    return {"id": 7, "epoch": 2, "input": "p", "target": "42", "output": output, **more}


@each(
    ("more", "expected"),
    [
        ({}, ("42", None, "stop", None)),
        ({"error": {"message": "boom", "traceback": "..."}, "output": {"completion": "", "choices": []}},
         (None, None, "", "boom")),
        ({"limit": {"type": "token", "limit": 10}}, ("42", None, "truncated", None)),
        ({"output": {"completion": "42", "choices": [{"stop_reason": "max_tokens", "message": {"content": [
            {"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "42"}]}}]}},
         ("42", "Hm.", "truncated", None)),
        ({"output": {"choices": []}}, (None, None, "", None)),
    ],
)  # fmt: skip
def test_a_sample_yields_its_text_reasoning_finish_and_error(
    tmp_path: Path, more: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    path = tmp_path / "log"
    path.write_text(json.dumps({"version": 2, "eval": {}, "samples": [inspect(**more)]}, indent=2))
    answer = only(list(read_answers(path)))
    assert (answer.id, answer.sample, answer.prompt_sha256) == ("7", 1, prompt_digest("p"))
    assert parts(answer) == expected


@each(("epoch", "sample"), [(1, 0), ("1", 0), (3, 2), (0, 0)])
def test_the_first_epoch_is_sample_0(tmp_path: Path, epoch: Any, sample: int) -> None:
    path = tmp_path / "log"
    path.write_text(json.dumps({"version": 2, "eval": {}, "samples": [inspect(epoch=epoch)]}, indent=2))
    assert only(list(read_answers(path))).sample == sample


def test_an_input_stored_as_an_attachment_is_resolved(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for attachments, digest in (({"0f": "p"}, prompt_digest("p")), ({}, None), (None, None)):
        sample = inspect(input="attachment://0f", attachments=attachments)
        path.write_text(json.dumps({"version": 2, "eval": {}, "samples": [sample]}, indent=2))
        assert only(list(read_answers(path))).prompt_sha256 == digest


def test_a_chat_is_identified_by_the_digest_of_its_messages(tmp_path: Path) -> None:
    chat = [Message(role="system", content="s"), Message(role="user", content="u")]
    logged = [{"id": "m1", **chat[0]}, {"role": "user", "content": [{"type": "text", "text": "u"}]}]
    path = tmp_path / "log"
    for given, digest in ((logged, prompt_digest(chat)), (logged[1:], prompt_digest("u")), ([{"role": "user"}], None)):
        path.write_text(json.dumps({"version": 2, "eval": {}, "samples": [inspect(input=given)]}))
        assert only(list(read_answers(path))).prompt_sha256 == digest
