# SPDX-License-Identifier: Apache-2.0
"""Formulas with named arrays and numbers, of elementwise() and of a product's epilogue."""
from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from weft._arrays import Array
from weft._binding import Params
from weft._values import number_of, shown
from weft._weft import ffi, lib

MOST_INPUTS: int = lib.WEFT_ELEMENTWISE_INPUTS
MOST_OUTPUTS: int = lib.WEFT_ELEMENTWISE_OUTPUTS
MOST_VALUES: int = lib.WEFT_ELEMENTWISE_VALUES
MOST_TEXTS = 1024
NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")

_texts: dict[str, Any] = {}


def chars(text: str) -> Any:
    """The text for C, which stays as long as a call that has it."""
    if not isinstance(text, str):
        raise TypeError(f"a formula is {shown(text)}: a str is wanted")
    found = _texts.get(text)
    if found is None:
        if "\0" in text:
            raise ValueError("a formula has a character of code 0")
        if len(_texts) >= MOST_TEXTS:
            _texts.clear()
        found = _texts[text] = ffi.new("char[]", text.encode())
    return found


@functools.lru_cache(maxsize=MOST_TEXTS)
def _names_in(formulas: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """All, and those that are a whole formula: a function's is its call with all arrays."""
    return (frozenset(name for text in formulas for name in NAME.findall(text)),
            frozenset(text.strip() for text in formulas if NAME.fullmatch(text.strip())))


def refuse_unused(formulas: tuple[str, ...], arrays: Mapping[str, Array],
                  values: Mapping[str, Any], product: str = "") -> None:
    """Names an operand that no formula has. Of a product they have one operand more."""
    names, alone = _names_in(formulas)
    has_call = not (alone <= {product, *arrays, *values})
    for name in (*(() if has_call else arrays), *values):
        if name not in names:
            raise ValueError(f"no formula has the operand {name}: {', '.join(map(repr, formulas))}")


def is_value(x: object) -> bool:
    """A number, not an array of one."""
    return isinstance(x, (int, float, complex, np.number, np.bool_))


class FormulaParams(Params):
    """With room for operands. C reads what `kept` keeps alive."""

    __slots__ = ("inputs", "values", "outputs", "kept")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.inputs = ffi.new("weft_elementwise_input[]", MOST_INPUTS)
        self.values = ffi.new("weft_elementwise_value[]", MOST_VALUES)
        self.outputs = ffi.new("weft_elementwise_output[]", MOST_OUTPUTS)
        self.struct.values = self.values
        self.kept: list[Any] = []

    def fill(self, inputs: Mapping[str, Any], values: Mapping[str, Any], is_real: bool) -> int:
        """Tensors and numbers by their names, whole ones exactly where arithmetic is not real;
        returns the number of inputs."""
        if len(inputs) > MOST_INPUTS:
            raise ValueError(f"a formula has {len(inputs)} arrays: {MOST_INPUTS} are the most")
        if len(values) > MOST_VALUES:
            raise ValueError(f"a formula has {len(values)} numbers: {MOST_VALUES} are the most")
        self.kept = []
        for i, (name, tensor) in enumerate(inputs.items()):
            its = self.inputs[i]
            text = chars(name)
            its.name, its.tensor = text, tensor
            self.kept += [text, tensor]
        for i, (name, value) in enumerate(values.items()):
            its = self.values[i]
            text = chars(name)
            its.name, its.value = text, number_of(value, name)
            if not (is_real or is_real_value(value) or int(its.value) == int(value)):
                raise ValueError(f"{name} is {shown(value)}, which no float64 is: give it as an "
                                 "array")
            self.kept.append(text)
        self.struct.n_values = len(values)
        self.struct.values = self.values if values else ffi.NULL
        return len(inputs)


    def fill_outputs(self, formulas: Iterable[str], tensors: Iterable[Any]) -> None:
        for i, (formula, tensor) in enumerate(zip(formulas, tensors)):
            its = self.outputs[i]
            text = chars(formula)
            its.formula, its.tensor = text, tensor
            self.kept += [text, tensor]


def parted(operands: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Any]]:
    """Arrays, and numbers."""
    arrays, values = {}, {}
    for name, x in operands.items():
        if is_value(x):
            values[name] = x
        else:
            arrays[name] = x
    return arrays, values


def is_real_value(value: Any) -> bool:
    return isinstance(value, (float, np.floating))


def has_real_value(values: Mapping[str, Any]) -> bool:
    for value in values.values():
        if isinstance(value, (float, np.floating)):
            return True
    return False
