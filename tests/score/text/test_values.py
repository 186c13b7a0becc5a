"""Values as French, Spanish, Japanese and Arabic write them: digits, words, times, dates, sums; and denials."""

from __future__ import annotations

from decimal import Decimal

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.metrics import Target
from niah_score.metrics.keyword import judge_keyword
from niah_score.text import fold
from niah_score.text.language import find_language, language_codes
from niah_score.text.values import in_letters_of, values_in

OWN = ("ar", "es", "fr", "ja")


def numbers(text: str, language: str) -> list[Decimal]:
    return [reading.value for reading in values_in(fold(text), "number", language)]


def score(answer: str, kind: str, fact: str, language: str) -> float | None:
    target = Target((fact,), ((fact,),), language=language, keyword_kinds=(kind,))
    return judge_keyword(answer, target).value


# An independent speller of numbers in each language, written from its grammar.

_FR = [
    "zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze", "douze", "treize",
    "quatorze", "quinze", "seize", "dix-sept", "dix-huit", "dix-neuf",
]  # fmt: skip
_FR_TENS = {20: "vingt", 30: "trente", 40: "quarante", 50: "cinquante", 60: "soixante"}


def french(n: int) -> str:
    if n < 20:
        return _FR[n]
    if n < 70 or n == 80:
        if n == 80:
            return "quatre-vingts"
        ten, unit = n - n % 10, n % 10
        return _FR_TENS[ten] + (" et un" if unit == 1 else f"-{_FR[unit]}" if unit else "")
    if n < 80:
        return "soixante et onze" if n == 71 else f"soixante-{_FR[n - 60]}"
    if n < 100:
        return f"quatre-vingt-{_FR[n - 80]}"
    if n < 1000:
        hundreds, rest = divmod(n, 100)
        head = "cent" if hundreds == 1 else f"{_FR[hundreds]} cent" + ("" if rest else "s")
        return f"{head} {french(rest)}" if rest else head
    thousands, rest = divmod(n, 1000)
    head = (
        "mille"
        if thousands == 1
        else f"{french(thousands).removesuffix('s') if thousands % 100 == 80 else french(thousands)} mille"
    )
    return f"{head} {french(rest)}" if rest else head


_ES = [
    "cero", "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce", "trece",
    "catorce", "quince", "dieciséis", "diecisiete", "dieciocho", "diecinueve", "veinte", "veintiuno", "veintidós",
    "veintitrés", "veinticuatro", "veinticinco", "veintiséis", "veintisiete", "veintiocho", "veintinueve",
]  # fmt: skip
_ES_TENS = ["treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa"]
_ES_HUNDREDS = [
    "ciento", "doscientos", "trescientos", "cuatrocientos", "quinientos", "seiscientos", "setecientos", "ochocientos",
    "novecientos",
]  # fmt: skip


