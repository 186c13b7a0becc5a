"""A small Hub in memory, which serves on loopback what `huggingface_hub` asks to publish a dataset and to download it.

It is as strict as the Hub where that matters: a commit must name its parent, and a file of the large-file storage must
have arrived before it is committed. It can fail at any request.
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
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

LARGE = re.compile(r"\.(parquet|gz|zst|bin)$")


def sha1(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Request:
    number: int
    method: str
    path: str
    body: bytes

    @property
    def what(self) -> str:
        """The request without its hashes, which differ from run to run."""
        return re.sub(r"[0-9a-f]{40,64}", "HASH", f"{self.method} {self.path}")


@dataclass
class LoopbackHub:
    """A Hub: a repository as branches of commits, each a tree of bytes by path; `token` gives access."""

    token: str = "hf_" + "c4n4ry" * 5
    user: str = "somebody"
    url: str = ""
    private: bool | None = None  # None: there is no repository yet
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    stored: dict[str, bytes] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    # Called before a request is served (None: serve it) and after (True: send no answer).
    before: Callable[[Request], tuple[int, Any] | None] = lambda request: None
    after: Callable[[Request], bool] = lambda request: False

    def tree(self, revision: str = "main") -> dict[str, bytes]:
        return self.commits[self.commit_of(revision)]

    def commit_of(self, revision: str) -> str:
        commit = self.refs.get(revision) or self.tags.get(revision)
        return commit or (revision if revision in self.commits else "")

    def add_commit(self, tree: dict[str, bytes]) -> str:
        data = repr((len(self.commits), sorted((path, sha1(value)) for path, value in tree.items())))
        name = sha1(data.encode())
        self.commits[name] = tree
        return name

    def make(self, private: bool, tree: dict[str, bytes] | None = None) -> None:
        self.private = private
        self.refs["main"] = self.add_commit({".gitattributes": b"*.parquet filter=lfs\n", **(tree or {})})

    def forget(self) -> None:
        """Be a Hub without a repository again."""
        self.private = None
        for kept in (self.commits, self.refs, self.tags, self.stored):
            kept.clear()
        self.requests.clear()

    def answer(self, request: Request) -> tuple[int, Any]:
        path = urlsplit(request.path).path
        if path.startswith("/store/"):
            return self.store(path, request.body)
        body: Any = json.loads(request.body) if request.body[:1] == b"{" and b"\n{" not in request.body else None
        if path == "/api/whoami-v2":
            return 200, {"name": self.user, "type": "user"}
        if path == "/api/validate-yaml":
            return 200, {"warnings": [], "errors": []}
        if path == "/api/repos/create":
            if self.private is not None:
                return 409, {"error": "You already created this dataset repo"}
            self.make(body["visibility"] == "private" if body.get("visibility") else False)
            return 200, {"url": f"{self.url}/datasets/{body['organization']}/{body['name']}"}
        if path == "/api/agent-harnesses":
            return 404, {"error": "not here"}
        if self.private is None:
            return 404, {"error": "Repository not found", "code": "RepoNotFound"}
        match = re.fullmatch(r"(?:/api)?/datasets/[^/]+/[^/]+?(?:/(.*)|(\.git/info/lfs/objects/batch))?", path)
        assert match, path
        action, _, rest = (match[1] or "").partition("/")
        if match[2]:
            return 200, {"transfer": "basic", "objects": [self.large_file(item) for item in body["objects"]]}
        if action in ("", "revision"):
            commit = self.commit_of(unquote(rest) or "main")
            if not commit:
                return 404, {"error": "no such revision", "code": "RevisionNotFound"}
            return 200, {
                "_id": "0" * 24,
                "id": "a/b",
                "sha": commit,
                "private": self.private,
                "tags": [],
                "siblings": [{"rfilename": name} for name in sorted(self.commits[commit])],
            }
        if action == "resolve":
            revision, _, name = rest.partition("/")
            return 200, self.tree(revision)[unquote(name)]
        if action == "tree":
            return 200, self.listing(self.commits[self.commit_of(unquote(rest))])
        if action == "refs":
            tags = [{"name": t, "ref": f"refs/tags/{t}", "targetCommit": c} for t, c in self.tags.items()]
            return 200, {"branches": [], "converts": [], "tags": tags}
        if action == "tag":
            if body["tag"] in self.tags:
                return 409, {"error": "tag exists"}
            self.tags[body["tag"]] = self.commit_of(unquote(rest))
            return 200, {}
        if action == "preupload":
            modes = [
                {
                    "path": f["path"],
                    "uploadMode": "lfs" if LARGE.search(f["path"]) else "regular",
                    "shouldIgnore": False,
                    "oid": self.oid(unquote(rest), f["path"]),
                }
                for f in body["files"]
            ]
            return 200, {"files": modes}
        assert action == "commit", path
        return self.commit(unquote(rest), [json.loads(line) for line in request.body.splitlines()])

    def oid(self, revision: str, path: str) -> str | None:
        """The hash by which the client knows that a file need not be sent again."""
        data = self.tree(revision).get(path)
        if data is None:
            return None
        return sha256(data) if LARGE.search(path) else sha1(b"blob %d\0" % len(data) + data)

    def listing(self, tree: dict[str, bytes]) -> list[dict[str, Any]]:
        folders = sorted({path.rpartition("/")[0] for path in tree if "/" in path})
        entries: list[dict[str, Any]] = [{"type": "directory", "oid": "0" * 40, "size": 0, "path": f} for f in folders]
        for path, data in sorted(tree.items()):
            oid = sha1(b"blob %d\0" % len(data) + data)
            entry: dict[str, Any] = {"type": "file", "oid": oid, "size": len(data), "path": path}
            if LARGE.search(path):
                entry |= {
                    "oid": sha1(b"pointer" + data),
                    "lfs": {"oid": sha256(data), "size": len(data), "pointerSize": 134},
                }
            entries.append(entry)
        return entries

    def large_file(self, item: dict[str, Any]) -> dict[str, Any]:
        oid, size = item["oid"], item["size"]
        if oid in self.stored:
            return {"oid": oid, "size": size}
        verify = {"href": f"{self.url}/store/verify/{oid}"}
        upload = {"href": f"{self.url}/store/{oid}"}
        return {"oid": oid, "size": size, "actions": {"upload": upload, "verify": verify}}

    def store(self, path: str, body: bytes) -> tuple[int, Any]:
        action, *rest = path.removeprefix("/store/").split("/")
        if action == "verify":
            return (200, {}) if rest[0] in self.stored else (404, {"error": "not stored"})
        oid = action
        if sha256(body) != oid:
            return 400, {"error": "other bytes than were announced"}
        self.stored[oid] = body
        return 200, {}

    def commit(self, revision: str, lines: list[dict[str, Any]]) -> tuple[int, Any]:
        if lines[0]["value"].get("parentCommit") != self.refs[revision]:
            return 412, {"error": "A commit has happened since"}
        tree = dict(self.tree(revision))
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "file":
                tree[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                if value["oid"] not in self.stored:
                    return 400, {"error": f"{value['path']} has not arrived"}
                tree[value["path"]] = self.stored[value["oid"]]
            else:
                del tree[value["path"]]
        self.refs[revision] = self.add_commit(tree)
        oid = self.refs[revision]
        return 200, {"commitUrl": f"{self.url}/datasets/a/b/commit/{oid}", "commitOid": oid, "hookOutput": ""}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer is sent in one packet: of two, the second would wait 40 ms for the client to acknowledge the first.
    wbufsize = -1
    disable_nagle_algorithm = True
    hub: LoopbackHub
    lock: threading.Lock

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def serve(self) -> None:
        length = self.headers.get("Content-Length")
        body = self.rfile.read(int(length)) if length else self._chunks()
        hub = self.hub
        with self.lock:
            request = Request(len(hub.requests) + 1, self.command, self.path, body)
            hub.requests.append(request)
            if not self.path.startswith("/store/") and self.headers.get("Authorization") != f"Bearer {hub.token}":
                status, answer = 401, {"error": "Invalid credentials in Authorization header"}
            else:
                status, answer = hub.before(request) or hub.answer(request)
            if hub.after(request):
                self.close_connection = True
                return
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        code = answer.get("code") if isinstance(answer, dict) else None
        for name, value in (
            ("Content-Type", "application/json"), ("Content-Length", str(len(data))),
            ("ETag", f'"{sha1(data if isinstance(answer, bytes) else body)}"'), ("X-Request-Id", "r1"),
            ("X-Repo-Commit", hub.refs.get("main", "")), *((("X-Error-Code", str(code)),) if code else ()),
        ):  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_HEAD = do_POST = do_PUT = serve  # noqa: N815

    def _chunks(self) -> bytes:
        """A body of the chunked transfer encoding."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return b""
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that were killed."""


def client_settings(url: str) -> dict[str, Any]:
    """The settings of the client in tests, by dotted name.

    With them it asks only the Hub at this address and draws no bars. It does not fetch the list of agents, as it would
    do once a day for its headers.
    """
    return {
        "huggingface_hub.constants.ENDPOINT": url,
        "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE": url + "/{repo_id}/resolve/{revision}/{filename}",
        "huggingface_hub.constants.HF_HUB_DISABLE_PROGRESS_BARS": True,
        "huggingface_hub.utils._headers.detect_agent": lambda: None,
    }


@contextmanager
def serving(hub: LoopbackHub) -> Iterator[LoopbackHub]:
    """Serve a Hub at `hub.url`."""
    handler = type("Handler", (_Handler,), {"hub": hub, "lock": threading.Lock()})
    server = _Server(("127.0.0.1", 0), handler)
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
