"""Makes contexts of whole documents, or of documents cut to a length, and proves them against their file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from niah_gen.errors import FitError
from niah_gen.haystacks.cut_document import GAP, CutText, Stretch, unit_edges
from niah_gen.haystacks.placement import Placement
from niah_gen.haystacks.proof import ContextProof, misplaced, shown
from niah_gen.prompts.frame import Frame
from niah_gen.prompts.messages import Piece, PromptMessage
from niah_gen.tasks.hiding import ContextKind
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
    return ContextKind(partial(_DocumentMaker, find, mode), partial(_check, find, mode), exact=lambda placement: True)


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


def _check(find: FindQuestion, mode: str, placement: Placement, proof: ContextProof) -> Iterator[str]:
    """What is wrong with a context, compared with its document in the file."""
    yield from misplaced(proof.needles, proof.context, proof.offset)
    question = find(proof.row["needle_id"] or "")
    document, row = question.document, proof.row
    if row["haystack_id"] != document_id(document):
        yield f"haystack_id is {shown(row['haystack_id'])}, expected the document's {document_id(document)!r}"
    if proof.context != document:
        if row["length"] is None:
            yield f"the context is not the file's document: {shown(proof.context)}"
        else:
            yield from _wrong_cut(proof.context, question, mode)
    needles = sorted(proof.needles, key=lambda needle: needle.start)
    rest, at = "", 0
    for needle in needles:
        rest, at = rest + proof.context[at : needle.start], needle.end
    tokens = proof.tokenizer.count(rest + proof.context[at:])
    if row["haystack_tokens"] != tokens:
        yield f"haystack_tokens is {row['haystack_tokens']}, expected {tokens}"


def _wrong_cut(context: str, question: ExternalQuestion, mode: str) -> Iterator[str]:
    """What is wrong with a cut document, as far as it shows without the budget: building the row again proves the rest.

    With evidence, every line is one of the document's, and every passage occurs exactly once.
    """
    document, passages = question.document, evidence_in(question)
    for passage in passages:
        text = document[passage.start : passage.end]
        if context.count(text) != 1:
            yield f"a passage of the evidence occurs {context.count(text)} times in the context: {shown(text)}"
    if passages:
        strange = next((line for line in context.split(GAP) if line not in document), None)
        if strange is not None:
            yield f"the document has no such line: {shown(strange)}"
    elif not _is_cut(context, document, mode):
        yield f"the context is not the document cut between sentences by options.cut = {mode!r}"


def _is_cut(context: str, document: str, mode: str) -> bool:
    """Whether a context is what `mode` keeps of a document, cut between units; `middle` may keep one end alone."""
    edges = unit_edges(document)
    ends = {end for edge in edges for end in (edge, _before_space(document, edge))}
    starts = {start for edge in edges for start in (edge, _past_space(document, edge))}
    head, tail = _shared(document, context), _shared(document[::-1], context[::-1])
    size = len(context)
    is_head = head == size and size in ends
    is_tail = tail == size and len(document) - size in starts

    def continues(end: int) -> bool:
        """Whether a gap and a tail follow a head of `end` characters."""
        rest = size - end - len(GAP)
        return context.startswith(GAP, end) and rest <= tail and len(document) - rest in starts

    if mode != "middle":
        return is_head if mode == "head" else is_tail
    return is_head or is_tail or any(continues(end) for end in ends if end <= head)


def _shared(one: str, other: str) -> int:
    """How many characters two texts share at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _past_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _before_space(text: str, at: int) -> int:
    while at and text[at - 1].isspace():
        at -= 1
    return at
