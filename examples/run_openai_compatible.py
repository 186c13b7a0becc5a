"""Sends a dataset's prompts to a server that speaks the OpenAI API, and resumes where a run was stopped.

    python examples/run_openai_compatible.py DATASET answers.jsonl --model NAME --url http://127.0.0.1:8000/v1

Each row is one line of answers.jsonl, written as soon as its answer arrives. The same command resumes a run, however it
ended: rows with an answer are not asked again, rows with an error are. DATASET may be the openai-sessions.jsonl that
niah-gen export wrote: its turns are asked in order, each after the answers to those before it. The key is read from the
environment variable
OPENAI_API_KEY and is sent only in the request.

If a server limits its requests (status 429), the number of concurrent requests is halved, then raised by one after
every full round of answers, up to --concurrency. If no server answers at --url, the run ends at once, unless --wait
says how long a starting server may take; a server that goes away gets ten seconds to come back. --shard 3/8 takes every
eighth row from the third on: eight runs, each with its own file, answer the whole dataset.

Ctrl-C waits for the requests under way; a second one stops at once. Exit codes: 0 every row has an answer, 2 given up
(a refused argument, key or model, no server, a server that is gone), 3 some rows have no answer, 130 interrupted.
"""

from __future__ import annotations

import argparse
import email.utils
import http.client
import io
import json
import os
import random
import shutil
import signal
import ssl
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = ("id", "max_new_tokens", "prompt", "haystack_id", "shared_prefix")
ROWS_AT_ONCE = 4  # a prompt of a million tokens is about 5 MB
LARGEST_ANSWER = 64 * 2**20
AWAY_DELAYS = 10  # how long to wait for a server that went away, in first delays: ten seconds by default
LONGEST_DELAY = 60.0  # seconds between two tries, unless the server asks for more
LONGEST_WAIT = 3600.0  # seconds, even if the server asks for more
CONNECT_TIMEOUT = 10.0  # seconds; a running server accepts at once, however long it takes to answer
KNOCK_EVERY = 1.0  # seconds, while a server starts
ERROR_CHARACTERS = 400
GIVE_UP_AFTER = 20  # consecutive rows without an answer to any of their tries
BEGINNING = b'{"id": '  # of every line that is written
HOPELESS = (301, 302, 307, 308, 401, 403, 404, 405, 501)  # every other row would get the same reply


class Row(NamedTuple):
    """A row to ask for. `prompt`: a text, or chat messages. `context`: what it shares its beginning with, or None.

    `later`: the turns of its session that follow it.
    """

    id: str
    max_new_tokens: int | None
    prompt: Any
    context: str | None = None
    later: tuple[dict[str, Any], ...] = ()


class RowError(Exception):
    """This row has no answer, and asking again now would not help."""


class TryAgainError(Exception):
    """This row has no answer yet, but another try may succeed. `delay`: the seconds that the server asks to wait.

    `limited`: the server refused the request only because there were too many.
    """

    def __init__(self, message: str, delay: float = 0.0, limited: bool = False) -> None:
        super().__init__(message)
        self.delay = delay
        self.limited = limited


class HopelessError(Exception):
    """No row can be answered: what is wrong, and what to do."""


def files_of(dataset: Path) -> list[Path]:
    """The files with the rows of a dataset folder, in row order, or the given file. Raises HopelessError."""
    if not dataset.is_dir():
        return [dataset]
    from niah_score.contract import ContractError, open_dataset  # reading a single file does not need it

    try:
        return [file.path for file in open_dataset(dataset).files()]
    except ContractError as error:
        raise HopelessError(str(error)) from None


