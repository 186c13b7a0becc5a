"""Values as texts of every language write them: numbers, sums of money, times, dates; and what denies them."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import cn2an
import num2words
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.metrics import Target
from niah_score.metrics.keyword import judge_keyword
from niah_score.text import fold
from niah_score.text.language import language_codes
from niah_score.text.money import amounts_in
from niah_score.text.numerals import number_of, numbers_in
from niah_score.text.times import date_of, dates_in, lunar_dates_in, times_in, times_of
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


whole = st.integers(0, 10**12 - 1) | st.integers(0, 10**4)


def read_numbers(text: str) -> list[str]:
    return [f"{reading.value.normalize():f}" for reading in numbers_in(fold(text))]


@each(("text", "numbers"), [
    ("1318feet", ["1318"]), ("GBP4.35", ["4.35"]), ("417th", ["417"]), ("1.234,5", ["1234.5"]), ("0.5,4", ["0.5", "4"]),
    ("1,2.3.4,5", ["1", "5"]), ("#3,174, #8,662", ["3174", "8662"]), ("1,417", ["1417"]), ("£2746.00", ["2746"]),
    ("4,35", ["4", "4.35", "35"]), ("417.", ["417"]), ("12-14", ["12", "14"]), ("-417", ["417"]), ("19:52", []),
    ("10.0.417.1", []), ("23/2", []), ("four hundred and seventeen", ["417"]), ("four hundred seventeen", ["417"]),
    ("Four-hundred-and-seventeen", ["417"]), ("the four hundred and seventeenth", ["417"]),
    ("two thousand, seven hundred and forty-six", ["2746"]), ("thirteen hundred and eighteen", ["1318"]),
    ("a thousand and forty three", ["1043"]), ("2 thousand 746", ["2746"]), ("1.3 million", ["1300000"]),
    ("four seventeen", ["417"]), ("nineteen oh five", ["1905"]), ("four one seven", ["417"]),
    ("four, seventeen and two", ["4", "17", "2"]), ("thirty-one seventy-four, eighty-six sixty-two", ["3174", "8662"]),
    ("hundreds of people", []), ("a second later", []), ("someone in Tennessee", []), ("第283号", ["283"]),
    ("第２８３号", ["283"]), ("两百八十三", ["283"]), ("二八三", ["283"]), ("贰佰捌拾叁", ["283"]),
    ("貳佰捌拾參", ["283"]), ("一千二百八十三", ["1283"]), ("1千173", ["1173"]), ("一千二", ["1200"]),
    ("一千零二", ["1002"]), ("一千二百单八", ["1208"]), ("二千九百十八", ["2918"]), ("12万3千", ["123000"]),
    ("1.5亿", ["150000000"]), ("廿三", ["23"]), ("三点一四", ["3.14"]), ("百分之四十", ["40"]), ("大陆", []), ("", []),
])  # fmt: skip
def test_numbers_are_read_in_all_usual_spellings(text: str, numbers: list[str]) -> None:
    assert read_numbers(text) == numbers


@each("text", ["4-1-7", "4 1 7"])
def test_separated_digits_may_be_one_number(text: str) -> None:
    assert "417" in read_numbers(text)


def test_a_space_may_group_digits() -> None:
    assert set(read_numbers("1 318 feet")) == {"1", "318", "1318"}


@examples(150)
@given(number=whole)
def test_numbers_in_english_words_are_read_with_or_without_hyphens_commas_and_the_word_and(number: int) -> None:
    words = num2words.num2words(number)
    for spelling in (
        words,
        words.replace(" and ", " "),
        words.replace("-", " "),
        words.replace(",", ""),
        words.title(),
    ):
        assert number_of(fold(spelling)) == number
    if number not in (0, 2):
        assert number_of(num2words.num2words(number, to="ordinal")) == number


@examples(150)
@given(number=whole)
def test_plain_and_formal_chinese_numerals_are_read(number: int) -> None:
    plain, formal = cn2an.an2cn(number, "low"), cn2an.an2cn(number, "up")
    assert number_of(fold(plain)) == number
    assert number_of(fold(formal)) == (number if len(formal) > 1 or not number else None)


def read_amounts(text: str) -> list[tuple[str, str]]:
    return [
        (f"{reading.value.value.normalize():f}", "/".join(sorted(reading.value.currencies)))
        for reading in amounts_in(fold(text))
    ]


@each(("text", "sums"), [
    ("£4.35", [("4.35", "GBP")]), ("GBP4.35", [("4.35", "GBP")]), ("￡４．３５", [("4.35", "GBP")]),
    ("4.35 pounds", [("4.35", "GBP")]), ("每张4.35英镑", [("4.35", "GBP")]),
    ("Four pounds thirty five.", [("4.35", "GBP")]), ("four pounds and thirty-five pence", [("4.35", "GBP")]),
    ("£4 and 35p", [("4.35", "GBP")]), ("435p", [("4.35", "GBP")]), ("435 pence", [("4.35", "GBP")]),
    ("4.35", [("4.35", "")]), ("US$ 12", [("12", "USD")]),
    ("$12 and £3", [("12", "AUD/CAD/HKD/NZD/SGD/TWD/USD"), ("3", "GBP")]), ("12 euros", [("12", "EUR")]),
    ("1173元", [("1173", "CNY")]), ("一千一百七十三元整", [("1173", "CNY")]), ("1,173 yuan", [("1173", "CNY")]),
    ("人民币1173", [("1173", "CNY")]), ("1173美元", [("1173", "USD")]), ("4块3毛5", [("4.35", "CNY")]),
    ("4元3角5分", [("4.35", "CNY")]), ("两块五", [("2.5", "CNY")]), ("¥100", [("100", "CNY/JPY")]),
    ("£2746.00", [("2746", "GBP")]), ("£4·35", [("4.35", "GBP")]), ("A$4.35", [("4.35", "AUD")]),
    ("4.35澳元", [("4.35", "AUD")]), ("4 pounds for 35 people", [("4", "GBP"), ("35", "")]), ("", []),
])  # fmt: skip
def test_sums_are_read_in_all_usual_spellings(text: str, sums: list[tuple[str, str]]) -> None:
    assert read_amounts(text) == sums


@examples(100)
@given(pence=st.integers(1, 10**7))
def test_every_sum_is_read_in_signs_codes_and_pence(pence: int) -> None:
    value = Decimal(pence) / 100
    for text in (f"£{value:,.2f}", f"{value:.2f} GBP", f"{pence}p", f"{value:.2f}英镑"):
        assert [reading.value.value for reading in amounts_in(fold(text))] == [value]


def solar(text: str) -> list[tuple[int, int]]:
    return sorted({reading.value[:2] for reading in dates_in(fold(text))})


def lunar(text: str) -> list[tuple[int, int]]:
    return sorted({reading.value[:2] for reading in lunar_dates_in(fold(text))})


@each("text", [
    "23 February", "On February 23.", "23rd of February", "the 23rd day of February", "February the 23rd", "23rd Feb.",
    "Feb. 23", "23-Feb", "twenty third of February", "February twenty-third", "23/2", "2/23", "23.02.", "02-23",
    "23.2.1931", "1931-02-23", "23 February 1931", "2月23日", "2月23号", "二月二十三日", "公历二月二十三日",
    "二月二十三號", "每年 2 月 23 日祝福", "1931 年 2 月 23 号",
])  # fmt: skip
def test_a_solar_day_is_read_in_all_usual_spellings(text: str) -> None:
    assert (solar(text), lunar(text)) == ([(2, 23)], [])


@each("text", [
    "腊月十七", "臘月十七", "农历腊月17日", "农历12月17日", "农历十二月17日", "阴历十二月十七", "十二月十七",
    "旧历腊月十七日", "the 17th day of the twelfth lunar month", "17th of the 12th lunar month",
    "twelfth lunar month, 17th day", "the 17th of the twelfth month in the lunar calendar", "农历12/17",
    "农历 12 月 17 日", "腊月 十七", "腊月 17",
])  # fmt: skip
def test_a_lunar_day_is_read_in_all_usual_spellings(text: str) -> None:
    assert (solar(text), lunar(text)) == ([], [(12, 17)])


@each(("text", "days"), [
    ("12月17日", [(12, 17)]), ("公历十二月十七日", [(12, 17)]), ("3/2", [(2, 3), (3, 2)]), ("30 February", []),
    ("32/1", []), ("23号", []), ("1.2.3.4", []), ("19:52", []), ("may be 5", []), ("正月初三", []), ("", []),
])  # fmt: skip
def test_a_text_like_a_date_yields_only_the_solar_days_that_it_can_mean(text: str, days: list[tuple[int, int]]) -> None:
    assert solar(text) == days


@examples(50)
@given(number=st.integers(0, 364))
def test_every_day_of_the_year_is_read(number: int) -> None:
    day = date(2023, 1, 1) + timedelta(number)
    for form in ("%d %B", "%B %d", "%d-%b", "%m月%d日", "%d.%m.", "%Y-%m-%d"):
        assert (day.month, day.day) in solar(day.strftime(form))


def test_chinese_dates_may_have_spaces_around_their_digits() -> None:
    assert solar("每年 2 月 23 日祝福") == solar("1931 年 2 月 23 号") == [(2, 23)]
    assert date_of(fold("2 月 23 日")) == (2, 23, None)
    assert lunar("农历 12 月 17 日") == lunar("腊月 十七") == lunar("腊月 17") == [(12, 17)]


def read_times(text: str) -> list[str]:
    return sorted({f"{reading.value // 60}:{reading.value % 60:02d}" for reading in times_in(fold(text))})


@each(("text", "times"), [
    ("19:52", ["19:52"]), ("19:52h, 19.52 hrs, 19h52", ["19:52"]), ("19:52:30", ["19:52"]), ("the 19.52", ["19:52"]),
    ("7:52 PM", ["19:52"]), ("7.52 p.m.", ["19:52"]), ("7:52pm", ["19:52"]), ("12:15 am", ["0:15"]),
    ("12:15 pm", ["12:15"]), ("3pm", ["15:00"]), ("At 7:52.", ["7:52"]), ("7:52 on Sunday evening", ["19:52"]),
    ("7:52 in the morning", ["7:52"]), ("In the evening, the last train leaves at 7:52.", ["19:52"]),
    ("In the morning it opens at 8:10. It closes at 7:52", ["7:52", "8:10"]), ("1952 hours", ["19:52"]),
    ("at 1952", ["19:52"]), ("nineteen fifty-two", ["19:52"]), ("seven fifty-two", ["19:52", "7:52"]),
    ("seven fifty-two in the evening", ["19:52"]), ("seven oh five", ["19:05", "7:05"]),
    ("eight minutes to eight", ["19:52", "7:52"]), ("eight minutes to eight in the evening", ["19:52"]),
    ("half past seven pm", ["19:30"]), ("a quarter to one pm", ["12:45"]), ("3 o'clock", ["15:00", "3:00"]),
    ("noon", ["12:00"]), ("midnight", ["0:00"]), ("19:52 a.m.", []), ("25:10", []), ("7:65", []), ("1:2:3", []),
    ("4.5", []), ("twenty-seven days", []), ("晚上7点52分", ["19:52"]), ("17：43。", ["17:43"]),
    ("下午5時43分", ["17:43"]), ("17点43分", ["17:43"]), ("十七点四十三分", ["17:43"]),
    ("五点四十三分", ["17:43", "5:43"]), ("傍晚五点四十三", ["17:43"]), ("上午五点四十三分", ["5:43"]),
    ("最早17点43分", ["17:43"]), ("最晚5点43分", ["17:43", "5:43"]), ("差八分八点", ["19:52", "7:52"]),
    ("晚上八点差八分", ["19:52"]), ("下午五点一刻", ["17:15"]), ("凌晨五点半", ["5:30"]), ("二十四点", ["0:00"]),
    ("三点建议", ["15:00", "3:00"]), ("没有时间", []), ("晚上12点", ["0:00"]), ("夜里两点", ["2:00"]),
    ("中午12点半", ["12:30"]), ("中午11点38分", ["11:38"]), ("晌午10点5分", ["10:05"]), ("午间一点二十分", ["13:20"]),
    ("中午1点", ["13:00"]), ("£19.52", []), ("", []),
])  # fmt: skip
def test_times_are_read_in_all_usual_spellings(text: str, times: list[str]) -> None:
    assert read_times(text) == times


@each(("text", "minutes"), [
    ("19:52", {1192}), ("19:52h", {1192}), ("at 7:52 p.m.", {1192}), ("下午5点43分", {1063}),
    ("seven fifty-two", {472, 1192}), ("the 7:52 to Ormsgarth", set()), ("19:52 or 20:01", set()), ("417", set()),
    ("", set()),
])  # fmt: skip
def test_a_keyword_is_a_time_only_if_it_says_nothing_else(text: str, minutes: set[int]) -> None:
    assert times_of(fold(text)) == minutes


@examples(100)
@given(minutes=st.integers(0, 24 * 60 - 1))
def test_every_minute_of_the_day_is_read_in_digits_of_both_clocks(minutes: int) -> None:
    hour, minute = divmod(minutes, 60)
    twelve, half = (hour - 1) % 12 + 1, "pm" if hour >= 12 else "am"
    for text in (
        f"{hour}:{minute:02d}",
        f"{twelve}:{minute:02d} {half}",
        f"{hour:02d}h{minute:02d}",
        f"{hour}点{minute:02d}分",
    ):
        values = {reading.value for reading in times_in(fold(text))}
        assert minutes in values
        assert values <= {minutes, (minutes + 720) % 1440} if "点" in text else values == {minutes}
