r"""Reads what an answer is typeset in: LaTeX (boxes, \text{...}, escapes, $...$), HTML and Markdown."""

from __future__ import annotations

import html
import re

from niah_score.text.phrases import phrases_of

_CORRECTS = phrases_of("answering").corrects
_SIGN = re.compile(r"\\[fv]?box(?:ed)?\s*\{|<\|begin_of_box\|>|\\(?:text|math|emph)[a-z]*\s*\{|[{}]|<\|end_of_box\|>")
# What may follow the last box in its sentence: a few words such as a unit, and no number.
_SHORT = re.compile(r"(?: ?[A-Za-z\u00c0-\u024f°%'’]{1,20}){1,3}|[\u3400-\u9fff]{1,6}")
_BEFORE_SHORT, _AROUND_SHORT = " \t$)*`\\]{}", " \t\r\n{}$.。,，;；:：!！?？*)）]】\"'”’`\\"
_CURRENCY = re.compile(r"(?:\\\$|[£€¥￥＄])\s*$")
_NAMED = re.compile(r"\\(pounds|euro|degree|quad|qquad|ldots|dots|cdot)(?![A-Za-z])\s?|\^\{?\\circ\}?")
_NAMES = {"pounds": "£", "euro": "€", "degree": "°", "ldots": "...", "dots": "...", "cdot": "·"}
_ESCAPED = re.compile(r"\\([%$#&_*£€])")
_DIGIT_GROUPS = re.compile(r"(?<=\d)(?:\\[,!]|\{,\})(?=\d{3})")
_SPACE = re.compile(r"\\[,;:! ]|\\\\")
_BRACED = re.compile(r"\{([,:.])\}")
# Tells mathematics from money as Pandoc does: no white space just inside the signs, no digit after the second.
_MATHS = re.compile(r"\$\$([^$]{1,500})\$\$|\$(?=\S)([^$\n]{1,500}?)(?<=\S)\$(?!\d)|\\[()\[\]]")


def without_latex(text: str) -> str:
    r"""The words of a text with LaTeX: the contents of its boxes if these are the answer, else all of it.

    They are if only punctuation, or a few words of the same sentence such as a unit, follows the last box; these words
    are kept. Several boxes are several values, unless the words between two say that the later one corrects the earlier
    or follows from it. GLM's `<|begin_of_box|>...<|end_of_box|>` is a box.
    """
    bare, boxes = _unbraced(text) if "\\" in text or "_of_box|>" in text else (text, [])
    is_latex = bare != text
    if not boxes:
        return _plain(bare, is_latex)
    after = bare[boxes[-1][1] :]
    closing = after.strip(_AROUND_SHORT)
    if closing and not _SHORT.fullmatch(closing):
        return _plain(bare, is_latex)
    first = len(boxes) - 1
    while first and not _CORRECTS.search(bare, boxes[first - 1][1], boxes[first][0]):
        first -= 1
    values = [_currency(bare, start) + _plain(bare[start:end], is_latex).strip() for start, end in boxes[first:]]
    answer = ", ".join(dict.fromkeys(values))
    is_same_sentence = closing and after.lstrip(_BEFORE_SHORT).startswith(closing)
    return f"{answer} {closing}" if is_same_sentence else answer


def _currency(text: str, start: int) -> str:
    """The currency sign right before a box, if any."""
    sign = _CURRENCY.search(text, max(0, start - 4), start)
    return sign[0].strip().removeprefix("\\") if sign else ""


