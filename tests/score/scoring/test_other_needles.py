"""The facts of other needles are foreign, unless they are the row's own or occur in its needle."""

from __future__ import annotations

from niah_score.metrics import Target
from niah_score.scoring.other_needles import OtherNeedle, with_other_needles

DRAWER = OtherNeedle("drawer", "en", (("417", "four hundred and seventeen"),))
TOWN = OtherNeedle("town", "en", (("Pendlemoss",), ("23 February",)))
COLOUR = OtherNeedle("colour", "zh", (("靛蓝",),))


def foreign(target: Target) -> tuple[tuple[str, ...], ...]:
    return with_other_needles(target, (DRAWER, TOWN, COLOUR)).foreign


def test_facts_of_other_needles_in_the_same_language_are_foreign() -> None:
    assert foreign(Target(("turquoise",), (("turquoise",),))) == (*DRAWER.keywords, *TOWN.keywords)
    assert foreign(Target(("铁木",), (("铁木",),), language="zh")) == COLOUR.keywords


def test_own_facts_are_not_foreign_in_any_spelling_and_decoys_stay() -> None:
    target = Target(("drawer 417",), (("four hundred seventeen",),), decoys=(("512",),))
    assert foreign(target) == TOWN.keywords
    assert with_other_needles(target, (TOWN,)).decoys == (("512",),)


def test_facts_that_the_needle_states_are_not_foreign() -> None:
    target = Target(("turquoise",), (("turquoise",),), ("In Pendlemoss the gate is turquoise.",))
    assert foreign(target) == (*DRAWER.keywords, ("23 February",))


def test_a_target_without_foreign_facts_is_unchanged() -> None:
    target = Target(("turquoise",), (("turquoise",),))
    assert with_other_needles(target, (COLOUR,)) is target
