"""correct and keyword_f1: what an answer commits to; lacking, rival and made-up facts cost points."""

from __future__ import annotations

from typing import Any

import pytest
from each import each
from judged import judged

# One fact with rivals, and a set with rivals.
TIMBER: dict[str, Any] = {
    "keywords": (("oak",), ("bog oak", "peat")),
    "decoys": (("larch",), ("elm", "elmwood"), ("cherry",)),
}
FERRYMAN: dict[str, Any] = {"keywords": (("Hallorane",),), "decoys": (("Prell",), ("Farraby",))}
YEARS: dict[str, Any] = {"keywords": (("1731",), ("1796",), ("1837",)), "decoys": (("1823",), ("1919",))}
BIRDS: dict[str, Any] = {
    "keywords": (("戴胜",), ("水雉",), ("寿带",)),
    "decoys": (("蜂虎",), ("棉凫",)),
    "language": "zh",
}
BOAT: dict[str, Any] = {"keywords": (("逐鲳",),), "decoys": (("镇汐",), ("踏礁",)), "language": "zh"}
CARGOES = (("kapok",), ("copra",), ("bauxite",), ("carob", "carobs"))
FISH = (("鳑鲏",), ("塘鳢", "土步鱼"), ("黄颡",))
CARS = (("3174",), ("8662",), ("7391",))
TEAMS: dict[str, Any] = {
    "keywords": (("lilac",), ("green",)),
    "keyword_kinds": ("pair:the upper team", "pair:the lower team"),
    "rejects": (("the lower team",), ("the upper team",)),
}


def is_right(text: str, facts: dict[str, Any], reference: str = "-") -> bool:
    return bool(judged("correct", text, reference, **facts).value)


