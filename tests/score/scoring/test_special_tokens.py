"""Special tokens around an answer are removed for every model family; those inside it stay."""

from __future__ import annotations

from each import each

from niah_score.scoring.special_tokens import without_end_marks, without_leading_tokens, without_next_turn

END_MARKS = [
    "<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|return|>", "</s>", "<end_of_turn>",
    "<turn|>", "<|end_of_text|>", "<｜end▁of▁sentence｜>", "<eos>", "<EOS>", "[EOS]", "<|END_OF_TURN_TOKEN|>",
    "<|endofturn|>", "[|endofturn|]", "<seed:eos>", "<|user|>", "<|END_RESPONSE|>", "END_RESPONSE", "<END_TEXT>",
    "<|end_of_role|>", "<eot>", "<pad>", "[PAD]", "[e~[", "<|eot|>", "<|hy_place▁holder▁no▁2|>",
]  # fmt: skip
LEADING = [
    "\ufeff", "<s>", "<bos>", "<|begin_of_text|>", "<｜begin▁of▁sentence｜>", "<|startoftext|>", "<BOS_TOKEN>", "[BOS]",
    "<seed:bos>", "[gMASK]<sop>", "<|im_start|>assistant\n", "<|start_header_id|>assistant<|end_header_id|>\n\n",
    "<|header_start|>assistant<|header_end|>\n\n", "<start_of_turn>model\n", "<|turn>model\n", "<｜Assistant｜>",
    "<|assistant|>", "[|assistant|]", "<|start_of_role|>assistant<|end_of_role|>", "<|CHATBOT_TOKEN|>",
    "<|START_RESPONSE|>", "<|START_TEXT|>",
]  # fmt: skip


@each("mark", END_MARKS)
def test_end_marks_are_removed_with_the_space_around_them(mark: str) -> None:
    for text in (f"blue{mark}", f"blue \n{mark} {mark}\n", f"blue{mark}</s>", "blue \u200b"):
        assert without_end_marks(text) == "blue"
    assert without_end_marks(f"red{mark}blue") == f"red{mark}blue"
    assert without_end_marks(mark) == ""


@each("text", ["a <b", "[1]", "x|>", "<blue>", "<|end_of_box|>", "[x]", "a [|", "END_", "<|a b|>"])
def test_text_that_only_looks_like_an_end_mark_is_unchanged(text: str) -> None:
    assert without_end_marks(text) == text


@each("token", LEADING)
def test_special_tokens_before_the_first_word_are_removed(token: str) -> None:
    assert without_leading_tokens(f"{token}blue") == "blue"
    assert without_leading_tokens(f" <s>{token} blue") == "blue"
    assert without_leading_tokens(f"red {token}blue") == f"red {token}blue"


@each(
    "opening", ["<|im_start|>user\n", "<|start_header_id|>user<|end_header_id|>", "<start_of_turn>user", "<｜User｜>",
                "<|user|>", "[|user|]", "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>"],
)  # fmt: skip
def test_a_next_turn_that_the_model_wrote_is_not_part_of_its_answer(opening: str) -> None:
    assert without_next_turn(f"Blue.{opening}And the gate?") == "Blue."
    assert without_next_turn(f" {opening}And the gate?") == f" {opening}And the gate?"
