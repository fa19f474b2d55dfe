// SPDX-License-Identifier: Apache-2.0
// Building blocks of the macros that fill in a params struct: WEFT_SPMM(.plan = plan, .event =
// &done) is the address of a struct whose other fields are 0. In C it lives as long as the block
// around it; in C++ until the end of the full expression, and so for the call that it is passed to:
//
//     weft_spmm(ctx, queue, 1, &A, &B, 0, &C, WEFT_SPMM(.plan = plan));
//
// A struct may be of another release. Fields that a smaller one lacks are 0; bytes of a larger one
// for which this release has no field must be 0, else the call is refused with WEFT_BAD_ARGUMENT,
// which names the byte and this release's version. 0 in a new field means the behaviour before it.
//
// C++ requires the fields in the order of the struct. The macros are for C++20, and for gcc and
// clang from C++11 on. With other compilers and C++17 set `size` and the rest field by field.
#ifndef WEFT_PARAMS_H
#define WEFT_PARAMS_H

#include <stddef.h>

#ifdef __cplusplus

extern "C++" { // also where the caller includes weft in extern "C"

template <typename T> inline const T *weft_address(const T &fields)
{
    return &fields;
}

template <typename T, size_t n> inline const T *weft_first(const T (&elements)[n])
{
    return elements;
}

template <typename T, size_t n> char (&weft_counted(const T (&elements)[n]))[n]; // for sizeof
}

// -Wextra warns of fields that a caller leaves out: g++ if the macro is the caller's own, clang++
// from version 18 on. -Wpedantic warns of designated initialisers before C++20.
#if defined(__clang__)
#pragma GCC system_header
#define WEFT_FIELDS_LEFT_OUT                                                                       \
    _Pragma("clang diagnostic push")                                                               \
        _Pragma("clang diagnostic ignored \"-Wmissing-field-initializers\"")
#define WEFT_POINTER(type, ...)                                                                    \
    (WEFT_FIELDS_LEFT_OUT __extension__ weft_address<type>({__VA_ARGS__})                          \
         _Pragma("clang diagnostic pop"))
#elif defined(__GNUC__)
#pragma GCC system_header
#define WEFT_POINTER(type, ...) (__extension__ weft_address<type>({__VA_ARGS__}))
#else
#define WEFT_POINTER(type, ...) weft_address<type>({__VA_ARGS__})
#endif
#define WEFT_ARRAY(type, ...) weft_first<type>({__VA_ARGS__})
#define WEFT_COUNT(type, ...) static_cast<int>(sizeof(weft_counted<type>({__VA_ARGS__})))

#else

#define WEFT_POINTER(type, ...) (&(const type){__VA_ARGS__})
#define WEFT_ARRAY(type, ...)   ((const type[]){__VA_ARGS__})
#define WEFT_COUNT(type, ...)   ((int)(sizeof((const type[]){__VA_ARGS__}) / sizeof(type)))

#endif

// A struct that begins with its own size.
#define WEFT_PARAMS(type, ...) WEFT_POINTER(type, .size = sizeof(type), __VA_ARGS__)

#endif
