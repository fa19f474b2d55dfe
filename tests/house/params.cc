// SPDX-License-Identifier: Apache-2.0
// Every macro that fills in a struct, as C++ calls it: what it fills in reaches the library, which
// gives each event of a rehearsal back as NULL, and formulas their inputs, outputs and values.
#include <cstdio>

#include <weft/weft.h>

static weft_context *ctx;
static int n_failed;

static void check(const char *what, weft_status status, bool is_filled)
{
    if (status == WEFT_OK && is_filled)
        return;
    n_failed++;
    printf("%s: %s\n", what, status == WEFT_OK ? "not filled in" : weft_last_error());
}

// `call` names an event of its own, which is not NULL before.
#define CHECK(call)                                                                                \
    do {                                                                                           \
        cl_event event = reinterpret_cast<cl_event>(&event);                                       \
        const weft_status status = call;                                                           \
        check(#call, status, event == nullptr);                                                    \
    } while (0)

static const int32_t offsets[] = {0, 1, 2, 3, 4}, indices[] = {3, 2, 1, 0};

static cl_mem buffer()
{
    return weft_rehearsal_buffer(ctx, nullptr);
}

static weft_tensor matrix()
{
    return weft_matrix(buffer(), WEFT_F32, 4, 4);
}

static weft_tensor row(weft_dtype dtype)
{
    weft_tensor t = weft_tensor();
    t.buffer = buffer();
    t.dtype = dtype;
    t.ndim = 1;
    t.shape[0] = 4;
    t.stride[0] = 1;
    return t;
}

static weft_csr sparse()
{
    weft_csr A = weft_csr();
    A.n_rows = A.n_cols = A.nnz = 4;
    A.offsets = weft_rehearsal_buffer(ctx, offsets);
    A.indices = weft_rehearsal_buffer(ctx, indices);
    A.values = buffer();
    return A;
}

// What a host makes or is asked for, without events.
static void on_the_host()
{
    const int64_t rows[] = {0, 1}, cols[] = {1, 0};
    weft_csr_host host;
    const weft_status made = weft_csr_host_from_coo(&host, 2, 2, 2, rows, cols, nullptr,
                                                    WEFT_CSR(.index_dtype = WEFT_I16));
    check("WEFT_CSR", made, host.index_dtype == WEFT_I16);
    weft_csr_host_destroy(&host);
    // Refused in a rehearsal, where the params have been read.
    const weft_host_tensor H = weft_host_matrix(nullptr, WEFT_F32, 0, 0);
    int64_t done = -1;
    const weft_status copied =
        weft_spmm_host(ctx, 1, &host, &H, 0, &H, WEFT_SPMM_HOST(.device_bytes = 1, .done = &done));
    check("WEFT_SPMM_HOST", copied == WEFT_UNSUPPORTED ? WEFT_OK : copied, done == 0);
    // The limits are refused before a device is looked for.
    const weft_limits none = weft_limits();
    weft_context *refused = nullptr;
    const weft_status status = weft_context_open(&refused, WEFT_CONTEXT(.limits = &none));
    check("WEFT_CONTEXT", status == WEFT_BAD_ARGUMENT ? WEFT_OK : status, refused == nullptr);
}

static void sparse_products()
{
    const weft_csr A = sparse(), C = sparse();
    const weft_tensor B = matrix(), D = matrix(), E = row(WEFT_F32);
    weft_spmm_plan *plan = nullptr;
    const weft_status made =
        weft_spmm_plan_create(&plan, ctx, nullptr, &A, WEFT_SPMM_PLAN(.transpose_a = true));
    check("WEFT_SPMM_PLAN", made, plan != nullptr);
    CHECK(weft_spmm(ctx, nullptr, 1, &A, &B, 0, &D,
                    WEFT_SPMM(.plan = plan, .transpose_a = true, .event = &event)));
    weft_spmm_plan_destroy(&plan);
    CHECK(weft_sddmm(ctx, nullptr, 1, &B, &B, &C, 0, &E,
                     WEFT_SDDMM(.indicator = true, .event = &event)));
    CHECK(weft_sddmm_sparse(ctx, nullptr, 1, WEFT_SPARSE(&A), WEFT_DENSE(&B), &C, 0, &E,
                            WEFT_SDDMM_SPARSE(.event = &event)));
    CHECK(weft_sparse_linear(ctx, nullptr, &A, &B, &D,
                             WEFT_SPARSE_LINEAR(.bias = &E, .event = &event)));
    CHECK(weft_spgemm_dense(ctx, nullptr, 1, &A, &A, 0, &D, WEFT_SPGEMM(.event = &event)));
}

static void sparse_others()
{
    const weft_csr A = sparse(), T = sparse();
    const weft_tensor B = matrix(), D = matrix(), E = row(WEFT_F32);
    const weft_tensor values = row(WEFT_F32), source = row(WEFT_I32);
    weft_dcsr stored = weft_dcsr();
    stored.n_rows = stored.n_cols = stored.n_stored = stored.nnz = 4;
    stored.rows = stored.offsets = buffer();
    stored.indices = stored.values = buffer();
    // A rehearsal copies nothing, which is said after the params.
    const weft_status checked =
        weft_csr_check(ctx, nullptr, &A, WEFT_CSR_SOUND, WEFT_CSR_CHECK(.n_wait = 0));
    check("WEFT_CSR_CHECK", checked == WEFT_UNSUPPORTED ? WEFT_OK : checked, true);
    CHECK(weft_csr_to_dense(ctx, nullptr, &A, &D, WEFT_CSR_DENSE(.event = &event)));
    CHECK(weft_csr_transpose(ctx, nullptr, &A, &T,
                             WEFT_CSR_TRANSPOSE(.source = &source, .event = &event)));
    CHECK(weft_dcsr_to_csr(ctx, nullptr, &stored, &A, WEFT_DCSR(.event = &event)));
    CHECK(weft_sparse_gather(ctx, nullptr, &values, &source, &E,
                             WEFT_SPARSE_GATHER(.event = &event)));
    CHECK(weft_sparse_softmax(ctx, nullptr, 1, &A, &E, WEFT_SPARSE_SOFTMAX(.event = &event)));
    CHECK(weft_sparse_attention(ctx, nullptr, 1, &B, &B, &B, &A, &D,
                                WEFT_SPARSE_ATTENTION(.event = &event)));
}

static void dense()
{
    const weft_tensor A = matrix(), B = matrix(), C = matrix(), x = row(WEFT_F32),
                      y = row(WEFT_F32);
    const int axis = 1;
    CHECK(weft_matmul(ctx, nullptr, 1, &A, &B, 0, &C,
                      WEFT_MATMUL(.epilogue = "c * scale + bias", WEFT_MATMUL_WITH({"bias", &x}),
                                  WEFT_VALUES({"scale", 0.5}), .event = &event)));
    CHECK(weft_elementwise(ctx, nullptr, WEFT_INPUTS({"a", &A}, {"b", &B}),
                           WEFT_OUTPUTS({"alpha * a + b", &C}),
                           WEFT_ELEMENTWISE(WEFT_VALUES({"alpha", 2}), .event = &event)));
    CHECK(weft_reduce(ctx, nullptr, WEFT_SUM, &A, 1, &axis, &y, WEFT_REDUCE(.event = &event)));
    CHECK(weft_softmax(ctx, nullptr, 1, &A, 1, &C, WEFT_SOFTMAX(.masked = true, .event = &event)));
    CHECK(weft_layer_norm(ctx, nullptr, 1e-5, &A, 1, &C, WEFT_NORM(.weight = &x, .event = &event)));
    CHECK(weft_layer_norm_backward(ctx, nullptr, 1e-5, &A, 1, &B, &C,
                                   WEFT_NORM_BACKWARD(.dW = &y, .event = &event)));
}

static void recordings()
{
    // Without a recording nothing runs, which is said after the params.
    const weft_status status = weft_recording_run(nullptr, nullptr, WEFT_RECORDING(.n_wait = 0));
    check("WEFT_RECORDING", status == WEFT_BAD_ARGUMENT ? WEFT_OK : status, true);
}

int main()
{
    check("weft_rehearsal_create",
          weft_rehearsal_create(&ctx, weft_profile_find("nvidia-h100"), nullptr), true);
    if (ctx == nullptr)
        return 1;
    on_the_host();
    sparse_products();
    sparse_others();
    dense();
    recordings();
    weft_context_destroy(&ctx);
    return n_failed > 0;
}
