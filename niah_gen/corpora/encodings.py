"""Decodes the bytes of texts and pages, or says where and why they cannot be decoded."""

from __future__ import annotations

import codecs
import re

from niah_gen.errors import CorpusError

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# By the HTML standard, a page states its encoding within its first 1024 bytes.
_STATED_WITHIN = 1024
_COMMENT = re.compile(rb"<!--.*?(-->|\Z)", re.DOTALL)
_META = re.compile(rb"<meta\s[^>]*?charset\s*=\s*[\"']?\s*([^\s\"'/>;]+)", re.IGNORECASE)
# What browsers read under these names, by the Encoding standard (whatwg.org); Python's codecs of these names read less.
_BROWSERS_MEAN = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "gb2312": "gb18030",
    "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs",
}  # fmt: skip
_LABELS = {"x-sjis": "cp932", "x-gbk": "gb18030", "x-euc-jp": "euc_jp", "unicode-1-1-utf-8": "utf-8"}


def decode_utf8(data: bytes, where: str, offset: int = 0, line: int = 1) -> str:
    """UTF-8 as text, without a byte order mark. `offset`, `line`: where the data begin. Raises CorpusError."""
    if offset == 0 and data[:2] in _UTF16_MARKS:
        raise CorpusError(f"{where}:1: the file is UTF-16; save it as UTF-8")
    try:
        return data.decode("utf-8" if offset else "utf-8-sig")
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        raise CorpusError(
            f"{where}:{line}: byte 0x{data[error.start]:02x} at offset {offset + error.start} is not UTF-8; save it as "
            "UTF-8"
        ) from None


def decode_page(data: bytes, where: str) -> str:
    """An HTML page as text, in the encoding that it states, or UTF-8. Raises CorpusError naming the encoding.

    A byte order mark overrides the stated encoding, as in browsers.
    """
    match = _META.search(_COMMENT.sub(b"", data[:_STATED_WITHIN]))
    if match is None or data.startswith((codecs.BOM_UTF8, *_UTF16_MARKS)):
        return decode_utf8(data, where)
    stated = match[1].decode("ascii", "replace").lower()
    try:
        name = _LABELS.get(stated) or codecs.lookup(stated).name
        "".encode(name)
    except LookupError:
        raise CorpusError(
            f"{where}:1: the page says that its encoding is {stated!r}, which is not known here; save it as UTF-8"
        ) from None
    name = _BROWSERS_MEAN.get(name, name)
    # A page that could be read so far is not UTF-16, whatever it says; browsers take it for UTF-8.
    if name.startswith("utf"):
        return decode_utf8(data, where)
    try:
        return data.decode(name)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CorpusError(
            f"{where}:{line}: byte 0x{data[error.start]:02x} at offset {error.start} is not {stated}, the encoding "
            "that the page states; save it as UTF-8"
        ) from None
