"""Sets how many examples property tests try: NIAH_EXAMPLES times what each states, by default a tenth.

Up to 1 they are the same in every run, above they are new ones.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

FACTOR = float(os.environ.get("NIAH_EXAMPLES") or "0.1")


def examples(count: int, *suppressed: HealthCheck) -> settings:
    """Settings for a property test that tries `count` examples in `make test-slow`. No example fails for being slow."""
    return settings(
        derandomize=FACTOR <= 1,
        deadline=None,
        max_examples=max(1, round(count * FACTOR)),
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, *suppressed],
    )
