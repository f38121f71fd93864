"""Right and wrong answers to lab 00, with the hint that each wrong one must get."""

from helpers.checks import lab_00
from tests.helpers.checks.collection import Answers

answers = Answers(lab_00)

# Exercise 1: absolute()


@answers.right(1)
def with_a_product():
    return """
        LOAD A, x
        CMP A, 0
        JNN save
        MUL A, -1
        save: STORE A, y
        HALT
    """


@answers.right(1)
def subtracts_from_zero():
    return """
        LOAD A, x
        SET B, 0
        SUB B, A
        JN save
        SET A, B
        save: STORE A, y
        HALT
    """


@answers.right(1)
def with_two_stores():
    return """
        LOAD A, x
        CMP A, 0
        JN negative
        STORE A, y
        HALT
        negative: MUL A, -1
        STORE A, y
        HALT
    """


@answers.wrong(1, "wrong-sign")
def stores_x_itself():
    return """
        LOAD A, x
        STORE A, y
        HALT
    """


@answers.wrong(1, "wrong-sign")
def inverts_the_jump():
    return """
        LOAD A, x
        CMP A, 0
        JN save
        MUL A, -1
        save: STORE A, y
        HALT
    """


@answers.wrong(1, "relu-instead")
def computes_relu():
    return """
        LOAD A, x
        CMP A, 0
        JNN save
        SET A, 0
        save: STORE A, y
        HALT
    """


@answers.wrong(1, "nothing-stored")
def forgets_the_store():
    return """
        LOAD A, x
        CMP A, 0
        JNN done
        MUL A, -1
        done: HALT
    """


@answers.wrong(1, "nothing-stored")
def stores_on_one_path_only():
    return """
        LOAD A, x
        CMP A, 0
        JNN done
        MUL A, -1
        STORE A, y
        done: HALT
    """


@answers.wrong(1, "x-changed")
def stores_in_x():
    return """
        LOAD A, x
        CMP A, 0
        JNN save
        MUL A, -1
        save: STORE A, x
        STORE A, y
        HALT
    """


@answers.wrong(1, "wrong-value")
def squares_x():
    return """
        LOAD A, x
        MUL A, A
        STORE A, y
        HALT
    """


@answers.wrong(1, "cannot-be-read")
def uses_an_unknown_instruction():
    return """
        LOAD A, x
        ABS A
        STORE A, y
        HALT
    """


@answers.wrong(1, "stops-early")
def forgets_to_halt():
    return """
        LOAD A, x
        MUL A, -1
        STORE A, y
    """


@answers.wrong(1, "never-halts")
def loops_forever():
    return """
        again: LOAD A, x
        CMP A, 0
        JN again
        STORE A, y
        HALT
    """


@answers.wrong(1, "not-a-program")
def returns_a_number():
    return 3


@answers.wrong(1, "no-result")
def returns_no_program():
    """HALT"""


# Exercise 2: clipped_relu()


@answers.right(2)
def with_two_comparisons():
    return """
        LOAD A, x
        LOAD B, limit
        CMP A, 0
        JNN upper
        SET A, 0
        upper: CMP B, A
        JNN save
        SET A, B
        save: STORE A, y
        HALT
    """


@answers.right(2)
def clips_the_upper_end_first():
    return """
        LOAD A, x
        LOAD B, limit
        CMP A, B
        JN lower
        SET A, B
        lower: CMP A, 0
        JNN save
        SET A, 0
        save: STORE A, y
        HALT
    """


@answers.right(2)
def with_subtractions():
    return """
        LOAD A, x
        LOAD B, limit
        SET C, A
        SUB C, B
        JN lower
        STORE B, y
        HALT
        lower: ADD A, 0
        JNN save
        SET A, 0
        save: STORE A, y
        HALT
    """


@answers.wrong(2, "not-at-the-limit")
def computes_plain_relu():
    return """
        LOAD A, x
        LOAD B, limit
        CMP A, 0
        JNN save
        SET A, 0
        save: STORE A, y
        HALT
    """


