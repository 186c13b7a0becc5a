"""Uploads by the real client to a Hub on loopback, killed or failing at every request, and uploads that are refused."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import pytest
from loopback_hub import PART, LoopbackHub, Request, serving, sha256
from publishers import client_settings, publisher

from niah_gen.errors import IntegrityError, NiahError
from niah_gen.export.hub_files import HubFile
from niah_gen.export.hub_upload import Upload, upload

REPO = "somebody/needles"
NAME = "small/1.0.0-0a1b2c3d"
# The client itself calls its network library in this way.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@pytest.fixture(autouse=True)
def _client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Gives the client test settings, none of the user's tokens, and no waits between its attempts."""
    for name, value in client_settings("http://nobody.invalid").items():
        monkeypatch.setattr(name, value)
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "no token"))
    monkeypatch.setenv("HF_TOKEN", LoopbackHub().token)


@pytest.fixture
def hub() -> Iterator[LoopbackHub]:
    with serving(LoopbackHub()) as server:
        yield server


def hub_file(path: str, source: bytes | Path) -> HubFile:
    data = source if isinstance(source, bytes) else source.read_bytes()
    return HubFile(path, source, sha256(data), len(data))


@pytest.fixture
def files(tmp_path: Path) -> list[HubFile]:
    """A file uploaded in parts, one uploaded in one part, and three committed as they are, one of them from disk."""
    large, recipe = tmp_path / "large.parquet", tmp_path / "recipe.toml"
    large.write_bytes(bytes(range(256)) * (PART // 100))
    recipe.write_bytes(b'name = "small"\n')
    return [
        hub_file("README.md", b"---\nlicense: cc0-1.0\n---\n\n# small\n"),
        hub_file("data/en-1k/test-00000-of-00001.parquet", large),
        hub_file("data/zh-1k/test-00000-of-00001.parquet", b"rows"),
        hub_file("recipe.toml", recipe),
        hub_file("manifest.json", b'{"files": []}\n'),
    ]


def publish(hub: LoopbackHub, files: list[HubFile], **options: Any) -> Upload:
    return upload(files, REPO, NAME, endpoint=hub.url, **{"tag": "v1.0.0", **options})


def content(files: list[HubFile]) -> dict[str, bytes]:
    return {f.path: f.source if isinstance(f.source, bytes) else f.source.read_bytes() for f in files}


def dataset_of(hub: LoopbackHub, revision: str = "main") -> dict[str, bytes]:
    """The files of a revision without the one that the Hub adds."""
    return {path: data for path, data in hub.tree(revision).items() if path != ".gitattributes"}


CHANGES = re.compile(r"POST \S+/(create|discussions|merge|commit/\S+|tag/\S+)$")


def assert_published_once(hub: LoopbackHub, files: list[HubFile]) -> None:
    assert dataset_of(hub) == content(files)
    assert dataset_of(hub, "v1.0.0") == content(files)
    assert [pull["status"] for pull in hub.pulls] == ["merged"]
    # One for the empty repository, one to the pull request, and one for its merge.
    assert len(hub.commits) == 3


def requests_of(hub: LoopbackHub, files: list[HubFile]) -> int:
    publish(hub, files)
    assert_published_once(hub, files)
    return len(hub.requests)


def kill_at(number: int, files: list[HubFile], *, served: bool) -> tuple[LoopbackHub, bool]:
    """Publishes with a kill -9 after or before a request is served, then again: the Hub, and whether it was killed."""
    with serving(LoopbackHub()) as hub:
        process, pid = publisher(hub.url, hub.token, files)

        def kill(request: Request) -> bool:
            if request.number == number:
                os.kill(pid.value, signal.SIGKILL)
                wait([process.sentinel])  # no answer is sent before it is dead
            return request.number == number

        if served:
            hub.after = kill
        else:
            hub.before = lambda request: (500, {}) if kill(request) else None
        process.start()
        process.join(60)
        assert process.exitcode in (0, -signal.SIGKILL)
        hub.before, hub.after = (lambda request: None), (lambda request: False)
        publish(hub, files)
        assert_published_once(hub, files)
        return hub, process.exitcode == -signal.SIGKILL


@pytest.mark.slow
def test_a_rerun_completes_and_repeats_nothing_after_a_kill_at_each_request(
    hub: LoopbackHub, files: list[HubFile]
) -> None:
    count = requests_of(hub, files)
    for number in range(1, count + 1):
        again, killed = kill_at(number, files, served=True)
        assert killed, number
        done = Counter(request.what for request in again.requests if CHANGES.match(request.what))
        assert set(done.values()) == {1}, (number, done)
        stored = Counter(request.path for request in again.requests if request.path.startswith("/store/complete"))
        assert set(stored.values()) == {1}, number


@pytest.mark.soak
def test_a_rerun_completes_after_a_kill_before_each_request_is_served(hub: LoopbackHub, files: list[HubFile]) -> None:
    for number in range(1, requests_of(hub, files) + 1):
        assert kill_at(number, files, served=False)[1], number


def answer_if(fails: Callable[[Request], bool], answer: tuple[int, Any], request: Request) -> tuple[int, Any] | None:
    return answer if fails(request) else None


@pytest.mark.slow
@pytest.mark.parametrize("status", [500, 403, 0], ids=["error", "forbidden", "no answer"])
def test_a_failure_at_any_request_is_explained_and_the_next_run_continues(status: int, files: list[HubFile]) -> None:
    with serving(LoopbackHub()) as probe:
        count = requests_of(probe, files)
    for number in range(1, count + 1):
        with serving(LoopbackHub()) as hub:
            # All requests from this one on fail, because the client retries some.
            def fails(request: Request, number: int = number) -> bool:
                return request.number >= number

            if status:
                answer = (status, {"error": f"no, Bearer {hub.token}"})
                hub.before = partial(answer_if, fails, answer)
            else:
                hub.after = fails
            with pytest.raises(NiahError) as raised:
                publish(hub, files)
            assert hub.token not in str(raised.value)
            assert raised.value.__cause__ is None
            assert "run the same command again" in str(raised.value) or status == 403, str(raised.value)
            hub.before, hub.after = (lambda request: None), (lambda request: False)
            publish(hub, files)
            assert_published_once(hub, files)


def test_publishing_an_unchanged_dataset_sends_nothing(hub: LoopbackHub, files: list[HubFile]) -> None:
    first = publish(hub, files)
    assert (first.files, first.bytes) == (5, sum(file.bytes for file in files))
    before = len(hub.requests)
    again = publish(hub, files)
    assert (again.files, again.bytes, again.deleted, again.commit) == (0, 0, 0, first.commit)
    assert {request.method for request in hub.requests[before:]} == {"GET"}


def test_a_new_version_replaces_the_old_data_and_keeps_other_files(hub: LoopbackHub, files: list[HubFile]) -> None:
    publish(hub, files)
    hub.tree()["LICENSE"] = b"mine"
    new = [*files[:2], hub_file("manifest.json", b'{"files": [1]}\n')]
    done = publish(hub, new, tag="v1.1.0")
    assert (done.files, done.deleted) == (1, 1)
    assert dataset_of(hub) == content(new) | {"LICENSE": b"mine", "recipe.toml": content(files)["recipe.toml"]}
    assert dataset_of(hub, "v1.0.0") == content(files) | {"LICENSE": b"mine"}


def test_a_tag_that_names_other_files_is_refused_before_anything_is_sent(
    hub: LoopbackHub, files: list[HubFile]
) -> None:
    publish(hub, files)
    before = len(hub.requests)
    with pytest.raises(NiahError, match=r"the tag v1\.0\.0 already names other files; raise the recipe's version"):
        publish(hub, [*files[:-1], hub_file("manifest.json", b"{}")])
    assert {request.method for request in hub.requests[before:]} == {"GET"}


def test_data_that_this_tool_did_not_publish_is_never_deleted(hub: LoopbackHub, files: list[HubFile]) -> None:
    hub.make(False, {"data/theirs.parquet": b"theirs"})
    with pytest.raises(NiahError, match=r"data/theirs\.parquet"):
        publish(hub, files)
    assert {request.method for request in hub.requests} == {"GET"}


def test_a_private_dataset_never_goes_to_a_public_repository(hub: LoopbackHub, files: list[HubFile]) -> None:
    publish(hub, files, private=True)
    assert hub.private is True
    with serving(LoopbackHub()) as public:
        public.make(False)
        with pytest.raises(NiahError, match="is already public"):
            publish(public, files, private=True)
        assert {request.method for request in public.requests} == {"GET"}


def test_changed_bytes_on_the_hub_are_detected_before_the_merge(hub: LoopbackHub, files: list[HubFile]) -> None:
    def damage(request: Request) -> bool:
        if "/commit/" in request.path:
            hub.tree("refs/pr/1")["data/zh-1k/test-00000-of-00001.parquet"] = b"sowr"
        return False

    hub.after = damage
    with pytest.raises(IntegrityError, match=r"pull request 1.*\n.*zh-1k.*other bytes than were sent"):
        publish(hub, files)
    assert dataset_of(hub) == {}
    hub.after = lambda request: False
    publish(hub, files)
    assert dataset_of(hub) == content(files)


def test_a_file_that_the_repository_ignores_is_reported_before_the_merge(
    hub: LoopbackHub, files: list[HubFile]
) -> None:
    def ignore(request: Request) -> tuple[int, Any] | None:
        if "/preupload/" not in request.path:
            return None
        status, answer = hub.answer(request)
        answer["files"][1]["shouldIgnore"] = True
        return status, answer

    hub.before = ignore
    with pytest.raises(IntegrityError, match=r"en-1k.*missing"):
        publish(hub, files)
    assert dataset_of(hub) == {}


def test_only_our_own_stale_pull_requests_are_closed(hub: LoopbackHub, files: list[HubFile]) -> None:
    hub.make(False)
    for title, author in (("niah-gen publish x", "other"), ("Fix a typo", hub.user), ("niah-gen publish y", hub.user)):
        hub.open_pull(title, author)
        hub.refs[f"refs/pr/{len(hub.pulls)}"] = hub.refs["main"]
    publish(hub, files)
    assert [pull["status"] for pull in hub.pulls] == ["draft", "draft", "closed", "merged"]


def test_many_files_are_sent_in_commits_of_a_hundred_and_appear_at_once(hub: LoopbackHub) -> None:
    many = [hub_file(f"jsonl/en-1k/test-{n:05d}-of-00205.jsonl", b"%d\n" % n) for n in range(205)]
    many.append(hub_file("manifest.json", b"{}"))
    publish(hub, many, tag=None)
    assert dataset_of(hub) == content(many)
    assert [len(tree) for tree in hub.commits.values()] == [1, 101, 201, 207, 207]


def test_a_wrong_or_missing_token_is_refused_with_advice(
    hub: LoopbackHub, files: list[HubFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_" + "wrong" * 5)
    with pytest.raises(NiahError, match="the Hub answered 401") as raised:
        publish(hub, files)
    assert "hf_" not in str(raised.value)
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.delenv("HUGGING_FACE_HUB_TOKEN", raising=False)
    with pytest.raises(NiahError, match="no token; log in with `hf auth login`, or set HF_TOKEN"):
        publish(hub, files)


def test_an_unreachable_hub_is_reported_at_once(files: list[HubFile]) -> None:
    with serving(LoopbackHub()) as gone:
        pass
    with pytest.raises(NiahError, match=r"asking the Hub who the token belongs to: ConnectError"):
        publish(gone, files)
