"""Whatever a server does, every row is answered once or recorded as failed, and a run continues where one ended."""

from __future__ import annotations

import email.utils
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback_server import PATIENCE, Body, Handler, Server, completion, serving

from examples.run_openai_compatible import Gate, HopelessError, answers_file, rows
from niah_score import evaluate

SCRIPT = Path(__file__).parents[2] / "examples" / "run_openai_compatible.py"
KEY = "sk-loopback-0123456789"


@pytest.fixture
def server(truth: list[dict[str, Any]]) -> Iterator[Server]:
    with serving(truth) as running:
        yield running


def start(url: str, dataset: Path, out: Path, *flags: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(SCRIPT), str(dataset), str(out), "--model", "m", "--url", url]
    return subprocess.Popen(
        [*command, "--first-delay", "0.01", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENAI_API_KEY": KEY},
    )


def ask(url: str, dataset: Path, out: Path, *flags: str) -> tuple[int, str]:
    """Run the script; return its exit code and all that it printed."""
    process = start(url, dataset, out, *flags)
    try:
        stdout, stderr = process.communicate(timeout=2 * PATIENCE)
    finally:
        process.kill()
    return process.returncode, stdout + stderr


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_bytes().splitlines()]


def scored(dataset: Path, out: Path) -> dict[str, int]:
    """The number of rows of each status that occurs; every line must be used, and every row have one."""
    report = evaluate(dataset, out, metrics=["keyword"])
    assert (report.lines.used, report.lines.read, report.problems) == (36, 36, [])
    return {name: count for name, count in report.statuses.items() if count}


@pytest.mark.slow
def test_every_row_is_answered_in_any_order_and_scored(server: Server, dataset: Path, tmp_path: Path) -> None:
    first = next(rows(dataset, set())).id

    def first_last(server: Server, handler: Handler, row_id: str, tried: int) -> bool:
        if row_id == first:
            assert server.wait_for(lambda: sum(server.asked.values()) == 36)
        return False

    server.behave = first_last
    code, printed = ask(server.url, dataset, tmp_path / "a.jsonl", "--concurrency", "4")
    assert code == 0, printed
    assert lines(tmp_path / "a.jsonl")[0]["id"] != first
    assert set(server.asked.values()) == {1}
    report = evaluate(dataset, tmp_path / "a.jsonl", metrics=["keyword"])
    assert report.summary["metrics"]["score"]["overall"]["mean"] == 100
    assert scored(dataset, tmp_path / "a.jsonl") == {"ok": 36}


@pytest.mark.slow
def test_requests_carry_the_values_of_the_rows_and_the_arguments(
    server: Server, dataset: Path, truth: list[dict[str, Any]], tmp_path: Path
) -> None:
    body = '{"top_p": 0.5, "temperature": null}'
    assert ask(server.url, dataset, tmp_path / "a.jsonl", "--limit", "1", "--body", body)[0] == 3
    (request,) = server.bodies.values()
    prompt = [{"role": "user", "content": truth[0]["prompt"]}]
    assert request == {"model": "m", "max_tokens": truth[0]["max_new_tokens"], "top_p": 0.5, "messages": prompt}
    server.bodies.clear()
    assert ask(server.url, dataset, tmp_path / "a.jsonl", "--limit", "1")[0] == 3
    assert next(iter(server.bodies.values()))["temperature"] == 0
    assert server.paths == {"/v1/chat/completions"}
    assert set(server.asked.values()) == {1}
    assert len(server.asked) == 2


@pytest.mark.slow
def test_texts_go_to_completions_on_demand(server: Server, dataset: Path, tmp_path: Path) -> None:
    def text(server: Server, handler: Handler, row_id: str, tried: int) -> bool:
        choice = {"text": f"said {row_id}", "finish_reason": "length"}
        return handler.reply(200, json.dumps({"choices": [choice]}).encode())

    server.behave = text
    assert ask(server.url + "/", dataset, tmp_path / "a.jsonl", "--completions")[0] == 0
    assert server.paths == {"/v1/completions"}
    assert all("messages" not in body and isinstance(body["prompt"], str) for body in server.bodies.values())
    assert all(line["prediction"] == f"said {line['id']}" for line in lines(tmp_path / "a.jsonl"))
    assert scored(dataset, tmp_path / "a.jsonl") == {"truncated": 36}


