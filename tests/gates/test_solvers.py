"""Solvers that know the truth answer by their rules, and only the oracle answers controls."""

from __future__ import annotations

from typing import Any

from solvers import another_rows_answers, by_group, chances, constants, inserted, is_set, oracle, positions

Rows = list[dict[str, Any]]


def test_rows_are_grouped_by_language_and_part_or_else_task(rows: Rows) -> None:
    groups = by_group(rows)
    assert {group: len(members) for group, members in groups.items()} == {
        ("near", "en"): 3, ("near", "zh"): 2, ("list", "en"): 1,
    }  # fmt: skip
    assert list(by_group([{**rows[0], "part": None}])) == [("single", "en")]


def test_the_oracle_gives_the_reference_answer_of_every_row_and_control(rows: Rows) -> None:
    answers = oracle(rows)
    assert len(answers) == len(rows)
    assert answers["mill-1"] == "Orr."
    assert answers["mill-1-absent"] == "Not stated."


def test_another_rows_answer_is_of_another_needle_in_its_part_and_language(rows: Rows) -> None:
    assert another_rows_answers(rows) == {
        "mill-1": "Skeen.", "mill-2": "Skeen.", "shop-1": "Orr.", "bell-1": "晏棹平.", "drum-1": "邵渡生.",
    }  # fmt: skip


def test_another_rows_answer_depends_on_seed_and_id_but_not_on_row_order(rows: Rows) -> None:
    many = [{**rows[0], "id": f"r{n}", "needle_id": f"n{n}", "answers": [f"word{n}"]} for n in range(20)]
    answers = another_rows_answers(many)
    assert answers == another_rows_answers(many, seed=0) != another_rows_answers(many, seed=1)
    assert all(text != f"word{name[1:]}" for name, text in answers.items())
    first, *rest = [{**row, "answers": ["same"]} for row in many]
    assert another_rows_answers([*rest, first]) == another_rows_answers([first, *rest])


def test_each_accepted_answer_is_a_constant_for_its_part_and_language(rows: Rows) -> None:
    rules = constants(rows)
    assert list(rules) == ["Orr.", "Skeen.", "邵渡生.", "晏棹平.", "Hend and Marl."]
    assert rules["Skeen."] == dict.fromkeys(["mill-1", "mill-2", "shop-1"], "Skeen.")


def test_constants_with_under_half_the_rows_of_the_most_common_are_not_tried(rows: Rows) -> None:
    accepted = [["a", "b"], ["a", "b"], ["a"], ["a", "c"]]
    assert list(constants([{**rows[0], "id": str(n), "answers": texts} for n, texts in enumerate(accepted)])) == [
        "a",
        "b",
    ]


def test_inserted_texts_are_listed_in_the_order_of_the_context(rows: Rows) -> None:
    for row in rows:
        places = [row["prompt"].index(text) for text in inserted(row)]
        assert places == sorted(places)
    assert inserted(rows[0])[1] == rows[0]["needles"][0]


def test_positions_count_from_the_start_and_from_the_end(rows: Rows) -> None:
    rules = positions(rows)
    assert set(rules) == {
        *(f"text {k}" for k in (1, 2, 3)), *(f"text {k} from the end" for k in (1, 2, 3)), "all texts",
    }  # fmt: skip
    needles = {row["id"]: row["needles"][0] for row in rows}
    assert [rules["text 2"][name] == needles[name] for name in ("mill-1", "mill-2", "shop-1")] == [True, True, False]
    assert rules["text 3 from the end"]["shop-1"] == needles["shop-1"]
    assert rules["text 2 from the end"]["bell-1"] == needles["bell-1"]
    assert "bell-1" not in rules["text 3"]


def test_only_facts_from_several_texts_are_answered_with_all_inserted_texts(rows: Rows) -> None:
    rules = positions(rows)
    (several,) = [row for row in rows if row["part"] == "list"]
    assert rules["all texts"] == {"keepers-1": " ".join(inserted(several))}
    assert [name for name, answers in rules.items() if "keepers-1" in answers] == ["all texts"]
    assert is_set(several)
    assert not is_set({"keywords": [["Orr"], ["corn"]], "needles": rows[0]["needles"]})
    assert not is_set(rows[0])


def test_picking_blindly_is_worth_the_mean_of_all_texts(rows: Rows) -> None:
    scores = {
        "text 1": {"mill-1": 0.0, "mill-2": 30.0, "shop-1": 100.0, "bell-1": 100.0, "drum-1": 0.0},
        "text 2": {"mill-1": 90.0, "mill-2": 0.0, "shop-1": 20.0, "bell-1": 0.0, "drum-1": 0.0},
        "text 3": {"mill-1": 0.0, "mill-2": 0.0, "shop-1": 0.0},
        "all texts": {"keepers-1": 80.0},
    }
    assert chances(rows, scores) == {
        "mill-1": 30, "mill-2": 10, "shop-1": 40, "bell-1": 50, "drum-1": 0, "keepers-1": 80,
    }  # fmt: skip
