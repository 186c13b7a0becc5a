"""Owners: to whom an answer attributes a fact, in whatever order it names them."""

from __future__ import annotations

import pytest

from niah_score.text import first_standing, fold, group_of

FACTS = {
    "上街|Shangjie": ("藕荷", "lilac"),
    "下街|Xiajie": ("蟹壳青", "green"),
    "外河|Waihe": ("秋香", "olive"),
}


def attributed_rightly(answer: str) -> list[bool]:
    """For each fact, whether the answer attributes it to its owner."""
    results = []
    for owner, spellings in FACTS.items():
        others = tuple(name for other in FACTS if other != owner for name in other.split("|"))
        group = group_of(spellings, f"pair:{owner}", others)
        results.append(first_standing(fold(answer), group) is not None)
    return results


@pytest.mark.parametrize(
    "answer",
    [
        "上街队藕荷色，下街队蟹壳青，外河队秋香色。",
        "上街隊：藕荷色；下街隊：蟹殼青；外河隊：秋香色",
        "外河队秋香色，下街队蟹壳青，上街队藕荷色。",
        "藕荷色（上街队）、蟹壳青（下街队）、秋香色（外河队）",
        "藕荷色是上街队的，蟹壳青是下街队的，秋香色是外河队的。",
        "穿藕荷色的是上街队，穿蟹壳青的是下街队，穿秋香色的是外河队。",
        "藕荷色，上街队；蟹壳青，下街队；秋香色，外河队",
        "上街队、下街队、外河队分别是藕荷色、蟹壳青、秋香色。",
        "上街、下街和外河三队的号衣分别为藕荷色、蟹壳青和秋香色",
        "藕荷色、蟹壳青、秋香色（依次为上街队、下街队、外河队）",
        "共三队：上街队、下街队和外河队。上街队藕荷色，下街队蟹壳青，外河队秋香色。",
        "上街队的桨手穿藕荷色号衣，腰里扎一条白布；下街队的号衣染成蟹壳青；外河队一律穿秋香色。",
        "| 队 | 颜色 |\n|---|---|\n| 上街队 | 藕荷色 |\n| 下街队 | 蟹壳青 |\n| 外河队 | 秋香色 |",
        "Shangjie wears lilac, Xiajie green and Waihe olive.",
        "Lilac (Shangjie), green (Xiajie), olive (Waihe)",
        "Shangjie, Xiajie and Waihe wear lilac, green, and olive respectively.",
        "- Shangjie team: lilac\n- Xiajie team: green\n- Waihe team: olive",
    ],
)
def test_a_fact_belongs_to_the_owner_that_is_named_with_it(answer: str) -> None:
    assert attributed_rightly(answer) == [True, True, True]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("上街队蟹壳青，下街队藕荷色，外河队秋香色。", [False, False, True]),
        ("上街队、下街队、外河队分别是蟹壳青、秋香色、藕荷色。", [False, False, False]),
        ("藕荷色（下街队）、蟹壳青（上街队）、秋香色（外河队）", [False, False, True]),
        ("藕荷色、蟹壳青、秋香色", [False, False, False]),
        ("三队分别为秋香色、藕荷色、蟹壳青。", [False, False, False]),
        ("Shangjie, Xiajie and Waihe wear green, lilac and olive respectively.", [False, False, True]),
        ("Lilac (Waihe), green (Xiajie), olive (Shangjie)", [False, True, False]),
        ("上街队不是藕荷色", [False, False, False]),
    ],
)
def test_a_fact_that_is_attributed_to_another_owner_or_to_none_is_void(answer: str, expected: list[bool]) -> None:
    assert attributed_rightly(answer) == expected


def test_an_owner_is_named_only_by_whole_words() -> None:
    group = group_of(("lilac",), "pair:upper", ("lower",))
    assert first_standing("the upper team wears lilac", group)
    assert not first_standing("the supper club wears lilac", group)


def test_a_long_run_of_commas_is_read_to_its_end() -> None:
    assert attributed_rightly("上街队" + "、 " * 400 + "下街队 藕荷色") == [True, False, False]
