"""Values as French, Spanish, Japanese and Arabic write them: digits, words, times, dates, sums; and denials."""

from __future__ import annotations

from decimal import Decimal

import num2words
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


@examples(300)
@given(n=st.integers(2, 9_999))
def test_numbers_in_words_are_read_whole_in_every_language(n: int) -> None:
    for language in OWN:
        text = num2words.num2words(n, lang=language)
        if language == "ja" and len(text) == 1:
            continue  # 百 and 千 alone are parts of words: 百合
        if (language, n) == ("ar", 2000):
            continue  # the library writes ألفا, which is 1000 in another case; on its own 2000 is ألفان
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
