"""Settings that make what is measured as peak memory independent of the clock."""

from __future__ import annotations

# Allocators keep freed memory for some time, so that the clock would decide what is measured. These settings make those
# of polars, pyarrow and the C library return it at once.
RETURNED_AT_ONCE = {
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0",
    "MIMALLOC_PURGE_DELAY": "0",
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "131072",
}