def expect(facts: dict[str, Any], reference: str, right: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    for text in right:
        assert is_right(text, facts, reference), f"right, but judged as wrong: {text}"
    for text in wrong:
        assert not is_right(text, facts, reference), f"wrong, but judged as right: {text}"


def test_the_first_candidate_is_the_answer_and_what_is_said_of_others_is_not() -> None:
    right: tuple[str, ...] = (
        "Bog oak.", "**Bog oak**", "Bog oak, whereas the stand was cut from larch.", "Bog oak; the stand is of larch.",
        "Bog oak (the stand is larch).", "It was cut from bog oak. Larch, elm and cherry are of other things.",
        "Of the woods named (larch, elm, cherry and bog oak), it was bog oak.", "Bog oak, not larch.",
        "Although the stand is larch, the lid is bog oak.", "Unlike the larch stand, it is bog oak.",
        "Bog oak (larch was thought of, so larch is out).", "Bog oak (larch was thought of (once), so larch is out).",
        "(Larch (of the stand) [and elm (of the door)] were thought of.) Bog oak.",
    )  # fmt: skip
    wrong: tuple[str, ...] = (
        "Larch.", "Oak.", "Larch; bog oak is the wood of the door.", "Not bog oak.", "Bog oak or larch.",
        "Larch, or perhaps bog oak", "Bog oak and larch.", "Both bog oak and larch", "bog oak/larch",
        "Although bog oak is named, I would say larch.", "Bog oak? Larch? One of the two.", "Bog oak or yew", "",
    )  # fmt: skip
    expect(TIMBER, "Bog oak.", right, wrong)
    right = (
        "逐鲳号（原名镇汐号）", "以前叫镇汐号，现在叫逐鲳号。", "虽然曾用过镇汐这个名字，但现在是逐鲳号。",
        "逐鲳号。踏礁号是另一艘船。", "逐鲳号，而不是踏礁号。",
    )  # fmt: skip
    wrong = (
        "镇汐号", "逐鲳号或踏礁号", "可能是逐鲳，也可能是踏礁", "逐鲳和踏礁", "踏礁号，逐鲳号是渔船。", "不是逐鲳号",
    )  # fmt: skip
    expect(BOAT, "逐鲳号", right, wrong)


def test_after_a_conclusion_or_a_correction_the_answer_begins_anew() -> None:
    right: tuple[str, ...] = (
        "Prell taught her to swim. Farraby taught Thomasin. So the answer is Piet Hallorane.",
        "Farraby? He taught somebody else. Therefore: Hallorane", "Prell... no wait, that was swimming. Hallorane.",
        "Prell. Correction: Prell taught her to swim; it was Hallorane who taught her the trade.",
        "I first thought it was Prell. It is Hallorane.",
        "Prell. Hmm, let me re-read. Prell is for swimming, so Hallorane.", "Prell → Farraby → Hallorane",
    )  # fmt: skip
    wrong: tuple[str, ...] = (
        "Hallorane. Wait, no: Prell.",
        "It says Hallorane taught. Therefore the answer is Prell.",
        "Hallorane... actually, Prell",
        "Hallorane? No, Prell.",
    )
    expect(FERRYMAN, "Piet Hallorane.", right, wrong)
    right = (
        "镇汐号……不对，那是卖掉以前的名字，现在叫逐鲳号。",
        "文中有镇汐、踏礁。因此是逐鲳号。",
        "踏礁号。更正：踏礁号是另一艘，应该是逐鲳号。",
    )
    expect(BOAT, "逐鲳号", right, ("逐鲳号……不对，是踏礁号。", "文中提到逐鲳，所以答案是踏礁。"))


def test_of_a_set_exactly_the_facts_are_right_and_only_listed_rivals_are_wrong() -> None:
    right: tuple[str, ...] = (
        "1731, 1796 and 1837", "- 1731\n- 1796\n- 1837", "1731, 1796 and 1837. In 1823 it ran over rather than dry.",
        "1731, 1796, 1837 (not included: 1823)", "1731 (a fire), 1796 and 1837; 1823 and 1919 were wet.",
        "The text names 1731, 1823, 1919 and 1796. So the years are 1731, 1796 and 1837.",
        "First in 1731. Then in 1796. Last in 1837. Not in 1823.",
        "1731, 1796, 1823 — no wait, 1823 was wet. The third is 1837.",
        "1731, 1796 and 1837 (1823 was wet (very), and 1919, too).",
    )  # fmt: skip
    wrong: tuple[str, ...] = (
        "1731 and 1796", "1731, 1796, 1837 and 1823", "- 1731\n- 1796\n- 1837\n- 1919", "1823, 1731, 1796, 1837",
        "First in 1731. Then in 1796. Then in 1823. Last in 1837.", "1731, 1796, 1837 (and 1919)",
        "1731, 1796, 1837, 1500",
    )  # fmt: skip
    expect(YEARS, "1731, 1796 and 1837.", right, wrong)
    right = ("戴胜、水雉、寿带", "戴胜、水雉和寿带（蜂虎从未记录到）", "戴胜、水雉、寿带。蜂虎和棉凫不在其中。")
    expect(BIRDS, "戴胜、水雉、寿带。", right, ("戴胜、水雉", "戴胜、水雉、寿带、蓝喉蜂虎", "戴胜、蜂虎、水雉、寿带"))


def test_naming_whatever_might_be_asked_is_no_answer() -> None:
    rivals = "1823, 1919"
    shotguns = (
        f"1731, 1796, 1837. {rivals}.", "1731\n1796\n1837\n1823\n1919",
        "VAR 1823 = VAR 1919. VAR 1731 = VAR 1796 = VAR 1837.",
        f"{', '.join(map(str, range(1500, 1600)))}, 1731, 1796, 1837",
        f"1731, 1796, 1837, {', '.join(map(str, range(1500, 1600)))}",
    )  # fmt: skip
    expect(YEARS, "1731, 1796 and 1837.", (), shotguns)
    names = "Anahit Vardumyan", "Lowell Brackenridge", "Solveig Ahlqvist", "Emrys Tudball", "Keala Kahananui"
    people = ("Piet Hallorane", *names, "Dwight Mabry", "Sefina Leavai", "Jelka Podlesnik", "Eunji Namgoong")
    for joint in (", ", "\n", " ", ". ", " and "):
        expect(FERRYMAN, "Piet Hallorane.", (), (joint.join(people), joint.join(reversed(people))))
    number = {"keywords": (("386046",),), "keyword_kinds": ("number",), "decoys": (("568368",),)}
    many = " ".join(map(str, range(386041, 386053)))
    wrong = ("386046, 123456, 568368", "123456, 386046", "386046\n568368", many)
    expect(number, "386046", ("386046", "It is 386046."), wrong)
    prose = (
        "逐鲳号。船主去年七月买下它，刷了新漆，换了螺旋桨，添了冰舱，又请人写了船名，开春下水，往返两地，从此不再执法。"
    )
    assert is_right(prose, BOAT, "逐鲳号")


def test_a_fact_given_to_a_wrong_owner_is_false() -> None:
    score = judged("keyword_f1", "The upper team green, the lower team lilac", "-", **TEAMS)
    assert score.parts == {"found": 0, "false": 2, "groups": 2}
    assert is_right("The upper team lilac, the lower team green", TEAMS)


def test_correct_is_where_f1_is_100_and_null_without_keywords() -> None:
    for text in ("1731, 1796 and 1837", "1731", "1731, 1796, 1837 and 1823", ""):
        right, f1 = (judged(metric, text, "-", **YEARS) for metric in ("correct", "keyword_f1"))
        assert (right.value == 100) == (f1.value == 100)
        assert right.parts == f1.parts
    assert judged("correct", "anything").value is None


# keyword_f1 -----------------------------------------------------------------------------------------------------------


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
    ("false", "text"),
    [
        (0, "Kapok, copra, bauxite and carob pods."),
        (0, "The barge carried kapok, copra, bauxite and carob pods, in that order."),
        (0, "- kapok\n- copra\n- bauxite\n- carob pods"),
        (0, "1. Kapok\n2. Copra (spoiled by rats)\n3. Bauxite\n4. Carob pods"),
        (0, "She carried four cargoes: kapok, copra, bauxite, and carob pods, according to the text."),
        (0, "**Kapok**; **copra**; **bauxite**; **carobs**. I hope this helps, have a nice day, and goodbye."),
        (0, "Kapok, which came first, then copra, a spoiled load, bauxite, and, in the end, carobs."),
        (0, "Based on the documents, the answer is kapok, copra, bauxite and carob."),
        (0, "Kapok, copra, bauxite and carob (coal, salt (white), silk and gold were others)."),
        (0, "Without question, kapok, copra, bauxite, carob, among others, just like that."),
        (0, "Kapok, copra, bauxite and carob, without exception."),
        (4, "Kapok, copra, bauxite, carob, plus coal, salt, silk and gold."),
        (1, "kapok, coal, copra, bauxite and carob"), (2, "- kapok\n- copra\n- bauxite\n- carob\n- coal\n- salt"),
        (1, "1. Kapok\n2. Copra\n3. Bauxite\n4. Carob\n5. Coal"),
        (1, "Kapok, copra, bauxite, carob pods as well as cane sugar"),
    ],
)  # fmt: skip
def test_only_invented_items_are_false_finds_however_a_list_is_worded(false: int, text: str) -> None:
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
