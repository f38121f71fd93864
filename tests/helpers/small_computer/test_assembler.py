"""Parsing a program: accepted spellings, and the message for each mistake."""

import pytest

from helpers.small_computer import ProgramError, SmallComputer


def run(program: str, **data: float) -> SmallComputer:
    computer = SmallComputer(program, **data)
    computer.run()
    return computer


def error_message(program: str, **data: float) -> str:
    with pytest.raises(ProgramError) as caught:
        SmallComputer(program, **data)
    return str(caught.value)


def test_ignores_comments_blank_lines_and_spacing():
    computer = run("load A,x ; first\n\n  add   A ,1\nSTORE A, y # last\nHALT", x=2, y=0)
    assert computer["y"] == 3


def test_line_numbers_include_comments_and_blank_lines():
    assert error_message("\n  # a comment\nSET A\n").startswith("line 3: ")


def test_accepts_a_label_on_its_own_line():
    assert run("start:\n LOAD A, x\nSTORE A, y\nHALT", x=4, y=0)["y"] == 4


def test_accepts_negative_and_fractional_numbers():
    assert run("SET A, -1.5\nADD A, .25\nSTORE A, y\nHALT", y=0)["y"] == -1.25


@pytest.mark.parametrize("word", ["nan", "inf", "1_000", "1e3", "0x10"])
def test_rejects_number_spellings_that_only_python_accepts(word):
    assert f"{word} is not a register or a number" in error_message(f"SET A, {word}\nHALT")


@pytest.mark.parametrize(
    ("wrong", "right"), [("STOER", "STORE"), ("LAOD", "LOAD"), ("JMP", "JUMP")]
)
def test_unknown_instruction_names_line_and_suggestion(wrong, right):
    message = error_message(f"SET A, 1\n{wrong} A, y\nHALT", y=0)
    assert message.startswith("line 2: there is no instruction")
    assert f"Did you mean {right}?" in message


def test_missing_special_instruction_suggests_how_to_add_it():
    assert "special=['RELU']" in error_message("RELU A\nHALT")


def test_special_instruction_works_when_built_in():
    computer = SmallComputer("LOAD A, x\nRELU A\nSTORE A, x\nHALT", special="RELU", x=-3)
    computer.run()
    assert computer["x"] == 0


def test_missing_comma_shows_the_correct_form():
    assert "write LOAD register, address, with commas" in error_message("LOAD A x\nHALT", x=1)


def test_rejects_too_many_operands():
    assert "write HALT, with commas" in error_message("HALT A")


def test_lowercase_register_gets_a_suggestion():
    assert "Did you mean A? Registers are capital letters" in error_message("SET a, 1\nHALT")


def test_address_used_as_a_register_suggests_load():
    assert "LOAD the memory cell into a register first" in error_message("ADD A, x\nHALT", x=1)


def test_lane_number_is_read_only():
    assert "LANE is read-only" in error_message("SET LANE, 3\nHALT")


def test_unknown_address_lists_the_known_names():
    assert "The names are x, y." in error_message("LOAD A, z\nHALT", x=1, y=2)


def test_unknown_label_gets_a_suggestion():
    assert "Did you mean again?" in error_message("again: JUMP agian\nHALT")


def test_rejects_duplicate_label():
    assert "line 2: the label a is already defined" in error_message("a: SET A, 1\na: HALT")


def test_rejects_label_without_instruction():
    assert "no instruction follows the label done" in error_message("JUMP done\ndone:")


def test_rejects_empty_program():
    assert "the program is empty" in error_message("  ; nothing but a comment\n")


@pytest.mark.parametrize("name", ["A", "LANE", "again"])
def test_rejects_data_named_like_a_register_or_label(name):
    assert "choose another name for the data" in error_message("again: HALT", **{name: 1})


def test_rejects_index_that_is_not_a_register():
    assert "the index i is not a register. Did you mean I?" in error_message(
        "LOAD A, x[i]\nHALT", x=1
    )


def test_numeric_index_shows_how_to_use_a_register():
    assert "SET I, 2 and then x[I]" in error_message("LOAD A, x[2]\nHALT", x=[1, 2, 3])


def test_unknown_label_lists_the_known_labels():
    assert "The labels are first, last." in error_message("first: JUMP 3\nlast: HALT")


def test_rejects_program_that_is_not_a_string():
    assert "a program must be a string, not 5" in error_message(5)


def test_accepts_lowercase_names_of_special_instructions():
    assert SmallComputer("relu A\nHALT", special=["relu"]).run().by_category["special"] == 1
