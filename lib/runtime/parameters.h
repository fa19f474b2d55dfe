// SPDX-License-Identifier: Apache-2.0
// Parameters of kernels, listed once for kernel and host. A list
//
//     #define SCALE_PARAMETERS(P, AND) P(LONG, n) AND P(NUMBER(ACC), factor) AND P(OUT(T), Y)
//
// is in a header of cl/. The kernel declares SCALE_PARAMETERS(DECLARE, COMMA)
// (cl/base/parameters.clh). The host has a struct of them, sets its fields by name, and lists the
// arguments, so that number, order and sizes are the kernel's:
//
//     typedef struct { SCALE_PARAMETERS(FIELD, ) } scale_arguments;
//     const scale_arguments own = {.n = n, .factor = ..., .Y = Y}, *a = &own;
//     const weft_argument list[] = {SCALE_PARAMETERS(LISTED, COMMA)};
#ifndef WEFT_LIB_PARAMETERS_H
#define WEFT_LIB_PARAMETERS_H

#include "runtime/argument.h"

#define COMMA ,

#define FIELD(kind, name)   FIELD_##kind name;
#define FIELD_INT           cl_int
#define FIELD_LONG          cl_long
#define FIELD_LONG4         cl_long4
#define FIELD_IN(T)         cl_mem
#define FIELD_OUT(T)        cl_mem
#define FIELD_SOLE_IN(T)    cl_mem // restrict
#define FIELD_SOLE_OUT(T)   cl_mem
#define FIELD_ATOMIC(T)     cl_mem // volatile
#define FIELD_NUMBER(T)     weft_number
#define FIELD_WHOLE(T)      weft_indices
#define FIELD_LOCAL(T)      size_t // bytes
#define FIELD_SOLE_LOCAL(T) size_t

#define LISTED(kind, name)   LISTED_##kind(a->name)
#define LISTED_INT           ARGUMENT
#define LISTED_LONG          ARGUMENT
#define LISTED_LONG4         ARGUMENT
#define LISTED_IN(T)         ARGUMENT
#define LISTED_OUT(T)        ARGUMENT
#define LISTED_SOLE_IN(T)    ARGUMENT
#define LISTED_SOLE_OUT(T)   ARGUMENT
#define LISTED_ATOMIC(T)     ARGUMENT
#define LISTED_NUMBER(T)     NUMBER_ARGUMENT
#define LISTED_WHOLE(T)      NUMBER_ARGUMENT
#define LISTED_LOCAL(T)      LOCAL_ARGUMENT
#define LISTED_SOLE_LOCAL(T) LOCAL_ARGUMENT

// Adds the arguments of a list, which point into *a.
#define ADD_LISTED(arguments, ...)                                                                 \
    do {                                                                                           \
        const weft_argument listed[] = {__VA_ARGS__};                                              \
        weft_arguments_add_all(arguments, sizeof(listed) / sizeof(listed[0]), listed);             \
    } while (0)

#define NUMBER_ARGUMENT(x)                                                                         \
    {                                                                                              \
        (x).size, &(x).value, false                                                                \
    }
#define LOCAL_ARGUMENT(x)                                                                          \
    {                                                                                              \
        (x), NULL, false                                                                           \
    }

#endif