@answers.wrong(2, "not-at-zero")
def clips_the_upper_end_only():
    return """
        LOAD A, x
        LOAD B, limit
        CMP B, A
        JNN save
        SET A, B
        save: STORE A, y
        HALT
    """


@answers.wrong(2, "fixed-limit")
def uses_a_fixed_limit():
    return """
        LOAD A, x
        CMP A, 0
        JNN upper
        SET A, 0
        upper: SET B, 6
        CMP B, A
        JNN save
        SET A, B
        save: STORE A, y
        HALT
    """


@answers.wrong(2, "wrong-value")
def swaps_the_operands():
    return """
        LOAD A, x
        LOAD B, limit
        CMP A, 0
        JNN upper
        SET A, 0
        upper: CMP A, B
        JNN save
        SET A, B
        save: STORE A, y
        HALT
    """


@answers.wrong(2, "nothing-stored")
def stores_nothing_for_negative_numbers():
    return """
        LOAD A, x
        LOAD B, limit
        CMP A, 0
        JN done
        CMP B, A
        JNN save
        SET A, B
        save: STORE A, y
        done: HALT
    """


@answers.wrong(2, "wrong-value")
def stores_zero_for_large_numbers():
    return """
        LOAD A, x
        LOAD B, limit
        CMP A, 0
        JN zero
        CMP B, A
        JNN save
        zero: SET A, 0
        save: STORE A, y
        HALT
    """


@answers.wrong(2, "cannot-be-read")
def names_an_unknown_label():
    return """
        LOAD A, x
        LOAD B, limit
        CMP A, 0
        JNN above
        SET A, 0
        STORE A, y
        HALT
    """


@answers.wrong(2, "cannot-be-read")
def compares_with_memory():
    return """
        LOAD A, x
        CMP A, limit
        STORE A, y
        HALT
    """


@answers.wrong(2, "never-halts")
def jumps_back_to_the_comparison():
    return """
        LOAD A, x
        LOAD B, limit
        lower: CMP A, 0
        JN lower
        CMP B, A
        JNN save
        SET A, B
        save: STORE A, y
        HALT
    """


@answers.wrong(2, "not-written")
def leaves_the_stub():
    raise NotImplementedError("exercise 2: write clipped_relu")


# Exercise 3: largest()


@answers.right(3)
def starts_with_the_first_number():
    return """
        LOAD B, n
        SET I, 0
        LOAD A, x[I]
        next: ADD I, 1
        CMP I, B
        JZ done
        LOAD C, x[I]
        CMP A, C
        JNN next
        SET A, C
        JUMP next
        done: STORE A, y
        HALT
    """


@answers.right(3)
def counts_down_from_the_end():
    return """
        LOAD I, n
        SUB I, 1
        LOAD A, x[I]
        next: SUB I, 1
        JN done
        LOAD C, x[I]
        CMP C, A
        JN next
        SET A, C
        JUMP next
        done: STORE A, y
        HALT
    """


@answers.right(3)
def compares_the_first_with_itself():
    return """
        LOAD B, n
        SET I, 0
        LOAD A, x[I]
        next: CMP I, B
        JZ done
        LOAD C, x[I]
        ADD I, 1
        CMP C, A
        JN next
        SET A, C
        JUMP next
        done: STORE A, y
        HALT
    """


@answers.wrong(3, "starts-at-zero")
def starts_with_zero():
    return """
        LOAD B, n
        SET I, 0
        SET A, 0
        next: CMP I, B
        JZ done
        LOAD C, x[I]
        ADD I, 1
        CMP C, A
        JN next
        SET A, C
        JUMP next
        done: STORE A, y
        HALT
    """


@answers.wrong(3, "smallest")
def finds_the_smallest():
    return """
        LOAD B, n
        SET I, 0
        LOAD A, x[I]
        next: ADD I, 1
        CMP I, B
        JZ done
        LOAD C, x[I]
        CMP C, A
        JNN next
        SET A, C
        JUMP next
        done: STORE A, y
        HALT
    """


