r"""Tells whether an answer says that the text does not state what was asked, declines, or only guesses.

An answer that denies that what was asked is told, and commits to nothing, is absent; what commits, and what is another
matter, a guess, an aside or a refusal, is in docs/metrics.md ("Statuses and findings").

For folded texts in English and Chinese. Every gap in a pattern is bounded, so that reading takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

_SOURCE = (
    r"\b(?:texts?|documents?|contexts?|passages?|articles?|essays?|story|books?|materials?|excerpts?|contents?|sources?"
    r"|pages?|paragraphs?|transcripts?|files?|author|narrator|sections?|chapters?|novel|prompt|provided|lists?)\b|文中"
    r"|文[里内]|文档|文件|文章|文本|文字|[原上下全该本正短]文|语境|段落|材料|资料|书中|故事|作者|给定|提供的"
)
_NOT = (
    r"(?:(?<!will )\bnot(?! (?:only|just|merely)\b)|n't|\bdont|\bcannot|\bnever|\bnone|\bnothing|\bnowhere|\bneither"
    r"|(?<!with )\bno(?! (?:doubt|problem|one|longer|wonder)\b)|\bunable|\bimpossible|\binsufficient|\black(?:s|ing)?"
    r"|\bwithout(?= (?:ever )?(?:nam|stat|say|giv|mention|specif|tell))|\b(?:fail(?:s|ed)?|neglects?|hard"
    r"|difficult) to)\b"
)
_TELLING = (
    r"\b(?:mention|stat(?:e|ing)|specif|indicat|sa(?:y|id)|t(?:ell|old)|disclos|reveal|descri|discuss|identif|expla"
    r"|clar|address|refer|record|conclu|infer|deduc|deriv|determin|establish|ascertain|confirm|locat|pinpoint|work"
    r"|kn[eo]w|detail|info|data\b|clue|eviden|answer|explicit|exact|defin|figure|idea\b|sure\b|certain|confident|trace"
    r"|hint"
    r"|word (?:on|of|about)\b|in (?:here|there)\b|gave?\b|giv|provid|nam(?:e|ing)|found\b|find|appear|present\b"
    r"|available|enough|sufficient|note|writ|list)"
)
# These tell only where a source does: "the text does not include it", but "it does not contain lead".
_HOLDING = r"\b(?:contain|includ|cover|show|hold|ha(?:ve|s|d)\b|featur|talk|speak|deal|touch|offer|see)"
# Words and what separates them have no character in common, so there is one way to match.
_WORDS = "(?:[^a-z,]{1,3}[a-z]{1,20}){0,9}?[^a-z,]{1,3}"
_DENIED = re.compile(
    rf"{_NOT}{_WORDS}(?:{_TELLING}|{_SOURCE})|{_TELLING}[a-z]*(?: [a-z']+){{0,2}} (?:no(?! doubt)|none|nothing)\b"
    rf"|\b(?:un(?:named|stated|specified|mentioned|disclosed|determined|identified|recorded|answer(?:ed|able)|clear"
    rf"|sure|certain)|unknown(?! to)|nothing (?:here |there )?(?:about|on|regarding)|omit(?:s|ted)?|left out|silent"
    rf"|missing|absent|leav(?:es?|ing) (?:[a-z']+ ){{0,3}}out"
    r"|(?:irrelevant|unrelated)(?! (?:text|material|sentence|information)s?\b)|out of place|erroneous|dismissed|n/a"
    rf"|null|nil|idk|(?:came|come) up empty|mentioned without one)\b"
)
_NOT_HELD = re.compile(rf"{_NOT}{_WORDS}{_HOLDING}|{_HOLDING}[a-z]{{0,3}} no(?! doubt)\b|没有(?:任何)?|并无|缺失")
_DENIED_ZH = re.compile(
    r"(?:没|未|无(?!论|疑|须|需|法|关)|缺[乏少]|不[含足]|不包含|不涉及|不提供)[^,]{0,14}?(?:提|说|写|告诉|记|载|述|明"
    r"|交代|给|出现|透露|列|注|讲|谈|介绍|描|指|答|解释|显示|涉|信息|内容|资料|线索|数[据字目]|[证依]据|细节|资讯|具体"
    r"|确切|包[含括]|引用|相关)|(?P<found>[找查看读猜得测推断]{1,2}不[到出]|没[有能]?[^,]{0,12}?[找查看搜见][到见索]?"
    r"|不知|(?:无法|不能|难以|没法|没办法|无从)[^,]{0,16}?[确得判推知获找查定识看答断肯考])|[不未](?:详|知|存在|明|清楚"
    r"|确定|太清楚|太确定)|信息不|不敢肯定|暂无|无关|格格不入"
)
_SPEAKS = re.compile(
    rf"\b(?:i|we|you|it|this|that|which|there|what|is|are|was|were|been?|being|goes|remains?|information|answer|idea)\b"
    rf"|'s\b|isn|aren|wasn|weren|我|{_SOURCE}"
)
_NO_SUBJECT = re.compile(
    r"\W*(?:(?:but|and|yet|though|although|so|while|unfortunately)\W+)?(?:do|does|did|ca|can|could|was|is)?\W*"
)
_OWN_ZH = re.compile(r"\W*(?:$|.*我|[也都但所并故因则就]|[^,]{0,12}(?:问题|信息|内容|答案))")
_PERSON = re.compile(r"\b(?:he|she|they|who|nobody|people)(?: [a-z']+){0,2} ?$|[他她们][^,]{0,2}$|人$")
_BARE = re.compile(
    r"(?:(?:the )?(?:final )?answer(?: is)?|答案)?\W*(?:not (?:applicable|sure)|none(?: of the above)?|nothing|没有|无)"
)
_OTHER_MATTER = re.compile(
    r"[a-z]{0,8}[^0-9a-z]{0,3}(?:(?:exactly|precisely|clearly|explicitly|me|us|in|at|by|of|from|for|the) )?(?:why|who"
    r"|how(?! (?:many|much|long|old|far|tall|high|deep|big|large))|whose|whom|which|until|(?:any)?(?:thing)? ?(?:else"
    r"|other|more|further|additional)|others?|(?:exact )?(?:reasons?|shade))\b|[^,]{0,8}?(?:原因|为什么|为何|谁|何时|怎"
    r"|如何|其他|其它|别的|更多|进一步|理由|来历|来源|[之以]外|细节)|.?哪"
)
_OF_MORE = re.compile(
    r"\b(?:no|any|without) (?:other|additional|further|more|others|reason)\b|\b(?:any|no)thing (?:else|more)\b"
    r"|more than|其他|其它|别的|更多|进一步|至于.{0,3}[何谁怎哪为]"
)
_GUESS = (
    r"\b(?:perhaps|maybe|possibl[ey]|might|may(?! \d)|could (?:[a-z]+ )?be|presumably|probabl|(?<!only )(?<!be )guess"
    r"|speculat|hypothetical|tangential)|可能|也许|或许|大概|推测|推断|猜|恐怕|估计|似乎|好像"
)
# Words that count as guesses only after a denial.
_LEANING = (
    r"\b(?:likel|estimat|suggest|seems?\b|must (?:be|have)|(?:sh|w)ould be|around|roughly|approximately"
    r"|i'd (?:say|guess|go|bet|pick|choose|put)|assum|infer"
    r"|deduc|i (?:think|believe|would (?:say|guess|pick|choose)|imagine)|go with)|应该?[是为在与当也]|多半|大约"
    r"|约[0-9一-十百两]|左右|我认为|我觉得|想必|差不多"
)
_SOURCES, _GUESSES, _LEANS = re.compile(_SOURCE), re.compile(_GUESS), re.compile(f"{_GUESS}|{_LEANING}")
_NEGATIVE = re.compile(rf"{_NOT}|\b(?:not|without)\b|没|未(?!来)|无(?!论|疑)|不(?![过但仅同])")
_OF_TEXT = re.compile(
    rf"{_SOURCE}|\b(?:mention|describ|discuss|stated|said|writ|quot|omit|elsewhere|another|part\b|information"
    rf"|details?\b|you\b|help|clarif)|提|写|说|略|其他|另外|[您你]|信息"
)
_OFFERS = re.compile(r"\b(?:you|your|please|let me|i (?:may|might))\b|[您你]")
_TALK = re.compile(
    rf"{_SOURCE}|\b(?:an? (?:ai|large|language)|you|your|please|let me|question|user|apologi|sorry|thank|describ"
    rf"|discuss|mention|listed|named|refer|says?|said|found)|^\W*(?:i|we|(?:it|they) (?:[a-z]+ly |just )?(?:focus|cover"
    rf"|deal|contain|speak|concern|gives?|talks?|(?:is|are) about))\b|[请您你]|抱歉|问题|如果|建议|作为|助手|由于|提到"
    rf"|提及|写到|写了|给出|只说"
)
_COURTESY = re.compile(
    "unfortunately|regrettably|hello|hi|sure|ok|okay|well|hmm+|yes|no|certainly|of course|note|很?遗憾|好的|对不起"
    "|不好意思|"
)
_ASKS = re.compile(r".*\?\W*$|\W*(?:what|which|who|where|when|how|whether)\b|.*(?:什么|几|多少|哪|是否|吗)")
_CONTRAST = re.compile(
    r"\W*(?:but|however|yet|though|although|instead|still|nevertheless|但|不过|然而|只是|而|却|可|至于|唯独|则)"
)
_CONCEDES = re.compile(r"\W*(?:although|though|while|whereas|even though|虽|尽管)")
_CONCLUDES = re.compile(
    r"\W*(?:but |so |therefore |thus |hence )?(?:it (?:is|was)|the (?:most likely |best |correct )?answer (?:is"
    r"|would be)|(?:so|therefore|thus|hence)\b|所以|因此|答案是|故)"
)
_PRONOUN = re.compile(r"(?:,? ?(?:it|it's|he|she|they|this|that)\b|是?[它其他她这是应为]|[^,]{0,8}可(?:以?看出|知|见))")
_OF_ANOTHER = re.compile(
    r",? ?(?:it|that|this)(?:'s| is| was) (?:(?:a|an|the|of|for|about) )*(?:different|another|other)\b"
)
_REFUSED = re.compile(
    r"(?:can(?:not|'t| not)|won't|will not|unable to|not able to|not (?:permitted|allowed|comfortable|going)|decline"
    r"|refuse|(?:rather|prefer) not|(?:do not|don't) (?:feel comfortable|have the ability|allow)|should(?: not"
    r"|n't))(?: [a-z]+ly| me| be able)?(?: to)? (?:assist|help|comply|fulfil|answer|provid|shar|disclos|discuss|respond"
    r"|engag|reveal|giv|do|continu|support|process|offer|comment|generat|reply)|\bi must (?:[a-z]+ )?(?:decline|refuse)"
    r"|something i (?:can't|cannot|can )|\bas an? (?:ai|artificial|language|large|llm|assistant"
    r"|virtual)\b.{0,40}n[o']t\b|(?:against|violates?) (?:my|our|the)\b|(?:不能|无法|不便|不可以|没办法|没法|不会|不应"
    r"|拒绝|没有能力|不方便|无权|不愿|不予)[为给帮向对直接就此发您你助]{0,6}(?:回[答应]|提供|协助|帮|满足|讨论|完成"
    r"|透露|答复|给|解答|分享|表|告诉|作答|谈论)|换个话题|无可奉告|违反|违背"
)
_SPEAKER = re.compile(
    r"\b(?:i|we|my|your|this|sorry)\b|(?<![a-z])ai(?![a-z])|我|抱歉|对不起|不好意思|助手|模型|问题|内容|^\W*(?:unable"
    r"|not able|cannot|can't|unfortunately|[无不拒])"
)
_SENTENCE_END = re.compile(
    r"(?<=[;!?。])|(?<=\.)(?<![ap]\.m\.)(?<!\b(?:st|dr|mr|ms|no)\.)(?<!\bmrs\.)(?=[\s\"')\]*]|$)"
)
_CLAUSE_END = re.compile(
    r"(?<=,)(?<!however,)(?!\d)|(?<=:)(?! ?[\d\x02])|(?=\b(?:but|however|although|though|yet)\b)|(?=—)|(?= [-–] )"
)
_INSERTED = re.compile(r"(\b(?:not|does|do|did|text|document|passage)|n't), [^,.;]{1,30}, ")
_MARKS = " .,:;!?。\"'*“”「」()[]-—–"
_QUOTED = "\x02"
_QUOTATION = re.compile('["“「『][^"“”「」『』]{20,500}["”」』]')
_VERB = re.compile(r"\b(?:is|are|was|were|has|had|have|be)\b|'s\b|\b[a-z]{3,}ed\b|[是有在为于了]")
_AGAINST = re.compile(r"[^一-龥]*(?:但|而|却|可|至于|唯独|则)")
_REFERS_BACK = re.compile(r"[她他它其]|\b(?:its?|his|her|their)\b")
_ACCORDING_TO = re.compile(r"\W*(?:based|according|given|from|in|within|after|on)\b|\W*[根从基在依据就]")
_REPORTS = re.compile(
    r"\b(?:mentions?|says?|find|states?|describe[sd]?|list(?:s|ed)?|gives?|found|discuss|covers?)|提|写|给出|介绍|说"
)
_OF_QUESTION = re.compile(r"answer|question|\basked\b|回答|问题|答案")
# "... not how many there are here", "but not this one's", "the other is not": what was told before is not told here.
_ELLIPSIS = re.compile(
    r"\W*(?:but |and )?(?:not|none|nothing|nor)\b(?: (?:how|what|where|when|the|its|his|her|their|for|about|that)\b"
    r"|\W*$|[a-z0-9' ]*'s\W*$)|.*\b(?:is|are|was|were|do|does|did)(?: not|n't)\W*$"
)
# Every clause that denies or refuses holds one of these, and so does every text with one that guesses or asks. Looking
# for strings is the fastest search.
_HINTS = (
    "not", "n't", "no ", "none", "nowhere", "never", "neither", "without", "unable", "impossible", "insufficient",
    "lack", "fail", "neglect", "hard to", "difficult to", "unn", "unst", "unsp", "unm", "undis", "undet", "unid",
    "unrec", "unans", "uncl", "unsu", "uncer", "unk", "unrel", "omit", "left out", "leav", "silent", "missing",
    "absent", "irrelevant", "out of place", "erroneous", "dismissed", "n/a", "null", "nil", "idk", "declin", "refus",
    "something i ", "guideline", "against", "violat", "?", "perhaps", "maybe", "possibl", "might", "may ", "could",
    "presumabl", "probabl", "guess", "speculat", "hypothetical", "tangential", "没", "未", "无", "不", "缺", "拒",
    "违", "难以", "换个话题", "可能", "也许", "或许", "大概", "推测", "推断", "猜", "恐怕", "估计", "似乎", "好像",
)  # fmt: skip


class Clause(NamedTuple):
    """A clause of an answer, `text` without its quotations. `ends`: whether it ends a sentence."""

    whole: str
    text: str
    ends: bool
    kind: str  # denies, other (a denial of another matter), refuses, guesses, leans, asks, talks, or claims


def clauses_of(folded: str) -> list[Clause]:
    """The clauses of a folded answer, each with its kind; empty if it has no word of denying, refusing or guessing."""
    hints = [hint for hint in _HINTS if hint in folded]
    if not hints:
        return []
    clauses: list[Clause] = []
    told = False
    folded = folded.replace(_QUOTED, " ")
    quotations = iter(_QUOTATION.findall(folded))
    own = _QUOTATION.sub(_QUOTED, folded)
    for sentence in _SENTENCE_END.split(_INSERTED.sub(r"\1 ", own) if ", " in own else own):
        parts = [part for part in _CLAUSE_END.split(sentence) if part.strip(_MARKS)]
        of_source = reports = denied = False
        for number, part in enumerate(parts, 1):
            begins = _ACCORDING_TO.match(part) is not None
            before, *after = part.split(_QUOTED)
            whole = before + "".join(next(quotations, "") + text for text in after)
            is_hinted = any(hint in part for hint in hints)
            clause = Clause(whole, part, number == len(parts), _kind(part, of_source, is_hinted))
            if (told and _ELLIPSIS.match(part)) or (denied and clause.kind == "claims"):
                clause = clause._replace(kind="denies")
            elif reports and clause.kind == "claims" and not _insists(clause):
                clause = clause._replace(kind="talks")
            reports = reports or (not begins and clause.kind == "talks" and _REPORTS.search(part) is not None)
            of_source = of_source or (begins and _SOURCES.search(part) is not None)
            told = told or reports
            # "It is not stated: blue, and red."
            denied = denied or (clause.kind == "denies" and part.rstrip().endswith(":"))
            clauses.append(clause)
    return clauses


@lru_cache(maxsize=4_096)
def _kind(own: str, of_source: bool, is_hinted: bool) -> str:
    """The kind of a clause. `own`: without quotations; `of_source`: whether a source is named before it.

    `is_hinted`: whether it holds a word of denying, refusing or guessing.
    """
    if is_hinted:
        of_source = of_source or _SOURCES.search(own) is not None
        if not of_source and (refused := _REFUSED.search(own)) and _SPEAKER.search(own[: refused.end()]):
            return "other" if _OF_MORE.search(own) else "refuses"
        if (denied := _denial(own, of_source)) is not None:
            return "other" if _OF_MORE.search(own) or _OTHER_MATTER.match(own, denied.end()) else "denies"
    if _ASKS.match(own):
        return "asks"
    if _COURTESY.fullmatch(own.strip(_MARKS)) or own.rstrip().endswith(":"):
        return "talks"
    # Looking for strings first is faster.
    if (is_hinted or "no" in own or "dont" in own) and _NEGATIVE.search(own):
        return "talks"
    guess = _LEANS.search(own)
    if guess and not _OF_TEXT.search(own, guess.end()) and not _OFFERS.search(own):
        return "guesses" if _GUESSES.search(own) else "leans"
    return "talks" if _TALK.search(own) else "claims"


def _denial(clause: str, of_source: bool) -> re.Match[str] | None:
    """Where a clause denies that something is told, known or found; not by a person of the story."""
    if bare := _BARE.fullmatch(clause.strip(_MARKS)):
        return bare
    for pattern in (_DENIED, _NOT_HELD, _DENIED_ZH) if of_source else (_DENIED, _DENIED_ZH):
        for match in pattern.finditer(clause):
            before = clause[max(0, match.start() - 60) : match.start()]
            if _PERSON.search(before):
                continue
            if pattern is _DENIED_ZH:
                says = of_source or not match["found"] or _OWN_ZH.match(before)
            else:
                says = _NO_SUBJECT.fullmatch(before) or _SPEAKS.search(before + match[0])
            if says:
                return match
    return None


def said_instead(text: str, folded: str, rivals: Callable[[str], int]) -> str | None:
    """What an answer without the fact says instead: said_absent, refused, or None.

    `text`: the answer as it was written; `rivals`: how many facts of distractors a folded text states.
    """
    clauses = clauses_of(folded)
    kinds = [clause.kind for clause in clauses]
    if "denies" not in kinds:
        if "other" in kinds:
            return None if {"claims", "guesses", "leans"} & {*kinds} else "said_absent"
        if "refuses" not in kinds or "claims" in kinds[: kinds.index("refuses")]:
            return None
        return None if any(_insists(clause) for clause in clauses) else "refused"
    first = kinds.index("denies")
    names = {word.lower() for word in re.findall(r"(?<=[a-z,] )[A-Z][a-z]+", text)}
    if _commits_before(clauses[: first + 1], names, rivals):
        return None
    last = len(kinds) - 1 - kinds[::-1].index("denies")
    conceded = _CONCEDES.match(clauses[first].text) is not None
    for number, clause in enumerate(clauses[first + 1 :], first + 1):
        if clause.kind in ("guesses", "leans") and (number > last or rivals(clause.text)):
            return None
        if clause.kind == "claims" and (conceded or _insists(clause) or (_is_terse(clause) and rivals(clause.text))):
            return None
        conceded = conceded and not clause.ends
    return "said_absent"


def _commits_before(clauses: list[Clause], names: set[str], rivals: Callable[[str], int]) -> bool:
    """Whether the clauses before the last one, a denial, give an answer, and do not merely tell of something else."""
    *before, denial = clauses
    told = " ".join(clause.text for clause in before)
    apart = _AGAINST.match(denial.text) or {*re.findall("[a-z]+", denial.text)} & names - {*re.findall("[a-z]+", told)}
    is_aside = bool(apart) or rivals(told) > 1
    for number, clause in enumerate(before):
        if clause.kind in ("guesses", "leans") or (clause.kind == "claims" and _is_terse(clause)):
            return True
        # "As for the tower, the text does not say."
        is_topic = number + 1 == len(before) and not clause.ends and not _VERB.search(clause.text)
        is_topic = is_topic and not _REFERS_BACK.search(denial.text)
        if clause.kind == "claims" and not (is_aside or is_topic or _CONCEDES.match(clause.text)):
            return True
    return False


def asserted(folded: str) -> str | None:
    """What an answer asserts: its text without denials, guesses, questions, and quotations beside a denial.

    Nothing before a denial of the question itself counts, and quotations do after "but". None if all is asserted.
    """
    clauses = clauses_of(folded)
    denying = [clause.kind in ("denies", "refuses") for clause in clauses]
    unsure = ("denies", "refuses", "guesses", "asks", *(("leans",) if any(denying) else ()))
    dropped = [clause.kind in unsure for clause in clauses]
    if not any(dropped):
        return None
    first = 0
    for number, clause in enumerate(clauses):
        if denying[number] and _OF_QUESTION.search(clause.text):
            first = number + 1
    return "".join(
        clause.whole if not any(denying) or _CONTRAST.match(clause.text) else clause.text
        for clause, drop in zip(clauses[first:], dropped[first:], strict=True)
        if not drop
    )


def _insists(clause: Clause) -> bool:
    """Whether a clause claims something after a denial: "but it is ...", "so ...", "but white"."""
    contrast = _CONTRAST.match(clause.text)
    of_it = contrast and (_PRONOUN.match(clause.text, contrast.end()) or _is_terse(clause))
    is_other = contrast and _OF_ANOTHER.match(clause.text, contrast.end())
    return clause.kind == "claims" and not is_other and bool(of_it or _CONCLUDES.match(clause.text))


def _is_terse(clause: Clause) -> bool:
    """Whether a clause is a sentence of a few words without a verb: a value on its own."""
    words = re.findall("[a-z0-9][a-z0-9'.:]*|[一-龥]", clause.text)
    return clause.ends and len(words) <= 6 and _VERB.search(clause.text) is None
