"""Fetching corpora: what arrives is checked, interrupted fetches resume, and nothing is ever half-installed."""

from __future__ import annotations

import errno
import re
import socket
import struct
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import filelock
import pytest
from folders import tree_but_locks

from niah_gen.corpora import fetch
from niah_gen.corpora.add import add_corpus
from niah_gen.corpora.declarations import DECLARATION, CorpusFile, Declaration
from niah_gen.corpora.fetch import fetch_corpus
from niah_gen.corpora.find import data_folder, installed_names, locate
from niah_gen.corpora.read import read_corpus
from niah_gen.errors import CorpusError, IntegrityError, LockedError
from niah_score.contract import sha256_hex

REAL = Path(__file__).parents[3].parent / "shared" / "corpora"
# Longer than one chunk, so that a file arrives in several pieces.
FIRST = "The ferry left at noon. Nobody waved. " * 6000
SECOND = "A short one."
TINY = Declaration(
    "tiny",
    "en",
    "CC0-1.0",
    "made for tests",
    (
        CorpusFile("first.txt", sha256_hex(FIRST.encode())),
        CorpusFile("more/second one.txt", sha256_hex(SECOND.encode())),
    ),
    "Two files.",
)


@dataclass(frozen=True)
class Request:
    """One request as the server saw it."""

    path: str
    range: str | None
    agent: str
    status: int
    sent: int


@dataclass
class Server:
    """Serves a folder on the loopback; each fault happens `times` times, then none does."""

    root: Path
    times: int = 0
    drop_after: int | None = None
    reset: bool = False
    wrong: bool = False
    status: int | None = None
    stall: float = 0.0  # seconds, or until `over`
    over: threading.Event = field(default_factory=threading.Event)
    wrong_range: bool = False
    ranges: bool = True
    lengths: bool = True
    requests: list[Request] = field(default_factory=list)
    address: str = ""

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def fails(self, fault: object) -> bool:
        """Whether a fault is due now; counts it."""
        if not fault or not self.times:
            return False
        self.times -= 1
        return True

    def of(self, path: str) -> list[Request]:
        """The requests for one file."""
        return [request for request in self.requests if request.path == path]

    @property
    def sent(self) -> int:
        return sum(request.sent for request in self.requests)


def handler(server: Server) -> type[BaseHTTPRequestHandler]:
    """The request handler of a server."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path).lstrip("/")
            requested = self.headers.get("Range")
            status, body, headers = self.answer(server.root / path, requested)
            end = len(body)
            drop = status < 300 and server.fails(server.drop_after)
            if drop and server.drop_after is not None:
                end = min(end, server.drop_after)
            server.requests.append(Request(path, requested, self.headers.get("User-Agent", ""), status, end))
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            if server.lengths:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:end])
            if drop and server.reset:
                # Closing with no linger sends a reset instead of an orderly end.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
            self.close_connection = True

        def answer(self, file: Path, requested: str | None) -> tuple[int, bytes, dict[str, str]]:
            if server.fails(server.stall):
                server.over.wait(server.stall)
            if server.fails(server.status):
                return server.status or 500, b"no", {}
            if not file.is_file():
                return 404, b"no such file", {}
            body = file.read_bytes()
            if server.fails(server.wrong):
                body = b"X" + body[1:]
            match = re.fullmatch(r"bytes=(\d+)-", requested or "")
            if match is None or not server.ranges:
                return 200, body, {}
            start = int(match[1])
            if start >= len(body):
                return 416, b"", {"Content-Range": f"bytes */{len(body)}"}
            if server.fails(server.wrong_range):
                start += 1
            return 206, body[start:], {"Content-Range": f"bytes {start}-{len(body) - 1}/{len(body)}"}

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


class QuietServer(ThreadingHTTPServer):
    """Prints no errors: clients that disconnect are part of these tests."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass


