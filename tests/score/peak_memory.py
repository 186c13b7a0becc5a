"""Tells the most memory that a process has held, for scripts that tests run in a process of their own."""

from __future__ import annotations

import sys

import pytest

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how much memory a process has had")
# The beginning of such a script. What `resource` tells is no less than what the process that started this one held.
PEAK = """
from pathlib import Path

def peak_kib():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])
"""
