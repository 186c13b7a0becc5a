"""Gates measure the points that each solver gets in each part, as the scorer judges it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gates import HEADLINE, SOLVERS, Gates, best_rules, evaluated, main, measured, points_of_rules, table
from solvers import by_group, positions

NEAR_EN, NEAR_ZH, LIST_EN = ("near", "en"), ("near", "zh"), ("list", "en")


@pytest.fixture(scope="module")
def gates(dataset: Path) -> Gates:
    return measured(dataset)


def test_the_oracle_scores_100_and_answers_of_other_rows_score_0(gates: Gates) -> None:
    assert set(gates.means["oracle"].values()) == {100.0}
    assert set(gates.means["another row's"].values()) == {0.0}


def test_both_searches_find_a_near_miss_first_which_is_what_they_answer(gates: Gates) -> None:
    assert gates.means["BM25"][NEAR_EN] == 0
    assert gates.means["5 hops"][NEAR_EN] == 0


def test_the_best_constant_of_a_part_is_the_answer_that_most_of_its_rows_accept(gates: Gates) -> None:
    assert gates.best["constant"] == {NEAR_EN: "Orr.", NEAR_ZH: "邵渡生.", LIST_EN: "Hend and Marl."}
    assert gates.means["constant"] == pytest.approx(
        {NEAR_EN: 200 / 3, NEAR_ZH: 50, LIST_EN: 100, HEADLINE: 100 * 4 / 6}
    )


def test_the_one_constant_is_the_best_answer_for_the_headline(gates: Gates) -> None:
    assert gates.best["one constant"] == {HEADLINE: "Orr."}
    assert gates.means["one constant"] == pytest.approx(
        {NEAR_EN: 200 / 3, NEAR_ZH: 0, LIST_EN: 0, HEADLINE: 100 * 2 / 6}
    )


def test_the_best_position_rule_and_picking_blindly_are_both_measured(gates: Gates) -> None:
    assert gates.best["position"] == {NEAR_EN: "text 2", NEAR_ZH: "text 1", LIST_EN: "all texts"}
    assert gates.means["position"] == pytest.approx(
        {NEAR_EN: 200 / 3, NEAR_ZH: 100, LIST_EN: 80, HEADLINE: (200 + 200 + 80) / 6}
    )
    assert gates.means["blind"] == pytest.approx(
        {NEAR_EN: 100 / 3, NEAR_ZH: 50, LIST_EN: 80, HEADLINE: (100 + 100 + 80) / 6}
    )


def test_controls_are_in_no_mean_and_have_rates_of_their_own(gates: Gates) -> None:
    assert sum(gates.rows.values()) == 6
    assert gates.controls["BM25"] == {"absent": ("false_answer_rate", 100.0)}
    assert gates.controls["oracle"] == {"absent": ("false_answer_rate", 0.0)}
    assert set(gates.controls) == {"BM25", "5 hops", "oracle"}


def test_rules_scored_together_get_the_same_points_as_alone(dataset: Path, rows: list[dict[str, Any]]) -> None:
    rules = positions(rows)
    together = points_of_rules(dataset, rules)
    for name, answers in rules.items():
        alone = dict(evaluated(dataset, answers.items()).scores.select("id", "score").iter_rows())
        assert together[name] == {key: alone[key] for key in answers}, name


def test_the_first_of_equal_rules_wins_and_unanswered_rows_count_as_0(
    rows: list[dict[str, Any]],
) -> None:
    groups = {NEAR_ZH: by_group(rows)[NEAR_ZH]}
    points = {"few": {"bell-1": 90.0}, "half": {"bell-1": 50.0, "drum-1": 50.0}, "like half": {"bell-1": 100.0}}
    assert best_rules(groups, points) == {NEAR_ZH: "half"}


def test_the_table_has_a_line_for_each_part_and_language_and_the_headline_last(gates: Gates) -> None:
    lines = table(gates).splitlines()
    assert [name.strip() for name in lines[0].split("|")[4:-1]] == list(SOLVERS)
    assert len({line.count("|") for line in lines}) == 1
    assert lines[2].startswith("| near | en | 3 | 0.0 | 0.0 | 66.7 |")
    assert lines[-1].startswith("| headline |  | 6 | ")


def test_the_command_prints_the_table_the_best_constant_and_the_control_rates(
    dataset: Path, gates: Gates, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["gates.py", str(dataset)])
    main()
    printed = capsys.readouterr().out
    assert printed.startswith(table(gates))
    assert "\none constant, headline: Orr.\n" in printed
    assert "\nabsent, BM25: false_answer_rate 100.0 %\n" in printed


@pytest.mark.parametrize("name", ["", "nothing"])
def test_a_path_that_is_not_a_dataset_is_named_in_the_error(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["gates.py", str(tmp_path / name)])
    with pytest.raises(SystemExit) as exit_info:
        main()
    assert exit_info.value.code == 2
    assert capsys.readouterr().err.startswith(f"gates: {tmp_path}")
