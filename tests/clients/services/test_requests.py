"""Lines of batch files are requests as the services' own packages type them, without a field that they do not know."""

from __future__ import annotations

import json
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic.types.messages.batch_create_params as anthropic_batch
import openai.types.chat.completion_create_params as openai_chat
import openai.types.responses.response_create_params as openai_responses
import pytest
from answering import Request, answering
from client_runs import export, rows_of, run, score
from google.genai import types as gemini
from langsmith import Client
from pydantic import ConfigDict, TypeAdapter
from typing_extensions import is_typeddict

PAGE = Path(__file__).parents[3] / "docs" / "exports.md"
Line = dict[str, Any]


def strict(package: str, of: Any) -> TypeAdapter[Any]:
    """What accepts exactly the values of a type: a field that a package's types do not have is refused at any depth."""
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{package}."):
            for value in vars(module).values():
                if is_typeddict(value):
                    value.__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    return TypeAdapter(of)


ANTHROPIC = strict("anthropic", anthropic_batch.BatchCreateParams)
CHAT = strict("openai", openai_chat.CompletionCreateParamsNonStreaming)
RESPONSES = strict("openai", openai_responses.ResponseCreateParamsNonStreaming)


def check(of: TypeAdapter[Any], value: Line) -> None:
    """Raise ValidationError if a value is not of a type."""
    walk(of.validate_python(value))


def walk(value: Any) -> None:
    """Go through what was validated: the items of an Iterable are checked only when they are taken."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | Iterator):
        return
    for item in value:
        walk(item)


def check_openai(line: Line) -> None:
    assert set(line) == {"custom_id", "method", "url", "body"}
    check({"/v1/chat/completions": CHAT, "/v1/responses": RESPONSES}[line["url"]], line["body"])


def check_anthropic(line: Line) -> None:
    check(ANTHROPIC, {"requests": [line]})


def check_gemini(line: Line) -> None:
    assert set(line) == {"key", "request"}
    request = line["request"]
    assert set(request) <= {"contents", "systemInstruction", "generationConfig"}
    for content in request["contents"]:
        gemini.Content.model_validate(content)
    gemini.Content.model_validate(request.get("systemInstruction", {"parts": []}))
    gemini.GenerationConfig.model_validate(request["generationConfig"])


CHECKS: dict[str, Callable[[Line], None]] = {
    # vLLM takes OpenAI's requests, and more fields that are not checked here.
    "openai-batch": check_openai, "vllm": check_openai, "anthropic": check_anthropic, "gemini": check_gemini,
    "vertex": check_gemini,
}  # fmt: skip


def exported(dataset: Path, to: str, out: Path, *flags: str) -> list[Line]:
    export(dataset, to, out, *flags)
    lines: list[Line] = []
    for path in sorted(out.iterdir()):
        data = path.read_text("utf-8")
        lines += json.loads(data)["requests"] if path.suffix == ".json" else map(json.loads, data.splitlines())
    return lines


@pytest.mark.parametrize("name", ["texts", "chats", "parts"])
def test_every_line_is_a_request_of_its_package(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dataset: Path = request.getfixturevalue(name)
    for to, check_line in CHECKS.items():
        model = [] if to in ("gemini", "vertex") else ["--model", "m"]
        apis = [["--api", "chat"], ["--api", "responses"]] if to == "openai-batch" else [[]]
        for api in apis:
            lines = exported(dataset, to, tmp_path / "-".join([to, *api]), *model, *api)
            assert len(lines) == len(rows_of(dataset))
            for line in lines:
                check_line(line)


def test_the_examples_of_the_page_are_requests_of_the_packages(texts: Path, tmp_path: Path) -> None:
    examples = [
        shlex.split(line) for line in PAGE.read_text("utf-8").splitlines()
        if line.startswith("niah-gen export DATASET") and "--body" in line
    ]  # fmt: skip
    seen = set()
    for number, (_, _, _, _, to, *flags) in enumerate(examples):
        at = flags.index("--out")
        lines = exported(texts, to, tmp_path / str(number), *flags[:at], *flags[at + 2 :])
        if to != "vllm":
            for line in lines:
                CHECKS[to](line)
                # Newer models refuse the other kind, which the types still have.
                assert to != "anthropic" or line["params"]["thinking"] == {"type": "adaptive"}
            seen.add(to)
    assert seen == {"openai-batch", "anthropic", "gemini"}


def test_requests_to_a_judge_are_requests_of_the_packages(texts: Path, tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps({"id": row["id"], "prediction": "417"}) + "\n" for row in rows_of(texts)))
    score(texts, [answers], tmp_path / "scores")
    for form, check_line in (
        ("openai-batch", check_openai), ("openai-responses", check_openai), ("anthropic-batch", check_anthropic),
        ("gemini-batch", check_gemini),
    ):  # fmt: skip
        out = tmp_path / form
        run(
            ["niah-score", "judge", "export", texts, tmp_path / "scores", "--model", "m", "--format", form,
             "--out", out], tmp_path,
        )  # fmt: skip
        (file,) = out.iterdir()
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        assert len(lines) == len(rows_of(texts))
        for line in lines:
            check_line(line)


def returned(request: Request) -> tuple[int, bytes, dict[str, str]]:
    """What LangSmith answers: the example that it was sent."""
    sent = json.loads(request.body or b"null")
    return 200, json.dumps({} if sent is None else {"created_at": "2026-01-01T00:00:00Z", **sent}).encode(), {}


def test_langsmiths_client_takes_every_example_without_a_warning(texts: Path, tmp_path: Path) -> None:
    lines = exported(texts, "langsmith", tmp_path / "examples")
    with answering(returned) as url, warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        client = Client(api_url=url, api_key="x", auto_batch_tracing=False)
        for line in lines:
            example = client.create_example(dataset_id="00000000-0000-0000-0000-000000000000", **line)
            assert example.inputs == line["inputs"]
            assert (example.outputs or {})["answers"]
