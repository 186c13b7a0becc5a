"""The status of a row is the most serious that applies; its finding follows from facts and what the answer says."""

from __future__ import annotations

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from said_examples import CHINESE, ENGLISH

from niah_score.metrics import Target
from niah_score.scoring.findings import STATUSES, finding_of, languages_of, own_claims, own_finding, status_of
from niah_score.text import fold

TURQUOISE = Target(("Turquoise.",), (("turquoise",),))
INDIGO = Target(("靛蓝色。",), (("靛蓝", "靛藍"),), language="zh")


def finding(text: str, target: Target = TURQUOISE, status: str = "ok") -> str | None:
    return finding_of(text, target, status)


@each(("text", "expected"), ENGLISH)
def test_what_an_english_answer_says_about_itself_is_recognised(text: str, expected: str) -> None:
    assert finding(text) == expected


@each(("text", "expected"), CHINESE)
def test_what_a_chinese_answer_says_about_itself_is_recognised(text: str, expected: str) -> None:
    assert finding(text, INDIGO) == expected


def test_each_language_has_at_least_60_examples_and_many_are_ordinary_answers() -> None:
    for examples_, answers in ((ENGLISH, 45), (CHINESE, 30)):
        assert len({text for text, _ in examples_}) == len(examples_) >= 60
        assert sum(expected in ("found", "nothing") for _, expected in examples_) >= answers


def test_every_keyword_group_has_to_be_asserted() -> None:
    both = Target(("-",), (("blue",), ("red",)))
    assert finding("It is blue. The text does not say, perhaps red.", both) == "hedged"
    assert finding("It is not stated: blue, and red.", both) == "hedged"
    assert finding("It is blue. It is red. The text does not say why.", both) == "found"
    assert finding("It is blue. The rest is not mentioned in the text.", both) == "partly"


def test_a_fact_named_but_not_asserted_is_hedged_and_one_in_another_unit_is_nothing() -> None:
    drawer = Target(("417",), (("417",),), rejects=(("metres",),))
    assert finding("It is not drawer 417.", drawer) == "hedged"
    assert finding("Drawer 471, 417 or 714.", drawer) == "hedged"
    assert finding("417 metres", drawer) == "nothing"
    assert finding("It is not drawer 12.", drawer) == "nothing"
    assert finding("It is not drawer 12 but drawer 417.", drawer) == "found"


def test_a_denial_is_found_where_the_row_asks_for_one() -> None:
    none = Target(("none",), (("none", "not mentioned"),))
    for text in ("None.", "The number is not mentioned in the text.", "I cannot find it in the text: none"):
        assert finding(text, none) == "found"


@each(
    ("status", "expected"),
    [("missing", "no_answer"), ("empty", "no_answer"), ("error", "no_answer"), ("refused", "refused"),
     ("think_unclosed", "truncated"), ("truncated", "truncated")],
)  # fmt: skip
def test_the_status_that_the_stack_reported_comes_first(status: str, expected: str) -> None:
    for text in ("It is not mentioned in the text.", "I cannot help with that."):
        assert finding(text, status=status) == expected


def test_a_row_without_keywords_has_no_finding() -> None:
    assert finding("I cannot help with that.", Target(("-",))) is None


def finding_in(answer: str, language: str, question_language: str = "") -> str | None:
    target = Target(
        ("438",), (("438",),), language=language, keyword_kinds=("number",), question_language=question_language
    )
    return finding_of(answer, target, "ok")