@pytest.mark.slow
def test_chat_messages_are_sent_unchanged_and_never_as_text(server: Server, chat_dataset: Path, tmp_path: Path) -> None:
    asked = {row.id: row.prompt for row in rows(chat_dataset, set())}
    server.answers = {prompt[-1]["content"]: (row_id, "x") for row_id, prompt in asked.items()}
    code, printed = ask(server.url, chat_dataset, tmp_path / "a.jsonl", "--completions")
    assert code == 2
    assert "chat messages" in printed
    assert not server.asked
    assert ask(server.url, chat_dataset, tmp_path / "a.jsonl")[0] == 0
    assert {row_id: body["messages"] for row_id, body in server.bodies.items()} == asked
    assert scored(chat_dataset, tmp_path / "a.jsonl") == {"ok": 36}


@pytest.mark.slow
def test_every_file_format_can_be_asked_about(server: Server, dataset: Path, tmp_path: Path) -> None:
    files = [next(dataset.glob(f"*/en-600/*.{suffix}")) for suffix in ("parquet", "jsonl", "jsonl.zst")]
    for number, file in enumerate(files, 1):
        assert ask(server.url, file, tmp_path / f"{number}.jsonl")[0] == 0
        assert set(server.asked.values()) == {number}
    assert len(server.asked) == 9


@pytest.mark.slow
def test_transient_faults_are_tried_again(server: Server, dataset: Path, tmp_path: Path) -> None:
    order = [row.id for row in rows(dataset, set())]

    def faults(server: Server, handler: Handler, row_id: str, tried: int) -> bool:
        kind = order.index(row_id) % 8
        if tried > 1 or kind == 7:
            return False
        if kind == 0:
            return handler.reply(500, b'{"error": {"message": "busy"}}')
        if kind == 1:
            return handler.reply(503, b"<html>no</html>")
        if kind == 2:
            handler.connection.shutdown(socket.SHUT_RDWR)  # without any reply
            return True
        if kind == 3:  # in the middle of the answer
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.wfile.write(b'{"choices"')
            handler.close_connection = True
            return True
        broken = [b'{"choices": [', b'{"error": {"message": "x"}}', completion("half", finish_reason="abort")][kind - 4]
        return handler.reply(200, broken)

    server.behave = faults
    code, printed = ask(server.url, dataset, tmp_path / "a.jsonl")
    assert code == 0, printed
    assert [server.asked[row_id] for row_id in order] == [1 if at % 8 == 7 else 2 for at in range(36)]
    assert scored(dataset, tmp_path / "a.jsonl") == {"ok": 36}


@pytest.mark.slow
def test_a_retry_after_header_in_seconds_is_obeyed(server: Server, dataset: Path, tmp_path: Path) -> None:
    file = next(dataset.glob("data/en-600/*.parquet"))

    def limited(server: Server, handler: Handler, row_id: str, tried: int) -> bool:
        return len(server.times) == 3 and handler.reply(429, b"{}", Retry_After="1")

    server.behave = limited
    assert ask(server.url, file, tmp_path / "a.jsonl", "--concurrency", "1")[0] == 0
    assert sum(server.asked.values()) == 10
    assert server.times[3] - server.times[2] >= 1


@pytest.mark.slow
def test_a_request_without_a_reply_is_repeated_after_the_timeout(server: Server, dataset: Path, tmp_path: Path) -> None:
    over = threading.Event()
    first = next(rows(dataset, set())).id

    def silent(server: Server, handler: Handler, row_id: str, tried: int) -> bool:
        return row_id == first and tried == 1 and over.wait(PATIENCE)

    server.behave = silent
    try:
        code, printed = ask(server.url, dataset, tmp_path / "a.jsonl", "--timeout", "1")
    finally:
        over.set()
    assert code == 0, printed
    assert server.asked[first] >= 2
    assert scored(dataset, tmp_path / "a.jsonl") == {"ok": 36}


