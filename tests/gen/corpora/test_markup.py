"""Markdown and HTML as plain text: what a reader sees, and nothing of the markup."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_gen.corpora.add import add_corpus
from niah_gen.corpora.documents import Document, read_documents
from niah_gen.corpora.encodings import decode_page
from niah_gen.corpora.find import locate
from niah_gen.corpora.markup import markup_text
from niah_gen.corpora.read import corpus_digest, corpus_figures, corpus_sha256, read_corpus
from niah_gen.errors import CorpusError
from niah_score.contract import sha256_hex

pytestmark = pytest.mark.usefixtures("own_surroundings")

LACKING = "needs what `pip install 'niah-kit[markup]'` installs"


def html(page: str) -> str:
    pytest.importorskip("selectolax", reason=LACKING)
    return markup_text(page.encode(), "page.html")


def markdown(text: str) -> str:
    pytest.importorskip("selectolax", reason=LACKING)
    pytest.importorskip("mdit_py_plugins", reason=LACKING)
    return markup_text(text.encode(), "page.md")


PAGE = """<!doctype html><html><head><title>Not this</title><style>p {color: red}</style></head><body>
<nav><a href="/">Home</a></nav><header><h1>The <em>old</em> mill</h1></header>
<!-- nor this --><script>alert("nor this")</script>
<p>It stood by
   the river,&nbsp;and turned &lt;slowly&gt;.<br>So it did.<p>Twice&mdash;or&#x20;more.
<ul><li>flour<li>oats<ul><li>rolled</ul></ul><ol><li>first<li><p>second</p></ol>
<table><caption>Prices</caption><thead><tr><th>grain<th>pence</thead><tr><td>rye<td>4<tr><td>oats<td>3</table>
<pre>
def mill(grain):

    return  grain
</pre>
<div hidden>hidden</div><span aria-hidden="true">#</span><div role="navigation">ways</div>
<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>字<noscript>no</noscript><button>Buy</button>
<dl><dt>rye<dd>a grain</dl>"""

TEXT = """The old mill

It stood by the river,\u00a0and turned <slowly>.
So it did.

Twice—or more.

flour
oats
rolled

first

second

Prices
grain\tpence
rye\t4
oats\t3

def mill(grain):

    return  grain

漢字

