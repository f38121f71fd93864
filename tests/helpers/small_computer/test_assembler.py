"""A program's text: what is understood, and what each mistake is answered with."""

import pytest

from helpers.small_computer import ProgramError, SmallComputer


def run(program: str, **data: float) -> SmallComputer:
    computer = SmallComputer(program, **data)
    computer.run()
    return computer


def complaint(program: str, **data: float) -> str:
    with pytest.raises(ProgramError) as caught:
        SmallComputer(program, **data)
    return str(caught.value)


def test_comments_blank_lines_and_spacing_do_not_matter():
    program = "\n  # a comment\n\tset a1 : \n"
    assert "a1" in complaint(program)
    neat = run("load A,x ; first\n\n  add   A ,1\nSTORE A, y # last\nHALT", x=2, y=0)
    assert neat["y"] == 3


def test_a_label_may_stand_on_a_line_of_its_own():
    assert run("start:\n LOAD A, x\nSTORE A, y\nHALT", x=4, y=0)["y"] == 4


def test_numbers_may_be_negative_or_have_a_fraction():
    assert run("SET A, -1.5\nADD A, .25\nSTORE A, y\nHALT", y=0)["y"] == -1.25


@pytest.mark.parametrize("word", ["nan", "inf", "1_000", "1e3", "0x10"])
def test_what_python_would_take_for_a_number_is_not_one_here(word):
    assert f"{word} is not a register or a number" in complaint(f"SET A, {word}\nHALT")


@pytest.mark.parametrize(
    ("wrong", "right"), [("STOER", "STORE"), ("LAOD", "LOAD"), ("JMP", "JUMP")]
)
def test_an_unknown_instruction_names_its_line_and_the_nearest_one(wrong, right):
    message = complaint(f"SET A, 1\n{wrong} A, y\nHALT", y=0)
    assert message.startswith("line 2: there is no instruction")
    assert f"Did you mean {right}?" in message


def test_a_special_instruction_that_is_not_built_in_says_how_to_build_it():
    assert "special=['RELU']" in complaint("RELU A\nHALT")


def test_a_special_instruction_works_when_it_is_built_in():
    computer = SmallComputer("LOAD A, x\nRELU A\nSTORE A, x\nHALT", special="RELU", x=-3)
    computer.run()
    assert computer["x"] == 0


def test_missing_commas_are_answered_with_the_form():
    assert "LOAD register, address, with commas" in complaint("LOAD A x\nHALT", x=1)


def test_too_many_operands_are_refused():
    assert "it is written HALT" in complaint("HALT A")


def test_a_small_letter_for_a_register_is_recognised():
    assert "Did you mean A? Registers are written in capitals" in complaint("SET a, 1\nHALT")


def test_memory_used_where_a_register_is_needed_asks_for_a_load():
    assert "has to be LOADed" in complaint("ADD A, x\nHALT", x=1)


def test_the_lane_number_cannot_be_changed():
    assert "can be read but not changed" in complaint("SET LANE, 3\nHALT")


def test_an_unknown_place_in_memory_lists_the_known_ones():
    assert "The data here are called x, y" in complaint("LOAD A, z\nHALT", x=1, y=2)


def test_an_unknown_label_names_the_nearest():
    assert "Did you mean again?" in complaint("again: JUMP agian\nHALT")


def test_a_label_cannot_be_given_twice():
    assert "line 2: there is already a label a" in complaint("a: SET A, 1\na: HALT")


def test_a_label_at_the_end_needs_an_instruction():
    assert "no instruction follows the label done" in complaint("JUMP done\ndone:")


def test_an_empty_program_is_refused():
    assert "the program is empty" in complaint("  ; nothing but a comment\n")


@pytest.mark.parametrize("name", ["A", "LANE", "again"])
def test_data_cannot_take_the_name_of_a_register_or_label(name):
    assert f"cannot be called {name}" in complaint("again: HALT", **{name: 1})


def test_an_index_has_to_be_a_register():
    assert "the index i is no register. Did you mean I?" in complaint("LOAD A, x[i]\nHALT", x=1)


def test_a_number_as_an_index_shows_how_to_write_it():
    assert "SET I, 2 and then x[I]" in complaint("LOAD A, x[2]\nHALT", x=[1, 2, 3])


def test_an_unknown_label_lists_those_there_are():
    assert "There are first, last." in complaint("first: JUMP 3\nlast: HALT")


def test_a_program_that_is_no_text_is_refused():
    assert "a program is a text, not 5" in complaint(5)


def test_names_of_special_instructions_may_be_small():
    assert SmallComputer("relu A\nHALT", special=["relu"]).run().by_category["special"] == 1
