# SPDX-License-Identifier: Apache-2.0
"""Element types, as options of programs name them."""

DTYPE_BYTES = {"F32": 4, "F64": 8, "F16": 2, "BF16": 2, "I32": 4, "I64": 8, "U8": 1, "I8": 1}


def element_bytes(defines):
    return DTYPE_BYTES[defines.get("DTYPE", "DTYPE_F32").removeprefix("DTYPE_")]
