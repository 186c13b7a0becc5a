"""A small Hub in memory, which serves on loopback what `huggingface_hub` asks to publish a dataset and to download it.

It is as strict as the Hub where that matters: a commit must name its parent. It can fail at any request.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from answering import Request, answering

Answer = tuple[int, Any]
Tree = dict[str, bytes]
MISSING: Answer = (404, {"error": "Repository not found", "code": "RepoNotFound"})


def blob_name(data: bytes) -> str:
    """What git calls a file's bytes, by which the client knows that it need not send them again."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@dataclass
class LoopbackHub:
    """A Hub with one repository: commits, each a tree of bytes by path, and what names them; `token` gives access."""

    token: str = "hf_" + "c4n4ry" * 5
    url: str = ""
    private: bool | None = None  # None: there is no repository yet
    commits: dict[str, Tree] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    # Called before a request is served; None: serve it.
    before: Callable[[Request], Answer | None] = lambda request: None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def tags(self) -> list[str]:
        return [name for name in self.refs if name != "main"]

    def tree(self, revision: str = "main") -> Tree:
        return self.commits[self.refs.get(revision, revision)]

    def add_commit(self, tree: Tree) -> str:
        """Make a commit the newest one; returns its name."""
        name = hashlib.sha1(repr((len(self.commits), sorted(tree.items()))).encode()).hexdigest()
        self.commits[name], self.refs["main"] = tree, name
        return name

    def make(self, private: bool, tree: Tree | None = None) -> None:
        self.private = private
        self.add_commit({".gitattributes": b"*.parquet filter=lfs\n", **(tree or {})})

    def forget(self) -> None:
        """Be a Hub without a repository again."""
        self.private = None
        for kept in (self.commits, self.refs, self.requests):
            kept.clear()

    def serve(self, request: Request) -> tuple[int, bytes, dict[str, str]]:
        with self.lock:
            self.requests.append(request)
            if request.headers.get("Authorization") != f"Bearer {self.token}":
                status, answer = 401, {"error": "Invalid credentials in Authorization header"}
            else:
                status, answer = self.before(request) or self.answer(request)
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        headers = {"ETag": f'"{blob_name(data)}"', "X-Request-Id": "r1", "X-Repo-Commit": self.refs.get("main", "")}
        if isinstance(answer, dict) and "code" in answer:
            headers["X-Error-Code"] = str(answer["code"])
        return status, data, headers

    def answer(self, request: Request) -> Answer:
        path = urlsplit(request.path).path
        lines = [json.loads(line) for line in request.body.splitlines()]
        body = lines[0] if lines else {}
        if path == "/api/whoami-v2":
            return 200, {"name": "somebody", "type": "user"}
        if path == "/api/validate-yaml":
            return 200, {"warnings": [], "errors": []}
        if path == "/api/repos/create":
            self.make(body.get("visibility") == "private")
            return 200, {"url": f"{self.url}/datasets/{body['organization']}/{body['name']}"}
        match = re.fullmatch(r"(?:/api)?/datasets/[^/]+/[^/]+(?:/([^/]+)/?(.*))?", path)
        if match is None or self.private is None:
            return MISSING
        action, rest = match[1] or "revision", unquote(match[2] or "main")
        if action == "revision":
            return 200, {
                "_id": "0" * 24, "id": "a/b", "sha": self.refs.get(rest, rest), "private": self.private, "tags": [],
                "siblings": [{"rfilename": name} for name in sorted(self.tree(rest))],
            }  # fmt: skip
        if action == "resolve":
            revision, _, name = rest.partition("/")
            return 200, self.tree(revision)[name]
        if action == "tree":
            files = self.tree(rest).items()
            return 200, [
                {"type": "file", "oid": blob_name(data), "size": len(data), "path": name} for name, data in files
            ]
        if action == "refs":
            tags = [{"name": t, "ref": f"refs/tags/{t}", "targetCommit": self.refs[t]} for t in self.tags]
            return 200, {"branches": [], "converts": [], "tags": tags}
        if action == "tag":
            if body["tag"] in self.refs:
                return 409, {"error": "tag exists"}
            self.refs[body["tag"]] = self.refs.get(rest, rest)
            return 200, {}
        if action == "preupload":
            there = self.tree(rest)
            modes = [
                {"path": name, "uploadMode": "regular", "shouldIgnore": False,
                 "oid": blob_name(there[name]) if name in there else None}
                for name in (file["path"] for file in body["files"])
            ]  # fmt: skip
            return 200, {"files": modes}
        assert action == "commit", path
        return self.commit(lines)

    def commit(self, lines: list[dict[str, Any]]) -> Answer:
        if lines[0]["value"].get("parentCommit") != self.refs["main"]:
            return 412, {"error": "A commit has happened since"}
        tree = dict(self.tree())
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "file":
                tree[value["path"]] = base64.b64decode(value["content"])
            else:
                del tree[value["path"]]
        name = self.add_commit(tree)
        return 200, {"commitUrl": f"{self.url}/datasets/a/b/commit/{name}", "commitOid": name, "hookOutput": ""}


@contextmanager
def serving(hub: LoopbackHub) -> Iterator[LoopbackHub]:
    """Serve a Hub at `hub.url`, the only one that the client in this process asks meanwhile.

    It draws no bars, and does not fetch the list of agents, as it would do once a day for its headers.
    """
    with answering(hub.serve) as hub.url, pytest.MonkeyPatch.context() as patch:
        resolve = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
        patch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
        patch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", resolve)
        patch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_PROGRESS_BARS", True)
        patch.setattr("huggingface_hub.utils._headers.detect_agent", lambda: None)
        yield hub
