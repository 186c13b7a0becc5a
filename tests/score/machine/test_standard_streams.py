"""Standard streams that others have set up: writing waits for a pipe that is full for the moment."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys

import pytest
from each import each

pytestmark = pytest.mark.slow

PRINT = """
import sys
from niah_score.machine.standard_streams import flush_streams, prepare_streams
prepare_streams()
stream = getattr(sys, sys.argv[1])
for number in range(20_000):
    print(f"{number:09}", file=stream)
flush_streams()
"""


@each("name", ["stdout", "stderr"])
def test_a_non_blocking_pipe_gets_every_line_however_slowly_it_is_read(name: str) -> None:
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
    with subprocess.Popen([sys.executable, "-c", PRINT, name], **{name: writes}) as process, open(reads) as pipe:  # type: ignore[call-overload]
        os.close(writes)
        assert pipe.read() == "".join(f"{number:09}\n" for number in range(20_000))
    assert process.returncode == 0
