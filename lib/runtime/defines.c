// SPDX-License-Identifier: Apache-2.0
// Lists of defines.
#include "runtime/defines.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/printf.h"
#include "runtime/context.h"

static void add_option(weft_defines *defines, const char *format, ...) WEFT_PRINTF(2, 3);

static void add_option(weft_defines *defines, const char *format, ...)
{
    const size_t space = sizeof(defines->text) - defines->length;
    char *to = defines->text + defines->length;
    va_list words;
    va_start(words, format);
    const int before = snprintf(to, space, "%s", defines->length ? " " : "");
    const int length = before + vsnprintf(to + before, space - (size_t)before, format, words);
    va_end(words);
    assert(length > 0 && (size_t)length < space);
    defines->length += (size_t)length;
}

void weft_defines_add(weft_defines *defines, const char *name, int64_t value)
{
    add_option(defines, "-D %s=%" PRId64, name, value);
}

void weft_defines_add_word(weft_defines *defines, const char *name, const char *word)
{
    add_option(defines, "-D %s=%s", name, word);
}

// Names in cl/base/types.clh.
static const char *dtype_word(weft_dtype dtype)
{
    switch (dtype) {
    case WEFT_F64:
        return "DTYPE_F64";
    case WEFT_F16:
        return "DTYPE_F16";
    case WEFT_BF16:
        return "DTYPE_BF16";
    case WEFT_I32:
        return "DTYPE_I32";
    case WEFT_I64:
        return "DTYPE_I64";
    case WEFT_U8:
        return "DTYPE_U8";
    case WEFT_I8:
        return "DTYPE_I8";
    default:
        return "DTYPE_F32";
    }
}

void weft_defines_add_dtype(weft_defines *defines, const char *name, weft_dtype dtype)
{
    weft_defines_add_word(defines, name, dtype_word(dtype));
}

void weft_defines_add_sub_group(weft_defines *defines, int least, int items)
{
    if (least > 0)
        weft_defines_add(defines, "SUB_GROUP", items > least ? items : least);
}

void weft_defines_add_shuffles(weft_defines *defines, const weft_context *ctx, bool are_wanted)
{
    const int shuffles = ctx->has_shuffles ? 2 : 1;
    weft_defines_add(defines, "SHUFFLES", are_wanted && ctx->limits.has_subgroups ? shuffles : 0);
}

// Intel's devices with sub-groups from 16 on have registers of 64 bytes, and can give a kernel 256.
void weft_defines_add_registers(weft_defines *defines, int least)
{
    weft_defines_add_sub_group(defines, least, 0);
    if (least >= 16)
        add_option(defines, WEFT_MANY_REGISTERS);
}
