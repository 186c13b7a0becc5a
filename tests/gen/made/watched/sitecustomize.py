"""Watches every process that finds this module first: writes down what reaches outside, or runs what was read.

NIAH_WATCHED names the folder in which alone files may be written, and beside it is the log, a line of JSON for each
event that nothing allows. Python raises an audit event before it opens, renames or removes a file, connects, starts a
process, compiles or executes a source, or finds a class for a pickle; a native library that did so would not be seen.
"""

from __future__ import annotations

import json
import os
import sys
from types import FrameType
from typing import Any

FOLDER = os.path.realpath(os.environ["NIAH_WATCHED"])
_LOG = os.open(f"{FOLDER}.events", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
# Stands in the data that commands read, as something that would run.
CANARY = "niah_canary"
# What a command may reach though it is not in FOLDER: nothing is kept there.
_DEVICES = ("/dev/null", "/dev/tty", "/dev/shm/")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PATHS = {
    "os.rename": 2, "os.link": 2, "os.symlink": 2, "os.remove": 1, "os.rmdir": 1, "os.mkdir": 1, "os.truncate": 1,
    "os.chmod": 1, "os.chown": 1, "os.utime": 1, "os.setxattr": 1, "shutil.rmtree": 1, "shutil.move": 2,
}  # fmt: skip
_NEVER = {"os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn",
          "smtplib.connect", "ftplib.connect", "webbrowser.open", "socket.bind", "socket.sendto"}  # fmt: skip
# Modules whose classes a pickle of our own workers may name.
_PICKLED = (
    "niah_gen", "niah_score", "loky", "builtins", "functools", "collections", "pathlib", "datetime", "decimal",
    "concurrent", "multiprocessing", "copyreg", "_codecs", "operator", "types", "polars", "numpy", "tiktoken", "regex",
    "_io", "enum", "array",
)  # fmt: skip
_OWN = tuple(os.path.realpath(path) for path in os.environ["NIAH_WATCHED_CODE"].split(os.pathsep))
_busy = False
line = "a worker"
seen: dict[str, int] = {}


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    global _busy
    if _busy:
        return
    _busy = True
    try:
        wrong = _wrong(event, arguments)
        if wrong:
            os.write(_LOG, (json.dumps([line, event, wrong, _callers()]) + "\n").encode())
    finally:
        _busy = False


def _wrong(event: str, arguments: tuple[Any, ...]) -> str:
    """What is wrong with an event; nothing with most."""
    if event == "open":
        path, mode, flags = arguments
        writes = (isinstance(mode, str) and set(mode) & set("wax+")) or (isinstance(flags, int) and flags & _WRITING)
        if not writes or isinstance(path, int):
            return ""
        _count("files opened for writing")
        return "" if _inside(path) else repr(path)
    if event in _PATHS:
        wrong = [repr(path) for path in arguments[: _PATHS[event]] if isinstance(path, str | bytes | os.PathLike)
                 and os.path.isabs(os.fsdecode(path)) and not _inside(path)]  # fmt: skip
        return ", ".join(wrong)
    if event == "socket.connect":
        _count("connections")
        address = arguments[1]
        return "" if isinstance(address, tuple) and address[0] in ("127.0.0.1", "::1") else repr(address)
    if event == "socket.getaddrinfo":
        return "" if arguments[0] in ("127.0.0.1", "::1", "localhost", None) else repr(arguments[0])
    if event == "subprocess.Popen":
        words = arguments[1]
        told = " ".join(map(str, words)) if isinstance(words, list | tuple) else str(words)
        _count("processes started")
        ours = os.path.realpath(str(arguments[0])) == os.path.realpath(sys.executable)
        known = ("niah_score.machine.apart", "loky.backend", "multiprocessing.resource_tracker")
        # The first picture on a machine makes matplotlib ask which fonts there are.
        fonts = told.startswith("fc-list") and "matplotlib/font_manager.py" in "".join(_callers())
        return "" if fonts or (ours and any(name in told for name in known)) else told[:200]
    if event == "pickle.find_class":
        _count("classes of pickles")
        return "" if str(arguments[0]).partition(".")[0] in _PICKLED else f"{arguments[0]}.{arguments[1]}"
    if event == "compile":
        source = arguments[0]
        text = source.decode("utf-8", "replace") if isinstance(source, bytes) else str(source)
        _count("sources compiled")
        return text[:200] if CANARY in text else ""
    if event == "exec":
        code = arguments[0]
        name = getattr(code, "co_filename", "")
        _count("code objects executed")
        if CANARY in repr(getattr(code, "co_consts", "")):
            return name
        # Libraries make methods of records this way; nothing of ours does.
        made = name.startswith("<") and not name.startswith("<frozen")
        return f"{name} by our own code" if made and _callers(1)[0].startswith(_OWN) else ""
    return repr(arguments)[:200] if event in _NEVER else ""


def _inside(path: Any) -> bool:
    text = os.fsdecode(path)
    if text.startswith(_DEVICES):
        return True
    found = os.path.realpath(text)
    return found == FOLDER or found.startswith(FOLDER + os.sep)


def _callers(count: int = 6) -> list[str]:
    frame: FrameType | None = sys._getframe(1)
    found: list[str] = []
    while frame is not None and len(found) < count:
        name = frame.f_code.co_filename
        if name != __file__ and not name.startswith("<"):
            found.append(f"{name}:{frame.f_lineno}")
        frame = frame.f_back
    return found or [""]


def _count(what: str) -> None:
    seen[what] = seen.get(what, 0) + 1


sys.addaudithook(_hook)