def _unbraced(text: str) -> tuple[str, list[tuple[int, int]]]:
    r"""The text with boxes, \text{...} and the like replaced by their contents, and where these boxes are in it.

    Only outermost boxes that are closed and not empty.
    """
    pieces: list[str] = []
    size = start = 0
    # What opened each ("{", "}" for a command's brace, GLM's sign), and where a box begins in the new text, else -1.
    opened: list[tuple[str, int]] = []
    boxes: list[tuple[int, int]] = []
    for match in _SIGN.finditer(text):
        sign = match[0]
        piece = text[start : match.start()]
        start = match.end()
        if sign == "{" or (sign == "}" and (not opened or opened[-1] == ("{", -1))):
            piece += sign
        pieces.append(piece)
        size += len(piece)
        if sign == "{":
            opened.append(("{", -1))
        elif sign[0] == "\\":
            opened.append(("}", size if "box" in sign else -1))
        elif sign == "<|begin_of_box|>":
            opened.append((sign, size))
        elif opened and (sign == "}") == (opened[-1][0] in "{}"):
            _, begin = opened.pop()
            if begin >= 0:
                while boxes and boxes[-1][0] >= begin:
                    boxes.pop()
                boxes.append((begin, size))
    bare = "".join([*pieces, text[start:]])
    return bare, [(begin, end) for begin, end in boxes if bare[begin:end].strip()]


def _plain(text: str, is_latex: bool = False) -> str:
    """A text without LaTeX that only arranges it. `is_latex`: whether it is known to have LaTeX."""
    if "\\" in text or "{" in text:
        text = _NAMED.sub(lambda sign: _NAMES.get(sign[1] or "degree", " "), text)
        text = _BRACED.sub(r"\1", _DIGIT_GROUPS.sub("", text))
    if "$" in text or "\\" in text:
        text, count = _MATHS.subn(lambda maths: (maths[1] or "").strip() or maths[2] or "", text)
        if count or is_latex:
            text = _SPACE.sub(" ", text)
        text = _ESCAPED.sub(r"\1", text)
    return text


# Tags that only arrange words; others may be the answer. `a<b and c>d` is not a tag.
_ATTRIBUTES = r"(?:\s+[\w:-]{1,30}=(?:\"[^\"<>]{0,200}\"|'[^'<>]{0,200}'|[^\s\"'<>]{1,100})){0,8}\s*/?>"
_BREAKING = re.compile(
    r"<(?:/?(?:p|div|li|ul|ol|table|thead|tbody|tr|td|th|h[1-6]|blockquote|pre|body|html|section)|br|hr)" + _ATTRIBUTES,
    re.IGNORECASE,
)
_INLINE = re.compile(
    r"</?(?:b|strong|i|em|u|mark|span|code|tt|kbd|q|cite|font|small|big|center|a|sub|sup)" + _ATTRIBUTES, re.IGNORECASE
)
_ENTITY = re.compile(r"&(?:#\d{1,6}|#[xX][0-9a-fA-F]{1,5}|[A-Za-z]{2,8});")
# Emphasis begins and ends at a word, not at a space; `2**3` is not emphasis.
_BOLD = re.compile(r"(?<![\d*])\*\*\*?(?=[^\s*])([^*\n]{1,500}?)(?<=\S)\*\*\*?(?!\*)")
_ITALIC = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,500}?)(?<=\S)\*(?![\w*])")
_CODE = re.compile(r"(?<!`)`([^`\n]{1,500})`(?!`)")
_STRUCK = re.compile(r"~~(?=\S)[^~\n]{1,500}(?<=\S)~~")
_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\([^()\s]{1,300}\)")
_QUOTED_LINE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
# A text that is one fenced block, with or without the name of a language.
_FENCED = re.compile(r"\s*```[^\n`]{0,20}\n([^`]*(?:`{1,2}[^`]+)*)```\s*")


def without_markup(text: str) -> str:
    """A text without markup and without what is struck out; HTML entities become characters."""
    if "<" in text:
        text = _INLINE.sub("", _BREAKING.sub("\n", text))
    if "~~" in text:
        text = _STRUCK.sub("", text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "```" in text and (fenced := _FENCED.fullmatch(text)):
        text = fenced[1]
    if "`" in text:
        text = _CODE.sub(r"\1", text)
    if "*" in text:
        text = _ITALIC.sub(r"\1", _BOLD.sub(r"\1", text))
    if text[:1] == ">" or ("\n" in text and ">" in text):
        text = _QUOTED_LINE.sub("", text)
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text) if "&" in text else text
