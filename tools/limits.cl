// SPDX-License-Identifier: Apache-2.0
// The device's best rates: copy, read, multiply-add. The host launches these kernels in several
// shapes and uses the fastest.
//
//   copy<W>, stream<W>  out[i] = in[i], vectors of W words; stream<W> stores past the cache
//   read<W>             sums all words, and stores a sum only where it is `unlikely`, so that no
//                       load is needless
//   runs<W>             the same, each item in 8 places at once
//   stream_asked16, read_asked16
//                       as stream16 and read16, with prefetches AHEAD bytes ahead, on CPUs
//   reread<W>, recopy<W>
//                       as read<W> and copy<W>, the same run `rounds` times: it stays in a cache
//   fma<W>x<C>          every item computes C independent chains x = a x + b of W lanes
//   nothing             does nothing, as every launch must
//
// A group copies or reads a run of per_item times its local size vectors; neighbouring items take
// neighbouring vectors. per_item is a power of two, for read<W> at least 4, for runs<W> 8, or for
// reread<W> and recopy<W> a multiple of 4. One round of fma<W>x<C> is ROUND links of each chain.

#define ROUND 8

#ifdef __has_builtin
#if __has_builtin(__builtin_nontemporal_store)
#define STREAM(to, value) __builtin_nontemporal_store(value, &(to))
#endif
#endif
#ifndef STREAM
#define STREAM(to, value) ((to) = (value))
#endif
#define STORE(to, value) ((to) = (value))

#define AHEAD 4096
#if defined(__x86_64__) || defined(__aarch64__)
#define PREFETCH(from) __builtin_prefetch((const void *)((size_t) & (from) + AHEAD), 0, 2)
#else
#define PREFETCH(from) (void)0
#endif
#define ASK_NOT(from) (void)0

#ifdef FP_FAST_FMAF
#define MULTIPLY_ADD(x, a, b) fma(x, a, b)
#else
#define MULTIPLY_ADD(x, a, b) ((x) * (a) + (b))
#endif

#define SUMS(T)                                                                                    \
    static T sum_##T(T v)                                                                          \
    {                                                                                              \
        return v;                                                                                  \
    }                                                                                              \
    static T sum_##T##4(T##4 v)                                                                    \
    {                                                                                              \
        return v.s0 + v.s1 + v.s2 + v.s3;                                                          \
    }                                                                                              \
    static T sum_##T##8(T##8 v)                                                                    \
    {                                                                                              \
        return sum_##T##4(v.lo + v.hi);                                                            \
    }                                                                                              \
    static T sum_##T##16(T##16 v)                                                                  \
    {                                                                                              \
        return sum_##T##8(v.lo + v.hi);                                                            \
    }

SUMS(uint)
SUMS(float)

#define COPY(name, T, PUT, PREFETCH)                                                               \
    kernel void name(global const T *restrict in, global T *restrict out, int per_item)            \
    {                                                                                              \
        const size_t step = get_local_size(0);                                                     \
        size_t i = get_group_id(0) * step * per_item + get_local_id(0);                            \
        for (int n = 0; n < per_item; n++, i += step) {                                            \
            PREFETCH(in[i]);                                                                       \
            PUT(out[i], in[i]);                                                                    \
        }                                                                                          \
    }

#define READ(name, T, PREFETCH)                                                                    \
    kernel void name(global const T *restrict in, global uint *restrict out, int per_item,         \
                     uint unlikely)                                                                \
    {                                                                                              \
        const size_t step = get_local_size(0);                                                     \
        size_t i = get_group_id(0) * step * per_item + get_local_id(0);                            \
        T a = 0, b = 0, c = 0, d = 0;                                                              \
        for (int n = 0; n < per_item; n += 4, i += 4 * step) {                                     \
            PREFETCH(in[i]);                                                                       \
            PREFETCH(in[i + step]);                                                                \
            PREFETCH(in[i + 2 * step]);                                                            \
            PREFETCH(in[i + 3 * step]);                                                            \
            a += in[i];                                                                            \
            b += in[i + step];                                                                     \
            c += in[i + 2 * step];                                                                 \
            d += in[i + 3 * step];                                                                 \
        }                                                                                          \
        const uint sum = sum_##T((a + b) + (c + d));                                               \
        if (sum == unlikely)                                                                       \
            out[0] = sum;                                                                          \
    }

#define RUNS(name, T)                                                                              \
    kernel void name(global const T *restrict in, global uint *restrict out, int per_item,         \
                     uint unlikely)                                                                \
    {                                                                                              \
        const size_t step = get_local_size(0);                                                     \
        const size_t apart = step * (per_item / 8);                                                \
        size_t i = get_group_id(0) * step * per_item + get_local_id(0);                            \
        T a = 0, b = 0, c = 0, d = 0;                                                              \
        for (int n = 0; n < per_item / 8; n++, i += step) {                                        \
            a += in[i] + in[i + 4 * apart];                                                        \
            b += in[i + apart] + in[i + 5 * apart];                                                \
            c += in[i + 2 * apart] + in[i + 6 * apart];                                            \
            d += in[i + 3 * apart] + in[i + 7 * apart];                                            \
        }                                                                                          \
        const uint sum = sum_##T((a + b) + (c + d));                                               \
        if (sum == unlikely)                                                                       \
            out[0] = sum;                                                                          \
    }

