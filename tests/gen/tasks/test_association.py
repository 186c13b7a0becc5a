"""Associations: the question and its needle share no content word, and a drawn person is the only answer."""

from __future__ import annotations

import re

from proved import proved_rows

from niah_gen.tasks.association import associations

FUNCTION_WORDS = re.findall(
    "[a-z]+",
    "after and any are before been can could did does for from had has have her him his how into its off once one "
    "other out own she some somebody someone something than that the their them then there they this very was were "
    "what when where which while who whom whose will with would you mentioned people person text",
)
FUNCTION_CHARACTERS = frozenset(
    "的了着过在是有和与及为被把让从到对向也都就才又还不没这那谁哪一个位人里上下中时后前会能要用给等之其所以而但或者吗呢啊吧文提"
)


def content(language: str, text: str) -> set[str]:
    """The first five letters of each content word, or the characters that are no function words."""
    text = text.replace("{name}", " ").lower()
    if language == "en":
        return {word[:5] for word in re.findall(r"[a-z\u00e0-\u00ff]{3,}", text) if word not in FUNCTION_WORDS}
    return {char for char in text if "\u4e00" <= char <= "\u9fff"} - FUNCTION_CHARACTERS


def test_rows_hide_one_person_asked_about_and_three_decoys_and_twins_share_their_haystack() -> None:
    for hops, language, question in ((1, "en", "one_hop"), (2, "zh", "two_hop")):
        asked = {
            "name": "associations", "task": "association", "lengths": [2000], "depths": [0, 40],
            "controls": ["absent", "literal"], "options": {"hops": hops}, "languages": [language],
        }  # fmt: skip
        rows = {(row["needle_id"], row["depth_percent"], row["control"]): row for row in proved_rows(asked)}
        for (needle, depth, control), row in rows.items():
            one, own = associations(language)[str(needle)], rows[needle, depth, None]
            assert row["haystack_id"] == own["haystack_id"]
            assert row["question"] == one["literal" if control == "literal" else question]
            assert row["needles"] == own["needles"][control == "absent" :]
            (person,) = own["answers"]
            assert own["keywords"][0][0] == person
            assert own["needles"][0] == one["needle"].replace("{name}", person)
            assert (len(own["needles"]), len(own["decoys"]), own["metric"]) == (4, 3, "correct")
            assert not any(person in text for text in own["needles"][1:])
            assert all(decoy[0] in text for decoy, text in zip(own["decoys"], own["needles"][1:], strict=True))
        assert len({row["answers"][0] for row in rows.values()}) > 20