# Answers, separated by bars, of each finding.
CASES = {
    "fr": {
        "said_absent": (
            "« Non précisé » | NON PRECISE | Le document ne mentionne aucun tiroir. | "
            "Je ne trouve pas cette information. | Aucune information sur ce point. | "
            "Il n'est pas indiqué dans quel tiroir. | Je ne peux pas répondre : le document n'en parle pas. | "
            "Impossible de le savoir. | La réponse n'est pas dans le document. | "
            "Le texte ne permet pas de répondre à cette question. | Je n'ai pas trouvé cette information. | "
            "Aucun tiroir n'est mentionné. | Je ne peux pas répondre à cette question à partir du document."
        ),
        "refused": (
            "Je ne peux pas répondre à cette demande. | Désolé, je ne suis pas en mesure de répondre. | "
            "En tant que modèle de langage, je ne peux pas donner mon avis."
        ),
        "hedged": "Ce n'est pas le tiroir 438. | 438 ou 471 | Le document ne précise rien. Peut-être le 438 ?",
        "found": (
            "438 | Tiroir 438. | Le document précise que c'est le tiroir 438. | "
            "Le registre ne se trouve pas dans la salle, mais dans le tiroir 438. | Ce n'est pas le 437 mais le 438. | "
            "Le tiroir 438, sans aucune autre précision."
        ),
        "nothing": "Tiroir 12. | La cave.",
    },
    "es": {
        "said_absent": (
            "No se indica. | «no se indica» | El documento no menciona ningún cajón. | "
            "No hay información al respecto. | No encuentro la respuesta. | El texto no lo dice. | "
            "La respuesta no está en el documento. | Se desconoce. | No dispongo de esa información. | "
            "No puedo responder a esa pregunta con la información proporcionada."
        ),
        "refused": "Lo siento, no puedo ayudar con eso. | No puedo responder a esa solicitud.",
        "hedged": "No es el cajón 438. | 438 o 471 | El texto no lo dice. Quizá el 438.",
        "found": (
            "En el cajón 438. | Cuatrocientos treinta y ocho | No se guarda en la sala, sino en el cajón 438. | "
            "No es el cajón 437 sino el 438. | El cajón, que no se abre nunca con llave, es el 438. | "
            "En el cajón 438, sin más datos."
        ),
        "nothing": "En el cajón 9. | En la bodega.",
    },
    "ja": {
        "said_absent": (
            "記載なし。 | 「記載なし」 | 文書には記載されていません。 | わかりません。 | "
            "該当する情報は見つかりませんでした。 | 文書中に番号は書かれていません。 | 文書では言及していません。 | "
            "文書からは回答できません。 | 申し訳ありませんが、文書に記載がないためお答えできません。 | "
            "申し訳ありませんが、該当する情報を見つけることができませんでした。 | "
            "情報が不足しているため、判断することができません。 | なし"
        ),
        "refused": (
            "申し訳ありませんが、お答えできません。 | そのご質問には回答いたしかねます。 | "
            "お答えすることができません。 | お答えしかねます。 | お力になれません。"
        ),
        "hedged": "438号ではありません。 | 438または471です。",
        "found": (
            "第438号です。 | 四百三十八号 | 300号ではなく438号です。 | 答えは438で間違いないです。 | "
            "答えは438しかない。 | 該当する記述が見つかりました：第438号。"
        ),
        "nothing": "第12号です。 | 蔵です。 | 答えは12番で間違いありません。",
    },
    "ar": {
        "said_absent": (
            "غير مذكور. | «غير مذكور» | لا يذكر النص رقم الدرج. | لا توجد معلومات عن ذلك في الوثيقة. | "
            "لم تُذكر هذه المعلومة، فهي غير واردة. | لا أعرف. | لم يتم ذكر رقم الدرج في الوثيقة. | "
            "لا أستطيع تحديد الإجابة من الوثيقة. | لم أتمكن من العثور على الإجابة في الوثيقة. | "
            "لا يمكنني الإجابة عن هذا السؤال بناءً على الوثيقة. | عذرًا، الوثيقة لا تذكر ذلك، لذا لا أستطيع الإجابة. | "
            "تخلو الوثيقة من أي ذكر لذلك."
        ),
        "refused": "لا أستطيع الإجابة عن هذا السؤال. | أعتذر عن الإجابة. | لا أستطيع أن أجيب عن هذا السؤال.",
        "hedged": "ليس الدرج ٤٣٨. | 438 أو 471 | ليس الدرج 438 بل 300",
        "found": (
            "في الدرج ٤٣٨ | أربعمئة وثمانية وثلاثون | أولًا يذكر النص أن الدرج 438. | لا شك أنه الدرج 438. | "
            "ليس الدرج 300 بل الدرج 438. | غير أنه في الدرج 438"
        ),
        "nothing": "الدرج ٩ | في القبو. | مثلا يوجد في القبو",
    },
}  # fmt: skip