@pytest.mark.slow
def test_exactly_as_many_requests_run_at_once_as_asked_for(server: Server, dataset: Path, tmp_path: Path) -> None:
    def hold(server: Server, handler: Handler, row_id: str, tried: int) -> bool:
        assert server.wait_for(lambda: server.most_at_once >= 3)
        if len(server.asked) <= 3:
            # Wait a moment, so that a fourth request beside the first three would be counted.
            with server.changed:
                server.changed.wait_for(lambda: server.at_once > 3, 0.5)
        return False

    server.behave = hold
    assert ask(server.url, dataset, tmp_path / "a.jsonl", "--concurrency", "3")[0] == 0
    assert server.most_at_once == 3


@pytest.mark.slow
def test_failed_rows_are_errors_to_the_scorer_and_are_asked_again(
    server: Server, dataset: Path, tmp_path: Path
) -> None:
    out = tmp_path / "a.jsonl"
    order = [row.id for row in rows(dataset, set())]
    failing = {order[3]: 500, order[11]: 400}

    def failures(server: Server, handler: Handler, row_id: str, tried: int) -> bool:
        message = b'{"error": {"message": "context \\u001b[31mtoo long"}}\x1b[2J'
        return row_id in failing and handler.reply(failing[row_id], message)

    server.behave = failures
    code, printed = ask(server.url, dataset, out, "--tries", "3")
    assert code == 3
    assert "34 answers, 2 errors" in printed
    assert "\x1b" not in printed
    assert (server.asked[order[3]], server.asked[order[11]]) == (3, 1)
    assert scored(dataset, out) == {"ok": 34, "error": 2}
    server.behave = lambda *_: False
    server.asked.clear()
    assert ask(server.url, dataset, out)[0] == 0
    assert server.asked == {order[3]: 1, order[11]: 1}
    assert scored(dataset, out) == {"ok": 36}
    assert ask(server.url, dataset, out)[0] == 0
    assert sum(server.asked.values()) == 2


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 404, 501])
def test_a_refusal_that_every_row_would_get_ends_the_run_at_once(
    server: Server, dataset: Path, tmp_path: Path, status: int
) -> None:
    def refused(server: Server, handler: Handler, row_id: str, tried: int) -> bool:
        return handler.reply(status, f"Incorrect API key provided: {KEY}".encode())

    server.behave = refused
    code, printed = ask(server.url, dataset, tmp_path / "a.jsonl", "--concurrency", "2")
    assert code == 2
    assert "OPENAI_API_KEY" in printed
    assert sum(server.asked.values()) <= 4
    assert server.keys == {f"Bearer {KEY}"}
    assert KEY not in printed
    assert KEY not in (tmp_path / "a.jsonl").read_text()


@pytest.mark.slow
def test_answers_under_way_are_kept_when_a_run_is_given_up(server: Server, dataset: Path, tmp_path: Path) -> None:
    _, second, third = (row.id for row, _ in zip(rows(dataset, set()), range(3), strict=False))
    given_up = threading.Event()

    def refused(server: Server, handler: Handler, row_id: str, tried: int) -> bool:
        assert server.wait_for(lambda: len(server.asked) >= 3)
        if row_id in (second, third):
            return not given_up.wait(PATIENCE)
        # The first row, and any row asked before the runner heard of that refusal.
        handler.reply(403, b"{}")
        handler.rfile.read(1)  # returns when the runner, which knows of the refusal now, hangs up
        given_up.set()
        return True

    server.behave = refused
    assert ask(server.url, dataset, tmp_path / "a.jsonl", "--concurrency", "3")[0] == 2
    assert {line["id"] for line in lines(tmp_path / "a.jsonl")} == {second, third}


@pytest.mark.slow
def test_the_key_is_neither_printed_nor_written(server: Server, dataset: Path, tmp_path: Path) -> None:
    server.behave = lambda server, handler, *_: handler.reply(400, f"you said {KEY}".encode())
    code, printed = ask(server.url, dataset, tmp_path / "a.jsonl", "--limit", "3")
    assert code == 3
    assert "you said ***" in printed
    for path in tmp_path.iterdir():
        assert KEY not in path.read_text()


