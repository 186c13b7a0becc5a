"""Drives a real headless Chromium: opens a page, reads it, types and clicks into it, and records all its requests.

Speaks the DevTools protocol over the two pipes that Chromium has for it: no port, no driver, no package.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PATIENCE = 60.0  # seconds
_KEYS = {"Enter": 13, "Escape": 27, " ": 32, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
         "ArrowDown": 40, "Home": 36, "End": 35}  # fmt: skip


def find_chromium() -> str | None:
    """The program that NIAH_CHROMIUM names, or the first on the PATH; None if there is none."""
    named = os.environ.get("NIAH_CHROMIUM")
    return next(filter(None, map(shutil.which, [named] if named else NAMES)), None)


class Chromium:
    """A browser with a profile of its own, until `close`."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.mkdtemp(prefix="niah-chromium-")
        ours, theirs = os.pipe(), os.pipe()
        # Chromium reads from 3 and writes to 4; copies beyond both do not overwrite each other.
        read, write = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (ours[0], theirs[1]))
        arguments = [
            program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
            "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-sync",
            "--disable-component-update", "--disable-extensions", "--hide-scrollbars", "--force-color-profile=srgb",
            f"--user-data-dir={self._profile}", "about:blank",
        ]  # fmt: skip
        nothing = os.open(os.devnull, os.O_RDWR)
        moves = [(os.POSIX_SPAWN_DUP2, nothing, place) for place in (0, 1, 2)]
        moves += [(os.POSIX_SPAWN_DUP2, read, 3), (os.POSIX_SPAWN_DUP2, write, 4)]
        self._process = os.posix_spawn(program, arguments, os.environ, file_actions=moves, setpgroup=0)
        for end in (ours[0], theirs[1], read, write, nothing):
            os.close(end)
        self._out, self._in = ours[1], theirs[0]
        self._buffer = b""
        self._number = 0
        self._events: list[dict[str, Any]] = []
        self.version: str = self.send("Browser.getVersion")["product"]

    def send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer. Raises AssertionError with Chromium's own message if it fails."""
        self._number += 1
        order = {"id": self._number, "method": method, "params": parameters}
        if session:
            order["sessionId"] = session
        data = json.dumps(order).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while True:
            message = self._next(_PATIENCE)
            assert message is not None, f"Chromium did not answer {method} within {_PATIENCE:.0f} s"
            if message.get("id") == self._number:
                assert "error" not in message, f"{method}: {message['error']}"
                result: dict[str, Any] = message.get("result", {})
                return result
            self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        self._events.append(message)

    def events(self, method: str, session: str) -> list[dict[str, Any]]:
        """The events of one kind so far."""
        while (message := self._next(0.0)) is not None:
            self._take(message)
        return [
            event["params"] for event in self._events if event["method"] == method and event.get("sessionId") == session
        ]

    def forget(self, session: str) -> None:
        """Drop all events so far."""
        self._events = [event for event in self._events if event.get("sessionId") != session]

    def wait(self, method: str, session: str) -> dict[str, Any]:
        """Wait for the first event of a kind."""
        end = time.monotonic() + _PATIENCE
        while not (arrived := self.events(method, session)):
            assert time.monotonic() < end, f"{method} did not happen within {_PATIENCE:.0f} s"
            message = self._next(0.2)
            if message is not None:
                self._take(message)
        return arrived[0]

    def _next(self, seconds: float) -> dict[str, Any] | None:
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], seconds)[0]:
                return None
            data = os.read(self._in, 1 << 20)
            assert data, "Chromium ended"
            self._buffer += data
        first, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        return message

    @contextlib.contextmanager
    def page(self, path: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> Iterator[Page]:
        """Open a file in a tab of its own, loaded and drawn."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        try:
            for domain in ("Page", "Runtime", "Network", "Log"):
                page.send(f"{domain}.enable")
            page.size(width, height)
            page.prefer(dark=dark)
            page.open(path)
            yield page
        finally:
            self.forget(session)
            self.send("Target.disposeBrowserContext", browserContextId=context)

    def close(self) -> None:
        """End the browser with all its processes."""
        os.close(self._out)  # it ends on its own when no more commands can come
        end = time.monotonic() + 5.0
        while os.waitpid(self._process, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.killpg(self._process, signal.SIGKILL)
                os.waitpid(self._process, 0)
                break
            time.sleep(0.02)
        os.close(self._in)
        shutil.rmtree(self._profile, ignore_errors=True)


class Page:
    """One open file."""

    def __init__(self, browser: Chromium, session: str) -> None:
        self._browser = browser
        self._session = session

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.send(method, self._session, **parameters)

    def open(self, path: Path) -> None:
        self._browser.forget(self._session)
        self.send("Page.navigate", url=path.resolve().as_uri())
        self._browser.wait("Page.loadEventFired", self._session)

    def size(self, width: int, height: int) -> None:
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, *, dark: bool = False, media: str = "") -> None:
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media=media, features=[feature])

    def run(self, code: str) -> Any:
        """The value of a JavaScript expression. Raises AssertionError if it throws."""
        done = self.send("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def text(self, selector: str) -> str:
        """The text that an element shows."""
        result = self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")
        assert isinstance(result, str), f"nothing on the page is {selector}"
        return result

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements that a selector finds."""
        found = self.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((it) => it.textContent)")
        assert isinstance(found, list)
        return found

    def lines(self, selector: str) -> list[list[str]]:
        """The texts of the cells of some lines of a table."""
        found = self.run(
            f"[...document.querySelectorAll({json.dumps(selector)})]"
            ".map((it) => [...it.cells].map((one) => one.textContent))"
        )
        assert isinstance(found, list)
        return found

    def choose_value(self, selector: str, value: object) -> None:
        """Choose the option of a list that has a value."""
        self.run(
            f"(() => {{ const it = document.querySelector({json.dumps(selector)}); it.value = '{value}';"
            "it.dispatchEvent(new Event('change')); })()"
        )

    def click(self, selector: str) -> None:
        """Click the mouse in the middle of an element."""
        place = self.run(
            f"(() => {{ const it = document.querySelector({json.dumps(selector)});"
            f" it.scrollIntoView({{block: 'center'}});"
            " const at = it.getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2]; })()"
        )
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press and release a key."""
        typed = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": _KEYS[key]}
        more = {"text": "\r"} if key == "Enter" else {"text": " "} if key == " " else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", **typed, **more)
        self.send("Input.dispatchKeyEvent", type="keyUp", **typed)

    def choose(self, selector: str, label: str) -> None:
        """Choose the option of a list whose text begins with a label."""
        self.run(
            f"(() => {{ const it = document.querySelector({json.dumps(selector)});"
            f"const one = [...it.options].find((option) => option.text.startsWith({json.dumps(label)}));"
            "it.value = one.value; it.dispatchEvent(new Event('change')); })()"
        )

    def requests(self) -> list[str]:
        """The addresses of all requests since the page was opened."""
        result = self._browser.events("Network.requestWillBeSent", self._session)
        return [event["request"]["url"] for event in result]

    def complaints(self) -> list[str]:
        """All exceptions, console output, log entries and dialogs since the page was opened."""
        thrown = self._browser.events("Runtime.exceptionThrown", self._session)
        printed = self._browser.events("Runtime.consoleAPICalled", self._session)
        logged = self._browser.events("Log.entryAdded", self._session)
        asked = self._browser.events("Page.javascriptDialogOpening", self._session)
        return [json.dumps(event)[:500] for event in (*thrown, *printed, *logged, *asked)]


def nothing_acted(page: Page, path: Path) -> None:
    """Assert that no text on a page ran, made a request, or became an element that could."""
    assert page.run("window.hit ?? null") is None
    assert page.complaints() == []
    assert page.requests() == [path.resolve().as_uri()]
    assert page.run("document.querySelectorAll('script').length") == 2
    strange = page.run(
        "[...document.body.querySelectorAll('*')].filter((it) => [...it.attributes].some((one) => /^on|^href|^src/"
        ".test(one.name)) || /^(img|iframe|object|embed|a|form|base|link|meta|video|input|style)$/i.test(it.tagName))"
        ".map((it) => it.outerHTML.slice(0, 200))"
    )
    assert strange == []
