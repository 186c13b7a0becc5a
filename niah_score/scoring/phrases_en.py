r"""Lists the English phrases by which an answer denies, refuses, doubts or guesses: hints, never part of a score.

Patterns are for folded text. Tuples are joined and run by Rust's engine, which has no look-around; single patterns, and
also those of MAY_TELL_NOT, by Python's. `\b` is the edge of an ASCII word.
"""

from __future__ import annotations

_NOT = "(?: not|n['’]?t)"
_CANNOT = "(?:cannot|can not|can['’]?t|could not|couldn['’]?t)"
_UNABLE = "(?:unable to|not able to|failed to|fail to|not possible to|impossible to)"
_SOFTLY = "(?: [a-z]+ly| even| seem to| appear to| actually| anywhere){0,2}"
_MORE = (
    "(?:(?:a|an|any|the|that|this|such|enough|sufficient|more|much|clear|direct|explicit|specific|relevant|additional|"
    "further|definitive|actual|necessary|mention of|direct mention of) ){0,3}"
)
_BEGINS = "^[^0-9a-z]*"
_SOURCES = (
    "(?:text|document|context|passage|article|essay|story|book|material|excerpt|content|source|page|paragraph|"
    "transcript|file|information|author|narrator|conversation|section|report|data|description|chapter|novel|prompt|"
    "provided|given)"
)