// `moved` is 0, which the compiler does not know: each round reads again.
#define REREAD(name, T)                                                                            \
    kernel void name(global const T *restrict in, global uint *restrict out, int per_item,         \
                     int rounds, int moved, uint unlikely)                                         \
    {                                                                                              \
        const size_t step = get_local_size(0);                                                     \
        const size_t first = get_group_id(0) * step * per_item + get_local_id(0);                  \
        T a = 0, b = 0, c = 0, d = 0;                                                              \
        for (int round = 0; round < rounds; round++) {                                             \
            size_t i = first + (size_t)round * moved;                                              \
            for (int n = 0; n < per_item; n += 4, i += 4 * step) {                                 \
                a += in[i];                                                                        \
                b += in[i + step];                                                                 \
                c += in[i + 2 * step];                                                             \
                d += in[i + 3 * step];                                                             \
            }                                                                                      \
        }                                                                                          \
        const uint sum = sum_##T((a + b) + (c + d));                                               \
        if (sum == unlikely)                                                                       \
            out[0] = sum;                                                                          \
    }

#define RECOPY(name, T)                                                                            \
    kernel void name(global const T *restrict in, global T *restrict out, int per_item,            \
                     int rounds, int moved)                                                        \
    {                                                                                              \
        const size_t step = get_local_size(0);                                                     \
        const size_t first = get_group_id(0) * step * per_item + get_local_id(0);                  \
        for (int round = 0; round < rounds; round++) {                                             \
            size_t i = first + (size_t)round * moved;                                              \
            for (int n = 0; n < per_item; n += 4, i += 4 * step) {                                 \
                out[i] = in[i];                                                                    \
                out[i + step] = in[i + step];                                                      \
                out[i + 2 * step] = in[i + 2 * step];                                              \
                out[i + 3 * step] = in[i + 3 * step];                                              \
            }                                                                                      \
        }                                                                                          \
    }

#define EACH8(DO, T)  DO(T, 0) DO(T, 1) DO(T, 2) DO(T, 3) DO(T, 4) DO(T, 5) DO(T, 6) DO(T, 7)
#define EACH12(DO, T) EACH8(DO, T) DO(T, 8) DO(T, 9) DO(T, 10) DO(T, 11)
#define EACH16(DO, T) EACH12(DO, T) DO(T, 12) DO(T, 13) DO(T, 14) DO(T, 15)
#define EACH24(DO, T)                                                                              \
    EACH16(DO, T)                                                                                  \
    DO(T, 16) DO(T, 17) DO(T, 18) DO(T, 19) DO(T, 20) DO(T, 21) DO(T, 22) DO(T, 23)

#define CHAIN(T, n) T x##n = (T)(start + n);
#define LINK(T, n)  x##n = MULTIPLY_ADD(x##n, a, b);
#define SUM(T, n)   sum += x##n;

#define FMA(name, T, EACH)                                                                         \
    kernel void name(global float *out, float scale, float shift, int rounds)                      \
    {                                                                                              \
        const float start = get_global_id(0);                                                      \
        const T a = scale, b = shift;                                                              \
        EACH(CHAIN, T)                                                                             \
        for (int n = 0; n < rounds; n++)                                                           \
            for (int link = 0; link < ROUND; link++) {                                             \
                EACH(LINK, T)                                                                      \
            }                                                                                      \
        T sum = 0;                                                                                 \
        EACH(SUM, T)                                                                               \
        out[get_global_id(0)] = sum_##T(sum);                                                      \
    }

#define WIDTH(W, WORDS, FLOATS)                                                                    \
    COPY(copy##W, WORDS, STORE, ASK_NOT)                                                           \
    COPY(stream##W, WORDS, STREAM, ASK_NOT)                                                        \
    READ(read##W, WORDS, ASK_NOT)                                                                  \
    RUNS(runs##W, WORDS)                                                                           \
    REREAD(reread##W, WORDS)                                                                       \
    RECOPY(recopy##W, WORDS)                                                                       \
    FMA(fma##W##x8, FLOATS, EACH8)                                                                 \
    FMA(fma##W##x12, FLOATS, EACH12)                                                               \
    FMA(fma##W##x16, FLOATS, EACH16)                                                               \
    FMA(fma##W##x24, FLOATS, EACH24)

WIDTH(1, uint, float)
WIDTH(4, uint4, float4)
WIDTH(8, uint8, float8)
WIDTH(16, uint16, float16)
COPY(stream_asked16, uint16, STREAM, PREFETCH)
READ(read_asked16, uint16, PREFETCH)

kernel void nothing(global uint *out, uint unlikely)
{
    if (unlikely != 0)
        out[0] = unlikely;
}
