// SPDX-License-Identifier: Apache-2.0
// Calls of every operation with any operands and parameters, rehearsed: they are refused with a
// sentence and without a kernel, or what they would launch is within the limits of the device; and
// where a call does its work, so do those that tell what it would do.
#include <string.h>

#include "calls.h"

static const call_fn operations[] = {
    call_elementwise,   call_matmul,         call_reduce,
    call_softmax,       call_norm,           call_spmm,
    call_sddmm,         call_sparse_softmax, call_sparse_attention,
    call_sparse_linear, call_spgemm,         call_csr_dense,
    call_csr_transpose, call_dcsr,           call_sparse_gather,
    call_csr_host,      call_sddmm_sparse,
};

// Arrays that plans read, with room for what take_pattern() allows.
static union {
    uint8_t bytes[512];
    int64_t aligned;
} offsets, indices;

// A profile, sometimes with other limits; false where these are no limits.
static bool take_limits(call_input *in)
{
    in->limits = *weft_profile_at(take_byte(in) % weft_profile_count());
    while (take_chance(in, 32)) {
        weft_limits *l = &in->limits;
        int *const fields[] = {&l->warp,       &l->vector_width,  &l->vectors,
                               &l->max_block,  &l->max_items_y,   &l->max_blocks,
                               &l->load_bytes, &l->compute_units, &l->cache_line_bytes};
        const uint8_t which = take_byte(in) % 16;
        if (which < 9)
            *fields[which] = take_int(in);
        else if (which == 9)
            l->max_items = (size_t)take_number(in);
        else if (which == 10)
            l->local_bytes = (size_t)32768 << take_byte(in) % 6; // the least of OpenCL 1.1
        else if (which == 11)
            l->max_alloc_bytes = (uint64_t)take_number(in);
        else if (which == 12)
            l->l2_bytes = (uint64_t)take_number(in);
        else if (which == 13)
            l->max_items_along[1] = (size_t)take_number(in);
        else if (which == 14)
            l->has_subgroups = !l->has_subgroups;
        else
            l->has_f64 = !l->has_f64;
    }
    return weft_limits_check(&in->limits) == WEFT_OK;
}

static void take_shared(call_input *in)
{
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16,
                                        WEFT_I32, WEFT_I64, WEFT_U8,  WEFT_I8};
    in->dtype = dtypes[take_byte(in) % 8];
    for (int i = 0; i < 4; i++)
        in->sizes[i] = take_number(in);
    for (int i = 0; i < CALL_BUFFERS; i++)
        in->buffers[i] = weft_rehearsal_buffer(in->ctx, NULL);
    in->offsets = weft_rehearsal_buffer(in->ctx, offsets.bytes);
    in->indices = weft_rehearsal_buffer(in->ctx, indices.bytes);
}

// What is left of the bytes; offsets rise in steps of these, so that many are sound.
static void fill_pattern(const call_input *in)
{
    const size_t left = (size_t)(in->end - in->at);
    int32_t offset = 0, *rising = (int32_t *)&offsets;
    memset(&offsets, 0, sizeof(offsets));
    memset(&indices, 0, sizeof(indices));
    for (size_t i = 0; i < sizeof(offsets) / sizeof(*rising); i++) {
        offset += i < left ? (int8_t)in->end[-1 - (ptrdiff_t)i] : 0;
        rising[i] = offset;
    }
    for (size_t i = 0; i < sizeof(indices) && i < left; i++)
        indices.bytes[i] = in->end[-1 - (ptrdiff_t)i];
}

static void check_launches(const weft_rehearsal *told, const weft_limits *limits)
{
    for (size_t i = 0; i < told->n_launches; i++) {
        const weft_rehearsed_launch *launch = &told->launches[i];
        size_t items = 1;
        for (int d = 0; d < 3; d++) {
            HOLDS(launch->local[d] > 0 && launch->local[d] <= limits->max_items_along[d],
                  "%s: %zu items along %d\n", launch->kernel, launch->local[d], d);
            HOLDS(launch->global[d] > 0 && launch->global[d] % launch->local[d] == 0,
                  "%s: %zu of %zu items\n", launch->kernel, launch->local[d], launch->global[d]);
            HOLDS(d == 0 || launch->global[d] / launch->local[d] <= 65535,
                  "%s: %zu groups along %d\n", launch->kernel, launch->global[d] / launch->local[d],
                  d);
            items *= launch->local[d];
        }
        HOLDS(items <= limits->max_items, "%s: %zu items\n", launch->kernel, items);
        HOLDS(launch->local_bytes <= limits->local_bytes, "%s: %zu bytes of local memory\n",
              launch->kernel, launch->local_bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    call_input in = {.at = bytes, .end = bytes + size};
    if (size < 4 || !take_limits(&in))
        return -1;
    HOLDS(weft_rehearsal_create(&in.ctx, &in.limits, NULL) == WEFT_OK, "%s\n", weft_last_error());
    take_shared(&in);
    const call_fn operation = operations[take_byte(&in) % (sizeof(operations) / sizeof(call_fn))];
    fill_pattern(&in);

    HOLDS(weft_rehearsal_begin(in.ctx) == WEFT_OK, "%s\n", weft_last_error());
    const call_result r = operation(&in);
    const weft_rehearsal *told = weft_rehearsal_end(in.ctx);
    HOLDS(told, "no memory\n");
    if (r.status == WEFT_OK) {
        check_launches(told, &in.limits);
        HOLDS(r.asked == WEFT_OK && r.described >= 0, "%s\n", weft_last_error());
    } else if (!r.is_pure) {
        HOLDS(told->n_launches == 0 || r.reads_back, "a kernel, and then: %s\n", weft_last_error());
        HOLDS(weft_last_error()[0] != '\0', "refused without a word\n");
    }
    weft_context_destroy(&in.ctx);
    return 0;
}
