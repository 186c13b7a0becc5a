"""Reads Markdown and HTML as plain text: what a reader sees of headings, paragraphs, lists, tables and code.

Blocks become paragraphs with a blank line between them; items of a list, rows of a table and lines of code get a line
each. Markdown is converted to HTML first, so that both are read alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from niah_gen.corpora.encodings import decode_page, decode_utf8
from niah_gen.errors import CorpusError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from selectolax.lexbor import LexborNode  # type: ignore[import-not-found, unused-ignore]

# The fewest line feeds around elements.
_PARAGRAPHS = """
    address article aside blockquote body center details dialog dir dl fieldset figcaption figure footer form h1 h2 h3
    h4 h5 h6 header hgroup hr legend main menu ol p pre search section summary table ul div
"""
_LINES = "br caption dd dt li tr tbody thead tfoot optgroup option"
_BREAKS = dict.fromkeys(_PARAGRAPHS.split(), 2) | dict.fromkeys(_LINES.split(), 1)
_LISTS = frozenset({"ul", "ol", "dl", "menu", "dir"})
_CELLS = frozenset({"td", "th"})
# Not the page's text: scripts, styles, navigation, controls, drawings, and how characters are pronounced.
_NOT_TEXT = """
    head script style template noscript nav iframe object embed svg canvas audio video map button select textarea input
    datalist rp rt annotation annotation-xml
"""
_DROPPED = frozenset(_NOT_TEXT.split())
_DROPPED_CLASSES = frozenset({"footnote-ref", "footnote-backref", "headerlink"})
_SPACES = re.compile(r"[ \t\n\r\f]+")


def markup_text(data: bytes, where: str) -> str:
    """The text of a Markdown or HTML file. `where`: its path, whose suffix says which it is.

    Raises CorpusError if the encoding cannot be read, or a library that this needs is not installed.
    """
    try:
        if where.endswith((".md", ".markdown")):
            return _html_text(_markdown().render(decode_utf8(data, where)))
        return _html_text(decode_page(data, where))
    except ModuleNotFoundError as error:
        raise CorpusError(
            f"{where}: reading Markdown and HTML needs {error.name}; run `pip install 'niah-kit[markup]'`"
        ) from None


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    """CommonMark with the most common extensions. HTML inside it stays HTML."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.footnote import footnote_plugin  # type: ignore[import-not-found, unused-ignore]
    from mdit_py_plugins.front_matter import front_matter_plugin  # type: ignore[import-not-found, unused-ignore]
    from mdit_py_plugins.tasklists import tasklists_plugin  # type: ignore[import-not-found, unused-ignore]

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return parser.use(front_matter_plugin).use(footnote_plugin).use(tasklists_plugin)


def _html_text(html: str) -> str:
    from selectolax.lexbor import LexborHTMLParser

    page = LexborHTMLParser(html)
    text = _Text()
    lists = pre = 0
    for node, opens in _walk(page.body):
        tag = node.tag
        if tag == "-text":
            text.add(node.text_content or "", pre > 0)
            continue
        if tag in _LISTS:
            lists += 1 if opens else -1
            # A list inside a list begins on the next line.
            text.end_line(2 if lists == (1 if opens else 0) else 1)
        elif tag in _CELLS:
            text.end_cell()
        else:
            text.end_line(_BREAKS.get(tag or "", 0))
        if tag == "pre":
            pre += 1 if opens else -1
    return text.joined()


def _walk(root: LexborNode | None) -> Iterator[tuple[LexborNode, bool]]:
    """Every element that counts, before (True) and after (False) its content, and every text, in page order.

    Without recursion, as pages may nest to any depth.
    """
    stack = [(root, True)] if root is not None else []
    while stack:
        node, opens = stack.pop()
        if not opens:
            yield node, False
            continue
        if node.tag == "-text":
            yield node, True
            continue
        if node.tag is None or node.tag.startswith(("-", "!")) or _is_dropped(node):
            continue
        yield node, True
        stack.append((node, False))
        inside = []
        child = node.child
        while child is not None:
            inside.append((child, True))
            child = child.next
        stack += reversed(inside)


def _is_dropped(node: LexborNode) -> bool:
    if node.tag in _DROPPED:
        return True
    attributes = node.attributes
    if not attributes:
        return False
    if "hidden" in attributes or attributes.get("aria-hidden") == "true" or attributes.get("role") == "navigation":
        return True
    return not _DROPPED_CLASSES.isdisjoint((attributes.get("class") or "").split())


class _Text:
    """Builds a text. Spaces are collapsed; breaks and spaces are written once something follows them."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._last = ""
        self._ended = 0  # line feeds at the end so far
        self._break = 0
        self._space = ""

    def add(self, text: str, as_it_is: bool) -> None:
        """Append a text of the page; `as_it_is`: with its spaces, as inside <pre>."""
        if as_it_is:
            self._write(text if self._break < 2 else text.lstrip("\n"))
            return
        start = 0
        for gap in _SPACES.finditer(text):
            self._write(text[start : gap.start()])
            self._space = "\n" if "\n" in gap[0] or self._space == "\n" else " "
            start = gap.end()
        self._write(text[start:])

    def end_line(self, feeds: int) -> None:
        """End the line, or, with two line feeds, the paragraph; zero does nothing."""
        if feeds:
            self._break = max(self._break, feeds)
            self._space = ""

    def end_cell(self) -> None:
        """End a cell: a tab separates it from the next one of its row."""
        self._space = "\t"

    def joined(self) -> str:
        """The whole text, without blanks at line ends, and with a line feed at its end unless it is empty."""
        lines = "".join(self._parts).split("\n")
        text = "\n".join(line.rstrip(" \t") for line in lines).strip("\n")
        return text + "\n" if text else ""

    def _write(self, text: str) -> None:
        if not text:
            return
        if self._break:
            between = "\n" * (self._break - self._ended)
        elif self._space == "\n":
            # A line break between Chinese or Japanese characters does not stand for a space.
            between = "" if _is_wide(self._last) and _is_wide(text[0]) else " "
        else:
            between = self._space
        if not self._last:
            between = ""
        self._parts += (between, text)
        self._last = text[-1]
        self._ended = len(text) - len(text.rstrip("\n"))
        self._break, self._space = 0, ""


def _is_wide(char: str) -> bool:
    """Whether a character is of a script that is written without spaces. Korean, though wide, is written with them."""
    korean = "\u1100" <= char <= "\u11ff" or "가" <= char <= "힣"
    return char != "" and east_asian_width(char) in "WF" and not korean