@pytest.mark.slow
def test_a_run_ends_after_twenty_rows_in_a_row_without_an_answer(server: Server, dataset: Path, tmp_path: Path) -> None:
    def gone(server: Server, handler: Handler, row_id: str, tried: int) -> bool:
        handler.connection.shutdown(socket.SHUT_RDWR)
        return True

    server.behave = gone
    code, printed = ask(server.url, dataset, tmp_path / "a.jsonl", "--tries", "2", "--concurrency", "1")
    assert code == 2
    assert "20 rows in a row without an answer" in printed
    assert len(lines(tmp_path / "a.jsonl")) == 19


@pytest.mark.slow
def test_a_dead_server_is_reported_in_one_sentence_and_its_answers_are_kept(
    truth: list[dict[str, Any]], dataset: Path, tmp_path: Path
) -> None:
    out = tmp_path / "a.jsonl"
    with serving(truth) as dying:

        def dies(server: Server, handler: Handler, row_id: str, tried: int) -> bool:
            if len(server.asked) > 12:
                server.socket.close()  # nobody listens from here on
                handler.connection.shutdown(socket.SHUT_RDWR)
                return True
            return False

        dying.behave = dies
        code, printed = ask(dying.url, dataset, out, "--concurrency", "1", "--tries", "1000", "--wait", "0.1")
        url = dying.url
    assert code == 2
    assert printed == (
        f"run_openai_compatible: {url}: no server answers (Connection refused); start it, or check --url\n"
    )
    assert [line["id"] for line in lines(out)] == [row["id"] for row in truth[:12]]
    with serving(truth) as again:
        assert ask(again.url, dataset, out)[0] == 0
        assert sum(again.asked.values()) == 24
    assert scored(dataset, out) == {"ok": 36}


@pytest.mark.slow
def test_shards_answer_every_row_once(server: Server, dataset: Path, tmp_path: Path) -> None:
    outs = [tmp_path / f"{part}.jsonl" for part in (1, 2, 3)]
    for part, out in enumerate(outs, 1):
        assert ask(server.url, dataset, out, "--shard", f"{part}/3", "--limit", "5")[0] == 3
        assert ask(server.url, dataset, out, "--shard", f"{part}/3")[0] == 0  # continues with the same rows
        assert len(lines(out)) == 12
    assert set(server.asked.values()) == {1}
    report = evaluate(dataset, outs, metrics=["keyword"])
    assert (report.lines.used, report.lines.read, report.problems) == (36, 36, [])


@pytest.mark.slow
def test_a_retry_after_header_with_a_date_is_obeyed(server: Server, dataset: Path, tmp_path: Path) -> None:
    file = next(dataset.glob("data/en-600/*.parquet"))

    def limited(server: Server, handler: Handler, row_id: str, tried: int) -> bool:
        # A date has whole seconds, so this one is between one and two seconds away.
        date = email.utils.formatdate(time.time() + 2, usegmt=True)
        return len(server.times) == 3 and handler.reply(429, b"{}", Retry_After=date)

    server.behave = limited
    assert ask(server.url, file, tmp_path / "a.jsonl", "--concurrency", "1")[0] == 0
    assert server.times[3] - server.times[2] >= 0.9


@pytest.mark.slow
def test_without_a_server_one_sentence_ends_the_run_before_any_retry(dataset: Path, tmp_path: Path) -> None:
    endless = ("--tries", "1000", "--first-delay", "1000")  # a second try would come after the test's own timeout
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        code, printed = ask(url, dataset, tmp_path / "a.jsonl", *endless)
    assert code == 2
    assert printed == (
        f"run_openai_compatible: {url}: no server answers (Connection refused); start it, or check --url\n"
    )
    assert lines(tmp_path / "a.jsonl") == []
    code, printed = ask("http://no-such-host.invalid/v1", dataset, tmp_path / "a.jsonl", *endless)
    assert code == 2
    assert "http://no-such-host.invalid/v1: no server answers" in printed
    assert len(printed.splitlines()) == 1


