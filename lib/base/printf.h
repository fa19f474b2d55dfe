// SPDX-License-Identifier: Apache-2.0
// Marks functions that take a format as printf() does.
#ifndef WEFT_LIB_PRINTF_H
#define WEFT_LIB_PRINTF_H

// The places of the format and of the first argument for it, from 1 on. MinGW's "printf" is that of
// Microsoft's old library, which does not know %zu.
#if defined(__MINGW32__)
#define WEFT_PRINTF(format_place, first) __attribute__((format(gnu_printf, format_place, first)))
#elif defined(__GNUC__)
#define WEFT_PRINTF(format_place, first) __attribute__((format(printf, format_place, first)))
#else
#define WEFT_PRINTF(format_place, first)
#endif

#endif
