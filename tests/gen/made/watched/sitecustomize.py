"""Watches every process that imports this module at its start: logs what reaches outside or runs data that was read.

NIAH_WATCHED names the only folder in which files may be written. Beside it are two logs: the events that are not
allowed, each a line of JSON, and the command of each process that is watched. Python raises an audit event before it
opens, renames or removes a file, connects, starts a process, compiles or executes a source, or finds a class for a
pickle; a native library that did so would not be seen.
"""

from __future__ import annotations

import json
import os
import sys
from types import FrameType
from typing import Any

FOLDER = os.path.realpath(os.environ["NIAH_WATCHED"])
_LOG = os.open(f"{FOLDER}.events", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
# Part of the data that commands read, made to look like something that would run.
CANARY = "niah_canary"
# What a command may reach outside FOLDER: nothing is kept there.
_DEVICES = ("/dev/null", "/dev/tty", "/dev/shm/")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# How many paths an event begins with, and how many descriptors of the folders that they start from it ends with.
_PATHS = {
    "os.rename": (2, 2), "os.link": (2, 2), "os.symlink": (2, 1), "os.remove": (1, 1), "os.rmdir": (1, 1),
    "os.mkdir": (1, 1), "os.truncate": (1, 0), "os.chmod": (1, 1), "os.chown": (1, 1), "os.utime": (1, 1),
    "os.setxattr": (1, 0), "shutil.rmtree": (1, 1), "shutil.move": (2, 0),
}  # fmt: skip
_NEVER = {"os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn",
          "smtplib.connect", "ftplib.connect", "webbrowser.open", "socket.sendto"}  # fmt: skip
# Modules whose classes a pickle of our own workers may name.
_PICKLED = (
    "niah_gen", "niah_score", "builtins", "functools", "collections", "pathlib", "datetime", "decimal",
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
    """What is wrong with an event: an empty text if it is allowed."""
    if event == "open":
        path, mode, flags = arguments
        writes = (isinstance(mode, str) and set(mode) & set("wax+")) or (isinstance(flags, int) and flags & _WRITING)
        if not writes or isinstance(path, int):
            return ""
        _count("files opened for writing")
        return "" if _inside(path) else repr(path)
    if event in _PATHS:
        return ", ".join(map(repr, _outside(event, arguments)))
    if event == "socket.connect":
        _count("connections")
        address = arguments[1]
        return "" if isinstance(address, tuple) and address[0] in ("127.0.0.1", "::1") else repr(address)
    if event == "socket.getaddrinfo":
        return "" if arguments[0] in ("127.0.0.1", "::1", "localhost", None) else repr(arguments[0])
    if event == "socket.bind":
        # When it is imported, urllib3 asks whether this machine has IPv6 by binding a socket that it closes at once.
        return "" if "urllib3/util/connection.py" in "".join(_callers()) else repr(arguments)
    if event == "subprocess.Popen":
        words = arguments[1]
        command = " ".join(map(str, words)) if isinstance(words, list | tuple) else str(words)
        ours = os.path.realpath(str(arguments[0])) == os.path.realpath(sys.executable)
        # For the first picture on a machine, matplotlib asks which fonts there are.
        fonts = command.startswith("fc-list") and "matplotlib/font_manager.py" in "".join(_callers())
        return "" if fonts or (ours and "niah_score.machine.processes" in command) else command[:200]
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
        # Libraries make the methods of records like this; our own code does not.
        made = name.startswith("<") and not name.startswith("<frozen")
        return f"{name} by our own code" if made and _callers(1)[0].startswith(_OWN) else ""
    return repr(arguments)[:200] if event in _NEVER else ""


def _outside(event: str, arguments: tuple[Any, ...]) -> list[str]:
    """The paths of an event that lead outside. Those relative to an open folder are not checked."""
    count, folders = _PATHS[event]
    opened = [*(arguments[len(arguments) - folders :] * count), *[None] * count]
    leading = []
    for number, path in enumerate(arguments[:count]):
        if isinstance(path, int):
            continue  # a file that is open
        text = os.fsdecode(path)
        if not os.path.isabs(text) and opened[number] not in (None, -1):
            continue
        if event == "os.symlink" and number == 0:
            text = os.path.join(os.path.dirname(os.fsdecode(arguments[1])), text)
        if not _inside(text):
            leading.append(text)
    return leading


def _inside(path: Any) -> bool:
    text = os.fsdecode(path)
    if text.startswith(_DEVICES):
        return True
    real = os.path.realpath(text)
    return real == FOLDER or real.startswith(FOLDER + os.sep)


def _callers(count: int = 6) -> list[str]:
    frame: FrameType | None = sys._getframe(1)
    callers: list[str] = []
    while frame is not None and len(callers) < count:
        name = frame.f_code.co_filename
        if name != __file__ and not name.startswith("<"):
            callers.append(f"{name}:{frame.f_lineno}")
        frame = frame.f_back
    return callers or [""]


def _count(what: str) -> None:
    seen[what] = seen.get(what, 0) + 1


_processes = os.open(f"{FOLDER}.processes", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(_processes, (json.dumps(sys.orig_argv) + "\n").encode())
os.close(_processes)
sys.addaudithook(_hook)
