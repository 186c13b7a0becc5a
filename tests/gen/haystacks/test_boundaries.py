"""Sentence ends and word ends, the places where a needle may go."""

from __future__ import annotations

from niah_gen.haystacks.boundaries import sentence_ends, word_ends

# Each text with | at its sentence ends.
SENTENCES = {
    "en": (
        "One.| Two!| Three?|", "He said “go.”| She went (at once.)| [Then not.]|", "It was \"over.\"| 'Was it?'| Yes…|",
        "Really?!| Yes!!!|", "One.|\nTwo.|\n\nThree.|", "One.|\tTwo.|\u3000Three.|", "No end here",
        "A heading\n\nA sentence.|",
        # Full stops in abbreviations and numbers, and words that merely resemble an abbreviation.
        "Pi is 3.14 or so.|", "See www.example.com for it.|", "The U.S. Senate met.|", "v1.2.3 is out.|",
        "Mr. Smith and Dr. Jones met Prof. Lee.|", "J. R. R. Tolkien wrote it.|", "At 9 a.m. Sunday it rained.|",
        "Cats, e.g. Tom, and dogs, i.e. Rex.|", "Tom vs. Jerry, No. 5, Fig. 3, pp. 4.|", "Acme Inc. Boston paid.|",
        "He drank the tea.| It was cold.|", "He came first.| Then she.|", "We did it for Mo.| Joe left.|",
        # A sentence does not end before small letters, nor after the number of a list item.
        "He waited. and then he left.|", "Wait... then go.| Stay.|", "“Why? because.” he said.|",
        "(Really!) and so on.|", "1. Boil it.|\n2. Cool it.|", "It was 1999.| Then it was not.|", "\n  a. First.|",
    ),
    "zh": (
        "今天很好。|明天呢？|好！|", "他说：“走吧。”|她走了。|", "（这是真的。）|他说。|",
        "《书里写道：好。》|「是的。」|『对！』|",
        "真的吗？！|是。|", "他想了想……|然后走了。|", "一个分句；另一个。|", "没有句号", "一，二、三：四", "他…走了。|",
    ),
    "fr": (
        "«\u00a0Vous venez\u202f?\u00a0»| Oui\u202f!| Non.|",
        "« Vous venez ? » demanda-t-il.| Elle hésita…| Puis non.|",
        "M. Aubry et le Dr. Lenoir, p. ex. ici, p. 12.| Fin.|", "— Venez ? — dit-il.| Bien.|",
    ),
    "es": (
        "¿Vienes?| ¡Claro!| «Ya voy», dijo.|", "—¿Vienes? —preguntó Ana.| El Sr. Ibarra calló.|",
        "«¿Y si no?», dijo.| Nada.|",
    ),
    "ar": ("هل تأتي؟| نعم!| قال: «لا».| ثم مضى.|", "جاء د. سالم، ثم ذهب؛ ولم يعد.| انتهى۔| نعم.|"),
    "ja": ("今日は雨だ。|「そうだ。」と言った。|本当？|はい！|『終わり。』|次。|",),
}  # fmt: skip
WORDS = {
    "en": ("One| two,| three.|", "  One|\n\ntwo| ", "don't|", "", " \n"),
    "zh": ("我们|去|公园。|", "他|说：|“今天天气|很|好，|走|吧。”|", "然后| 他|走|了|（真的）。|", "好|\n", "", " "),
    "ja": ("雨の|量を|量っていた。|ABCを|見た|",), "fr": ("Un|\u00a0deux,| trois.|",), "ar": ("نعم،| لا.|",),
}  # fmt: skip


def marked(text: str, ends: list[int]) -> str:
    for end in reversed(ends):
        text = text[:end] + "|" + text[end:]
    return text


def test_sentences_and_words_end_where_they_are_marked_in_every_language() -> None:
    for ends, texts in ((sentence_ends, SENTENCES), (word_ends, WORDS)):
        for language, all_marked in texts.items():
            plain = [text.replace("|", "") for text in all_marked]
            assert tuple(marked(text, ends(text, language)) for text in plain) == all_marked, language


# Other languages ------------------------------------------------------------------------------------------------------