@answers.wrong(3, "last-missed")
def skips_the_last_number():
    return """
        LOAD B, n
        SUB B, 1
        SET I, 0
        LOAD A, x[I]
        next: CMP I, B
        JZ done
        LOAD C, x[I]
        ADD I, 1
        CMP C, A
        JN next
        SET A, C
        JUMP next
        done: STORE A, y
        HALT
    """


@answers.wrong(3, "stops-early")
def reads_beyond_the_end():
    return """
        LOAD B, n
        SET I, 0
        LOAD A, x[I]
        next: ADD I, 1
        LOAD C, x[I]
        CMP A, C
        JNN test
        SET A, C
        test: CMP I, B
        JN next
        STORE A, y
        HALT
    """


@answers.wrong(3, "never-halts")
def forgets_to_increment_the_index():
    return """
        LOAD B, n
        SET I, 0
        LOAD A, x[I]
        next: CMP I, B
        JZ done
        LOAD C, x[I]
        CMP C, A
        JN next
        SET A, C
        JUMP next
        done: STORE A, y
        HALT
    """


@answers.wrong(3, "nothing-stored")
def never_stores_the_largest():
    return """
        LOAD B, n
        SET I, 0
        LOAD A, x[I]
        next: ADD I, 1
        CMP I, B
        JZ done
        LOAD C, x[I]
        CMP A, C
        JNN next
        SET A, C
        JUMP next
        done: HALT
    """


@answers.wrong(3, "wrong-value")
def returns_the_first():
    return """
        SET I, 0
        LOAD A, x[I]
        STORE A, y
        HALT
    """


@answers.wrong(3, "first-missed")
def starts_with_the_second_number():
    return """
        LOAD B, n
        SET I, 1
        LOAD A, x[I]
        next: CMP I, B
        JZ done
        LOAD C, x[I]
        ADD I, 1
        CMP C, A
        JN next
        SET A, C
        JUMP next
        done: STORE A, y
        HALT
    """


@answers.wrong(3, "list-changed")
def keeps_the_candidate_in_the_list():
    return """
        LOAD B, n
        SET J, 0
        SET I, 0
        next: ADD I, 1
        CMP I, B
        JZ done
        LOAD C, x[I]
        LOAD A, x[J]
        CMP A, C
        JNN next
        STORE C, x[J]
        JUMP next
        done: LOAD A, x[J]
        STORE A, y
        HALT
    """


@answers.wrong(3, "cannot-be-read")
def uses_a_number_as_index():
    return """
        LOAD A, x[0]
        STORE A, y
        HALT
    """


# Exercise 4: cycles(n)


@answers.right(4)
def counts_three_groups(n):
    return 11 + 2 * (n + 1) + 8 * n


@answers.right(4)
def as_a_linear_formula(n):
    return 13 + 10 * n


@answers.right(4)
def counts_in_a_loop(n):
    total = 4 + 1 + 1
    for _ in range(n):
        total += 1 + 1 + 4 + 1 + 1 + 1 + 1
    return total + 1 + 1 + 4 + 1


@answers.wrong(4, "counts-instructions")
def counts_instructions(n):
    return 7 + 7 * n


@answers.wrong(4, "one-missing")
def forgets_halt(n):
    return 12 + 10 * n


@answers.wrong(4, "last-test-missing")
def forgets_the_last_test(n):
    return 11 + 10 * n


@answers.wrong(4, "loop-counted-once")
def counts_the_loop_once(n):
    return 23


@answers.wrong(4, "all-in-the-loop")
def multiplies_all_cycles_by_n(n):
    return 23 * n


@answers.wrong(4, "wrong-cycles")
def counts_memory_as_two_cycles(n):
    return 9 + 8 * n


@answers.wrong(4, "wrong-cycles")
def counts_one_iteration_too_many(n):
    return 23 + 10 * n


@answers.wrong(4, "not-a-whole-number")
def returns_a_float(n):
    return 13 + 20 * n / 2


@answers.wrong(4, "no-result")
def prints_the_answer(n):
    print(13 + 10 * n)