@pytest.mark.slow
def test_a_server_that_starts_late_is_waited_for_on_demand(
    truth: list[dict[str, Any]], dataset: Path, tmp_path: Path
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    out = tmp_path / "a.jsonl"
    process = start(f"http://127.0.0.1:{port}/v1", dataset, out, "--wait", str(PATIENCE), "--limit", "2")
    try:
        deadline = time.monotonic() + PATIENCE
        while not out.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        with serving(truth, port):  # the runner already tries to connect
            _, printed = process.communicate(timeout=2 * PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 3, printed  # there are more rows than two
    assert len(lines(out)) == 2


@pytest.mark.slow
def test_no_server_is_needed_if_every_row_has_an_answer(server: Server, dataset: Path, tmp_path: Path) -> None:
    assert ask(server.url, dataset, tmp_path / "a.jsonl")[0] == 0
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert ask(f"http://127.0.0.1:{taken.getsockname()[1]}/v1", dataset, tmp_path / "a.jsonl")[0] == 0


@pytest.mark.slow
def test_requests_at_once_fall_after_a_rate_limit_and_rise_again(server: Server, dataset: Path, tmp_path: Path) -> None:
    first = [row.id for row in rows(dataset, set())][:8]
    answered = 0

    def limits(server: Server, handler: Handler, row_id: str, tried: int) -> bool:
        nonlocal answered
        if tried == 1 and row_id in first:  # these eight wait for one another and are refused together
            assert server.wait_for(lambda: len(server.asked) >= 8)
            return handler.reply(429, b'{"error": {"message": "rate limit"}}')
        with server.changed:
            answered += 1
            mine = answered
        # With four, five, six and seven at once, 22 answers allow eight again: the last eight rows wait here together.
        assert mine <= 28 or server.wait_for(lambda: answered == 36)
        return False

    server.behave = limits
    code, printed = ask(server.url, dataset, tmp_path / "a.jsonl", "--concurrency", "8")
    assert code == 0, printed
    assert "36 answers, 0 errors" in printed
    assert "; 8 refused with 429, so 4 to 8 requests at once" in printed
    assert scored(dataset, tmp_path / "a.jsonl") == {"ok": 36}


@pytest.mark.slow
def test_rows_that_wait_because_of_a_rate_limit_are_not_errors(server: Server, dataset: Path, tmp_path: Path) -> None:
    first = [row.id for row in rows(dataset, set())][:8]
    inside = most = 0

    def two_at_most(server: Server, handler: Handler, row_id: str, tried: int) -> bool:
        nonlocal inside, most
        with server.changed:
            inside += 1
            full = inside > 2
            most = max(most, 0 if full else inside)
        if tried == 1 and row_id in first:
            assert server.wait_for(lambda: len(server.asked) >= 8)
        with server.changed:
            inside -= 1  # before the reply, so that no request is counted together with the next one
        return full and handler.reply(429, b"{}", Retry_After="0")

    server.behave = two_at_most
    code, printed = ask(server.url, dataset, tmp_path / "a.jsonl", "--concurrency", "8", "--tries", "20")
    assert code == 0, printed
    assert most == 2
    assert scored(dataset, tmp_path / "a.jsonl") == {"ok": 36}


@pytest.mark.slow
def test_an_exhausted_quota_ends_the_run_at_once(server: Server, dataset: Path, tmp_path: Path) -> None:
    body = b'{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}'
    server.behave = lambda server, handler, *_: handler.reply(429, body)
    code, printed = ask(server.url, dataset, tmp_path / "a.jsonl", "--concurrency", "1", "--first-delay", "1000")
    assert code == 2
    assert "You exceeded your current quota" in printed
    assert sum(server.asked.values()) == 1


def entered(gate: Gate) -> int:
    """Enter a gate and return the place; fail where none is free."""
    stopped = threading.Event()
    if gate._under_way >= gate.allowed:
        stopped.set()  # it would wait for ever
    place = gate.enter(stopped)
    assert place is not None
    return place


def test_refusals_of_requests_sent_together_halve_the_limit_once_and_never_below_one() -> None:
    gate = Gate(8)
    first = [entered(gate) for _ in range(8)]
    for place in first[:5]:
        gate.leave(place, True)
    assert gate.allowed == 4
    for place in first[5:]:
        gate.leave(place, False)  # sent before the cut, so it says nothing about the new limit
    allowed = []
    for _ in range(4):
        gate.leave(entered(gate), True)
        allowed.append(gate.allowed)
    assert allowed == [2, 1, 1, 1]
    assert (gate.fewest, gate.limited) == (1, 9)


def test_a_full_round_of_answers_allows_one_more_request_up_to_the_maximum() -> None:
    gate = Gate(4)
    gate.leave(entered(gate), True)
    gate.leave(entered(gate), True)
    allowed = []
    for _ in range(12):
        gate.leave(entered(gate), False)
        allowed.append(gate.allowed)
    assert allowed == [2, 2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4]
    gate.leave(entered(gate), None)  # an error unrelated to the number of requests
    assert gate.allowed == 4


def test_no_request_enters_a_full_gate_or_a_stopped_one() -> None:
    gate = Gate(1)
    place = entered(gate)
    stopped = threading.Event()
    places: list[int | None] = []
    waiting = threading.Thread(target=lambda: places.append(gate.enter(stopped)))
    waiting.start()
    gate.leave(place, None)
    waiting.join(PATIENCE)
    assert places == [0]
    stopped.set()
    assert gate.enter(stopped) is None


@pytest.mark.slow
def test_reasoning_refusals_and_finish_reasons_reach_the_scorer(server: Server, dataset: Path, tmp_path: Path) -> None:
    order = [row.id for row in rows(dataset, set())]

    def endings(server: Server, handler: Handler, row_id: str, tried: int) -> bool:
        message: Body = {"role": "assistant", "content": "It is turquoise."}
        finish = "stop"
        if row_id == order[0]:
            message["reasoning_content"] = "Let me think."
        elif row_id == order[1]:
            message |= {"content": None, "reasoning": "Still thinking."}
            finish = "length"
        elif row_id == order[2]:
            message |= {"content": None, "refusal": "I cannot."}
        elif row_id == order[3]:
            message["content"] = ""
        return handler.reply(200, completion("", message=message, finish_reason=finish))

    server.behave = endings
    assert ask(server.url, dataset, tmp_path / "a.jsonl")[0] == 0
    records = {line["id"]: line for line in lines(tmp_path / "a.jsonl")}
    assert records[order[0]]["reasoning_content"] == "Let me think."
    assert records[order[1]] | {"prompt_tokens": 0} == {
        "id": order[1], "prediction": None, "finish_reason": "length", "reasoning_content": "Still thinking.",
        "prompt_tokens": 0,
    }  # fmt: skip
    assert records[order[0]]["prompt_tokens"] == 7
    assert scored(dataset, tmp_path / "a.jsonl") == {"ok": 33, "think_unclosed": 1, "refused": 1, "empty": 1}


@pytest.mark.slow
def test_a_killed_run_continues_and_asks_no_answered_row_again(server: Server, dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    # Two rows get no answer, so that the run is still going when it is killed.
    order = [row.id for row in rows(dataset, set())]
    unanswered = {order[8], order[9]}
    over = threading.Event()
    server.behave = lambda server, handler, row_id, tried: row_id in unanswered and not over.wait(PATIENCE)
    process = start(server.url, dataset, out, "--concurrency", "4")
    try:
        assert server.wait_for(lambda: len(server.asked) == 36)
        deadline = time.monotonic() + PATIENCE
        while out.read_bytes().count(b"\n") < 30 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        over.set()
    kept = {line["id"] for line in lines(out)}
    assert 30 <= len(kept) < 36
    with out.open("ab") as file:
        file.write(b'{"id": "' + order[8].encode() + b'", "predic')
    server.behave = lambda *_: False
    assert ask(server.url, dataset, out)[0] == 0
    assert {row_id: server.asked[row_id] for row_id in kept} == dict.fromkeys(kept, 1)
    assert scored(dataset, out) == {"ok": 36}


@pytest.mark.slow
def test_an_interrupted_run_waits_for_open_requests_and_continues_later(
    server: Server, dataset: Path, tmp_path: Path
) -> None:
    out = tmp_path / "a.jsonl"
    over = threading.Event()
    server.behave = lambda *_: not over.wait(PATIENCE)
    process = start(server.url, dataset, out, "--concurrency", "3")
    try:
        assert server.wait_for(lambda: len(server.asked) == 3)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.readline() + process.stderr.readline() != ""
        over.set()
        _, printed = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130, printed
    assert "Traceback" not in printed
    assert {line["id"] for line in lines(out)} == set(server.asked)
    assert len(server.asked) == 3
    assert ask(server.url, dataset, out)[0] == 0
    assert set(server.asked.values()) == {1}
    assert scored(dataset, out) == {"ok": 36}


@pytest.mark.slow
def test_a_second_interrupt_ends_the_run_at_once(server: Server, dataset: Path, tmp_path: Path) -> None:
    over = threading.Event()
    server.behave = lambda *_: not over.wait(PATIENCE)
    process = start(server.url, dataset, tmp_path / "a.jsonl")
    try:
        assert server.wait_for(lambda: len(server.asked) == 8)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.readline() + process.stderr.readline() != ""
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)  # the server still withholds every answer
    finally:
        process.kill()
        over.set()
    assert process.returncode == 130


@pytest.mark.slow
def test_two_runs_cannot_write_to_the_same_file(server: Server, dataset: Path, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    out = tmp_path / "a.jsonl"
    out.write_text('{"id": "x", "error": "once"}\n')  # is removed, so the lock must pass to the new file
    with answers_file(out):
        code, printed = ask(server.url, dataset, out)
    assert code == 2
    assert "another run is writing to it" in printed
    assert not server.asked


def test_complete_lines_are_kept_wherever_a_file_breaks_off(tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    records = [f'{{"id": "row-{number}", "prediction": "{{甲}}"}}\n'.encode() for number in range(3)]
    records.insert(1, b'{"id": "row-9", "error": "no"}\n')
    whole = b"".join(records)
    for cut in range(len(whole) + 1):
        out.write_bytes(whole[:cut])
        with answers_file(out) as (file, answered):
            file.write(b'{"id": "next", "prediction": ""}\n')
        # A line is complete once its brace is closed.
        kept = [f"row-{number}" for number, end in ((0, 1), (1, 3), (2, 4)) if cut >= len(b"".join(records[:end])) - 1]
        assert answered == set(kept), cut
        assert [line["id"] for line in lines(out)] == [*kept, "next"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


@pytest.mark.parametrize(
    "content", [b"my notes\n", b'{"id": "x", "answer": 1}\n', b"PAR1\x00\x01", b'{"id": "a", "error": "x"}\n\n[]\n']
)
def test_a_file_with_other_content_is_refused_and_left_unchanged(tmp_path: Path, content: bytes) -> None:
    out = tmp_path / "a.jsonl"
    out.write_bytes(content)
    with pytest.raises(HopelessError, match="choose another file"), answers_file(out):
        pass
    assert out.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--url", "ftp://x/v1"], "--url"),
        (["--url", "http://user:secret@127.0.0.1/v1"], "--url"),
        (["--url", "http://127.0.0.1:99999/v1"], "--url"),
        (["--body", "[1"], "--body"),
        (["--body", '{"stream": true}'], "--body: stream"),
        (["--concurrency", "0"], "--concurrency"),
        (["--limit", "0"], "--limit"),
        (["--shard", "4/3"], "--shard"),
    ],
)
def test_senseless_arguments_are_reported(dataset: Path, tmp_path: Path, flags: list[str], message: str) -> None:
    code, printed = ask("http://127.0.0.1:1/v1", dataset, tmp_path / "a.jsonl", *flags)
    assert code == 2
    assert message in printed
    assert "Traceback" not in printed
    assert "secret" not in printed
    assert not (tmp_path / "a.jsonl").exists()


def test_rows_are_read_lazily_and_answered_ones_are_skipped(truth: list[dict[str, Any]], dataset: Path) -> None:
    ids = [row["id"] for row in truth]
    assert [row.id for row in rows(dataset, set())] == ids
    assert [row.id for row in rows(dataset, set(ids[:20]))] == ids[20:]
    answered = set(ids[:5])
    coming = rows(dataset, answered)
    assert next(coming).id == ids[5]
    answered |= set(ids[6:30])
    assert next(coming).id == ids[30]