rye
a grain
"""


def test_a_page_becomes_the_paragraphs_lists_tables_and_code_that_a_reader_sees() -> None:
    assert html(PAGE) == TEXT


@each(
    ("source", "text"),
    [
        ("# Title *here*\n\nOne\ntwo &amp; [three](http://x.y 't') ![alt](i.png).", "Title here\n\nOne two & three ."),
        ("Setext\n======\n\n***\n\n> quoted\n> twice", "Setext\n\nquoted twice"),
        ("- a\n- b\n  - c\n\n1) x\n2) y", "a\nb\nc\n\nx\ny"),
        ("- [ ] open\n- [x] done", "open\ndone"),
        ("| A | B |\n|--:|---|\n| `1` | **2** |", "A\tB\n1\t2"),
        ("```py\ndef f():\n    return '*'\n```\n\n    indented\n", "def f():\n    return '*'\n\nindented"),
        ("---\ntitle: x\ntags: [a]\n---\n\nText.", "Text."),
        ("Said ~~not~~ so.[^1]\n\n[^1]: A *note*.\n", "Said not so.\n\nA note."),
        ("[ref][1] and <http://a.b> and \\*this\\*\n\n[1]: http://c.d\n", "ref and http://a.b and *this*"),
        ("a\\\nb  \nc", "a\nb\nc"),
        ("<details><summary>More</summary>\n\n*inside*\n\n</details><script>x()</script>", "More\n\ninside"),
        ("第一行\n第二行 and\nmore", "第一行第二行 and more"),
        ("한국어\n문장", "한국어 문장"),
    ],
)
def test_no_markdown_is_left_over(source: str, text: str) -> None:
    assert markdown(source) == text + "\n"


@examples(150)
@given(st.text(st.sampled_from("ab \n\t#*_`|->[]()!<>/&;:~1.\\中\u00a0"), max_size=120))
def test_any_input_is_read_as_text_without_blank_ends(source: str) -> None:
    for text in (html(source), markdown(source)):
        assert not text or (text.endswith("\n") and text.strip("\n") + "\n" == text)
        assert all(line == line.rstrip(" \t") for line in text.split("\n"))


@examples(100)
@given(st.lists(st.text("abc中<&>'\"", min_size=1, max_size=12), min_size=1, max_size=6))
def test_escaped_words_in_paragraphs_are_read_back(words: list[str]) -> None:
    from html import escape

    assert html("".join(f"<p>{escape(word)}</p>" for word in words)) == "\n\n".join(words) + "\n"


def test_a_very_deeply_nested_page_is_read() -> None:
    assert html("<b>" * 3000 + "deep") == "deep\n"


# --- encodings ---


@each(
    ("declaration", "encoding", "text"),
    [
        ('<meta charset="gb2312">', "gb18030", "汉字镕"),
        ("<META http-equiv=Content-Type content='text/html; charset=Shift_JIS'>", "cp932", "かな①"),
        ("<meta charset=iso-8859-1>", "cp1252", "“naïve” €"),
        ("<meta charset='windows-1251'>", "cp1251", "Привет"),
        ("<!-- <meta charset=koi8-r> --><meta charset=big5>", "big5", "漢字"),
        ("<meta charset=utf-16>", "utf-8", "中文"),
        ("", "utf-8", "中文"),
        ("<meta charset=koi8-r>", "utf-8-sig", "中文"),
    ],
)
def test_a_page_is_decoded_by_its_byte_order_mark_its_declaration_or_as_utf_8(
    declaration: str, encoding: str, text: str
) -> None:
    assert decode_page(f"{declaration}<p>{text}".encode(encoding), "a.html") == f"{declaration}<p>{text}"


@each(
    ("data", "message"),
    [
        (
            b"<meta charset='klingon'>",
            r"a\.html:1: the page says that its encoding is 'klingon', which is not known here",
        ),
        (b"<meta charset='hex'>", r"a\.html:1: the page says that its encoding is 'hex', which is not known"),
        (b"<p>\n\xe9", r"a\.html:2: byte 0xe9 at offset 4 is not UTF-8"),
        (
            b"<meta charset=gbk>\n\xff",
            r"a\.html:2: byte 0xff at offset 19 is not gbk, the encoding that the page states",
        ),
        (b"\xff\xfe<\x00", r"a\.html:1: the file is UTF-16"),
    ],
)
def test_an_unknown_encoding_or_an_invalid_byte_is_reported(data: bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        decode_page(data, "a.html")


# --- as a corpus ---


def test_a_folder_of_pages_is_a_corpus_and_its_digest_covers_the_text(tmp_path: Path) -> None:
    pytest.importorskip("selectolax", reason=LACKING)
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "b.htm").write_text("<p>Second &amp; last.")
    (folder / "a.html").write_text("<h1>First</h1><p>page.")
    corpus = read_corpus(locate(str(folder)))
    assert corpus.documents == (
        Document("First\n\npage.\n", "a.html", 1), Document("Second & last.\n", "b.htm", 1),
    )  # fmt: skip
    hashes = {document.file: sha256_hex(document.text.encode()) for document in corpus.documents}
    assert corpus.sha256 == corpus_digest(corpus.files, hashes) != corpus_digest(corpus.files)
    assert corpus.sha256 == corpus_sha256(locate(str(folder))) == corpus_figures(locate(str(folder))).sha256
    add_corpus("mine", [folder], folder=tmp_path / "installed")
    assert read_corpus(locate(str(tmp_path / "installed" / "mine"))).documents == corpus.documents
    (folder / "c.html").write_text("<script>only()</script>")
    with pytest.raises(CorpusError, match=r"c\.html: the file is empty"):
        read_corpus(locate(str(folder)))


@each("name", ["a.md", "a.html"])
def test_a_missing_library_is_reported_with_the_command_that_installs_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("selectolax", "selectolax.lexbor"):
        monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / name).write_text("Text.")
    with pytest.raises(
        CorpusError, match=r"reading Markdown and HTML needs .*; run `pip install 'niah-kit\[markup\]'`"
    ):
        list(read_documents(tmp_path / name, name))