@answers.wrong(4, "not-written")
def leaves_the_second_stub(n):
    raise NotImplementedError("exercise 4: write cycles")


# Exercise 5: dot_product()


@answers.right(5)
def with_strides():
    return """
        LOAD B, n
        SET A, 0
        SET I, LANE
        next: CMP I, B
        JNN done
        LOAD C, x[I]
        LOAD D, w[I]
        MUL C, D
        ADD A, C
        ADD I, LANES
        JUMP next
        done: STORE A, part[LANE]
        HALT
    """


@answers.right(5)
def with_blocks():
    return """
        LOAD B, n
        SET E, B
        ADD E, LANES
        SUB E, 1
        DIV E, LANES
        SET I, LANE
        MUL I, E
        ADD E, I
        SET A, 0
        next: CMP I, B
        JNN done
        CMP I, E
        JNN done
        LOAD C, x[I]
        LOAD D, w[I]
        MUL C, D
        ADD A, C
        ADD I, 1
        JUMP next
        done: STORE A, part[LANE]
        HALT
    """


@answers.right(5)
def with_strides_backward():
    return """
        LOAD I, n
        SUB I, 1
        SUB I, LANE
        SET A, 0
        next: CMP I, 0
        JN done
        LOAD C, x[I]
        LOAD D, w[I]
        MUL C, D
        ADD A, C
        SUB I, LANES
        JUMP next
        done: STORE A, part[LANE]
        HALT
    """


@answers.wrong(5, "every-lane-does-all")
def computes_everything_in_every_lane():
    return """
        LOAD B, n
        SET A, 0
        SET I, 0
        next: CMP I, B
        JNN done
        LOAD C, x[I]
        LOAD D, w[I]
        MUL C, D
        ADD A, C
        ADD I, 1
        JUMP next
        done: STORE A, part[LANE]
        HALT
    """


@answers.wrong(5, "wrong-sum")
def computes_the_rest_from_its_lane():
    return """
        LOAD B, n
        SET A, 0
        SET I, LANE
        next: CMP I, B
        JNN done
        LOAD C, x[I]
        LOAD D, w[I]
        MUL C, D
        ADD A, C
        ADD I, 1
        JUMP next
        done: STORE A, part[LANE]
        HALT
    """


@answers.wrong(5, "one-product-each")
def computes_one_product_per_lane():
    return """
        LOAD B, n
        SET A, 0
        SET I, LANE
        CMP I, B
        JNN done
        LOAD C, x[I]
        LOAD D, w[I]
        MUL C, D
        ADD A, C
        done: STORE A, part[LANE]
        HALT
    """


@answers.wrong(5, "wrong-sum")
def assumes_four_lanes():
    return """
        LOAD B, n
        SET A, 0
        SET I, LANE
        next: CMP I, B
        JNN done
        LOAD C, x[I]
        LOAD D, w[I]
        MUL C, D
        ADD A, C
        ADD I, 4
        JUMP next
        done: STORE A, part[LANE]
        HALT
    """


@answers.wrong(5, "one-part")
def stores_every_sum_in_the_first_cell():
    return """
        LOAD B, n
        SET A, 0
        SET I, LANE
        next: CMP I, B
        JNN done
        LOAD C, x[I]
        LOAD D, w[I]
        MUL C, D
        ADD A, C
        ADD I, LANES
        JUMP next
        done: SET J, 0
        STORE A, part[J]
        HALT
    """


@answers.wrong(5, "cannot-be-read")
def compares_the_lane_number():
    return """
        SET A, 0
        CMP LANE, 0
        JNZ done
        LOAD B, n
        SET I, 0
        next: CMP I, B
        JNN done
        LOAD C, x[I]
        LOAD D, w[I]
        MUL C, D
        ADD A, C
        ADD I, 1
        JUMP next
        done: STORE A, part[LANE]
        HALT
    """


@answers.wrong(5, "work-not-shared")
def computes_in_the_first_lane_only():
    return """
        SET A, 0
        SET I, LANE
        CMP I, 0
        JNZ done
        LOAD B, n
        next: CMP I, B
        JNN done
        LOAD C, x[I]
        LOAD D, w[I]
        MUL C, D
        ADD A, C
        ADD I, 1
        JUMP next
        done: STORE A, part[LANE]
        HALT
    """


