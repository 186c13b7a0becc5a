"""Exported batches sent through OpenAI's own client: their answers score as planned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from client_runs import documented, export, rows_of, score
from openai import OpenAI
from planned_server import OUTCOMES, SURVIVED, expected, plan, serving

OUTCOMES_OF_BATCHES = [name for name in OUTCOMES if name != "stumbling"]


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("name", ["texts", "chats", "parts"])
def test_a_batch_is_run_and_scored(name: str, api: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dataset: Path = request.getfixturevalue(name)
    rows = rows_of(dataset)
    plans = plan(rows, OUTCOMES_OF_BATCHES)
    export(dataset, "openai-batch", tmp_path / "requests", "--model", "planned", "--api", api)
    answers = []
    with serving(rows, plans) as server:
        client = OpenAI(base_url=server.url, api_key="x")
        for path in sorted((tmp_path / "requests").iterdir()):
            file = client.files.create(file=path, purpose="batch")
            endpoint = "/v1/responses" if api == "responses" else "/v1/chat/completions"
            batch = client.batches.create(input_file_id=file.id, endpoint=endpoint, completion_window="24h")
            batch = client.batches.retrieve(batch.id)
            for result in (batch.output_file_id, batch.error_file_id):
                answers.append(tmp_path / f"{result}.jsonl")
                client.files.content(result).write_to_file(answers[-1])
    limit = "max_output_tokens" if api == "responses" else "max_completion_tokens"
    assert {row["id"]: row["max_new_tokens"] for row in rows} == {
        row_id: body[limit] for row_id, body in server.bodies.items()
    }
    scores = score(dataset, answers, tmp_path / "scores")
    assert scores.rows == expected(rows, plans)
    documented("openai", f"batch of {api}, {name}", len(rows), scores.headline)


@pytest.mark.parametrize("name", ["texts", "chats"])
def test_requests_sent_one_by_one_are_scored(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dataset: Path = request.getfixturevalue(name)
    rows = rows_of(dataset)
    plans = plan(rows, SURVIVED)
    export(dataset, "openai-batch", tmp_path / "requests", "--model", "planned")
    with serving(rows, plans) as server, (tmp_path / "answers.jsonl").open("w") as answers:
        client = OpenAI(base_url=server.url, api_key="x")
        for path in sorted((tmp_path / "requests").iterdir()):
            for line in path.read_text("utf-8").splitlines():
                sent = json.loads(line)
                completion = client.chat.completions.create(**sent["body"]).model_dump()
                response = {"status_code": 200, "body": completion}
                answers.write(json.dumps({"custom_id": sent["custom_id"], "response": response}) + "\n")
    scores = score(dataset, [tmp_path / "answers.jsonl"], tmp_path / "scores")
    assert scores.rows == expected(rows, plans)
    assert sum(server.asked.values()) == len(rows) + list(plans.values()).count("stumbling")
