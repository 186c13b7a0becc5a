"""Removes HTML and Markdown markup from an answer, so that its words are adjacent."""

from __future__ import annotations

import html
import re

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
