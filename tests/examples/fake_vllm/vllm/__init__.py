"""Stands in for vLLM 0.33: the names, parameters and errors that examples/vllm_offline.py uses, and no model.

FAKE_VLLM_TRUTH names a file with the answers, {prompt: answer}; every call is appended as a line to the file that
FAKE_VLLM_CALLS names. After FAKE_VLLM_DIES_AFTER calls the process is killed.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any, NamedTuple

from .exceptions import VLLMValidationError


class CompletionOutput(NamedTuple):
    """One answer."""

    text: str
    finish_reason: str | None


class RequestOutput(NamedTuple):
    """The answers to one prompt."""

    outputs: list[CompletionOutput]


class SamplingParams:
    """How one prompt is answered, with these fields of the real class."""

    def __init__(self, *, temperature: float = 1.0, top_p: float = 1.0, max_tokens: int | None = 16) -> None:
        if max_tokens is None or max_tokens < 1:
            raise VLLMValidationError(f"max_tokens must be at least 1, got {max_tokens}.")
        self.temperature, self.top_p, self.max_tokens = temperature, top_p, max_tokens


class LLM:
    """A model. max_model_len counts characters."""

    def __init__(self, model: str, *, enable_prefix_caching: bool | None = None, max_model_len: int = 10**9) -> None:
        self.longest = max_model_len
        self.truth: dict[str, str] = json.loads(Path(os.environ["FAKE_VLLM_TRUTH"]).read_text("utf-8"))
        self.calls = 0
        self._note("LLM", model=model, enable_prefix_caching=enable_prefix_caching)

    def generate(self, prompts: Any, sampling_params: Any = None, *, use_tqdm: bool = True) -> list[RequestOutput]:
        """Continue texts."""
        return self._answer("generate", list(prompts), list(prompts), sampling_params)

    def chat(
        self, messages: Any, sampling_params: Any = None, use_tqdm: bool = True, *, chat_template_kwargs: Any = None
    ) -> list[RequestOutput]:
        """Answer conversations."""
        texts = [chat[-1]["content"] for chat in messages]
        return self._answer("chat", texts, list(messages), sampling_params, template=chat_template_kwargs)

    def _answer(self, call: str, texts: list[str], prompts: list[Any], params: Any, **more: Any) -> list[RequestOutput]:
        if len(params) != len(texts):
            raise VLLMValidationError(f"{len(texts)} prompts and {len(params)} params must be as many.")
        self.calls += 1
        if self.calls > int(os.environ.get("FAKE_VLLM_DIES_AFTER", "1000")):
            os.kill(os.getpid(), signal.SIGKILL)
        if any(len(text) > self.longest for text in texts):
            raise VLLMValidationError("The prompt is longer\nthan the maximum model length.")
        sampling = [(param.temperature, param.max_tokens) for param in params]
        self._note(call, prompts=prompts, sampling=sampling, **more)
        return [RequestOutput([CompletionOutput(self.truth[text], "stop")]) for text in texts]

    def _note(self, call: str, **fields: Any) -> None:
        with Path(os.environ["FAKE_VLLM_CALLS"]).open("a", encoding="utf-8") as calls:
            calls.write(json.dumps({"call": call, **fields}) + "\n")