@pytest.fixture(autouse=True)
def _no_pauses(own_surroundings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_PAUSES", (0.0, 0.0, 0.0, 0.0))


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the files of `tiny`, the only known corpus."""
    monkeypatch.setattr(fetch, "known_corpora", lambda: {"tiny": TINY})
    monkeypatch.setattr(fetch, "fetchable", lambda: {"tiny"})
    folder = tmp_path / "served" / "tiny"
    (folder / "more").mkdir(parents=True)
    (folder / "first.txt").write_text(FIRST, "utf-8", newline="")
    (folder / "more" / "second one.txt").write_text(SECOND, "utf-8", newline="")
    return folder


@pytest.fixture
def served() -> Iterator[Callable[..., Server]]:
    """Starts servers of folders, with faults."""
    running: list[QuietServer] = []

    def start(root: Path, **faults: Any) -> Server:
        server = Server(root, **faults)
        http = QuietServer(("127.0.0.1", 0), handler(server))
        running.append(http)
        server.address = f"127.0.0.1:{http.server_port}"
        threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return server

    yield start
    for http in running:
        http.shutdown()
        http.server_close()


def is_whole(folder: Path) -> bool:
    """Whether `tiny` is installed, with nothing beside it."""
    files = {"tiny/first.txt": FIRST.encode(), "tiny/more/second one.txt": SECOND.encode()}
    installed = tree_but_locks(folder)
    return installed.pop(f"tiny/{DECLARATION}", None) is not None and installed == files


# --- from the network ---


@pytest.mark.parametrize(("name", "files", "language"), [("paul_graham", 49, "en"), ("cdme", 6, "zh")])
def test_a_known_corpus_arrives_whole_and_can_be_read_at_once(
    name: str, files: int, language: str, served: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (REAL / name).is_dir():
        pytest.skip(f"needs {REAL / name}: texts that are not part of the repository")
    server = served(REAL)
    last: dict[str, tuple[int, int]] = {}
    place = fetch_corpus(
        name,
        url=f"{server.url}/{name}/{{path}}",
        progress=lambda path, done, total: last.update({path: (done, total)}),
    )
    assert place == data_folder() / name
    assert tree_but_locks(place) == {**tree_but_locks(REAL / name), DECLARATION: (place / DECLARATION).read_bytes()}
    assert last == {path: (len(data), len(data)) for path, data in tree_but_locks(REAL / name).items()}
    assert not [path for path in place.parent.iterdir() if path != place and path.suffix != ".lock"]
    located = locate(name)
    corpus = read_corpus(located)
    assert located.folder == place
    assert (corpus.name, corpus.language, len(corpus.files)) == (name, language, files)
    assert installed_names().count(name) == 1
    # The pins and the installed declaration describe one corpus: the same digest, so the same rows.
    monkeypatch.setenv("NIAH_CORPORA", str(REAL))
    assert read_corpus(locate(name)) == corpus


def test_the_installed_declaration_repeats_the_pins(tiny: Path, folder: Path, served: Callable[..., Server]) -> None:
    fetch_corpus("tiny", url=served(tiny).url, folder=folder)
    assert tomllib.loads((folder / "tiny" / DECLARATION).read_text("utf-8")) == {
        "name": "tiny",
        "language": "en",
        "license": "CC0-1.0",
        "source": "made for tests",
        "description": "Two files.",
        "files": [{"path": file.path, "sha256": file.sha256} for file in TINY.files],
    }


def test_the_pinned_url_is_used_if_none_is_given(
    tiny: Path, folder: Path, served: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = served(tiny.parent)
    pinned = Declaration(
        "tiny", "en", TINY.license, TINY.source, TINY.files, TINY.description, f"{server.url}/tiny/{{path}}?raw=1"
    )
    monkeypatch.setattr(fetch, "known_corpora", lambda: {"tiny": pinned})
    fetch_corpus("tiny", folder=folder)
    assert is_whole(folder)
    assert server.requests[0].agent.startswith("niah-gen/")


def test_an_intact_installed_corpus_is_not_fetched_again(
    tiny: Path, folder: Path, served: Callable[..., Server]
) -> None:
    server = served(tiny)
    fetch_corpus("tiny", url=server.url, folder=folder)
    before = len(server.requests)
    assert fetch_corpus("tiny", url=server.url, folder=folder) == folder / "tiny"
    assert len(server.requests) == before == 2


def test_a_fetch_resumes_where_the_connection_was_dropped(
    tiny: Path, folder: Path, served: Callable[..., Server]
) -> None:
    server = served(tiny, drop_after=100_000, times=1)
    fetch_corpus("tiny", url=server.url, folder=folder)
    assert is_whole(folder)
    assert [request.range for request in server.of("first.txt")] == [None, "bytes=100000-"]
    assert sum(request.sent for request in server.of("first.txt")) == len(FIRST) < 2 * len(FIRST)


def test_a_fetch_resumes_after_a_connection_reset(tiny: Path, folder: Path, served: Callable[..., Server]) -> None:
    server = served(tiny, drop_after=100_000, reset=True, times=3)
    fetch_corpus("tiny", url=server.url, folder=folder)
    assert is_whole(folder)
    assert len(server.of("first.txt")) >= 3


def test_a_fetch_resumes_any_number_of_times_while_bytes_arrive(
    tiny: Path, folder: Path, served: Callable[..., Server]
) -> None:
    server = served(tiny, drop_after=20_000, times=len(FIRST) // 20_000)
    fetch_corpus("tiny", url=server.url, folder=folder)
    assert is_whole(folder)
    assert len(server.of("first.txt")) == len(FIRST) // 20_000 + 1 > len(fetch._PAUSES) + 1
    assert server.sent == len(FIRST) + len(SECOND)


def test_a_fetch_from_a_server_that_ignores_ranges_starts_over(
    tiny: Path, folder: Path, served: Callable[..., Server]
) -> None:
    server = served(tiny, drop_after=100_000, times=2, ranges=False)
    fetch_corpus("tiny", url=server.url, folder=folder)
    assert is_whole(folder)
    assert [request.status for request in server.of("first.txt")] == [200, 200, 200]


def test_a_server_that_resumes_wrongly_is_asked_for_the_whole_file(
    tiny: Path, folder: Path, served: Callable[..., Server]
) -> None:
    server = served(tiny, wrong_range=True, times=1)
    part = folder / ".tiny.fetching" / "first.txt.part"
    part.parent.mkdir(parents=True)
    part.write_text(FIRST[:5000], "utf-8")
    fetch_corpus("tiny", url=server.url, folder=folder)
    assert is_whole(folder)
    assert [request.range for request in server.of("first.txt")] == ["bytes=5000-", None]


def test_a_server_need_not_state_a_length(tiny: Path, folder: Path, served: Callable[..., Server]) -> None:
    totals = set()
    fetch_corpus(
        "tiny",
        url=served(tiny, lengths=False).url,
        folder=folder,
        progress=lambda path, done, total: totals.add(total),
    )
    assert is_whole(folder)
    assert totals == {0}


def test_a_partial_file_that_is_already_whole_needs_no_more_bytes(
    tiny: Path, folder: Path, served: Callable[..., Server]
) -> None:
    server = served(tiny)
    part = folder / ".tiny.fetching" / "first.txt.part"
    part.parent.mkdir(parents=True)
    part.write_text(FIRST, "utf-8")
    fetch_corpus("tiny", url=server.url, folder=folder)
    assert is_whole(folder)
    assert [request.status for request in server.of("first.txt")] == [416]
    assert server.sent == len(SECOND)


@pytest.mark.parametrize("stale", ["from another text ", FIRST + "and more"], ids=["other bytes", "too long"])
def test_a_partial_file_of_wrong_bytes_is_fetched_from_the_start(
    stale: str, tiny: Path, folder: Path, served: Callable[..., Server]
) -> None:
    server = served(tiny)
    part = folder / ".tiny.fetching" / "first.txt.part"
    part.parent.mkdir(parents=True)
    part.write_text(stale, "utf-8")
    fetch_corpus("tiny", url=server.url, folder=folder)
    assert is_whole(folder)
    assert [request.range for request in server.of("first.txt")] == [f"bytes={len(stale)}-", None]


def test_wrong_bytes_are_requested_once_more_then_refused(
    tiny: Path, folder: Path, served: Callable[..., Server]
) -> None:
    server = served(tiny, wrong=True, times=100)
    with pytest.raises(IntegrityError) as caught:
        fetch_corpus("tiny", url=server.url, folder=folder)
    assert len(server.requests) == 2
    message = str(caught.value)
    for part in ("first.txt", sha256_hex(b"X" + FIRST.encode()[1:]), TINY.files[0].sha256, "--from FOLDER"):
        assert str(part) in message
    assert tree_but_locks(folder) == {}


def test_bytes_that_are_wrong_once_do_no_harm(tiny: Path, folder: Path, served: Callable[..., Server]) -> None:
    fetch_corpus("tiny", url=served(tiny, wrong=True, times=1).url, folder=folder)
    assert is_whole(folder)


@pytest.mark.parametrize("status", [401, 404, 410])
def test_a_refusal_ends_the_fetch_at_once(status: int, tiny: Path, folder: Path, served: Callable[..., Server]) -> None:
    server = served(tiny, status=status, times=100)
    with pytest.raises(CorpusError, match=f"{re.escape(server.url)}/first.txt.*status {status}"):
        fetch_corpus("tiny", url=server.url, folder=folder)
    assert len(server.requests) == 1


def test_a_busy_server_is_asked_again(tiny: Path, folder: Path, served: Callable[..., Server]) -> None:
    server = served(tiny, status=503, times=2)
    fetch_corpus("tiny", url=server.url, folder=folder)
    assert is_whole(folder)
    assert [request.status for request in server.of("first.txt")] == [503, 503, 200]


def test_a_server_that_stays_busy_is_given_up(
    tiny: Path, folder: Path, served: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(fetch, "_PAUSES", (0.5, 1.0))
    server = served(tiny, status=503, times=100)
    with pytest.raises(CorpusError, match=r"status 503 .* \(3 tries\); without network, get the files"):
        fetch_corpus("tiny", url=server.url, folder=folder)
    assert len(server.requests) == 3
    assert slept == [0.5, 1.0]


def test_a_server_that_falls_silent_is_asked_again(
    tiny: Path, folder: Path, served: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "_TIMEOUT_SECONDS", 1.0)
    server = served(tiny, stall=60.0, times=1)
    began = time.monotonic()
    fetch_corpus("tiny", url=server.url, folder=folder)
    assert is_whole(folder)
    assert time.monotonic() - began < server.stall
    server.over.set()


def test_an_offline_fetch_says_so_and_names_the_alternative(tiny: Path, folder: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(CorpusError, match=r"offline \(5 tries\); .*niah-gen corpora fetch tiny --from FOLDER"):
        fetch_corpus("tiny", url=f"http://127.0.0.1:{port}", folder=folder)
    assert tree_but_locks(folder) == {}


def test_the_proxy_in_the_environment_is_used(
    tiny: Path, folder: Path, served: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = served(tiny)
    monkeypatch.setenv("http_proxy", server.url)
    fetch_corpus("tiny", url="http://corpora.invalid", folder=folder)
    assert is_whole(folder)


@pytest.mark.parametrize(
    "url", ["file://localhost/etc", "ftp://127.0.0.1/x", "/some/folder", "https://", "http://[::1"]
)
def test_a_url_that_is_not_http_or_https_is_refused(url: str, tiny: Path, folder: Path) -> None:
    with pytest.raises(CorpusError, match=rf"{re.escape(url)}: expected a URL with https:// or http://"):
        fetch_corpus("tiny", url=url, folder=folder)


@pytest.mark.parametrize("url", ["http://127.0.0.1:port", "http://127.0.0.1/a b", "http://127.0.0.1/中"])
def test_a_malformed_url_is_refused_at_once(url: str, tiny: Path, folder: Path) -> None:
    with pytest.raises(CorpusError, match=rf"{re.escape(url)}/first.txt: not a valid URL"):
        fetch_corpus("tiny", url=url, folder=folder)


def test_a_disk_error_is_not_mistaken_for_a_network_error(
    tiny: Path, folder: Path, served: Callable[..., Server]
) -> None:
    server = served(tiny)

    def full(path: str, done: int, total: int) -> None:
        if done:
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        fetch_corpus("tiny", url=server.url, folder=folder, progress=full)
    assert len(server.requests) == 1


def test_an_interrupted_fetch_resumes_with_the_bytes_that_arrived(
    tiny: Path, folder: Path, served: Callable[..., Server]
) -> None:
    server = served(tiny)

    def interrupt(path: str, done: int, total: int) -> None:
        if done >= 100_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_corpus("tiny", url=server.url, folder=folder, progress=interrupt)
    assert not (folder / "tiny").exists()
    kept = (folder / ".tiny.fetching" / "first.txt.part").stat().st_size
    assert 100_000 <= kept < len(FIRST)
    fetch_corpus("tiny", url=server.url, folder=folder)
    assert is_whole(folder)
    assert [request.range for request in server.of("first.txt")] == [None, f"bytes={kept}-"]


def test_finished_files_of_an_interrupted_fetch_are_reused_only_if_intact(
    tiny: Path, folder: Path, served: Callable[..., Server]
) -> None:
    server = served(tiny)
    (tiny / "more" / "second one.txt").rename(tiny / "aside")
    with pytest.raises(CorpusError, match="status 404"):
        fetch_corpus("tiny", url=server.url, folder=folder)
    (tiny / "aside").rename(tiny / "more" / "second one.txt")
    staging = folder / ".tiny.fetching"
    (staging / "old pins").mkdir()
    (staging / "old pins" / "gone.txt.part").write_text("left by another version", "utf-8")
    fetch_corpus("tiny", url=server.url, folder=folder)
    assert is_whole(folder)
    assert not (folder / "tiny" / "old pins").exists()
    assert len(server.of("first.txt")) == 1

    (folder / "tiny").rename(staging)
    (staging / "first.txt").write_text(FIRST[:-1] + "!", "utf-8")
    fetch_corpus("tiny", url=server.url, folder=folder)
    assert is_whole(folder)
    assert len(server.of("first.txt")) == 2
    assert len(server.of("more/second one.txt")) == 2


# --- from a folder ---


@pytest.mark.parametrize("above", [False, True], ids=["the folder itself", "its parent"])
def test_a_corpus_is_copied_from_a_folder(above: bool, tiny: Path, folder: Path) -> None:
    calls = []
    fetch_corpus(
        "tiny",
        source=tiny.parent if above else tiny,
        folder=folder,
        progress=lambda path, done, total: calls.append((path, done, total)),
    )
    assert is_whole(folder)
    assert calls == [("first.txt", len(FIRST), len(FIRST)), ("more/second one.txt", len(SECOND), len(SECOND))]


def test_copying_lists_all_missing_and_wrong_files_together(tiny: Path, folder: Path) -> None:
    (tiny / "first.txt").unlink()
    (tiny / "more" / "second one.txt").write_text("another text", "utf-8")
    with pytest.raises(IntegrityError) as caught:
        fetch_corpus("tiny", source=tiny.parent, folder=folder)
    message = str(caught.value)
    assert "2 of 2 files" in message
    assert "first.txt: missing" in message
    assert f"second one.txt: sha256 is {sha256_hex(b'another text')}, expected {TINY.files[1].sha256}" in message
    assert not (folder / "tiny").exists()


def test_copying_from_a_folder_without_the_files_is_refused(tiny: Path, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match=r"first\.txt: missing"):
        fetch_corpus("tiny", source=tmp_path / "empty", folder=folder)
    with pytest.raises(CorpusError, match="expected a folder with the files of corpus 'tiny'"):
        fetch_corpus("tiny", source=tmp_path / "nowhere", folder=folder)


# --- what is already installed ---


def test_a_damaged_corpus_is_repaired_once_all_it_lacks_has_arrived(
    tiny: Path, folder: Path, served: Callable[..., Server]
) -> None:
    fetch_corpus("tiny", source=tiny, folder=folder)
    (folder / "tiny" / "first.txt").write_text("damaged", "utf-8")
    (folder / "tiny" / "notes.md").write_text("the user's", "utf-8")
    damaged = tree_but_locks(folder / "tiny")
    with pytest.raises(IntegrityError):
        fetch_corpus("tiny", url=served(tiny, wrong=True, times=9).url, folder=folder)
    assert tree_but_locks(folder / "tiny") == damaged

    server = served(tiny)
    fetch_corpus("tiny", url=server.url, folder=folder)
    assert [request.path for request in server.requests] == ["first.txt"]
    assert (folder / "tiny" / "notes.md").read_text("utf-8") == "the user's"
    (folder / "tiny" / "notes.md").unlink()
    assert is_whole(folder)
    assert not (folder / ".tiny.fetching").exists()


@pytest.mark.parametrize("toml", [None, "not = [toml", 'name = "other"\n'], ids=["missing", "broken", "other"])
def test_a_damaged_declaration_is_rewritten_without_the_network(toml: str | None, tiny: Path, folder: Path) -> None:
    path = fetch_corpus("tiny", source=tiny, folder=folder) / DECLARATION
    good = path.read_bytes()
    path.unlink()
    if toml is not None:
        path.write_text(toml, "utf-8")
    fetch_corpus("tiny", url="http://corpora.invalid", folder=folder)
    assert path.read_bytes() == good
    assert is_whole(folder)


def test_a_file_in_place_of_the_folder_is_left_alone(tiny: Path, folder: Path) -> None:
    folder.mkdir()
    (folder / "tiny").write_text("the user's", "utf-8")
    with pytest.raises(CorpusError, match="found a file; move it away"):
        fetch_corpus("tiny", source=tiny, folder=folder)
    assert (folder / "tiny").read_text("utf-8") == "the user's"


def test_two_processes_cannot_install_the_same_corpus_at_once(tiny: Path, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("Some text.", "utf-8")
    folder.mkdir()
    with filelock.FileLock(folder / ".tiny.lock"), pytest.raises(LockedError, match="another process"):
        fetch_corpus("tiny", source=tiny, folder=folder)
    with filelock.FileLock(folder / ".mine.lock"), pytest.raises(LockedError, match="another process"):
        add_corpus("mine", [tmp_path / "mine.txt"], folder=folder)
    assert tree_but_locks(folder) == {}
    fetch_corpus("tiny", source=tiny, folder=folder)


def test_an_unknown_name_and_two_sources_are_refused(tiny: Path, folder: Path) -> None:
    with pytest.raises(CorpusError, match="'tinny' is not one that can be fetched; did you mean 'tiny'"):
        fetch_corpus("tinny", folder=folder)
    with pytest.raises(CorpusError, match="a folder or a URL"):
        fetch_corpus("tiny", source=tiny, url="http://corpora.invalid", folder=folder)


def test_a_password_in_a_url_is_refused_and_not_repeated(own_corpora: Path) -> None:
    with pytest.raises(CorpusError, match="name or a password") as caught:
        fetch_corpus("paul_graham", url="https://me:canary@127.0.0.1:9/x@y")
    assert "canary" not in str(caught.value)
