"""The data of a page: sums that add up to the summary, and lengths that share columns where there are too many."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import WriteLines, made, right
from made_pages import bare, shown_by
from properties import examples

import niah_score
from niah_score.report.page import data
from niah_score.report.page.data import data_of
from niah_score.report.page.examples import Chooser, Step
from niah_score.report.page.render import page_of

VALUES = st.sampled_from(["a", "b", None])


@examples(60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([1000, 2000, None]), st.sampled_from([0.0, 50.0, None]), VALUES, VALUES, VALUES, VALUES,
            st.sampled_from(["ok", "missing", "empty"]), st.none() | st.floats(0, 100).map(lambda x: round(x, 3)),
        ),
        min_size=1, max_size=40,
    )
)  # fmt: skip
def test_the_sums_that_filters_use_add_up_to_the_summary(lines: list[tuple[Any, ...]]) -> None:
    report = bare(lines)
    page = data_of(report)
    sums, summary = page["sums"], report.summary["metrics"]["score"]
    n = sums["rows"] if sums["n"][0] is None else sums["n"][0]
    assert sum(sums["rows"]) == len(lines)
    filters = {one["name"]: (place, one["values"]) for place, one in enumerate(page["filters"])}
    # The rows that the page shows first: all, or those without a control where there is a choice.
    every = counted = list(range(len(n)))
    if "control" in filters and None in filters["control"][1]:
        place, values = filters["control"]
        counted = [k for k in every if sums["codes"][2 + place][k] == values.index(None)]
    elif page["controls"]:
        counted = []

    def check(chosen: list[int], line: dict[str, Any]) -> None:
        columns = {"rows": sums["rows"], "n": n, "unanswered": sums["unanswered"]}
        assert {name: sum(column[k] for k in chosen) for name, column in columns.items()}.items() <= line.items()
        if line["n"]:
            mean = math.fsum(sums["sum"][0][k] for k in chosen) / line["n"]
            assert math.isclose(mean, line["mean"], abs_tol=1e-3)

    check(counted, summary["overall"])
    for name, (place, values) in filters.items():
        groups = {line["value"]: line for line in summary["groups"].get(name, ())}
        assert set(groups) <= set(values)
        listed = page["groups"][0][place]
        assert (listed is None) == (not groups)
        of = every if name == "control" else counted
        for code, value in enumerate(values if groups else ()):
            line = groups.get(value, {"rows": 0, "n": 0, "unanswered": 0})
            assert listed[code][:3] == [line["rows"], line["n"], line["unanswered"]]
            check([k for k in of if sums["codes"][2 + place][k] == code], line)


def test_rows_without_a_length_or_depth_have_their_own_column() -> None:
    page = data_of(bare([(1000, 0.0, "a", "a", "a", None, "ok", 100.0), (None, None, "a", "a", "a", None, "ok", 0.0)]))
    assert (page["lengths"], page["depths"]) == ([1000, None], [0.0, None])
    assert (page["cells"][0]["length"], page["cells"][0]["depth_percent"]) == ([1000, None], [0.0, None])


def test_lengths_share_columns_where_there_are_too_many_and_no_row_is_lost() -> None:
    lines = [(100 + k, 0.0, "a", "a", "a", None, "ok", float(k % 2)) for k in range(500)]
    page = data_of(bare(lines))
    assert page["grouped"] == {"lengths": True, "depths": False}
    assert len(page["lengths"]) == 30
    assert (page["lengths"][0][0], page["lengths"][-1][1]) == (100, 599)
    assert all(first[1] + 1 == second[0] for first, second in zip(page["lengths"], page["lengths"][1:], strict=False))
    assert sum(page["sums"]["rows"]) == 500
    assert page["cells"] is None
    assert shown_by(page_of(bare(lines)))["examples"]["columns"]["cell"][-1] == 29


def test_a_filter_with_too_many_values_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [(1000, 0.0, "ab"[k % 2], "a", f"n{k}", None, "ok", 1.0) for k in range(50)]
    assert [one["name"] for one in data_of(bare(lines))["filters"]] == ["language", "needle_id"]
    monkeypatch.setattr(data, "_MOST_COMBINATIONS", 20)
    page = data_of(bare(lines))
    assert ([one["name"] for one in page["filters"]], page["left_out"]) == (["language"], ["needle_id"])
    examples = Chooser(bare(lines), page).examples(Step(20, 100))
    assert len(set(examples["columns"]["needle_id"])) == 20


def test_the_first_twenty_problems_are_shown_and_all_are_counted(write_lines: WriteLines) -> None:
    rows = made(40)
    strange = [{"id": f"nobody-{number}", "prediction": "x"} for number in range(3)]
    file = write_lines("a.jsonl", [*right(rows[:10]), *strange])
    problems = shown_by(page_of(niah_score.evaluate(write_lines("r.jsonl", rows), file, missing="zero")))["problems"]
    assert (problems["count"], problems["kinds"], len(problems["shown"])) == (33, [["missing", 30], ["unknown", 3]], 20)
    assert problems["shown"][0] == ["unknown", str(file), 11, "no row has the id 'nobody-0'"]
