"""The content of a box is the answer where nothing follows it; LaTeX, HTML and Markdown are removed."""

from __future__ import annotations

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.scoring.markup import without_latex, without_markup


@each(
    ("text", "expected"),
    [
        ("<p>Drawer <b>417</b></p>", "Drawer 417"), ('<div class="x">Drawer<br/>417</div>', "Drawer\n417"),
        ("<STRONG>Dolores</STRONG> <span style='x'>Park</span>", "Dolores Park"),
        ("Tom &amp; Jerry&#39;s, &pound;4.35", "Tom & Jerry's, £4.35"),
        ("It is in drawer **417**.", "It is in drawer 417."), ("***Drawer*** *417*", "Drawer 417"),
        ("Dolores **Park**", "Dolores Park"), ("靛**蓝**色", "靛蓝色"), ("Drawer `417`", "Drawer 417"),
        ("```\nDrawer 417\n```", "Drawer 417"), ("```text\nDrawer 417\n```", "Drawer 417"),
        ("~~Drawer 512~~ Drawer 417", "Drawer 417"), ("> Drawer 417", "Drawer 417"), ("> Drawer\n> 417", "Drawer\n417"),
        ("[Drawer 417](https://example.org/a)", "Drawer 417"),
    ],
)  # fmt: skip
def test_markup_is_removed(text: str, expected: str) -> None:
    assert without_markup(text).strip() == expected


@each(
    "text",
    [
        "2**3**4", "5 * 3 * 2", "2*3*4", "a ** b", "**", "****", "* item\n* item", "<blue>", "a < b and c > d",
        "a<b and c>d", "<img src=x>", "x & y; z", "&unknown;", "[1] blue", "[a] (b)", "~ 5", "a_b_c", "__init__", "`",
        "a > b", "```\na\n```\nb\n```\nc\n```", "",
    ],
)  # fmt: skip
def test_text_that_is_not_markup_is_unchanged(text: str) -> None:
    assert without_markup(text) == text


@each(("text", "expected"), [
    # The content of a box at the end is the answer.
    (r"It is \boxed{blue}.", "blue"), (r"$\boxed{\text{blue gate}}$", "blue gate"),
    (r"$$\boxed{\textrm{blue}}$$", "blue"), (r"\[ \boxed{\mathrm{blue} \textbf{gate}} \]", "blue gate"),
    (r"\boxed{\text{\mathbf{blue}}}", "blue"), (r"\boxed{\text{a {b} c}}", "a {b} c"), (r"\boxed{x^{2}}", "x^{2}"),
    (r"\boxed{\boxed{blue}}", "blue"), (r"\boxed{red \boxed{blue} red}", "red blue red"), (r"\fbox{blue}", "blue"),
    (r"\boxed {blue}", "blue"), (r"\boxed{blue} \boxed{}", "blue"), (r"\boxed{blue} \boxed{ \text{ } }", "blue"),
    (r"}} \boxed{blue} }", "blue"), (r"{ \boxed{blue}", "blue"), (r"\boxed{ 上海 }", "上海"),
    ("<|begin_of_box|>blue<|end_of_box|>", "blue"), ("It is <|begin_of_box|>blue<|end_of_box|>.", "blue"),
    # Several boxes are several values, unless a later one corrects them.
    (r"The cars are \boxed{3174}, \boxed{8662} and \boxed{7391}.", "3174, 8662, 7391"),
    ("1. Gate: \\boxed{blue}\n2. Lamp: \\boxed{red}", "blue, red"),
    (r"\boxed{blue}. Once more: \boxed{blue}", "blue"), (r"\boxed{red}, no: \boxed{blue}", "blue"),
    (r"\boxed{5} tokens in step 1. Therefore \boxed{417}", "417"), (r"先得\boxed{5}，所以\boxed{417}", "417"),
    (r"\boxed{red} \boxed{green}, but rather \boxed{blue}, \boxed{gold}", "blue, gold"),
    # A sentence after a box is kept.
    (r"\boxed{5} is the step... The drawer is 417", "5 is the step... The drawer is 417"),
    (r"First \boxed{5}. It stands in drawer 417.", "First 5. It stands in drawer 417."),
    (r"\boxed{5} is 4 more, so it is drawer 417.", "5 is 4 more, so it is drawer 417."),
    (r"第一步\boxed{5}，抽屉是第417号。", "第一步5，抽屉是第417号。"),
    # A unit beside a box stays with it.
    (r"It is \boxed{1318} feet.", "1318 feet"), (r"\boxed{\frac{1}{2}} or so", r"\frac{1}{2} or so"),
    (r"第\boxed{283}号铁柜。", "283 号铁柜"), (r"\boxed{417}. Hope this helps!", "417"),
    ("\\boxed{417}\n\nHope this helps!", "417"), (r"It costs \$\boxed{4.35}.", "$4.35"),
    (r"It costs £\boxed{4.35}.", "£4.35"),
    # Signs that only typeset words are removed, and money is kept.
    (r"\text{blue}", "blue"), (r"Dolores\text{ Park}", "Dolores Park"), (r"$417$", "417"),
    (r"It is $417$, of $x$ drawers.", "It is 417, of x drawers."), (r"\(417\)", "417"),
    (r"\boxed{1{,}318\text{ feet}}", "1318 feet"), (r"\boxed{1\,318}", "1318"), (r"\boxed{19{:}52}", "19:52"),
    (r"\boxed{50\%}", "50%"), (r"\boxed{\pounds 4.35}", "£4.35"), (r"\boxed{\text{a}~\text{b}}", "a~b"),
    (r"\boxed{12^\circ}", "12°"), (r"a\_b \& c\#", "a_b & c#"), (r"\boxed{blue", "blue"),
    ("It costs $4.35 and $5.", "It costs $4.35 and $5."), ("$4.35", "$4.35"), ("from $4–$5", "from $4–$5"),
    (r"\boxed blue", r"\boxed blue"), ("{blue}", "{blue}"), ("blue", "blue"), ("", ""),
])  # fmt: skip
def test_latex_is_read(text: str, expected: str) -> None:
    assert without_latex(text).strip() == expected


balanced = st.recursive(
    st.text("ab ", max_size=4), lambda inner: inner.map("{{{}}}".format) | st.lists(inner, max_size=3).map("".join)
)


@examples(100)
@given(before=st.text("ab ", max_size=6), inside=balanced, after=st.sampled_from(["", ".", " $", "}", " !\n"]))
def test_the_content_of_a_box_is_the_text_between_its_braces(before: str, inside: str, after: str) -> None:
    answer = without_latex(f"{before}\\boxed{{{inside}}}{after}")
    assert answer == (inside.strip() if inside.strip() else f"{before}{inside}{after}")


@examples(150)
@given(parts=st.lists(st.sampled_from(["\\boxed{", "\\text{", "{", "}", "}", "a", "b", " "]), max_size=14))
def test_any_combination_of_braces_leaves_the_words_in_order(parts: list[str]) -> None:
    text = "".join(parts)
    answer = without_latex(text)
    assert "\\" not in answer
    letters = iter(text.replace("\\boxed", "").replace("\\text", ""))
    assert all(letter in letters for letter in answer.replace(",", "").replace(" ", ""))