def rows(dataset: Path, answered: dict[str, str | None], shard: tuple[int, int] = (1, 1)) -> Iterator[Row]:
    """The rows of a shard that have no answer, in file order; only a few are in memory at once. Of sessions, the first.

    shard: (I, N) for every Nth row or session from the Ith on, counting those with answers too.
    """
    number = 0
    for file in files_of(dataset):
        for row in _parquet(file) if file.suffix == ".parquet" else _json_lines(file):
            if not ({"id", "prompt"} <= set(row) or {"id", "turns"} <= set(row)):
                raise HopelessError(f"{file}: expected rows with id and prompt, or sessions with id and turns")
            number += 1
            if number % shard[1] != shard[0] % shard[1]:
                continue
            if "turns" in row:
                yield from next_turn([], row["turns"], answered)
            elif row["id"] not in answered:
                context = row.get("haystack_id") if row.get("shared_prefix") else None
                yield Row(row["id"], row.get("max_new_tokens"), row["prompt"], context)


def next_turn(said: list[Any], turns: Sequence[dict[str, Any]], answered: dict[str, str | None]) -> list[Row]:
    """The first of a session's turns without an answer, after what was said before it; none if all have one."""
    for number, turn in enumerate(turns, 1):
        said = [*said, *turn["messages"]]
        if turn["id"] not in answered:
            return [Row(turn["id"], turn["max_tokens"], said, later=tuple(turns[number:]))]
        said.append({"role": "assistant", "content": answered[turn["id"]] or ""})
    return []


def first_ones_first(ordered: Iterable[Row], contexts: int) -> Iterator[Row]:
    """The rows, of every few contexts one each before all others, so that a prefix cache is filled once for each.

    contexts: how many contexts are taken together. Rows that share none stay in order.
    """
    groups = groupby(ordered, key=lambda row: row.context or row.id)
    while some := [list(group) for _, group in islice(groups, contexts)]:
        yield from (group[0] for group in some)
        yield from (row for group in some for row in group[1:])


def _parquet(file: Path) -> Iterator[dict[str, Any]]:
    with pq.ParquetFile(file) as table:
        columns = [name for name in COLUMNS if name in table.schema_arrow.names]
        for batch in table.iter_batches(batch_size=ROWS_AT_ONCE, columns=columns):
            yield from batch.to_pylist()


def _json_lines(file: Path) -> Iterator[dict[str, Any]]:
    with pa.input_stream(file) as stream:  # unpacks .gz and .zst by their suffixes
        yield from map(json.loads, io.TextIOWrapper(stream, encoding="utf-8", newline="\n"))