def spanish(n: int) -> str:
    if n < 30:
        return _ES[n]
    if n < 100:
        return _ES_TENS[n // 10 - 3] + (f" y {_ES[n % 10]}" if n % 10 else "")
    if n < 1000:
        return "cien" if n == 100 else _ES_HUNDREDS[n // 100 - 1] + (f" {spanish(n % 100)}" if n % 100 else "")
    head = "mil" if n < 2000 else f"{spanish(n // 1000)} mil"
    return f"{head} {spanish(n % 1000)}" if n % 1000 else head


_AR = ["صفر", "واحد", "اثنان", "ثلاثة", "أربعة", "خمسة", "ستة", "سبعة", "ثمانية", "تسعة", "عشرة"]
_AR_TENS = ["عشرون", "ثلاثون", "أربعون", "خمسون", "ستون", "سبعون", "ثمانون", "تسعون"]
_AR_HUNDREDS = ["مئة", "مئتان", "ثلاثمئة", "أربعمئة", "خمسمئة", "ستمئة", "سبعمئة", "ثمانمئة", "تسعمئة"]


def arabic(n: int) -> str:
    if n <= 10:
        return _AR[n]
    if n < 20:
        return {11: "أحد عشر", 12: "اثنا عشر"}.get(n) or f"{_AR[n - 10]} عشر"
    if n < 100:
        ten, unit = _AR_TENS[n // 10 - 2], n % 10
        return f"{_AR[unit]} و{ten}" if unit else ten
    if n < 1000:
        return _AR_HUNDREDS[n // 100 - 1] + (f" و{arabic(n % 100)}" if n % 100 else "")
    head = {1: "ألف", 2: "ألفان"}.get(n // 1000) or f"{arabic(n // 1000)} آلاف"
    return f"{head} و{arabic(n % 1000)}" if n % 1000 else head


_JA = "〇一二三四五六七八九"


def japanese(n: int) -> str:
    words = ""
    for power, name in ((10**4, "万"), (1000, "千"), (100, "百"), (10, "十")):
        many, n = divmod(n, power)
        if many:
            words += ("" if many == 1 and power < 10**4 else _JA[many]) + name
    return words + (_JA[n] if n or not words else "")


@examples(300)
@given(n=st.integers(2, 9_999))
def test_numbers_in_words_are_read_whole_in_every_language(n: int) -> None:
    for language, spell in (("fr", french), ("es", spanish), ("ar", arabic), ("ja", japanese)):
        text = spell(n)
        if language == "ja" and len(text) == 1:
            continue  # 百 and 千 alone are parts of words: 百合
        assert numbers(text, language) == [n], (language, text)
        assert score(f"« {text} ».", "number", str(n), language) == 100.0


@examples(200)
@given(n=st.integers(1000, 99_999_999), decimals=st.integers(0, 99))
def test_a_number_with_marks_between_thousands_is_read_only_as_a_whole(n: int, decimals: int) -> None:
    for mark in (" ", "\u00a0", "\u202f", "."):
        grouped = f"{n:,}".replace(",", mark)
        for language in ("fr", "es"):
            assert n in numbers(grouped, language)
            values = numbers(f"{grouped},{decimals:02d}", language)
            assert values == [Decimal(f"{n}.{decimals:02d}")]
    assert numbers(f"{n:,}".replace(",", "٬").translate({48 + d: 0x660 + d for d in range(10)}), "ar") == [n]


@each("language", language_codes())
@each("digits", ["٤١٧", "۴۱۷", "４１７", "417"])
def test_digits_of_any_script_are_the_same_number_in_every_language(language: str, digits: str) -> None:
    assert score(digits, "number", "417", language) == 100.0
    assert score(f"1{digits}", "number", "417", language) == 0.0


@each(("answer", "kind", "fact", "language"), [
    ("À 19 h 52.", "time", "19:52", "fr"), ("19h52", "time", "19:52", "fr"), ("7 h 52 du soir", "time", "19:52", "fr"),
    ("19 heures 52", "time", "19:52", "fr"), ("a las 9:37 de la noche", "time", "21:37", "es"),
    ("21.37 h", "time", "21:37", "es"), ("9:37 p. m.", "time", "21:37", "es"),
    ("a las 9.37 p.m.", "time", "21:37", "es"), ("7:52 PM", "time", "19:52", "fr"),
    ("19 heures et 52 minutes", "time", "19:52", "fr"), ("el 14 de nov.", "date", "14 de noviembre", "es"),
    ("Il n'y a plus de train après 19 h 52.", "time", "19:52", "fr"),
    ("Ce n'est pas 437 mais 438", "number", "438", "fr"), ("午後7時52分です", "time", "19:52", "ja"),
    ("１９時５２分", "time", "19:52", "ja"), ("الساعة ٧:٥٢ مساءً", "time", "19:52", "ar"),
    ("19:52", "time", "19:52", "ar"), ("le 23 février", "date", "23 février", "fr"),
    ("LE 23 FEVRIER", "date", "23 février", "fr"), ("23/02", "date", "23 février", "fr"),
    ("February 23", "date", "23 février", "fr"),
    ("el catorce no, el 14 de noviembre de 1931", "date", "14 de noviembre", "es"),
    ("يوم ١٤ تشرين الثاني", "date", "14 نوفمبر", "ar"), ("十一月八日", "date", "11月8日", "ja"),
    ("4,35 euros", "amount:EUR", "4,35 €", "fr"), ("4.35€", "amount:EUR", "4,35 €", "fr"),
    ("seis euros", "amount:EUR", "6 €", "es"), ("４３５円", "amount:JPY", "435円", "ja"),
    ("٤٫٣٥ يورو", "amount:EUR", "4.35 يورو", "ar"), ("VERT CELADON", "text", "céladon", "fr"),
    ("anil", "text", "anil", "es"), ("الأُرجُوانيّ", "text", "أرجواني", "ar"), ("بالأرجواني", "text", "أرجواني", "ar"),
    ("群青色", "text", "群青", "ja"), ("300号ではなく346号です", "number", "346", "ja"),
    ("346号に間違いありません", "number", "346", "ja"), ("7:52 PM", "time", "19:52", "ja"),
    ("7:52 PM", "time", "19:52", "ar"), ("الساعة 7:52 في المساء", "time", "19:52", "ar"),
    ("14 تشرين ثاني", "date", "14 نوفمبر", "ar"), ("إحدى وعشرون", "number", "21", "ar"),
    ("مئتي كتاب", "number", "200", "ar"), ("ليس الدرج 300 بل 417", "number", "417", "ar"),
    ("لا يُزرع إلا الدردار", "text", "دردار", "ar"), ("لا يزال في الدرج 417", "number", "417", "ar"),
])  # fmt: skip
def test_a_fact_counts_in_every_usual_spelling(answer: str, kind: str, fact: str, language: str) -> None:
    assert score(answer, kind, fact, language) == 100.0


@each(("answer", "kind", "fact", "language"), [
    ("7 h 52 du matin", "time", "19:52", "fr"), ("午前7時52分", "time", "19:52", "ja"),
    ("7:52 صباحًا", "time", "19:52", "ar"), ("le 23 mars", "date", "23 février", "fr"),
    ("1 234,5", "number", "234.5", "fr"), ("4,35", "number", "35", "fr"), ("1.234.567", "number", "567", "es"),
    ("ano", "text", "año", "es"), ("pinède", "text", "pin", "fr"), ("على", "text", "علي", "ar"),
    ("une salle", "number", "1", "fr"), ("dix-sept cents", "number", "17", "fr"),
    ("Ce n'est pas le tiroir 438.", "number", "438", "fr"), ("ni 438", "number", "438", "fr"),
    ("438 ou 471", "number", "438", "fr"), ("Soit 471, soit 438 ou 417", "number", "417", "fr"),
    ("No es el cajón 526", "number", "526", "es"), ("625 o 526", "number", "526", "es"),
    ("346号ではありません", "number", "346", "ja"), ("364または346です", "number", "346", "ja"),
    ("「雨燕丸」ではありません", "text", "雨燕丸", "ja"), ("346又は471", "number", "346", "ja"),
    ("ليس الدرج 417", "number", "417", "ar"), ("مئات الكتب", "number", "100", "ar"),
    ("417 أو 471", "number", "417", "ar"), ("438 est faux", "number", "438", "fr"),
    ("437 et non 438", "number", "438", "fr"), ("a las 9:37 a. m.", "time", "21:37", "es"),
    ("el 437, no 438", "number", "438", "es"),
])  # fmt: skip
def test_a_different_denied_or_guessed_fact_does_not_count(answer: str, kind: str, fact: str, language: str) -> None:
    assert score(answer, kind, fact, language) == 0.0


def test_what_a_language_adds_is_read_only_in_that_language() -> None:
    assert score("quatre cent dix-sept", "number", "417", "en") == 0.0
    assert score("once", "number", "11", "en") == 0.0
    assert score("once", "number", "11", "es") == 100.0
    assert score("four hundred and seventeen", "number", "417", "fr") == 100.0


@examples(200)
@given(
    text=st.text(st.sampled_from("éèàñüöœ ا أ إِ ـ٤١٧۵،؟.,1 23 un mil و") | st.characters(codec="utf-8"), max_size=40)
)
def test_any_text_is_read_and_the_values_are_inside_it(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded
    for language in OWN:
        assert len(in_letters_of(folded, language)) == len(folded)
        for kind in ("number", "time", "date", "amount:EUR"):
            for reading in values_in(folded, kind, language):
                assert 0 <= reading.start < reading.end <= len(folded)


def test_no_letter_is_folded_into_one_that_is_folded_again() -> None:
    for code in OWN:
        rules = find_language(code).matching
        assert rules is not None
        assert not set(rules.letters) & set(rules.letters.values())
