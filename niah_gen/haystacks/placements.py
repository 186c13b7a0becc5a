"""Lists the placements by name."""

from __future__ import annotations

from typing import NoReturn

from niah_gen.errors import RecipeError
from niah_gen.haystacks.gkamradt import GKAMRADT
from niah_gen.haystacks.native import NATIVE
from niah_gen.haystacks.needlehaystack2 import NEEDLEHAYSTACK2
from niah_gen.haystacks.opencompass import OPENCOMPASS, OPENCOMPASS_PROCESSED
from niah_gen.haystacks.placement import Placement


def _only_replayed(*_: object) -> NoReturn:
    raise RecipeError(
        ["placement: 'published' is only for task families that replay a published generator, such as ruler"]
    )


# Of published generators that make whole prompts, needles included: the task family holds the rule.
PUBLISHED = Placement("published", 1, "niah", _only_replayed, _only_replayed, boundary="token", spread="diff")

PLACEMENTS: dict[str, Placement] = {
    "native": NATIVE,
    "gkamradt": GKAMRADT,
    "needlehaystack2": NEEDLEHAYSTACK2,
    "opencompass": OPENCOMPASS,
    "opencompass-processed": OPENCOMPASS_PROCESSED,
    "published": PUBLISHED,
}