class Gate:
    """How many requests may be under way at once: halved when the server limits them, raised while it answers.

    This is TCP's rule (additive increase, multiplicative decrease). Requests sent before a cut say nothing about the
    new number: those refused together halve it only once. Safe to use from several threads.
    """

    def __init__(self, most: int) -> None:
        self.most = self.allowed = self.fewest = most
        self.limited = 0  # requests refused with 429
        self._under_way = self._cuts = self._answered = 0
        self._changed = threading.Condition()

    def enter(self, stopped: threading.Event) -> int | None:
        """Wait for a free place and take it. Returns the argument for `leave`, or None if the run was stopped first."""
        with self._changed:
            while not stopped.is_set():
                if self._under_way < self.allowed:
                    self._under_way += 1
                    return self._cuts
                self._changed.wait(0.2)  # with a timeout, because a signal handler cannot notify
            return None

    def leave(self, entered: int, limited: bool | None) -> None:
        """Give a place back. `limited`: True if the request was refused with 429, False if answered, None otherwise."""
        with self._changed:
            self._under_way -= 1
            self.limited += limited is True
            if limited and entered == self._cuts:
                self._cuts += 1
                self._answered = 0
                self.allowed = max(1, self.allowed // 2)
                self.fewest = min(self.fewest, self.allowed)
            elif limited is False and entered == self._cuts and self.allowed < self.most:
                self._answered += 1
                if self._answered >= self.allowed:
                    self._answered = 0
                    self.allowed += 1
            self._changed.notify_all()


@dataclass
class Client:
    """A server and how to ask it. Safe to use from several threads."""

    url: str
    body: dict[str, Any]  # goes into every request
    key: str = ""
    completions: bool = False
    timeout: float = 600.0  # seconds without a byte
    tries: int = 6
    first_delay: float = 1.0  # seconds
    patience: float = 0.0  # seconds that a server may take to start
    gate: Gate = field(default_factory=lambda: Gate(8))
    seed: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)
    closed_until: float = 0.0  # the earliest time for the next request, by time.monotonic
    answers: int = 0
    unanswered: int = 0  # rows since the last answer

    def reach(self, patience: float) -> http.client.HTTPConnection | None:
        """An open connection; None if the run was stopped first. patience: seconds until HopelessError is raised."""
        end = time.monotonic() + patience
        while not self.stopped.is_set():
            try:
                return self._connect()
            except OSError as error:
                if time.monotonic() >= end:
                    raise HopelessError(
                        f"{self.url}: no server answers ({error.strerror or error}); start it, or check --url"
                    ) from None
            self.stopped.wait(min(KNOCK_EVERY, max(0.0, end - time.monotonic())))
        return None

    def ask(self, row: Row) -> dict[str, Any] | None:
        """The line of answers.jsonl for a row; None if the run was stopped before there was one.

        Raises HopelessError for an error that every row would get.
        """
        rng = random.Random(f"{self.seed} {row.id}")
        tried = answers = 0
        while True:
            entered = self.gate.enter(self.stopped)
            if entered is None:
                return None
            limited: bool | None = None
            try:
                if self.stopped.wait(max(0.0, self.closed_until - time.monotonic())):
                    return None
                line = {"id": row.id, **self._answer(row)}
                limited = False
            except TryAgainError as error:
                limited = error.limited or None
                # The limit applies to the key, not to the row: until it ends, no other row is asked either.
                self.closed_until = max(self.closed_until, time.monotonic() + error.delay)
                # While other rows get answers, a row refused because of the limit only has to wait for its turn.
                tried = 1 if error.limited and self.answers > answers else tried + 1
                answers = self.answers
                if tried >= self.tries:
                    return self._unanswered(row, error)
            except RowError as error:
                return {"id": row.id, "error": str(error)}
            else:
                self.unanswered = 0
                self.answers += 1
                return line
            finally:
                self.gate.leave(entered, limited)
            # Half of the delay is random, so that requests that failed together are not repeated together.
            if self.stopped.wait(min(LONGEST_DELAY, self.first_delay * 2.0 ** (tried - 1)) * rng.uniform(0.5, 1.0)):
                return None

    def _unanswered(self, row: Row, error: TryAgainError) -> dict[str, Any]:
        self.unanswered += 1
        if self.unanswered >= GIVE_UP_AFTER:
            raise HopelessError(
                f"{self.url}: {self.unanswered} rows in a row without an answer; the last error: {error}"
            )
        return {"id": row.id, "error": f"{error} (after {self.tries} tries)"}

    def _answer(self, row: Row) -> dict[str, Any]:
        chat = row.prompt if isinstance(row.prompt, list) else [{"role": "user", "content": row.prompt}]
        if self.completions and chat is row.prompt:
            raise HopelessError("--completions needs texts, but these prompts are chat messages; leave it out")
        asked = {"prompt": row.prompt} if self.completions else {"messages": chat}
        body = {"max_tokens": row.max_new_tokens, **self.body, **asked}
        status, headers, text = self._post(json.dumps({name: v for name, v in body.items() if v is not None}).encode())
        if status != 200:
            raise self._failure(status, headers, text)
        try:
            found = json.loads(text)
            return _said(found["choices"][0], found.get("usage"))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise TryAgainError(f"the server's answer is not a completion: {self._shown(text)}") from None

    def _post(self, body: bytes) -> tuple[int, http.client.HTTPMessage, bytes]:
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {self.key}"} if self.key else {})}
        path = f"{urlsplit(self.url).path.rstrip('/')}/{'completions' if self.completions else 'chat/completions'}"
        # A server that answered before and now accepts no connection is gone or restarting.
        connection = self.reach(max(self.patience, AWAY_DELAYS * self.first_delay))
        if connection is None:
            raise TryAgainError("the run was stopped")
        try:
            with closing(connection):
                connection.request("POST", path, body, headers)
                response = connection.getresponse()
                text = response.read(LARGEST_ANSWER + 1)
        except (OSError, http.client.HTTPException) as error:
            raise TryAgainError(f"no answer: {type(error).__name__}: {self._shown(str(error).encode())}") from None
        if len(text) > LARGEST_ANSWER:
            raise RowError(f"the server's answer is longer than {LARGEST_ANSWER} bytes")
        return response.status, response.headers, text

    def _connect(self) -> http.client.HTTPConnection:
        """An open connection. Raises OSError, or HopelessError for a certificate that is not trusted."""
        at = urlsplit(self.url)
        kind = http.client.HTTPSConnection if at.scheme == "https" else http.client.HTTPConnection
        connection = kind(at.hostname or "", at.port, timeout=min(CONNECT_TIMEOUT, self.timeout))
        try:
            connection.connect()
        except ssl.SSLCertVerificationError as error:
            connection.close()
            raise HopelessError(f"{self.url}: its certificate is not trusted ({error.verify_message})") from None
        except BaseException:
            connection.close()
            raise
        connection.sock.settimeout(self.timeout)
        return connection

    def _failure(self, status: int, headers: http.client.HTTPMessage, text: bytes) -> Exception:
        message = f"status {status}: {self._shown(text)}"
        # OpenAI's code for an exhausted account rather than a rate limit: waiting does not help.
        if status == 429 and b'"insufficient_quota"' in text:
            return HopelessError(f"{self.url}: {message}")
        if status in HOPELESS:
            return HopelessError(f"{self.url}: {message}; check --url, --model and OPENAI_API_KEY")
        if status in (408, 409, 425, 429) or status >= 500:
            return TryAgainError(message, _delay(headers.get("Retry-After")), limited=status == 429)
        return RowError(message)

    def _shown(self, text: bytes) -> str:
        """A server's message as one line that is safe to print; the key is masked if the server repeats it."""
        line = " ".join(text[: 4 * ERROR_CHARACTERS].decode("utf-8", "replace").split())
        line = line.replace(self.key, "***") if self.key else line
        return "".join(char if char.isprintable() else "\ufffd" for char in line)[:ERROR_CHARACTERS]


