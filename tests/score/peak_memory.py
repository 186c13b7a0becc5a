"""Measures the peak memory of scripts that tests run in a process of their own."""

from __future__ import annotations

import sys

import pytest

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how much memory a process has had")
# The beginning of such a script. It reads VmHWM, because the figure of `resource` is never below the peak of the
# process that started the script.
PEAK = """
from pathlib import Path

def peak_kib():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])
"""
# Allocators keep freed memory for some time, so that the clock would decide what is measured. These settings make those
# of polars, pyarrow and the C library return it at once.
RETURNED_AT_ONCE = {
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0",
    "MIMALLOC_PURGE_DELAY": "0",
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "131072",
}
