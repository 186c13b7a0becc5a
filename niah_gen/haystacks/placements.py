"""Lists the placements by name."""

from __future__ import annotations

from niah_gen.haystacks.gkamradt import GKAMRADT
from niah_gen.haystacks.native import NATIVE
from niah_gen.haystacks.needlehaystack2 import NEEDLEHAYSTACK2
from niah_gen.haystacks.opencompass import OPENCOMPASS
from niah_gen.haystacks.opencompass_processed import OPENCOMPASS_PROCESSED
from niah_gen.haystacks.placement import Placement
from niah_gen.haystacks.published import PUBLISHED

PLACEMENTS: dict[str, Placement] = {
    "native": NATIVE,
    "gkamradt": GKAMRADT,
    "needlehaystack2": NEEDLEHAYSTACK2,
    "opencompass": OPENCOMPASS,
    "opencompass-processed": OPENCOMPASS_PROCESSED,
    "published": PUBLISHED,
}