def _said(choice: dict[str, Any], usage: Any) -> dict[str, Any]:
    """The fields of an answer, under the names that `niah-score` knows. Raises if there is no answer."""
    message = choice.get("message")
    said = choice if message is None else message
    text = said["text" if message is None else "content"]
    finish = choice.get("finish_reason")
    if not isinstance(text, str | None) or finish in ("abort", "error"):
        raise TypeError("no text")
    found = {"prediction": text, "finish_reason": "refusal" if said.get("refusal") else finish}
    # DeepSeek and older releases of vLLM and SGLang use the first name, newer releases the second.
    reasoning = said.get("reasoning_content") or said.get("reasoning")
    if isinstance(reasoning, str):
        found["reasoning_content"] = reasoning
    if isinstance(usage, dict) and isinstance(usage.get("prompt_tokens"), int):
        found["prompt_tokens"] = usage["prompt_tokens"]  # reveals a server that truncates long prompts
    return found


def _delay(retry_after: str | None) -> float:
    """The seconds of a Retry-After header, which is a number or a date; 0 if it is neither."""
    try:
        seconds = float(retry_after or 0)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(retry_after or "").timestamp() - time.time()
        except (ValueError, OverflowError):
            return 0.0
    return min(max(0.0, seconds), LONGEST_WAIT) if seconds == seconds else 0.0


