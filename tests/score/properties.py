"""Sets how many examples property tests try: a tenth of those stated, or NIAH_EXAMPLES times as many.

Up to NIAH_EXAMPLES=1 they are the same in every run, above they are new ones.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

FACTOR = int(os.environ.get("NIAH_EXAMPLES", "1"))
SHARE = FACTOR if "NIAH_EXAMPLES" in os.environ else 0.1


def examples(count: int, *suppressed: HealthCheck) -> settings:
    """Settings for a property test that tries `count` examples in `make test-slow`. No example fails for being slow."""
    return settings(
        derandomize=FACTOR == 1,
        deadline=None,
        max_examples=max(1, round(count * SHARE)),
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, *suppressed],
    )
