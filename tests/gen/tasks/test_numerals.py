"""Numerals: ordinals; the spellings of numbers are tested with the values that use them."""

from niah_gen.tasks.numerals import ordinal


def test_ordinals_have_the_right_suffix() -> None:
    ordinals = [ordinal(number, "en") for number in (1, 2, 3, 4, 11, 12, 13, 20, 101)]
    assert ordinals == ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "20th", "101st"]
    assert ordinal(3, "zh") == "3"
