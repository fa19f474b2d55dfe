// SPDX-License-Identifier: Apache-2.0
// Tests what a device claims and what kernels rely on: computes numbers that the host knows. Each
// trial has its own part of the output.
//
//   try_alone       items on their own: 4 vectors for each
//   try_groups      items that exchange values: two groups
//   try_sub_groups  one group, along x alone, in sub-groups
//   time_fma        chains of multiply-adds, and
//   time_products   of as many products that are rounded before an addition
//
//   TRIALS        what is compiled, as bits of weft_trial (include/weft/limits.h)
//   VECTOR_WIDTH  lanes of a vector, as in the plans of the device
//   ITEMS         items along x of the groups that exchange values, and
//   ITEMS_Y       along y
//   SHUFFLES      2: as in cl/base/shuffle.clh
//
// `in` has N_IN small integers x, and the results are integers. `iterations` is 4, as an argument,
// so that no compiler knows it.
#define TRY_F64      1
#define TRY_F16      2
#define TRY_FMA      4
#define TRY_SHUFFLES 8
#define TRY_SIZES    16
#define TRY_STREAMS  32
#define TRY_FETCHES  64
#define TRY_STRUCTS  128
#define TRY_SELECTS  256
#define TRY_TREES    512
#define TRY_BARRIERS 1024
#define TIME_FMA     65536

#ifndef TRIALS
#define TRIALS                                                                                     \
    (TRY_FMA | TRY_STREAMS | TRY_FETCHES | TRY_STRUCTS | TRY_SELECTS | TRY_TREES | TRY_BARRIERS)
#endif
#ifndef ITEMS
#define ITEMS 8
#endif
#ifndef ITEMS_Y
#define ITEMS_Y 8
#endif

#include "base/types.clh"

// Elements of an independent item, of the input, and of a part of the output.
#define EACH        (4 * VECTOR_WIDTH)
#define N_IN        1024
#define GROUP_ITEMS (ITEMS * ITEMS_Y)

INLINE FLOATS in_floats(global const int *in)
{
#if VECTOR_WIDTH == 1
    return (float)*in;
#else
    return JOIN(convert_, FLOATS)(VLOAD(in));
#endif
}

INLINE void out_floats(FLOATS x, global int *out)
{
#if VECTOR_WIDTH == 1
    *out = (int)x;
#else
    VSTORE(JOIN(convert_, INTS)(x), out);
#endif
}

#if TRIALS & TRY_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
// x, from 1 + x 2^-40.
INLINE void try_f64(global const int *in, global int *out)
{
    const double small = 1.0 / (1L << 40);
    for (int i = 0; i < EACH; ++i) {
        const double sum = 1.0 + in[i] * small;
        out[i] = (int)((sum - 1.0) / small);
    }
}
#endif

#if TRIALS & TRY_F16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
// 2 x + 1
INLINE void try_f16(global const int *in, global int *out)
{
    for (int i = 0; i < EACH; ++i) {
        const half x = (half)in[i];
        out[i] = (int)(x * (half)2 + (half)1);
    }
}
#endif

#if TRIALS & TRY_FMA
// x^2, the last term of (1 + x 2^-12)^2, which a rounded product loses.
INLINE void try_fma(global const int *in, global int *out)
{
    for (int i = 0; i < EACH; i += VECTOR_WIDTH) {
        const FLOATS x = in_floats(in + i);
        const FLOATS a = 1 + x * 0x1p-12f;
        out_floats(fma(a, a, -1 - x * 0x1p-11f) * 0x1p24f, out + i);
    }
}
#endif

#if TRIALS & TRY_STREAMS
// x
INLINE void try_streams(global const int *in, global int *out)
{
    for (int i = 0; i < EACH; i += VECTOR_WIDTH)
        PUT_PAST(int, JOIN(convert_, INTS)(in_floats(in + i)), out + i);
}
#endif

#if TRIALS & TRY_FETCHES
// x, prefetched, like memory far behind the end.
INLINE void try_fetches(global const int *in, global int *out)
{
    FETCH_AHEAD((size_t)in, 1);
    FETCH_AHEAD((size_t)in + (1 << 30), 2);
    FETCH_TO_WRITE((size_t)out);
    for (int i = 0; i < EACH; ++i)
        out[i] = in[i];
}
#endif

#if TRIALS & TRY_STRUCTS
typedef struct {
    FLOATS high, low;
} two;

// x: one struct is filled, member by member, and copied whole, twice in a row.
INLINE void try_structs(global const int *in, global int *out)
{
    two filled, first, second;
    for (int i = 0; i < EACH; i += 2 * VECTOR_WIDTH) {
        filled.high = 2 * in_floats(in + i);
        filled.low = -in_floats(in + i);
        first = filled;
        filled.high = 2 * in_floats(in + i + VECTOR_WIDTH);
        filled.low = -in_floats(in + i + VECTOR_WIDTH);
        second = filled;
        out_floats(first.high + first.low, out + i);
        out_floats(second.high + second.low, out + i + VECTOR_WIDTH);
    }
}
#endif

#if TRIALS & TRY_SELECTS
// x if it is larger than its neighbour, else minus that neighbour.
INLINE void try_selects(global const int *in, global int *out)
{
    for (int i = 0; i < EACH; i += VECTOR_WIDTH) {
        const FLOATS x = in_floats(in + i), next = in_floats(in + i + 1);
        out_floats(x > next ? x : -next, out + i);
    }
}
#endif