@each(
    ("language", "expected", "answer"),
    [
        (code, kind, text)
        for code, kinds in CASES.items()
        for kind, texts in kinds.items()
        for text in texts.split(" | ")
    ],
)
def test_an_answer_is_classified_by_the_phrases_of_its_language(language: str, expected: str, answer: str) -> None:
    assert finding_in(answer, language) == expected


def test_the_languages_of_the_question_and_of_the_text_both_count() -> None:
    for language, asked_in in (("fr", "es"), ("es", "fr"), ("en", "fr"), ("zh", "ar"), ("ja", "en")):
        for code in {language, asked_in} & set(CASES):
            for answer in CASES[code]["said_absent"].split(" | ")[:2]:
                assert finding_in(answer, language, asked_in) == "said_absent"
    assert languages_of("fr", "es") == ("es", "fr")
    assert languages_of("en", "zh") == languages_of("xx", "") == ()


def test_english_phrases_count_in_other_languages_but_not_the_reverse() -> None:
    assert finding_in("No se indica.", "en") == "nothing"
    assert finding_in("Not stated.", "fr") == "said_absent"


def test_a_wrong_answer_before_a_denial_is_still_a_wrong_answer() -> None:
    assert finding_in("Le tiroir 12. Le document ne précise pas l'étage.", "fr") == "nothing"


@examples(150)
@given(
    text=st.text(st.sampled_from("Je ne sais pas. Non «»。い わかりません؟ لا أعرف ") | st.characters(codec="utf-8"))
)
def test_any_text_is_classified_and_its_claims_are_shorter_than_it(text: str) -> None:
    folded = fold(text)
    for code in CASES:
        assert own_finding(folded, (code,)) in (None, "said_absent", "refused")
        left = own_claims(folded, (code,))
        assert left is None or len(left) < len(folded)


def status(text: str = "blue", answer: str | None = None, finish: str | None = None, **more: bool) -> str:
    """The status of a text, of which `answer` is left without its reasoning; by default all of it."""
    said = dict.fromkeys(("missing", "failed", "thought", "unclosed"), False)
    return status_of(text, text.strip() if answer is None else answer, finish, **{**said, **more})


def test_the_most_serious_status_that_applies_is_reported() -> None:
    assert status("", finish="refused", missing=True, failed=True, unclosed=True) == "missing"
    assert status("", finish="refused", failed=True, unclosed=True) == "error"
    assert status("", finish="refused", unclosed=True) == "refused"
    assert status("", finish="truncated", unclosed=True) == "think_unclosed"
    assert status("", finish="truncated") == "truncated"
    assert status("") == "empty"
    assert status() == "ok"


def test_a_truncated_row_without_text_is_unclosed_thinking_if_it_has_reasoning() -> None:
    assert status(" ", finish="truncated", thought=True) == "think_unclosed"
    assert status(" ", finish="truncated") == "truncated"
    assert status(" ", finish="stop", thought=True) == "empty"


def test_a_text_of_only_reasoning_is_unclosed_if_truncated_and_empty_if_not() -> None:
    assert status("<think>red</think>", "", finish="truncated") == "think_unclosed"
    for finish in (None, "stop"):
        assert status("<think>red</think>", "", finish=finish) == "empty"
    assert status("<think>red</think>blue", "blue", finish="truncated") == "truncated"


def test_any_other_finish_reason_is_ok() -> None:
    assert {status(finish=finish) for finish in (None, "stop", "tool_calls", "")} == {"ok"}
    assert set(STATUSES) >= {"ok", "missing"}