@answers.wrong(5, "parts-missing")
def stores_nothing_in_idle_lanes():
    return """
        LOAD B, n
        SET A, 0
        SET I, LANE
        CMP I, B
        JNN stop
        next: CMP I, B
        JNN done
        LOAD C, x[I]
        LOAD D, w[I]
        MUL C, D
        ADD A, C
        ADD I, LANES
        JUMP next
        done: STORE A, part[LANE]
        stop: HALT
    """


@answers.wrong(5, "no-parts")
def stores_nothing():
    return """
        LOAD B, n
        SET A, 0
        SET I, LANE
        next: CMP I, B
        JNN done
        LOAD C, x[I]
        LOAD D, w[I]
        MUL C, D
        ADD A, C
        ADD I, LANES
        JUMP next
        done: HALT
    """


@answers.wrong(5, "wrong-sum")
def adds_without_multiplying():
    return """
        LOAD B, n
        SET A, 0
        SET I, LANE
        next: CMP I, B
        JNN done
        LOAD C, x[I]
        ADD A, C
        ADD I, LANES
        JUMP next
        done: STORE A, part[LANE]
        HALT
    """


@answers.wrong(5, "stops-early")
def reads_beyond_the_list():
    return """
        LOAD B, n
        ADD B, LANES
        SET A, 0
        SET I, LANE
        next: CMP I, B
        JNN done
        LOAD C, x[I]
        LOAD D, w[I]
        MUL C, D
        ADD A, C
        ADD I, LANES
        JUMP next
        done: STORE A, part[LANE]
        HALT
    """


@answers.wrong(5, "never-halts")
def never_increments_the_index():
    return """
        LOAD B, n
        SET A, 0
        SET I, LANE
        next: CMP I, B
        JNN done
        LOAD C, x[I]
        LOAD D, w[I]
        MUL C, D
        ADD A, C
        JUMP next
        done: STORE A, part[LANE]
        HALT
    """


# Exercise 6: groups(x)


@answers.right(6)
def sorts_the_numbers(x):
    ordered = sorted(x)
    return ordered[:4], ordered[4:]


@answers.right(6)
def splits_by_sign(x):
    negative = [value for value in x if value < 0]
    other = [value for value in x if value >= 0]
    both = negative + other
    return [both[:4], both[4:]]


@answers.right(6)
def sorts_largest_first(x):
    ordered = sorted(x, reverse=True)
    return tuple(ordered[:4]), tuple(ordered[4:])


@answers.wrong(6, "diverges")
def keeps_the_given_order(x):
    return x[:4], x[4:]


@answers.wrong(6, "diverges")
def takes_every_second_number(x):
    return x[::2], x[1::2]


@answers.wrong(6, "diverges")
def alternates_sorted_numbers(x):
    ordered = sorted(x)
    return ordered[::2], ordered[1::2]


@answers.wrong(6, "diverges")
def sorts_by_absolute_value(x):
    ordered = sorted(x, key=abs)
    return ordered[:4], ordered[4:]


@answers.wrong(6, "not-four-each")
def splits_into_negative_and_other_numbers(x):
    return [v for v in x if v < 0], [v for v in x if v >= 0]


@answers.wrong(6, "different-numbers")
def drops_a_number(x):
    ordered = sorted(x)
    return ordered[:4], ordered[3:7]


@answers.wrong(6, "different-numbers")
def drops_the_signs(x):
    ordered = sorted(map(abs, x))
    return ordered[:4], ordered[4:]


@answers.wrong(6, "not-two-groups")
def returns_one_sorted_list(x):
    return sorted(x)


@answers.wrong(6, "not-two-groups")
def returns_three_groups(x):
    return x[:3], x[3:6], x[6:]


@answers.wrong(6, "no-result")
def sorts_in_place_and_returns_nothing(x):
    x.sort()