kernel void try_alone(global const int *in, global int *out, int iterations)
{
    in += get_global_id(0) * EACH;
    out += get_global_id(0) * EACH;
#if TRIALS & TRY_F64
    try_f64(in, out);
#endif
#if TRIALS & TRY_F16
    try_f16(in, out + N_IN);
#endif
#if TRIALS & TRY_FMA
    try_fma(in, out + 2 * N_IN);
#endif
#if TRIALS & TRY_STREAMS
    try_streams(in, out + 5 * N_IN);
#endif
#if TRIALS & TRY_FETCHES
    try_fetches(in, out + 6 * N_IN);
#endif
#if TRIALS & TRY_STRUCTS
    try_structs(in, out + 7 * N_IN);
#endif
#if TRIALS & TRY_SELECTS
    try_selects(in, out + 8 * N_IN);
#endif
}

// The sum of a group's numbers.
INLINE void try_trees(int x, global int *out, local int *shared)
{
    const int here = get_local_id(1) * ITEMS + get_local_id(0);
    shared[here] = x;
    WAIT_FOR_ALL(CLK_LOCAL_MEM_FENCE);
    for (int below = GROUP_ITEMS / 2; below > 0; below /= 2) {
        if (here < below)
            shared[here] += shared[here + below];
        WAIT_FOR_ALL(CLK_LOCAL_MEM_FENCE);
    }
    if (here == 0)
        *out = shared[0];
}

// In each iteration, each item adds the next item's value, around the group.
INLINE int try_barriers(int x, local int *shared, int iterations)
{
    const int here = get_local_id(1) * ITEMS + get_local_id(0);
    for (int i = 0; i < iterations; ++i) {
        shared[here] = x;
        WAIT_FOR_ALL(CLK_LOCAL_MEM_FENCE);
        x += shared[(here + 1) % GROUP_ITEMS];
        WAIT_FOR_ALL(CLK_LOCAL_MEM_FENCE);
    }
    return x;
}

kernel __attribute__((reqd_work_group_size(ITEMS, ITEMS_Y, 1))) void try_groups(
    global const int *in, global int *out, int iterations)
{
    local int around[GROUP_ITEMS], below[GROUP_ITEMS];
    const int group = get_group_id(0);
    const int here = group * GROUP_ITEMS + get_local_id(1) * ITEMS + get_local_id(0);
    if (TRIALS & TRY_TREES)
        try_trees(in[here], out + 9 * N_IN + group, below);
    if (TRIALS & TRY_BARRIERS)
        out[10 * N_IN + here] = try_barriers(in[here], around, iterations);
}

#if TRIALS & TRY_SHUFFLES
typedef struct {
    float value;
    int number;
    long place;
} state;
#define FIELDS(FIELD) FIELD(float, value) FIELD(int, number) FIELD(long, place)

#include "base/shuffle.clh"

// The number; -1 if the three numbers, which are shuffled in different ways, differ.
INLINE int only(const state *s)
{
    return s->number == (int)s->value && s->number == (int)s->place ? s->number : -1;
}

// out[0]: the width of a sub-group. Then for each of the distances 1, 2, 4, .., `iterations` of
// them, the values of items that much further on, and the values of items further back by the
// distance or by y, whichever is less.
INLINE void try_shuffles(global const int *in, global int *out, local state *shared, int iterations)
{
    const int here = number_in_group(), y = here / ITEMS;
    const state mine = {in[here], in[here], in[here]};
    for (int i = 0; i < iterations; ++i) {
        state down, up;
        hand_down(&down, &mine, 1 << i, shared);
        hand_up(&up, &mine, min(y, 1 << i), shared);
        out[1 + (2 * i) * GROUP_ITEMS + here] = only(&down);
        out[1 + (2 * i + 1) * GROUP_ITEMS + here] = only(&up);
    }
    if (here == 0)
        out[0] = SUB_GROUP_WIDTH;
}
#endif

// For each size of sub-groups: x.
#if TRIALS & (TRY_SHUFFLES | TRY_SIZES)
kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) IN_SUB_GROUPS void try_sub_groups(
    global const int *in, global int *out, int iterations)
{
    const int here = get_local_id(0);
#if TRIALS & TRY_SHUFFLES
    local state shared[GROUP_ITEMS];
    try_shuffles(in, out + 3 * N_IN, shared, iterations);
#endif
    if (TRIALS & TRY_SIZES)
        out[4 * N_IN + here] = in[here];
}
#endif

#if TRIALS & TIME_FMA
#pragma OPENCL FP_CONTRACT OFF
kernel void time_fma(global const int *in, global int *out, int iterations)
{
    const FLOATS a = in_floats(in) * 0x1p-10f;
    FLOATS x = in_floats(in + VECTOR_WIDTH);
    for (int i = 0; i < iterations; ++i)
        x = fma(x, a, a);
    out_floats(x, out);
}

kernel void time_products(global const int *in, global int *out, int iterations)
{
    const FLOATS a = in_floats(in) * 0x1p-10f;
    FLOATS x = in_floats(in + VECTOR_WIDTH);
    for (int i = 0; i < iterations; ++i)
        x = x * a + a;
    out_floats(x, out);
}
#endif