@contextmanager
def answers_file(path: Path) -> Iterator[tuple[BinaryIO, dict[str, str | None]]]:
    """The file to append to, and the answers in it, by id.

    Error lines, and a last line cut short by a kill, are removed first: their rows are asked again. Raises
    HopelessError if another run is writing to the file, or if it contains anything but answers.
    """
    with path.open("ab", buffering=0) as before:
        _lock(before, path)
        answered: dict[str, str | None] = {}
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as healed:
            try:
                for line, found in _lines(path):
                    if "error" not in found and found["id"] not in answered:
                        answered[found["id"]] = found["prediction"]
                        healed.write(line)
                healed.flush()
                os.fsync(healed.fileno())
                if healed.tell() != path.stat().st_size:
                    shutil.copymode(path, healed.name)
                    os.replace(healed.name, path)
            finally:
                Path(healed.name).unlink(missing_ok=True)
        with path.open("ab", buffering=0) as file:
            if not os.path.samestat(os.fstat(file.fileno()), os.fstat(before.fileno())):
                _lock(file, path)
            yield file, answered


def _lines(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Every complete line of an answers file, and what it holds."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                found = json.loads(line)
                if not isinstance(found["id"], str) or not ("error" in found or "prediction" in found):
                    raise ValueError("no answer")
            except (ValueError, LookupError, TypeError, RecursionError):
                if line.endswith(b"\n") or not line.startswith(BEGINNING[: len(line)]):
                    raise HopelessError(f"{path}:{number}: not an answer; choose another file") from None
                return  # cut short
            yield line.removesuffix(b"\n") + b"\n", found


def _lock(file: BinaryIO, path: Path) -> None:
    try:
        import fcntl
    except ModuleNotFoundError:  # on Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise HopelessError(f"{path}: another run is writing to it") from None


def run(client: Client, dataset: Path, out: Path, shard: tuple[int, int], limit: int | None) -> int:
    """Ask for every row of a shard that has no answer; return the exit code. Only the main thread writes."""
    concurrency = client.gate.most
    errors = asked = 0
    began = time.monotonic()
    with answers_file(out) as (file, answered), ThreadPoolExecutor(concurrency) as pool:

        def collect(finished: Iterable[Future[dict[str, Any] | None]]) -> None:
            nonlocal errors
            for future in sorted(finished, key=lambda future: future.exception() is not None):
                row = under_way.pop(future)
                line = future.result()  # answers are written before any failure is raised
                if line is not None:
                    file.write(json.dumps(line).encode() + b"\n")
                    errors += "error" in line
                    answered[line["id"]] = line.get("prediction")
                    if row.later and "error" not in line:
                        said = [*row.prompt, {"role": "assistant", "content": line["prediction"] or ""}]
                        turns.extend(next_turn(said, row.later, answered))
                    if "error" in line:
                        print(f"{line['id']}: {line['error']}", file=sys.stderr)
                    elif sys.stderr.isatty():
                        print(f"\r{len(answered) - errors:,} answered", end="", file=sys.stderr)

        under_way: dict[Future[dict[str, Any] | None], Row] = {}
        turns: deque[Row] = deque()  # of sessions under way, so that no more than those are begun
        ordered = first_ones_first(rows(dataset, answered, shard), concurrency)
        left = False
        try:
            while True:
                row = turns.popleft() if turns else next(ordered, None)
                if row is not None:
                    if client.stopped.is_set() or asked == limit:
                        left = True
                        break
                    if not asked and (reached := client.reach(client.patience)):
                        reached.close()
                    under_way[pool.submit(client.ask, row)] = row
                    asked += 1
                elif not under_way:
                    break
                if row is None or len(under_way) >= concurrency:
                    collect(wait(under_way, return_when=FIRST_COMPLETED).done)
            while under_way:
                collect(wait(under_way, return_when=FIRST_COMPLETED).done)
        except BaseException:
            client.stopped.set()  # a row waiting for its next try would keep the pool from ending
            collect([future for future in under_way if future.exception() is None])
            raise
        done = len(answered) - errors
    seconds = time.monotonic() - began
    told = f"\r{out}: {done:,} answers, {errors:,} errors; {asked:,} asked in {seconds:.1f} s"
    if client.gate.limited:
        told += f"; {client.gate.limited:,} refused with 429, so {client.gate.fewest} to {concurrency} requests at once"
    print(told, file=sys.stderr)
    if client.stopped.is_set():
        return 130
    return 3 if errors or left else 0


def parse_shard(text: str) -> tuple[int, int]:
    """Parse I/N, such as 1/8 for the first of eight. Raises ValueError."""
    part, of = map(int, text.split("/"))
    if not 1 <= part <= of:
        raise ValueError(text)
    return part, of


def main() -> int:
    """Parse the arguments, run, and return the exit code."""
    parser = argparse.ArgumentParser(description="Ask an OpenAI-compatible server about every row of a dataset.")
    parser.add_argument("dataset", type=Path, help="dataset folder, one of its Parquet or JSONL files, or sessions")
    parser.add_argument("out", type=Path, help="JSONL file that answers are appended to")
    parser.add_argument("--model", required=True, help="the model, as the server names it")
    parser.add_argument("--url", default="http://127.0.0.1:8000/v1", help="default %(default)s")
    parser.add_argument("--completions", action="store_true", help="/completions instead of /chat/completions")
    parser.add_argument("--concurrency", type=int, default=8, metavar="N", help="requests at once; default %(default)s")
    parser.add_argument("--temperature", type=float, default=0.0, help="default %(default)s")
    parser.add_argument("--body", default="{}", metavar="JSON", help="fields for every request; null removes one")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds of silence; default %(default)s")
    parser.add_argument("--tries", type=int, default=6, help="most requests per row; default %(default)s")
    parser.add_argument("--first-delay", type=float, default=1.0, help="seconds, doubled each time; default 1")
    parser.add_argument("--wait", type=float, default=0.0, metavar="SECONDS", help="for a server to start; default 0")
    parser.add_argument(
        "--shard", type=parse_shard, default=(1, 1), metavar="I/N", help="every Nth row from the Ith on"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="rows to ask in this run, turns included; default all")
    options = parser.parse_args()
    positive = (options.concurrency, options.tries, options.timeout, 1 if options.limit is None else options.limit)
    if not all(number > 0 for number in positive):
        parser.error("--concurrency, --tries, --limit and --timeout: expected more than 0")
    try:
        at = urlsplit(options.url)
        usable = options.url.isascii() and at.port != 0
    except ValueError:
        usable = False
    if not usable or at.scheme not in ("http", "https") or not at.hostname or at.username or at.password or at.query:
        parser.error("--url: expected http://HOST[:PORT]/v1 or https://..., without user, password or query")
    if not options.dataset.exists():
        parser.error(f"{options.dataset}: no such dataset")
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not (key.isascii() and key.isprintable()):
        parser.error("OPENAI_API_KEY: contains characters that a header cannot hold")
    try:
        body = {"model": options.model, "temperature": options.temperature, **json.loads(options.body)}
    except (ValueError, TypeError):
        parser.error("--body: expected a JSON object")
    if body.get("stream"):
        parser.error("--body: stream is not supported; leave it out")
    client = Client(
        options.url,
        body,
        key,
        options.completions,
        options.timeout,
        options.tries,
        max(0.0, options.first_delay),
        options.wait,
        Gate(options.concurrency),
    )

    def stop(*_: object) -> None:
        if client.stopped.is_set():
            os._exit(130)  # the only way to end threads that wait for a server; every written line is complete
        client.stopped.set()
        print("\nwaiting for the requests under way; interrupt again to stop at once", file=sys.stderr)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    try:
        return run(client, options.dataset, options.out.resolve(), options.shard, options.limit)
    except HopelessError as error:
        print(f"run_openai_compatible: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"run_openai_compatible: {error.filename or options.out}: {error.strerror or error}", file=sys.stderr)
        return 2
    except (ValueError, RecursionError) as error:  # including pyarrow's own
        print(f"run_openai_compatible: {options.dataset}: cannot be read ({error})", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