# The text does not tell, or it is unknown.
TELLS_NOT = (
    f"(?:do|does|did){_NOT}{_SOFTLY} (?:mention|state|specif|indicat|discuss|reveal|disclos|refer |clarif)",
    f"(?:do|does|did){_NOT}{_SOFTLY} (?:make|contain|include|have|provide|give|offer|find|see) {_MORE}"
    "(?:mention|reference|information|info|indication|answer|details?|data|context)",
    f"(?:is|are|was|were|be|been){_NOT}(?: [a-z]+){{0,2}} (?:mentioned|stated|specified|indicated|disclosed|discussed|"
    "revealed|described|addressed)",
    r"\bnot (?:[a-z]+ly )?(?:mentioned|stated|specified|indicated)\b",
    r"\b(?:is|are|was|were|['’]s|has|have|had|contains?|contained|provides?|provided|gives?|gave|includes?|offers?|"
    r"finds?|found|see|makes?|made|with|holds?)(?: absolutely| simply)? no (?:[a-z]+ ){0,3}"
    r"(?:mention|information|info|reference|indication|answer|clue)\b",
    rf"{_BEGINS}no (?:[a-z]+ ){{0,3}}(?:mention|information|info|reference|indication|answer|clue|data|records?|"
    r"details?)\b",
    r"(?:not enough|insufficient|not sufficient|lacks?(?: the| any)?|lack of)(?: [a-z]+){0,2} "
    r"(?:information|info|context|details?|data)\b",
    rf"\b(?:i|we)(?:['’]m| am| was| are| have| [a-z]+ly){{0,2}} (?:{_CANNOT}|{_UNABLE}|did not|didn['’]?t|do not|"
    "don['’]?t)(?: [a-z]+ly){0,2} (?:find|locate|determine|identify|see|tell|say|establish|confirm|deduce|infer|state|"
    r"know|extract|spot|ascertain|pinpoint|conclude)\b",
    rf"{_BEGINS}(?:sorry[^a-z]+|unfortunately[^a-z]+|apologies[^a-z]+)?(?:but )?(?:i )?(?:{_CANNOT}|{_UNABLE}|did not|"
    r"didn['’]?t) (?:find|locate|determine|identify|see|tell|say|establish|confirm|infer)\b",
    f"{_CANNOT} be (?:[a-z]+ly )?(?:determined|answered|inferred|deduced|derived|ascertained|established)",
    "(?:impossible|not possible|no way|hard|difficult)(?: for me)? to (?:say|tell|know|determine|answer|identify|"
    "infer)",
    r"\b(?:i|we) have no (?:idea|information|knowledge|way of knowing|clue)|\bno idea\b",
    "(?:fails?|failed|neglects?|omits?) to (?:mention|say|state|specif|indicat|provid|identif|nam)",
    r"\bnever (?:[a-z]+ly )?(?:mention|say|state|specif|tell|explain|reveal)",
    "(?:says?|said|tells? (?:us|me)|contains?|provides?|offers?|gives?|reveals?) nothing",
    f"(?:nowhere|nothing|not|absent|missing|omitted)(?: [a-z]+){{0,2}} (?:in|from|within) (?:[a-z]+ ){{0,3}}{_SOURCES}",
    "(?:is|are|remains?) (?:silent|mute) (?:on|about)|unanswerable|(?:is|are|remains?|was|['’]s) (?:unspecified|"
    "unstated|undisclosed|unclear from|not clear from)",
    "(?:beyond|outside) the scope of (?:the|this)",
    rf"\b(?:it|they|this|which) (?:do|does|did){_NOT}{_SOFTLY} (?:say|tell|explain|name|identif|answer|note|elaborat)",
)
# The same with verbs that also fit people in a story: these count right after a SAYER, or in a clause with a SOURCE.
MAY_TELL_NOT = (
    f"(?:do|does|did){_NOT}{_SOFTLY} (?:say|tell|explain|name|identif|answer|contain|include|provide|give|have|offer|"
    "show|list|record|cover|touch on|speak|present|note|address|talk|elaborat|hold)",
    f"(?:is|are|was|were|be|been){_NOT}(?: [a-z]+){{0,2}} (?:given|provided|included|present|available|contained|found|"
    "listed|identified|recorded|named|known|covered|clear|said|answered|shown)",
    r"\bno (?:[a-z]+ ){0,3}(?:details?|data|statement|description|evidence|record|sentence|passage|discussion|trace|"
    r"sign|explanation|such)\b",
    f"(?:{_CANNOT}|{_UNABLE})(?: [a-z]+ly){{0,2}} be (?:found|identified|located|confirmed|known)",
    "(?:is|are|remains?) unknown",
)
SAYER = rf"\b(?:{_SOURCES}s?|i|we) (?:[a-z]+ ){{0,4}}$"
SOURCE = (
    r"\b(?:based on|from|in|by|within|using|according to|given|with|anywhere in) (?:[a-z]+ ){0,4}"
    "(?:text|document|context|passage|article|essay|story|material|excerpt|content|page|transcript|file|provided|given)"
    rf"|\b{_SOURCES}s? (?:[a-z]+ ){{0,3}}(?:has|have|had|contains?|offers?|gives?|provides?|holds?|includes?|with)\b"
)
# Makes a denial about something other than what was asked: in its words, or right after them.
OF_MORE = (
    r"\b(?:no|any|without) (?:other|additional|further|more|others)\b|\b(?:anything|nothing) (?:else|more)\b|"
    r"\bmore than\b"
)
OTHER_MATTER = (
    "[a-z]{0,4}[^0-9a-z]{0,3}(?:exactly |precisely |clearly |explicitly |me |us )?(?:why|how|who|whose|whom|when|until|"
    "anything else|any (?:other|more|further|additional)|further|more|else|others?|additional|"
    r"the (?:exact |specific )?reasons?|reasons?)\b"
)
# An answer that consists of nothing else.
ALONE = (
    f"{_BEGINS}(?:the answer is |answer[^a-z]+)?(?:none(?: of the above)?|null|n/a|nil|unknown|unanswerable|"
    "not (?:found|mentioned|stated|specified|given|provided|available|applicable|known|present|sure)|unsure|"
    "no (?:answer|information|mention|data|result|record)s?(?: (?:was |is |were )?(?:found|available|given|provided))?|"
    "unspecified|undetermined|missing|absent|nothing|unclear|idk|i(?:['’]m| am) not sure|"
    "i (?:do not|don['’]?t|dont) know)[^0-9a-z一-龥]*$"
)
# Dismisses what is quoted.
SETS_ASIDE = (
    "out of place|unrelated|irrelevant|not (?:relevant|related)|erroneous|dismissed",
    f"(?:do|does){_NOT} (?:seem to |appear to )?(?:belong|fit)",
)
_WILL_NOT = (
    f"(?: {_CANNOT}| won['’]?t(?: be able to)?| will not(?: be able to)?| must decline(?: to)?| must refuse(?: to)?|"
    " decline to| refuse to|(?: would|['’]d) (?:rather|prefer) not(?: to)?| prefer not to|"
    "(?: am|['’]m| are|['’]re)(?: [a-z]+)? (?:unable|not able|not permitted|not allowed|not authori[sz]ed|"
    "not comfortable|not in a position|not going)(?: to)?|"
    " (?:do not|don['’]?t) (?:feel comfortable|have the ability to)| should not| shouldn['’]?t)"
)
_HELP = (
    "(?:assist|help|comply|fulfil|answer|provid|shar|disclos|discuss|respond|engag|reveal|giv|do that|do this|continu|"
    "support|participat|complet|process|offer|talk|comment|accommodat|generat|speak|reply|request)"
)
REFUSES = (
    rf"\b(?:i|we)(?: [a-z]+ly| am afraid(?: that)? i|['’]m afraid(?: that)? i)?{_WILL_NOT}(?: [a-z]+ly)?,? {_HELP}",
    r"(?:sorry|apologi[sz]e|apologies|regret)\b[^.]{0,50} "
    f"(?:{_CANNOT}|unable to|won['’]?t|not able to|not (?:allowed|permitted) to)(?: [a-z]+ly)? {_HELP}",
    "as an? (?:ai|artificial|language|large|llm|assistant|virtual|chat)[a-z, ()-]{0,60} i(?:['’]m (?:not|unable)| "
    "(?:cannot|can['’]?t|can not|am not|am unable|do not|don['’]?t|must|should|won['’]?t|will not|have no))",
    "i must (?:respectfully |politely )?(?:decline|refuse)|something (?:that )?i (?:cannot|can['’]?t|am unable to|"
    "won['’]?t|am not able to) (?:help|assist|do|discuss|answer|provide|share)|"
    "not something (?:that )?i (?:can|am able)",
    r"\ban ai\b[a-z ,]{0,30} (?:cannot|can['’]?t|unable to|not able to)|(?:guidelines?|policy|policies|programming) "
    "(?:do not|don['’]?t|does not|doesn['’]?t|prohibit|prevent|forbid)",
    "(?:against|violat(?:es?|ing)|prohibited by|not permitted (?:by|under)) (?:[a-z]+ ){0,3}(?:guideline|polic|"
    "programming|terms|rules)",
    "(?:this|your|the) (?:request|question|content|prompt|query) (?:has been|is|was|cannot be|can['’]?t be) (?:blocked|"
    "denied|declined|refused|rejected|filtered|processed|inappropriate|not (?:allowed|something i))",
    f"{_BEGINS}(?:i am |i['’]m )?(?:unable to|not able to|cannot|can['’]?t|won['’]?t) {_HELP}",
)
UNSURE = (
    r"\b(?:i['’]m|i am|we are)(?: [a-z]+)? (?:not (?:[a-z]+ )?(?:sure|certain|confident)|unsure|uncertain|guessing)",
    rf"{_BEGINS}not (?:entirely |completely |totally |quite |really )?sure\b|\bmy (?:best )?guess\b|"
    "(?:can|could) only (?:guess|speculate)|had to guess",
    r"\bi (?:do not|don['’]?t|dont) (?:really |actually |honestly )?know\b",
)
GUESSES = (
    r"\b(?:perhaps|maybe|possibly|might|may be|could be|presumably|probably|guess|assum|speculat|suggest|hypothetical|"
    "tangential)"
)
# In a denial: it is about the question itself.
OF_QUESTION = r"answer|question|\basked\b"
# About the text or the conversation, so no answer.
OF_TALK = (
    rf"\b{_SOURCES}s?\b|\b(?:you|your|please|let me|question|user|apologi[sz]e|sorry|thank)|describ|discuss|mention|"
    r"refer|talk|\b(?:it|they) (?:[a-z]+ly |just |instead )*(?:focus|cover|deal|contain|speak|concern|is about|"
    "are about)"
)
# A verb, a number, four words; or fewer that are more than a courtesy.
CLAIMS = (
    r"\d|\b(?:is|are|was|were|be|has|had|have|been)\b|['’]s\b|(?:\b[a-z]+ ){4}|"
    "^[^0-9a-z]*(?!(?:unfortunately|well|hello|hi|sure|ok|okay|great|good|hmm|yes|certainly|of course|regrettably|"
    r"note)\b)[a-z'’-]+(?: [a-z'’-]+){0,2}[^0-9a-z]*$"
)
CONCLUDES = (
    f"{_BEGINS}(?:so|therefore|thus|hence|most likely|i (?:would|think|believe|assume|infer)|"
    r"the (?:most likely )?answer (?:is|would be))\b"
)
CONTRAST = r"\b(?:but|however|yet|nevertheless|nonetheless|instead|still)\b"
# Where else a clause begins.
BREAKS = (
    r", (?:so|therefore|thus|hence)\b",
    r"\b(?:although|though)\b",
    ",(?: and| but)? (?:the (?:text|document|passage|context|article|essay|story|author|source)|"
    f"it (?:do|does|did|is|was){_NOT}|there|no|nothing) ",
)
# A clause that begins like this ends at its comma.
CONCEDES = "(?:although|though|while|even though)"
# These find every text in which any clause denies, refuses, doubts or sets aside as above, and few others. All texts
# are searched for them, so their number and shape are chosen for speed.
HINTS = (
    "(?:n['’]?t|not|no|never|cannot|unable to|failed to|fails? to|nothing|nowhere|lacks?|lack of|insufficient)"
    "(?: [a-z]+){0,3} "
    "(?:mention|say|state|specif|indicat|discuss|reveal|disclos|tell|info|answer|determin|locat|identif|provid|contain|"
    "includ|describ|address|reference|clue|clarif|detail|data|evidence|record|infer|deduc|confirm|establish|assist|help|"
    "comply|shar|respond|relevan|relate|belong|sure|certain|context|text|document|passage|article|essay|fulfil|"
    "statement|sentence|such|trace|sign|explan|given|anywhere|found|present|availab|story|book|material|content|source|"
    "page)",
    "(?:do|does|did|could)(?: not|n['’]?t)(?: [a-z]+){0,2} (?:say|tell|explain|name|give|have|offer|show|list|cover|"
    "touch|speak|present|note|talk|elaborat|hold|find|see|know|refer |make|fit|seem)",
    "i (?:do not|don['’]?t|dont|did not|didn['’]?t|cannot|can['’]?t|can not|could not|couldn['’]?t|am not|am unable|"
    "was unable|won['’]?t|will not|should not|shouldn['’]?t)(?: [a-z]+){0,2} (?:find|locat|determin|identif|see|tell|"
    "say|establish|confirm|deduc|infer|state|know|extract|spot|ascertain|pinpoint|conclud|have|help|assist|compl|"
    "answer|provid|shar|disclos|discuss|fulfil|feel|comment|talk|speak|respond|giv|do t|continu|support|engag|process|"
    "offer|generat|be able|reveal|participat|accommodat|reply|request|allowed|permitted|authori|comfortable|in a pos|"
    "going|sure|certain|confident|able)|i (?:have no |must |prefer |would |am (?:not|un|afraid|guess))|"
    "i['’](?:m (?:[a-z]+ )?(?:not|un|sorry|afraid|guess)|d )",
    "sorry|apologi|regret|refuse|decline|rather not|something i|nothing about|says nothing|guess|unrelated|irrelevant|"
    "guideline|impossible|unanswer|unspecified|undisclosed|unstated|unknown|of place|erroneous|an ai |language model|"
    "cannot be|no idea|dismissed|(?:hard|difficult|possible|way) to (?:say|tell|know|determine|answer|identify)|"
    "unclear from|scope of the|silent on|can['’]?t be|policies",
)
