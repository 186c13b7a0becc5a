"""Sets how many examples property tests try: the same few in every run, or NIAH_EXAMPLES times as many new ones."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

FACTOR = int(os.environ.get("NIAH_EXAMPLES", "1"))


def examples(count: int, *suppressed: HealthCheck) -> settings:
    """Settings for a property test that tries `count` examples in `make test`. No example fails for being slow."""
    return settings(
        derandomize=FACTOR == 1,
        deadline=None,
        max_examples=count * FACTOR,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, *suppressed],
    )
