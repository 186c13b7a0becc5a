"""Makes contexts of whole documents, or of documents cut to a length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from niah_gen.errors import FitError
from niah_gen.haystacks.cut_document import GAP, CutText, Stretch
from niah_gen.prompts.frame import Frame
from niah_gen.prompts.messages import Piece, PromptMessage
from niah_gen.tasks.hiding import ContextKind, always_exact
from niah_gen.tasks.questions.question import ExternalQuestion
from niah_gen.tasks.records import Cell, Context, Item, Workbench
from niah_gen.tokenizers.spliced import Encoded, Slice, encode
from niah_score.contract import sha256_hex

# Finds a question by its id.
FindQuestion = Callable[[str], ExternalQuestion]


def documents(find: FindQuestion, mode: str) -> ContextKind:
    """Documents as contexts: whole in rows without a length, else cut to it. `mode`: head, tail or middle.

    A document shorter than the length stays whole. Prompts never exceed their budget.
    """
    return ContextKind(partial(_DocumentMaker, find, mode), exact=always_exact, corpus="questions", without_length=True)


def evidence_in(question: ExternalQuestion) -> list[Stretch]:
    """Where the passages of a question's evidence are in its document, in order."""
    starts = ((question.document.index(passage), passage) for passage in question.evidence)
    return sorted(Stretch(start, start + len(passage)) for start, passage in starts)


def document_id(document: str) -> str:
    """A digest of a whole document: rows about it share their haystack_id, however it is cut."""
    return sha256_hex(document.encode())[:12]


class _DocumentMaker:
    """Makes the contexts of one process; consecutive cells about a document encode it once."""

    def __init__(self, find: FindQuestion, mode: str, bench: Workbench) -> None:
        self._find = find
        self._mode = mode
        self._bench = bench
        self._text = ""
        self._source: Encoded | None = None

    def __call__(self, cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
        """The context of a cell. Raises FitError if the length has no room for it."""
        question = self._find(cell.needle)
        document = question.document
        source = self._encoded(document)
        whole = [Stretch(0, len(document))]
        cut = CutText(document, source, evidence_in(question))
        stretches: list[Stretch] | None = whole
        if cell.length and not self._fits(cut, frame, cell.length, whole):
            stretches = cut.cut(self._mode, partial(self._fits, cut, frame, cell.length))
        if stretches is None:
            passages = "the passages of its evidence" if item.hide else "a sentence of its document"
            raise FitError(
                f"question {cell.needle!r}: length {cell.length} has no room for {passages}; ask for longer lengths or "
                "a smaller reserve, or leave the question out of the file"
            )
        return self._context(document, _pieces(cut, stretches))

    def _context(self, document: str, pieces: tuple[Piece, ...]) -> Context:
        count = self._bench.counter.count
        haystack = [piece.content for piece in pieces if piece.needle < 0]
        tokens = count(haystack)
        depths = {}
        before: list[Slice | str] = []
        for piece in pieces:
            if piece.needle < 0:
                before.append(piece.content)
            else:
                depths[piece.needle] = min(100.0, 100 * count(before) / max(1, tokens))
        return Context(
            (PromptMessage(None, pieces),), document_id(document), tokens,
            tuple(depths[number] for number in sorted(depths)),
        )  # fmt: skip

    def _encoded(self, document: str) -> Encoded:
        if self._source is None or document != self._text:
            self._text, self._source = document, encode(document, self._bench.tokenizer)
        return self._source

    def _fits(self, cut: CutText, frame: Frame, length: int, stretches: Sequence[Stretch]) -> bool:
        bench = self._bench
        pieces = _pieces(cut, stretches)
        tokens = bench.counter.count([frame.before, *(piece.content for piece in pieces), frame.after])
        return tokens + sum(bench.counter.count([other]) for other in frame.others) <= length - bench.reserve


def _pieces(cut: CutText, stretches: Sequence[Stretch]) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for number, stretch in enumerate(stretches):
        pieces += [Piece(GAP)] if number else []
        pieces += [Piece(slice_, needle) for slice_, needle in cut.slices([stretch])]
    return tuple(pieces)
