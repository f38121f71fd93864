"""Programs that several tests run: ReLU of one number and of many."""

import pytest

RELU = """
        LOAD  A, x
        CMP   A, 0
        JNN   keep
        SET   A, 0
keep:   STORE A, y
        HALT
"""
RELU_ALL = """
        SET   I, LANE
        LOAD  D, n
next:   CMP   I, D
        JNN   done
        LOAD  A, x[I]
        CMP   A, 0
        JNN   keep
        SET   A, 0
keep:   STORE A, y[I]
        ADD   I, LANES
        JUMP  next
done:   HALT
"""


@pytest.fixture
def relu() -> str:
    return RELU


@pytest.fixture
def relu_all() -> str:
    return RELU_ALL
