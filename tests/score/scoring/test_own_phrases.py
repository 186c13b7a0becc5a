"""What answers in French, Spanish, Japanese and Arabic say about themselves: absent, refused, hedged, or an answer."""

from __future__ import annotations

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.metrics import Target
from niah_score.scoring.findings import finding_of
from niah_score.scoring.own_phrases import languages_of, own_claims, own_finding
from niah_score.text import fold


def finding(answer: str, language: str, question_language: str = "") -> str | None:
    target = Target(
        ("438",), (("438",),), language=language, keyword_kinds=("number",), question_language=question_language
    )
    return finding_of(answer, target, "ok")


CASES = {
    "fr": {
        "said_absent": [
            "« Non précisé »",
            "NON PRECISE",
            "Le document ne mentionne aucun tiroir.",
            "Je ne trouve pas cette information.",
            "Aucune information sur ce point.",
            "Il n'est pas indiqué dans quel tiroir.",
            "Je ne peux pas répondre : le document n'en parle pas.",
            "Impossible de le savoir.",
            "La réponse n'est pas dans le document.",
            "Le texte ne permet pas de répondre à cette question.",
            "Je n'ai pas trouvé cette information.",
            "Aucun tiroir n'est mentionné.",
            "Je ne peux pas répondre à cette question à partir du document.",
        ],
        "refused": [
            "Je ne peux pas répondre à cette demande.",
            "Désolé, je ne suis pas en mesure de répondre.",
            "En tant que modèle de langage, je ne peux pas donner mon avis.",
        ],
        "hedged": ["Ce n'est pas le tiroir 438.", "438 ou 471", "Le document ne précise rien. Peut-être le 438 ?"],
        "found": [
            "438",
            "Tiroir 438.",
            "Le document précise que c'est le tiroir 438.",
            "Le registre ne se trouve pas dans la salle, mais dans le tiroir 438.",
            "Ce n'est pas le 437 mais le 438.",
            "Le tiroir 438, sans aucune autre précision.",
        ],
        "nothing": ["Tiroir 12.", "La cave."],
    },
    "es": {
        "said_absent": [
            "No se indica.",
            "«no se indica»",
            "El documento no menciona ningún cajón.",
            "No hay información al respecto.",
            "No encuentro la respuesta.",
            "El texto no lo dice.",
            "La respuesta no está en el documento.",
            "Se desconoce.",
            "No dispongo de esa información.",
            "No puedo responder a esa pregunta con la información proporcionada.",
        ],
        "refused": ["Lo siento, no puedo ayudar con eso.", "No puedo responder a esa solicitud."],
        "hedged": ["No es el cajón 438.", "438 o 471", "El texto no lo dice. Quizá el 438."],
        "found": [
            "En el cajón 438.",
            "Cuatrocientos treinta y ocho",
            "No se guarda en la sala, sino en el cajón 438.",
            "No es el cajón 437 sino el 438.",
            "El cajón, que no se abre nunca con llave, es el 438.",
            "En el cajón 438, sin más datos.",
        ],
        "nothing": ["En el cajón 9.", "En la bodega."],
    },
    "ja": {
        "said_absent": [
            "記載なし。",
            "「記載なし」",
            "文書には記載されていません。",
            "わかりません。",
            "該当する情報は見つかりませんでした。",
            "文書中に番号は書かれていません。",
            "文書では言及していません。",
            "文書からは回答できません。",
            "申し訳ありませんが、文書に記載がないためお答えできません。",
            "申し訳ありませんが、該当する情報を見つけることができませんでした。",
            "情報が不足しているため、判断することができません。",
            "なし",
        ],
        "refused": [
            "申し訳ありませんが、お答えできません。",
            "そのご質問には回答いたしかねます。",
            "お答えすることができません。",
            "お答えしかねます。",
            "お力になれません。",
        ],
        "hedged": ["438号ではありません。", "438または471です。"],
        "found": [
            "第438号です。",
            "四百三十八号",
            "300号ではなく438号です。",
            "答えは438で間違いないです。",
            "答えは438しかない。",
            "該当する記述が見つかりました：第438号。",
        ],
        "nothing": [
            "第12号です。",
            "蔵です。",
            "答えは12番で間違いありません。",
        ],
    },
    "ar": {
        "said_absent": [
            "غير مذكور.",
            "«غير مذكور»",
            "لا يذكر النص رقم الدرج.",
            "لا توجد معلومات عن ذلك في الوثيقة.",
            "لم تُذكر هذه المعلومة، فهي غير واردة.",
            "لا أعرف.",
            "لم يتم ذكر رقم الدرج في الوثيقة.",
            "لا أستطيع تحديد الإجابة من الوثيقة.",
            "لم أتمكن من العثور على الإجابة في الوثيقة.",
            "لا يمكنني الإجابة عن هذا السؤال بناءً على الوثيقة.",
            "عذرًا، الوثيقة لا تذكر ذلك، لذا لا أستطيع الإجابة.",
            "تخلو الوثيقة من أي ذكر لذلك.",
        ],
        "refused": [
            "لا أستطيع الإجابة عن هذا السؤال.",
            "أعتذر عن الإجابة.",
            "لا أستطيع أن أجيب عن هذا السؤال.",
        ],
        "hedged": ["ليس الدرج ٤٣٨.", "438 أو 471", "ليس الدرج 438 بل 300"],
        "found": [
            "في الدرج ٤٣٨",
            "أربعمئة وثمانية وثلاثون",
            "أولًا يذكر النص أن الدرج 438.",
            "لا شك أنه الدرج 438.",
            "ليس الدرج 300 بل الدرج 438.",
            "غير أنه في الدرج 438",
        ],
        "nothing": ["الدرج ٩", "في القبو.", "مثلا يوجد في القبو"],
    },
}


@each(
    ("language", "expected", "answer"),
    [(code, kind, text) for code, kinds in CASES.items() for kind, texts in kinds.items() for text in texts],
)
def test_an_answer_is_classified_by_the_phrases_of_its_language(language: str, expected: str, answer: str) -> None:
    assert finding(answer, language) == expected


def test_the_languages_of_the_question_and_of_the_text_both_count() -> None:
    for language, asked_in in (("fr", "es"), ("es", "fr"), ("en", "fr"), ("zh", "ar"), ("ja", "en")):
        for code in {language, asked_in} & set(CASES):
            for answer in CASES[code]["said_absent"][:2]:
                assert finding(answer, language, asked_in) == "said_absent"
    assert languages_of("fr", "es") == ("es", "fr")
    assert languages_of("en", "zh") == languages_of("xx", "") == ()


def test_english_phrases_count_in_other_languages_but_not_the_reverse() -> None:
    assert finding("No se indica.", "en") == "nothing"
    assert finding("Not stated.", "fr") == "said_absent"


def test_a_wrong_answer_before_a_denial_is_still_a_wrong_answer() -> None:
    assert finding("Le tiroir 12. Le document ne précise pas l'étage.", "fr") == "nothing"


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
