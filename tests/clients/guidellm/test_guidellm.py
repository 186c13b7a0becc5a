"""GuideLLM sends each row of a load test once, in the order of the file, with the row's own limit.

PyTorch makes this environment 2 GB large; the tests take two minutes.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from client_runs import PAGE, export, rows_of, run
from planned_server import OUTCOMES, plan, serving

# The command of the page, and its option for files of messages.
_PAGE = PAGE.with_name("exports.md").read_text("utf-8")
COMMAND = shlex.split(re.findall(r"^guidellm run .*$", _PAGE, re.MULTILINE)[0])
MAPPER = shlex.split(re.findall(r"`(--data-column-mapper .*)`", _PAGE)[0])


def sent(dataset: Path, to: str, folder: Path, *more: str) -> tuple[list[str], dict[str, Any]]:
    """The ids of the rows in the order in which GuideLLM asked them, and its report."""
    rows = rows_of(dataset)
    export(dataset, to, folder / "exported", "--order", "prefix")
    with serving(rows, plan(rows, ["right", "wrong", "two paragraphs"])) as server:
        places = {"http://127.0.0.1:8000": f"{server.url.removesuffix('/v1')}", "NAME": "planned"}
        words = [re.sub("|".join(places), lambda found: places[found[0]], word) for word in COMMAND]
        # The server answers at once and does not stream; one stream keeps the order.
        words = [f"{word},stream=false,validate_backend=false" if "target=" in word else word for word in words]
        changed = {"streams=8": "streams=1", "count=1000": f"count={len(rows)}", "load-test": to}
        words = [re.sub("|".join(changed), lambda found: changed[found[0]], word) for word in words]
        run([*words, *more, "--disable-console"], folder)
    for row in rows:
        assert server.bodies[row["id"]]["max_completion_tokens"] == row["max_new_tokens"]
    assert set(server.asked.values()) == {1}
    return list(server.bodies), json.loads((folder / "benchmark.json").read_bytes())


@pytest.mark.parametrize(("name", "to", "more"), [("texts", "load-test", []), ("chats", "load-test-chat", MAPPER)])
def test_every_row_is_sent_once_in_order_with_its_limit(
    name: str, to: str, more: list[str], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    dataset: Path = request.getfixturevalue(name)
    asked, report = sent(dataset, to, tmp_path, *more)
    file = tmp_path / "exported" / f"{to}.jsonl"
    order = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    by_prompt = {json.dumps(row["prompt"]): row["id"] for row in rows_of(dataset)}
    assert asked == [by_prompt[json.dumps(line.get("prompt") or line["messages"])] for line in order]
    (benchmark,) = report["benchmarks"]
    texts = {OUTCOMES[kind].text.format(right=row["answers"][0]) for row in rows_of(dataset) for kind in OUTCOMES}
    answered = benchmark["requests"]["successful"]
    assert len(answered) == len(asked)
    assert {one["output"] for one in answered} <= texts
