"""Runs commands of both packages in forks of itself, each with its own fault; needs the shim loaded first.

    LD_PRELOAD=shim.so python fault_server.py shim.so

Everything that commands import is loaded once, so that commands do not pay for the start of Python.
A line of JSON on stdin asks for commands that begin together, a line of JSON on stdout says how each ended.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import sys
from contextlib import suppress
from io import BytesIO
from typing import Any, NoReturn

_LOADED = (
    "niah_gen.cli.commands", "niah_gen.dataset.build", "niah_gen.dataset.shards", "niah_gen.checks.recount",
    "niah_gen.corpora.add", "niah_gen.corpora.fetch", "niah_gen.export.export", "niah_gen.page.render",
    "niah_gen.progress", "niah_gen.tokenizers.here", "niah_score.cli.commands", "niah_score.evaluation",
    "niah_score.report.write", "niah_score.report.compare",
    "niah_score.logprobs.perplexity", "niah_score.logprobs.gain", "niah_score.logprobs.report",
    "niah_score.scoring.judge_requests", "polars", "pyarrow.parquet", "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg", "matplotlib.font_manager", "tomli_w", "opencc", "zstandard",
)  # fmt: skip
_SUBREAPER = 36
_NOBODY_LEFT_SECONDS = 5.0


def main() -> None:
    """Answer requests until stdin ends."""
    shim = ctypes.CDLL(sys.argv[1])
    # Processes that a killed command leaves running become children of this one, which waits for them.
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    for module in _LOADED:
        importlib.import_module(module)
    _warm()
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        requests = json.loads(line)
        # All begin together, when the pipe is closed.
        begin, begun = os.pipe()
        children = []
        for request in requests:
            child = os.fork()
            if child == 0:
                os.close(begun)
                os.read(begin, 1)
                _run(shim, request)
            with suppress(OSError):
                os.setpgid(child, child)  # in the parent or the child, whichever is first
            children.append(child)
        os.close(begin)
        os.close(begun)
        codes = [_ended(*each) for each in zip(children, requests, strict=True)]
        _nobody_left()
        print(json.dumps(codes), file=answers, flush=True)


def _warm() -> None:
    """Load what commands load slowly, without starting a thread, which a fork would lose."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from niah_gen.recipe.read import load_recipe
    from niah_gen.tasks.needle_library import needle_library
    from niah_gen.tokenizers.find import find_tokenizer

    for name in ("cl100k_base", "o200k_base"):
        find_tokenizer(name)
    needle_library()
    load_recipe("plain")
    drawing = Figure()
    drawing.text(0.5, 0.5, "100 %")
    FigureCanvasAgg(drawing).print_figure(BytesIO(), format="png")
    gc.freeze()


def _run(shim: ctypes.CDLL, request: dict[str, Any]) -> NoReturn:
    """Become the command."""
    os.setpgid(0, 0)
    os.chdir(request["cwd"])
    os.environ.update(request["env"])
    for name in [name for name in os.environ if name.startswith("FAULTS_")]:
        del os.environ[name]
    os.environ.update(request["faults"])
    stdin = os.open(os.devnull, os.O_RDONLY)
    os.dup2(stdin, 0)
    for number, name in ((1, "out"), (2, "err")):
        handle = os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, number)
        os.close(handle)
    fault = request["faults"]
    shim.faults_set(
        fault["FAULTS_FOLDER"].encode(), fault["FAULTS_COUNT"].encode(), ctypes.c_long(int(fault["FAULTS_AT"])),
        ctypes.c_long(int(fault["FAULTS_THEN"])), ctypes.c_long(int(fault["FAULTS_ALWAYS"])),
        fault["FAULTS_LOG"].encode(),
    )  # fmt: skip
    sys.argv = [request["program"], *request["args"]]
    code = 1
    try:
        run = importlib.import_module(
            "niah_gen.cli.main" if request["program"] == "niah-gen" else "niah_score.cli.main"
        )
        run.main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    with suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    atexit._run_exitfuncs()
    os._exit(code)


def _ended(child: int, request: dict[str, Any]) -> int | str:
    """How a command ended: its exit code, minus a signal's number, or `hangs`; none of its group runs afterwards."""
    seconds, kill_after = request["seconds"], request["kill_after"]
    handle = os.pidfd_open(child)
    ready = select.select([handle], [], [], seconds if kill_after is None else kill_after)[0]
    if not ready and kill_after is not None:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        ready = select.select([handle], [], [], seconds)[0]
    os.close(handle)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if ready else "hangs"


def _nobody_left() -> None:
    """Wait for workers and helpers of commands, which are this process's children by now."""
    signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, _NOBODY_LEFT_SECONDS)
    with suppress(OSError):
        while True:
            os.waitpid(-1, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)


def _too_long(number: int, frame: object) -> NoReturn:
    raise OSError("somebody is left")


if __name__ == "__main__":
    main()
