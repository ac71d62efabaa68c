"""Bytecode analysis: whether a value is used only as an operand.

The program's own code may use a fed number only where it adds, subtracts, multiplies, divides,
negates or compares it: these call the number's methods, which note the operation. Anywhere else
(an argument of a function, an attribute, an item of a list) it could be inspected in ways that no
method sees.
"""

from __future__ import annotations

import functools
import opcode
from types import CodeType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import dis

#: symbols of the operators that call methods of their operands
_OPERATORS: Final = frozenset({"+", "-", "*", "/", "+=", "-=", "*=", "/="})
_COMPARISONS: Final = frozenset(
    text for symbol in ("<", "<=", ">", ">=") for text in (symbol, f"bool({symbol})"))
#: instructions that only push
_PUSHES: Final = frozenset({
    "LOAD_CONST", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_FAST_LOAD_FAST",
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "LOAD_SMALL_INT", "LOAD_GLOBAL", "LOAD_DEREF",
    "PUSH_NULL"})
#: instructions that pop some of the topmost values and push one
_TAKES: Final = frozenset({
    "CALL", "PRECALL", "KW_NAMES", "CALL_KW", "BINARY_SUBSCR", "BUILD_TUPLE", "BUILD_SLICE",
    "UNARY_NEGATIVE", "UNARY_INVERT", "COMPARE_OP", "BINARY_OP", "IS_OP", "NOP",
    "BINARY_SLICE"})
#: instructions that pop one value and push one or two
_ATTRIBUTES: Final = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_LOADS: Final = frozenset({"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_DEREF"})
_PAIRS: Final = frozenset({"LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"})
_STORES: Final = frozenset({"STORE_FAST", "DELETE_FAST", "STORE_DEREF", "DELETE_DEREF"})


@functools.lru_cache(256)
def _instructions(code: CodeType) -> tuple[list[dis.Instruction], dict[int, int]]:
    import dis  # slow to import, and only used here

    instructions = [
        i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")]
    return instructions, {i.offset: k for k, i in enumerate(instructions)}


def _consumed(instructions: list[dis.Instruction], k: int, depth: int) -> bool:
    """Return True if the value that is ``depth``-th from the top after instruction k is consumed as
    an operand."""
    for i in instructions[k + 1:]:
        name = i.opname
        if name == "BINARY_OP" and depth <= 2:
            return i.argrepr in _OPERATORS
        if name == "COMPARE_OP" and depth <= 2:
            return i.argrepr in _COMPARISONS
        if name == "UNARY_NEGATIVE" and depth == 1:
            return True
        effect = opcode.stack_effect(
            i.opcode, i.arg if i.opcode >= opcode.HAVE_ARGUMENT else None)
        if name in _ATTRIBUTES and depth < 2 or name in _TAKES and depth + effect < 2:
            return False
        if name not in _PUSHES and name not in _TAKES and name not in _ATTRIBUTES:
            return False
        depth += effect
    return False


@functools.lru_cache(1024)
def result_is_operand(code: CodeType, offset: int) -> bool:
    """Return True if the result of the operator at an offset is only used as an operand."""
    instructions, places = _instructions(code)
    k = places.get(offset)
    return k is not None and instructions[k].opname in ("BINARY_OP", "UNARY_NEGATIVE") and (
        _consumed(instructions, k, 1))


@functools.lru_cache(1024)
def variable_is_operand(code: CodeType, name: str) -> bool:
    """Return True if a function uses the value of a variable only as an operand."""
    instructions, _ = _instructions(code)
    for k, i in enumerate(instructions):
        if i.opname in _LOADS and i.argval == name:
            if not _consumed(instructions, k, 1):
                return False
        elif i.opname in _PAIRS and name in i.argval:
            first, second = i.argval
            if first == name and not _consumed(instructions, k, 2) or (
                second == name and not _consumed(instructions, k, 1)
            ):
                return False
        elif i.opname in _STORES or i.opname in ("COPY_FREE_VARS", "MAKE_CELL"):
            continue
        elif "FAST" in i.opname or "DEREF" in i.opname or "CLOSURE" in i.opname:
            named = i.argval if isinstance(i.argval, tuple) else (i.argval,)
            if name in named:
                return False
    return True
