"""CSV and TSV: every field stays as it is, and every fault is reported with its line."""

from __future__ import annotations

import pytest
from answer_files import Read, problem, texts

from niah_score.errors import ScoreError
from niah_score.formats import LineError


def table(*rows: str) -> str:
    return "\n".join(["id,prediction", *rows, ""])


@pytest.mark.parametrize("name", ["001", "1e5", "12E3", "true", "98765432109876543210", "NA", " 7 "])
def test_ids_of_tables_stay_as_they_are(read: Read, name: str) -> None:
    assert texts(read(table(f"{name},x"))) == {name: "x"}


@pytest.mark.parametrize("text", ["NA", "null", "None", "nan", "N/A", "1.50", " x "])
def test_texts_of_tables_stay_as_they_are(read: Read, text: str) -> None:
    assert texts(read(table(f"a,{text}"))) == {"a": text}


def test_an_empty_field_is_an_empty_answer_quoted_or_not(read: Read) -> None:
    assert texts(read(table('a,""', "b,"))) == {"a": "", "b": ""}


def test_an_unclosed_quote_is_reported_at_the_line_that_opens_it(read: Read) -> None:
    records = read(table("good,42", "good,42", 'a,"x', "b,y", "c,z"))
    message = problem(records, line=4)
    assert "the quote that opens column 2 is never closed" in message


@pytest.mark.parametrize("row", ['a,x"y"', 'a,"x"y', 'a"b,x', 'a,"x" '])
def test_a_quote_out_of_place_is_malformed(read: Read, row: str) -> None:
    assert "quote" in problem(read(table("good,42", row, "good,42")), line=3)


def test_quoted_texts_may_contain_separators_quotes_and_line_ends(read: Read) -> None:
    records = read('id;prediction\r\n"a";"x;""y""\r\n\nz"\r\nb;w\r\n')
    assert texts(records) == {"a": 'x;"y"\r\n\nz', "b": "w"}
    assert [record.line for record in records] == [2, 5]


@pytest.mark.parametrize("row", ["a,x,y", "a", "a,b,"])
def test_rows_with_the_wrong_number_of_columns_are_malformed(read: Read, row: str) -> None:
    assert "the header has 2" in problem(read(table("good,42", row, "good,42")), line=3)


def test_semicolons_and_tabs_are_recognised_and_latin1_is_refused(read: Read) -> None:
    for separator in ";\t":
        assert texts(read(table("a,x").replace(",", separator))) == {"a": "x"}
    with pytest.raises(ScoreError, match="not UTF-8"):
        read(table("a,caf").encode() + "é\n".encode("latin-1"))


def test_a_duplicate_column_is_an_error(read: Read) -> None:
    with pytest.raises(LineError, match=":1: column 'prediction' appears twice"):
        read("id,prediction,prediction\na,x,y\n")


def test_lines_that_end_with_only_a_carriage_return_are_an_error(read: Read) -> None:
    with pytest.raises(ScoreError, match="carriage return"):
        read(table("a,x").replace("\n", "\r"))


def test_long_fields_and_late_texts_are_read(read: Read) -> None:
    rows = [f"{number},{number}" for number in range(2000)] + ["x,late", 'y,"' + "z" * 1_000_000 + '"']
    answers = texts(read(table(*rows)))
    assert (answers["x"], answers["1999"], len(answers["y"] or "")) == ("late", "1999", 1_000_000)
