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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback_server import PATIENCE, Body, Handler, Server, completion, serving

from examples.run_openai_compatible import HopelessError, Row, answers_file, first_ones_first, rows
from niah_score import evaluate

SCRIPT = Path(__file__).parents[2] / "examples" / "run_openai_compatible.py"
KEY = "sk-loopback-0123456789"
slow = pytest.mark.slow


def start(url: str, dataset: Path, out: Path, *flags: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(SCRIPT), str(dataset), str(out), "--model", "m", "--url", url]
    return subprocess.Popen(
        [*command, "--first-delay", "0.01", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OPENAI_API_KEY": KEY},
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a run; return its exit code and all that it printed."""
    try:
        stdout, stderr = process.communicate(timeout=2 * PATIENCE)
    finally:
        process.kill()
    assert "Traceback" not in stderr, stderr
    return process.returncode, stdout + stderr


class Case:
    """A dataset, a server that knows its answers, and the file that they are written to."""

    def __init__(self, server: Server, dataset: Path, out: Path) -> None:
        self.server, self.dataset, self.out = server, dataset, out
        self.order = [row.id for row in rows(dataset, {})]

    def ask(self, *flags: str, out: Path | None = None) -> tuple[int, str]:
        """Run the script; return its exit code and all that it printed."""
        return ended(start(self.server.url, self.dataset, out or self.out, *flags))

    def behave(self, reply: Callable[[Handler, str, int], bool]) -> None:
        """Let the server call this for each request, with the row's id and the number of the try."""
        self.server.behave = lambda _, handler, row_id, tried: reply(handler, row_id, tried)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.read_bytes().splitlines()]

    def scored(self) -> dict[str, int]:
        """The number of rows of each status that occurs; every line must be used, and every row have one."""
        report = evaluate(self.dataset, self.out, metrics=["keyword"])
        assert (report.lines.used, report.lines.read, report.problems) == (36, 36, [])
        return {name: count for name, count in report.statuses.items() if count}

    def wait_for_lines(self, count: int) -> None:
        end = time.monotonic() + PATIENCE
        while (not self.out.exists() or self.out.read_bytes().count(b"\n") < count) and time.monotonic() < end:
            time.sleep(0.01)


@pytest.fixture
def case(truth: list[dict[str, Any]], dataset: Path, tmp_path: Path) -> Iterator[Case]:
    with serving(truth) as running:
        yield Case(running, dataset, tmp_path / "a.jsonl")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@slow
def test_every_row_is_answered_in_any_order_and_scored(case: Case) -> None:
    server, first = case.server, case.order[0]
    case.behave(lambda _, row_id, __: row_id == first and not server.wait_for(lambda: server.asked.total() == 36))
    assert case.ask("--concurrency", "4")[0] == 0
    assert case.lines()[0]["id"] != first
    assert set(server.asked.values()) == {1}
    report = evaluate(case.dataset, case.out, metrics=["keyword"])
    assert report.summary["metrics"]["score"]["overall"]["mean"] == 100
    assert case.scored() == {"ok": 36}


def test_one_row_of_each_context_comes_before_its_others() -> None:
    asked = [Row(f"{name}{n}", None, "", name) for name in "abc" for n in range(3)]
    alone = [Row(f"d{n}", None, "") for n in range(3)]
    order = [row.id for row in first_ones_first([*asked, *alone], 2)]
    assert order == ["a0", "b0", "a1", "a2", "b1", "b2", "c0", "d0", "c1", "c2", "d1", "d2"]


@slow
def test_requests_carry_the_values_of_the_rows_and_the_arguments(case: Case, truth: list[dict[str, Any]]) -> None:
    assert case.ask("--limit", "1", "--body", '{"top_p": 0.5, "temperature": null}')[0] == 3
    (request,) = case.server.bodies.values()
    prompt = [{"role": "user", "content": truth[0]["prompt"]}]
    assert request == {"model": "m", "max_tokens": truth[0]["max_new_tokens"], "top_p": 0.5, "messages": prompt}
    case.server.bodies.clear()
    assert case.ask("--limit", "1")[0] == 3
    assert next(iter(case.server.bodies.values()))["temperature"] == 0
    assert case.server.paths == {"/v1/chat/completions"}
    assert list(case.server.asked.values()) == [1, 1]


@slow
def test_chat_messages_are_sent_unchanged_and_never_as_text(case: Case, chat_dataset: Path) -> None:
    asked = {row.id: row.prompt for row in rows(chat_dataset, {})}
    case.dataset = chat_dataset
    case.server.answers = {prompt[-1]["content"]: (row_id, "x") for row_id, prompt in asked.items()}
    code, printed = case.ask("--completions")
    assert (code, "chat messages" in printed, case.server.asked) == (2, True, {})
    assert case.ask()[0] == 0
    assert {row_id: body["messages"] for row_id, body in case.server.bodies.items()} == asked
    assert case.scored() == {"ok": 36}


@slow
def test_turns_of_a_session_follow_the_answers_before_them_also_when_a_run_is_resumed(
    case: Case, truth: list[dict[str, Any]], tmp_path: Path
) -> None:
    sessions = [truth[start : start + 4] for start in range(0, 36, 4)]
    file = tmp_path / "openai-sessions.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        for number, some in enumerate(sessions):
            turns = [
                {"id": row["id"], "max_tokens": 9, "messages": [{"role": "user", "content": row["prompt"]}]}
                for row in some
            ]
            lines.write(json.dumps({"id": str(number), "turns": turns}) + "\n")
    refused = sessions[1][2]["id"]
    case.behave(lambda handler, row_id, _: row_id == refused and handler.reply(400, b"no") is None)
    whole, case.dataset = case.dataset, file
    assert case.ask("--limit", "5", "--concurrency", "2")[0] == 3
    assert case.server.asked.total() == 5
    code, printed = case.ask("--concurrency", "3")
    assert (code, "34 answers, 1 errors" in printed) == (3, True)
    case.behave(lambda *_: False)
    assert case.ask()[0] == 0
    answers = {line["id"]: line["prediction"] for line in case.lines()}
    for some in sessions:
        said: list[dict[str, str]] = []
        for row in some:
            said.append({"role": "user", "content": row["prompt"]})
            assert case.server.bodies[row["id"]]["messages"] == said
            assert case.server.bodies[row["id"]]["max_tokens"] == 9
            said.append({"role": "assistant", "content": answers[row["id"]]})
    case.dataset = whole
    assert case.scored() == {"ok": 36}


@slow
def test_transient_faults_are_tried_again(case: Case) -> None:
    broken = [b'{"choices": [', b'{"error": {"message": "x"}}', completion("half", finish_reason="abort")]

    def faults(handler: Handler, row_id: str, tried: int) -> bool:
        kind = case.order.index(row_id) % 7
        if tried > 1 or kind == 6:
            return False
        if kind == 0:
            return handler.reply(503, b"<html>no</html>")
        if kind == 1:
            handler.connection.shutdown(socket.SHUT_RDWR)  # without any reply
            return True
        if kind == 2:  # in the middle of the answer
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.wfile.write(b'{"choices"')
            handler.close_connection = True
            return True
        return handler.reply(200, broken[kind - 3])

    case.behave(faults)
    assert case.ask()[0] == 0
    assert [case.server.asked[row_id] for row_id in case.order] == [1 if at % 7 == 6 else 2 for at in range(36)]
    assert case.scored() == {"ok": 36}


@slow
@pytest.mark.parametrize("form", ["seconds", "a date"])
def test_a_retry_after_header_is_obeyed(case: Case, form: str) -> None:
    def limited(handler: Handler, row_id: str, tried: int) -> bool:
        # A date has whole seconds, so this one is between one and two seconds away.
        after = "1" if form == "seconds" else email.utils.formatdate(time.time() + 2, usegmt=True)
        return len(case.server.times) == 3 and handler.reply(429, b"{}", Retry_After=after)

    case.behave(limited)
    case.dataset = next(case.dataset.glob("data/en-600/*.parquet"))
    assert case.ask("--concurrency", "1")[0] == 0
    assert case.server.times[3] - case.server.times[2] >= 0.9


@slow
def test_a_request_without_a_reply_is_repeated_after_the_timeout(case: Case) -> None:
    over = threading.Event()
    case.behave(lambda _, row_id, tried: row_id == case.order[0] and tried == 1 and over.wait(PATIENCE))
    try:
        assert case.ask("--timeout", "1")[0] == 0
    finally:
        over.set()
    assert case.server.asked[case.order[0]] >= 2
    assert case.scored() == {"ok": 36}


@slow
def test_failed_rows_are_errors_to_the_scorer_and_are_asked_again(case: Case) -> None:
    failing = {case.order[3]: 500, case.order[11]: 400}
    message = b'{"error": {"message": "context \\u001b[31mtoo long for %s"}}\x1b[2J' % KEY.encode()
    case.behave(lambda handler, row_id, _: row_id in failing and handler.reply(failing[row_id], message))
    code, printed = case.ask("--tries", "3")
    assert code == 3
    assert "34 answers, 2 errors" in printed
    assert "\x1b" not in printed
    assert "for ***" in printed
    assert not any(KEY in path.read_text() for path in case.out.parent.glob("*.jsonl"))
    assert [case.server.asked[row_id] for row_id in failing] == [3, 1]
    assert case.scored() == {"ok": 34, "error": 2}
    case.behave(lambda *_: False)
    case.server.asked.clear()
    assert case.ask()[0] == 0
    assert case.server.asked == dict.fromkeys(failing, 1)
    assert case.scored() == {"ok": 36}
    # No server is needed where every row has an answer.
    assert ended(start(f"http://127.0.0.1:{free_port()}/v1", case.dataset, case.out))[0] == 0


@slow
@pytest.mark.parametrize(
    ("status", "body", "said"),
    [(401, f"Incorrect key: {KEY}", "OPENAI_API_KEY"), (404, "", "OPENAI_API_KEY"), (501, "", "OPENAI_API_KEY"),
     (429, '{"error": {"message": "Above your quota", "code": "insufficient_quota"}}', "Above your quota")],
)  # fmt: skip
def test_a_refusal_that_every_row_would_get_ends_the_run_at_once(case: Case, status: int, body: str, said: str) -> None:
    case.behave(lambda handler, *_: handler.reply(status, body.encode()))
    code, printed = case.ask("--concurrency", "2")
    assert code == 2
    assert said in printed
    assert case.server.asked.total() <= 4
    assert case.server.keys == {f"Bearer {KEY}"}
    assert KEY not in printed + case.out.read_text()


@slow
def test_a_run_ends_after_twenty_rows_in_a_row_without_an_answer(case: Case) -> None:
    case.behave(lambda handler, *_: bool(handler.connection.shutdown(socket.SHUT_RDWR)) or True)
    code, printed = case.ask("--tries", "2", "--concurrency", "1")
    assert code == 2
    assert "20 rows in a row without an answer" in printed
    assert len(case.lines()) == 19


@slow
def test_a_missing_server_ends_the_run_in_one_sentence_and_keeps_its_answers(case: Case) -> None:
    endless = ("--tries", "1000", "--first-delay", "1000")  # a second try would come after the test's own timeout
    for url, why in ((f"http://127.0.0.1:{free_port()}/v1", "Connection refused"), ("http://no.invalid/v1", "")):
        code, printed = ended(start(url, case.dataset, case.out, *endless))
        assert code == 2
        assert f"run_openai_compatible: {url}: no server answers ({why}" in printed
        assert len(printed.splitlines()) == 1
        assert case.lines() == []

    def dies(handler: Handler, row_id: str, tried: int) -> bool:
        if len(case.server.asked) <= 12:
            return False
        case.server.socket.close()  # nobody listens from here on
        handler.connection.shutdown(socket.SHUT_RDWR)
        return True

    case.behave(dies)
    code, printed = case.ask("--concurrency", "1", "--tries", "1000", "--wait", "0.1")
    assert code == 2
    assert printed.endswith("no server answers (Connection refused); start it, or check --url\n")
    assert [line["id"] for line in case.lines()] == case.order[:12]


@slow
def test_shards_answer_every_row_once(case: Case, tmp_path: Path) -> None:
    outs = [tmp_path / f"{part}.jsonl" for part in (1, 2, 3)]
    for part, out in enumerate(outs, 1):
        assert case.ask("--shard", f"{part}/3", "--limit", "5", out=out)[0] == 3
        assert case.ask("--shard", f"{part}/3", out=out)[0] == 0  # continues with the same rows
    assert set(case.server.asked.values()) == {1}
    report = evaluate(case.dataset, outs, metrics=["keyword"])
    assert (report.lines.used, report.lines.read, report.problems) == (36, 36, [])


@slow
def test_requests_at_once_fall_after_a_rate_limit_and_rise_again_without_an_error(case: Case) -> None:
    server, first = case.server, case.order[:8]
    answered = 0

    def limits(handler: Handler, row_id: str, tried: int) -> bool:
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

    case.behave(limits)
    code, printed = case.ask("--concurrency", "8")
    assert code == 0, printed
    assert "36 answers, 0 errors" in printed
    assert "; 8 refused with 429, so 4 to 8 requests at once" in printed
    assert case.scored() == {"ok": 36}


@slow
def test_reasoning_refusals_and_finish_reasons_reach_the_scorer(case: Case) -> None:
    endings: dict[str, Body] = dict(zip(case.order, (
        {"content": "It is turquoise.", "reasoning_content": "Let me think."},
        {"content": None, "reasoning": "Still thinking."}, {"content": None, "refusal": "I cannot."}, {"content": ""},
    ), strict=False))  # fmt: skip

    def ending(handler: Handler, row_id: str, tried: int) -> bool:
        message = {"role": "assistant", "content": "It is turquoise."} | endings.get(row_id, {})
        finish = "length" if row_id == case.order[1] else "stop"
        return handler.reply(200, completion("", message=message, finish_reason=finish))

    case.behave(ending)
    assert case.ask()[0] == 0
    records = {line["id"]: line for line in case.lines()}
    assert records[case.order[0]]["reasoning_content"] == "Let me think."
    assert records[case.order[1]] == {
        "id": case.order[1], "prediction": None, "finish_reason": "length", "reasoning_content": "Still thinking.",
        "prompt_tokens": 7,
    }  # fmt: skip
    assert case.scored() == {"ok": 33, "think_unclosed": 1, "refused": 1, "empty": 1}


@slow
def test_a_killed_run_continues_and_asks_no_answered_row_again(case: Case) -> None:
    # Two rows get no answer, so that the run is still going when it is killed.
    unanswered, over = case.order[8:10], threading.Event()
    case.behave(lambda _, row_id, __: row_id in unanswered and not over.wait(PATIENCE))
    process = start(case.server.url, case.dataset, case.out, "--concurrency", "4")
    case.wait_for_lines(30)
    process.kill()
    over.set()
    assert ended(process)[0] == -signal.SIGKILL
    kept = {line["id"] for line in case.lines()}
    assert 30 <= len(kept) < 36
    with case.out.open("ab") as file:
        file.write(b'{"id": "' + case.order[8].encode() + b'", "predic')
    case.behave(lambda *_: False)
    assert case.ask()[0] == 0
    assert {case.server.asked[row_id] for row_id in kept} == {1}
    assert case.scored() == {"ok": 36}


@slow
@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupted_run_waits_for_open_requests_unless_interrupted_again(case: Case, times: int) -> None:
    over = threading.Event()
    case.behave(lambda *_: not over.wait(PATIENCE))
    process = start(case.server.url, case.dataset, case.out, "--concurrency", "3")
    try:
        assert case.server.wait_for(lambda: len(case.server.asked) == 3)
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            assert process.stderr is not None
            assert times == 2 or process.stderr.readline() + process.stderr.readline() != ""
            time.sleep(0.2)
        if times == 1:
            over.set()
        assert ended(process)[0] == 130  # after two, the server still withholds every answer
    finally:
        over.set()
    assert {line["id"] for line in case.lines()} == (set(case.server.asked) if times == 1 else set())
    if times == 1:
        assert case.ask()[0] == 0
        assert set(case.server.asked.values()) == {1}
        assert case.scored() == {"ok": 36}


@slow
def test_two_runs_cannot_write_to_the_same_file(case: Case) -> None:
    pytest.importorskip("fcntl")
    case.out.write_text('{"id": "x", "error": "once"}\n')  # is removed, so the lock must pass to the new file
    with answers_file(case.out):
        code, printed = case.ask()
    assert code == 2
    assert "another run is writing to it" in printed
    assert not case.server.asked


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
        assert list(answered) == kept, cut
        assert [json.loads(line)["id"] for line in out.read_bytes().splitlines()] == [*kept, "next"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_file_with_other_content_is_refused_and_left_unchanged(tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    for content in (
        b"my notes\n",
        b'{"id": "x", "answer": 1}\n',
        b"PAR1\x00\x01",
        b'{"id": "a", "error": "x"}\n\n[]\n',
    ):
        out.write_bytes(content)
        with pytest.raises(HopelessError, match="choose another file"), answers_file(out):
            pass
        assert out.read_bytes() == content
        assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


@slow
def test_senseless_arguments_are_reported(dataset: Path, tmp_path: Path) -> None:
    for flag, value in (
        ("--url", "ftp://x/v1"), ("--url", "http://user:secret@127.0.0.1/v1"), ("--url", "http://127.0.0.1:99999/v1"),
        ("--body", "[1"), ("--body", '{"stream": true}'), ("--concurrency", "0"), ("--limit", "0"), ("--shard", "4/3"),
    ):  # fmt: skip
        code, printed = ended(start("http://127.0.0.1:1/v1", dataset, tmp_path / "a.jsonl", flag, value))
        assert code == 2
        assert flag in printed
        assert "secret" not in printed
        assert not (tmp_path / "a.jsonl").exists()
