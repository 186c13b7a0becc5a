"""keyword_f1: missing facts, named decoys and invented items all cost points."""

from __future__ import annotations

from typing import Any

import pytest
from each import each
from judged import judged

CARGOES = (("kapok",), ("copra",), ("bauxite",), ("carob", "carobs"))
FISH = (("鳑鲏",), ("塘鳢", "土步鱼"), ("黄颡",))
CARS = (("3174",), ("8662",), ("7391",))


def parts(text: str, keywords: tuple[tuple[str, ...], ...], **more: Any) -> tuple[int, int, int]:
    named = judged("keyword_f1", text, keywords=keywords, **more).parts
    return named["found"], named["false"], named["groups"]


def test_the_value_is_the_f1_of_the_facts_found() -> None:
    score = judged("keyword_f1", "Kapok, copra and coal.", keywords=CARGOES)
    assert score.parts == {"found": 2, "false": 1, "groups": 4}
    assert score.value == pytest.approx(100 * 2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4))
    assert judged("keyword_f1", "kapok, copra, bauxite and carob", keywords=CARGOES).value == 100
    assert judged("keyword_f1", "Nothing.", keywords=CARGOES).value == 0
    assert judged("keyword_f1", "anything").value is None


@each(
    "text",
    [
        "Kapok, copra, bauxite and carob pods.",
        "The barge carried kapok, copra, bauxite and carob pods, in that order.",
        "- kapok\n- copra\n- bauxite\n- carob pods",
        "1. Kapok\n2. Copra (spoiled by rats)\n3. Bauxite\n4. Carob pods",
        "She carried four cargoes: kapok, copra, bauxite, and carob pods, according to the text.",
        "**Kapok**; **copra**; **bauxite**; **carobs**. I hope this helps, have a nice day, and goodbye.",
        "Kapok, which came first, then copra, a spoiled load, bauxite, and, in the end, carobs.",
        "Based on the documents, the answer is kapok, copra, bauxite and carob.",
        "Without question, kapok, copra, bauxite, carob, among others, just like that.",
        "Kapok, copra, bauxite and carob, without exception.",
    ],
)
def test_a_complete_list_is_perfect_however_it_is_worded(text: str) -> None:
    assert parts(text, CARGOES) == (4, 0, 4)


@each(
    ("text", "false"),
    [
        ("Kapok, copra, bauxite, carob, plus coal, salt, silk and gold.", 4),
        ("kapok, coal, copra, bauxite and carob", 1),
        ("- kapok\n- copra\n- bauxite\n- carob\n- coal\n- salt", 2),
        ("1. Kapok\n2. Copra\n3. Bauxite\n4. Carob\n5. Coal", 1),
        ("Kapok, copra, bauxite, carob pods as well as cane sugar", 1),
    ],
)
def test_invented_items_are_false_finds(text: str, false: int) -> None:
    assert parts(text, CARGOES) == (4, false, 4)


def test_lists_in_chinese_and_of_numbers_are_read_the_same_way() -> None:
    assert parts("鳑鲏、塘鳢和黄颡鱼。", FISH) == (3, 0, 3)
    assert parts("鰟鮍、塘鱧、黃顙魚、鲤鱼", FISH) == (3, 1, 3)
    assert parts("必须放回的有鳑鲏、塘鳢、黄颡鱼以及草鱼。", FISH) == (3, 1, 3)
    assert parts("鳑鲏、塘鳢、黄颡鱼，仅此而已，除此之外，别无其他，一共三种。", FISH) == (3, 0, 3)
    assert parts("鳑鲏、塘鳢和黄颡鱼，详见上文。", FISH) == (3, 0, 3)
    assert parts("鳑鲏、塘鳢、黄颡鱼、二胡鱼和三角鲂。", FISH) == (3, 2, 3)
    assert parts("#3,174, #8,662, #7,391", CARS) == (3, 0, 3)
    assert parts("3174, 8662, 7391 and 1234", CARS) == (3, 1, 3)


def test_decoys_are_false_finds_unless_they_are_denied_or_set_aside() -> None:
    decoys = (("512", "five hundred and twelve"), ("714",))
    assert parts("Drawer 417.", (("417",),), decoys=decoys) == (1, 0, 1)
    assert parts("Drawer 512.", (("417",),), decoys=decoys) == (0, 1, 1)
    assert parts("Drawer 417 or drawer five hundred and twelve.", (("417",),), decoys=decoys) == (0, 0, 1)
    assert parts("Drawer 417; drawer 512 is the other town's.", (("417",),), decoys=decoys) == (1, 0, 1)
    assert parts("Drawer 417, not 512.", (("417",),), decoys=decoys) == (1, 0, 1)


def test_a_decoy_that_is_part_of_the_fact_does_not_count() -> None:
    assert parts("Piet Hallorane", (("Piet Hallorane",),), decoys=(("Hallorane",),)) == (1, 0, 1)


def test_words_beside_a_single_fact_are_not_a_list() -> None:
    assert parts("It is turquoise, a shade of blue, green and white.", (("turquoise",),)) == (1, 0, 1)
    assert parts("Kapok, coal", CARGOES) == (1, 0, 4)
