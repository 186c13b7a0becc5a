r"""needlebench_boxed: the last `\boxed{...}`, cleaned as NeedleBench v2 cleans it."""

from __future__ import annotations

from each import each
from hypothesis import given
from hypothesis import strategies as st
from judged import judged, value
from properties import examples

from niah_score.metrics.needlebench_boxed import last_boxed


@each(
    "text",
    [
        r"\boxed{Ann Lee}", r"So it is \boxed{Ann Lee}.", r"\boxed{Bob}, no: \boxed{Ann Lee}", r"\boxed{{Ann Lee}}",
        r"\boxed{\text{Ann Lee}}", r"\boxed{Ann~Lee}", r"\boxed{ Ann   Lee }", r"\boxed{'Ann Lee'}",
        r"\boxed{Ann\ Lee}", "\\boxed{Ann\nLee}", r"\[\boxed{\text{Ann }\text{Lee}}\]",
    ],
)  # fmt: skip
def test_a_box_with_the_answer_is_right_however_it_is_typeset(text: str) -> None:
    assert value("needlebench_boxed", text, "Ann Lee") == 100


@each(
    "text",
    [
        "Ann Lee", r"\boxed{}", r"\boxed Ann Lee", r"\boxed{Ann Lee", r"\boxed{Ann Lee} or \boxed{Ann",
        r"\boxed{ann lee}",
        r"\boxed{Ann Lee.}", r"\boxed{Ann Lee} \boxed", r"\fbox{Ann Lee}", "",
    ],
)  # fmt: skip
def test_only_the_last_box_counts_and_it_must_match_exactly(text: str) -> None:
    assert value("needlebench_boxed", text, "Ann Lee") == 0


def test_an_answer_without_a_box_counts_as_the_text_none() -> None:
    assert value("needlebench_boxed", "anything", "None") == 100
    assert value("needlebench_boxed", r"\boxed{None}", "None") == 100
    assert judged("needlebench_boxed", "anything", "x").parts == {"boxed": False}
    assert judged("needlebench_boxed", r"\boxed{x}", "x").parts == {"boxed": True}


def test_a_name_with_an_apostrophe_is_never_right() -> None:
    assert value("needlebench_boxed", r"\boxed{Ann O'Lee}", "Ann O'Lee") == 0


def slow(text: str) -> str | None:
    r"""The last box, found by cutting the text at the last `\boxed` and matching braces with a stack."""
    _, command, rest = text.rpartition("\\boxed")
    if not command or not rest.startswith("{"):
        return None
    open_: list[int] = []
    for place, char in enumerate(rest):
        if char == "{":
            open_.append(place)
        elif char == "}":
            open_.pop()
            if not open_:
                inside = rest[1:place]
                single_line = "\n" not in inside.removesuffix("\n")
                stripped = inside.removesuffix("\n")
                double = single_line and len(stripped) >= 2 and stripped[0] == "{" and stripped[-1] == "}"
                return stripped[1:-1] if double else inside
    return None


@examples(200)
@given(parts=st.lists(st.sampled_from(["\\boxed", "{", "}", "a", "\n", " "]), max_size=14))
def test_the_last_box_agrees_with_a_stack_of_braces_on_any_text(parts: list[str]) -> None:
    text = "".join(parts)
    assert last_boxed(text) == slow(text)
