// SPDX-License-Identifier: Apache-2.0
// The public headers of weft, made by tests/house/abi.py.
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H
#ifndef WEFT_ACTIVATION_H
#define WEFT_ACTIVATION_H
#ifndef WEFT_API_H
#define WEFT_API_H
#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0
#if defined(_WIN32) && defined(WEFT_IS_COMPILED)
#define WEFT_API __declspec(dllexport)
#elif defined(_WIN32)
#define WEFT_API
#elif defined(__GNUC__) || defined(__clang__)
#define WEFT_API __attribute__((visibility("default")))
#else
#define WEFT_API
#endif
#ifdef __cplusplus
#define WEFT_BEGIN extern "C" {
#define WEFT_END   }
#else
#define WEFT_BEGIN
#define WEFT_END
#endif
WEFT_BEGIN
WEFT_API const char *weft_version(void);
WEFT_END
#endif
WEFT_BEGIN
typedef enum weft_activation {
    WEFT_ACTIVATION_NONE = 0,
    WEFT_ACTIVATION_RELU,
    WEFT_ACTIVATION_GELU,
    WEFT_ACTIVATION_GELU_TANH,
    WEFT_ACTIVATION_SILU,
    WEFT_ACTIVATION_SIGMOID,
    WEFT_ACTIVATION_TANH,
} weft_activation;
WEFT_API const char *weft_activation_name(weft_activation activation);
WEFT_END
#endif
#ifndef WEFT_CONTEXT_H
#define WEFT_CONTEXT_H
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#if defined(__APPLE__) && defined(__has_include)
#if __has_include(<CL/cl.h>)
#include <CL/cl.h>
#else
#include <OpenCL/opencl.h>
#endif
#else
#include <CL/cl.h>
#endif
#ifndef WEFT_LIMITS_H
#define WEFT_LIMITS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifndef WEFT_STATUS_H
#define WEFT_STATUS_H
WEFT_BEGIN
typedef enum weft_status {
    WEFT_OK = 0,
    WEFT_BAD_ARGUMENT,
    WEFT_BAD_SHAPE,
    WEFT_BAD_DTYPE,
    WEFT_BAD_BUFFER,
    WEFT_BAD_DATA,
    WEFT_UNSUPPORTED,
    WEFT_NO_DEVICE,
    WEFT_NO_MEMORY,
    WEFT_BUILD_FAILED,
    WEFT_DEVICE_LOST,
    WEFT_OPENCL_ERROR,
} weft_status;
WEFT_API const char *weft_status_name(weft_status status);
WEFT_API const char *weft_last_error(void);
WEFT_END
#endif
WEFT_BEGIN
typedef enum weft_device_kind {
    WEFT_DEVICE_OTHER = 0,
    WEFT_DEVICE_CPU,
    WEFT_DEVICE_GPU,
} weft_device_kind;
typedef enum weft_trial {
    WEFT_TRIAL_F64 = 1 << 0,
    WEFT_TRIAL_F16 = 1 << 1,
    WEFT_TRIAL_FMA = 1 << 2,
    WEFT_TRIAL_SHUFFLES = 1 << 3,
    WEFT_TRIAL_SIZES = 1 << 4,
    WEFT_TRIAL_STREAMS = 1 << 5,
    WEFT_TRIAL_FETCHES = 1 << 6,
    WEFT_TRIAL_STRUCTS = 1 << 7,
    WEFT_TRIAL_SELECTS = 1 << 8,
    WEFT_TRIAL_TREES = 1 << 9,
    WEFT_TRIAL_BARRIERS = 1 << 10,
    WEFT_TRIAL_VECTORS = 1 << 11,
} weft_trial;
typedef struct weft_limits {
    char name[96];
    weft_device_kind kind;
    int warp;
    int vector_width;
    int vectors;
    int max_block;
    int max_items_y;
    int max_blocks;
    size_t max_items;
    size_t max_items_along[3];
    size_t local_bytes;
    uint64_t max_alloc_bytes;
    uint64_t global_bytes;
    int compute_units;
    int load_bytes;
    bool local_is_fast;
    uint64_t l1_bytes;
    uint64_t l2_bytes;
    uint64_t cache_bytes;
    int cache_line_bytes;
    bool has_f64;
    bool has_f16;
    bool has_fma;
    bool has_subgroups;
    int least_subgroup;
    int max_iterations;
    unsigned failed_trials;
    double peak_gbps;
    double peak_gflops;
} weft_limits;
WEFT_API size_t weft_profile_count(void);
WEFT_API const weft_limits *weft_profile_at(size_t i);
WEFT_API const weft_limits *weft_profile_find(const char *text);
WEFT_API weft_status weft_limits_check(const weft_limits *limits);
WEFT_API const char *weft_limits_quirk_at(const weft_limits *limits, size_t i);
WEFT_END
#endif
#ifndef WEFT_PARAMS_H
#define WEFT_PARAMS_H
#include <stddef.h>
#ifdef __cplusplus
extern "C++" {
template <typename T> inline const T *weft_address(const T &fields)
{
    return &fields;
}
template <typename T, size_t n> inline const T *weft_first(const T (&elements)[n])
{
    return elements;
}
template <typename T, size_t n> char (&weft_counted(const T (&elements)[n]))[n];
}
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
#define WEFT_PARAMS(type, ...) WEFT_POINTER(type, .size = sizeof(type), __VA_ARGS__)
#endif
WEFT_BEGIN
typedef struct weft_context weft_context;
typedef enum weft_log_level {
    WEFT_LOG_ERROR,
    WEFT_LOG_WARNING,
    WEFT_LOG_INFO,
} weft_log_level;
typedef void (*weft_log_fn)(void *user, weft_log_level level, const char *message);
typedef struct weft_context_params {
    size_t size;
    const char *device;
    weft_log_fn log;
    void *log_user;
    const char *cache_dir;
    uint64_t cache_bytes;
    const weft_limits *limits;
    uint64_t scratch_bytes;
    bool check_matrices;
    bool trusts_device;
} weft_context_params;
#define WEFT_CONTEXT(...) WEFT_PARAMS(weft_context_params, __VA_ARGS__)
WEFT_API weft_status weft_context_create(weft_context **out, cl_context cl, cl_device_id device,
                                         const weft_context_params *params);
WEFT_API weft_status weft_context_open(weft_context **out, const weft_context_params *params);
WEFT_API void weft_context_destroy(weft_context **ctx);
WEFT_API cl_context weft_context_cl(const weft_context *ctx);
WEFT_API cl_device_id weft_context_device(const weft_context *ctx);
WEFT_API cl_command_queue weft_context_queue(const weft_context *ctx);
WEFT_API const weft_limits *weft_context_limits(const weft_context *ctx);
typedef struct weft_context_stats {
    uint64_t programs_built;
    uint64_t programs_loaded;
    uint64_t launches;
    uint64_t scratch_bytes;
} weft_context_stats;
WEFT_API weft_context_stats weft_context_get_stats(weft_context *ctx);
WEFT_API weft_status weft_limits_query(cl_device_id device, weft_limits *out);
WEFT_END
#endif
#ifndef WEFT_CSC_H
#define WEFT_CSC_H
#ifndef WEFT_CSR_H
#define WEFT_CSR_H
#ifndef WEFT_DTYPE_H
#define WEFT_DTYPE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
WEFT_BEGIN
typedef enum weft_dtype {
    WEFT_DEFAULT = 0,
    WEFT_F32,
    WEFT_F64,
    WEFT_F16,
    WEFT_BF16,
    WEFT_I16,
    WEFT_I32,
    WEFT_I64,
    WEFT_U8,
    WEFT_I8,
} weft_dtype;
WEFT_API size_t weft_dtype_size(weft_dtype dtype);
WEFT_API const char *weft_dtype_name(weft_dtype dtype);
WEFT_API weft_dtype weft_dtype_find(const char *name);
WEFT_API uint16_t weft_f16_from_f32(float value);
WEFT_API float weft_f32_from_f16(uint16_t bits);
WEFT_API uint16_t weft_bf16_from_f32(float value);
WEFT_API float weft_f32_from_bf16(uint16_t bits);
WEFT_END
#endif
WEFT_BEGIN
typedef struct weft_csr {
    int64_t n_rows, n_cols, nnz;
    weft_dtype offset_dtype;
    weft_dtype index_dtype;
    weft_dtype dtype;
    cl_mem offsets, indices, values;
    int64_t offsets_start, indices_start, values_start;
    int64_t values_batch_stride;
} weft_csr;
typedef struct weft_csr_host {
    int64_t n_rows, n_cols, nnz;
    weft_dtype offset_dtype, index_dtype, dtype;
    void *offsets, *indices, *values;
} weft_csr_host;
typedef struct weft_csr_params {
    size_t size;
    weft_dtype offset_dtype, index_dtype, dtype;
} weft_csr_params;
#define WEFT_CSR(...) WEFT_PARAMS(weft_csr_params, __VA_ARGS__)
WEFT_API weft_status weft_csr_host_from_coo(weft_csr_host *out, int64_t n_rows, int64_t n_cols,
                                            int64_t n_entries, const int64_t *rows,
                                            const int64_t *cols, const double *values,
                                            const weft_csr_params *params);
WEFT_API weft_status weft_csr_host_from_dense(weft_csr_host *out, int64_t n_rows, int64_t n_cols,
                                              const float *dense, int64_t stride_r,
                                              int64_t stride_c, double threshold,
                                              const weft_csr_params *params);
WEFT_API weft_status weft_csr_host_split(const weft_csr_host *host, int n_parts,
                                         const double *shares, int64_t *starts);
WEFT_API weft_status weft_csr_host_rows(weft_csr_host *out, const weft_csr_host *host,
                                        int64_t first, int64_t n_rows);
WEFT_API void weft_csr_host_destroy(weft_csr_host *host);
WEFT_API weft_status weft_csr_create(weft_csr *out, weft_context *ctx, cl_command_queue queue,
                                     const weft_csr_host *host);
WEFT_API void weft_csr_destroy(weft_csr *csr);
typedef enum weft_csr_demand {
    WEFT_CSR_SOUND = 0,
    WEFT_CSR_SORTED = 1,
    WEFT_CSR_UNIQUE = 2,
} weft_csr_demand;
typedef struct weft_csr_check_params {
    size_t size;
    cl_uint n_wait;
    const cl_event *wait;
} weft_csr_check_params;
#define WEFT_CSR_CHECK(...) WEFT_PARAMS(weft_csr_check_params, __VA_ARGS__)
WEFT_API weft_status weft_csr_check(weft_context *ctx, cl_command_queue queue, const weft_csr *csr,
                                    int demand, const weft_csr_check_params *params);
WEFT_API weft_status weft_csr_host_check(const weft_csr_host *host, int demand);
typedef struct weft_row_stats {
    int64_t n_rows, nnz;
    int64_t n_empty;
    int64_t max;
    double mean;
    double cov;
} weft_row_stats;
WEFT_API weft_row_stats weft_row_stats_of(const void *offsets, weft_dtype offset_dtype,
                                          int64_t n_rows);
WEFT_END
#endif
WEFT_BEGIN
typedef struct weft_csc {
    int64_t n_rows, n_cols, nnz;
    weft_dtype offset_dtype;
    weft_dtype index_dtype;
    weft_dtype dtype;
    cl_mem offsets, indices, values;
    int64_t offsets_start, indices_start, values_start;
    int64_t values_batch_stride;
} weft_csc;
static inline weft_csr weft_csr_of_csc(const weft_csc *A)
{
    const weft_csr T = {A->n_cols,
                        A->n_rows,
                        A->nnz,
                        A->offset_dtype,
                        A->index_dtype,
                        A->dtype,
                        A->offsets,
                        A->indices,
                        A->values,
                        A->offsets_start,
                        A->indices_start,
                        A->values_start,
                        A->values_batch_stride};
    return T;
}
static inline weft_csc weft_csc_of_csr(const weft_csr *T)
{
    const weft_csc A = {T->n_cols,
                        T->n_rows,
                        T->nnz,
                        T->offset_dtype,
                        T->index_dtype,
                        T->dtype,
                        T->offsets,
                        T->indices,
                        T->values,
                        T->offsets_start,
                        T->indices_start,
                        T->values_start,
                        T->values_batch_stride};
    return A;
}
WEFT_END
#endif
#ifndef WEFT_CSR_DENSE_H
#define WEFT_CSR_DENSE_H
#ifndef WEFT_TENSOR_H
#define WEFT_TENSOR_H
WEFT_BEGIN
enum { WEFT_MAX_NDIM = 8 };
typedef struct weft_tensor {
    cl_mem buffer;
    weft_dtype dtype;
    int64_t offset;
    int ndim;
    int64_t shape[WEFT_MAX_NDIM];
    int64_t stride[WEFT_MAX_NDIM];
} weft_tensor;
static inline weft_tensor weft_matrix(cl_mem buffer, weft_dtype dtype, int64_t n_rows,
                                      int64_t n_cols)
{
    const weft_tensor t = {buffer, dtype, 0, 2, {n_rows, n_cols}, {n_cols, 1}};
    return t;
}
static inline weft_tensor weft_tensor_transposed(const weft_tensor *tensor)
{
    weft_tensor t = *tensor;
    if (t.ndim < 2 || t.ndim > WEFT_MAX_NDIM)
        return t;
    const int row = tensor->ndim - 2, column = tensor->ndim - 1;
    t.shape[row] = tensor->shape[column];
    t.shape[column] = tensor->shape[row];
    t.stride[row] = tensor->stride[column];
    t.stride[column] = tensor->stride[row];
    return t;
}
WEFT_END
#endif
WEFT_BEGIN
typedef struct weft_csr_dense_params {
    size_t size;
    double threshold;
    const char *tiling;
    cl_mem workspace;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} weft_csr_dense_params;
#define WEFT_CSR_DENSE(...) WEFT_PARAMS(weft_csr_dense_params, __VA_ARGS__)
WEFT_API weft_status weft_csr_to_dense(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                                       const weft_tensor *D, const weft_csr_dense_params *params);
WEFT_API weft_status weft_dense_to_csr_count(weft_context *ctx, cl_command_queue queue,
                                             const weft_tensor *D, const weft_csr *A, int64_t *nnz,
                                             const weft_csr_dense_params *params);
WEFT_API weft_status weft_dense_to_csr(weft_context *ctx, cl_command_queue queue,
                                       const weft_tensor *D, const weft_csr *A,
                                       const weft_csr_dense_params *params);
WEFT_API weft_status weft_dense_to_csr_workspace(weft_context *ctx, const weft_tensor *D,
                                                 const weft_csr *A,
                                                 const weft_csr_dense_params *params,
                                                 size_t *bytes);
WEFT_API int weft_csr_to_dense_describe(weft_context *ctx, const weft_csr *A, const weft_tensor *D,
                                        const weft_csr_dense_params *params, char *text,
                                        size_t size);
WEFT_API int weft_dense_to_csr_describe(weft_context *ctx, const weft_tensor *D, const weft_csr *A,
                                        const weft_csr_dense_params *params, char *text,
                                        size_t size);
WEFT_END
#endif
#ifndef WEFT_CSR_FILE_H
#define WEFT_CSR_FILE_H
WEFT_BEGIN
typedef struct weft_csr_file weft_csr_file;
WEFT_API weft_status weft_csr_file_open(weft_csr_file **out, const char *path);
WEFT_API void weft_csr_file_close(weft_csr_file **file);
WEFT_API const weft_csr_host *weft_csr_file_matrix(const weft_csr_file *file);
WEFT_API weft_status weft_csr_file_view(weft_csr_host *out, const void *bytes, size_t size);
WEFT_API weft_status weft_csr_file_write(const char *path, const weft_csr_host *host);
WEFT_END
#endif
#ifndef WEFT_CSR_TRANSPOSE_H
#define WEFT_CSR_TRANSPOSE_H
WEFT_BEGIN
typedef struct weft_csr_transpose_params {
    size_t size;
    const weft_tensor *source;
    const char *tiling;
    cl_mem workspace;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} weft_csr_transpose_params;
#define WEFT_CSR_TRANSPOSE(...) WEFT_PARAMS(weft_csr_transpose_params, __VA_ARGS__)
WEFT_API weft_status weft_csr_transpose(weft_context *ctx, cl_command_queue queue,
                                        const weft_csr *A, const weft_csr *T,
                                        const weft_csr_transpose_params *params);
WEFT_API weft_status weft_csr_transpose_workspace(weft_context *ctx, const weft_csr *A,
                                                  const weft_csr *T,
                                                  const weft_csr_transpose_params *params,
                                                  size_t *bytes);
WEFT_API int weft_csr_transpose_describe(weft_context *ctx, const weft_csr *A, const weft_csr *T,
                                         const weft_csr_transpose_params *params, char *text,
                                         size_t size);
WEFT_END
#endif
#ifndef WEFT_DCSC_H
#define WEFT_DCSC_H
#ifndef WEFT_DCSR_H
#define WEFT_DCSR_H
WEFT_BEGIN
typedef struct weft_dcsr {
    int64_t n_rows, n_cols, n_stored, nnz;
    weft_dtype offset_dtype;
    weft_dtype index_dtype;
    weft_dtype dtype;
    cl_mem rows, offsets, indices, values;
    int64_t rows_start, offsets_start, indices_start, values_start;
    int64_t values_batch_stride;
} weft_dcsr;
static inline weft_csr weft_dcsr_stored(const weft_dcsr *A)
{
    const weft_csr stored = {A->n_stored,
                             A->n_cols,
                             A->nnz,
                             A->offset_dtype,
                             A->index_dtype,
                             A->dtype,
                             A->offsets,
                             A->indices,
                             A->values,
                             A->offsets_start,
                             A->indices_start,
                             A->values_start,
                             A->values_batch_stride};
    return stored;
}
WEFT_API weft_status weft_dcsr_check(weft_context *ctx, cl_command_queue queue,
                                     const weft_dcsr *dcsr, int demand,
                                     const weft_csr_check_params *params);
typedef struct weft_dcsr_params {
    size_t size;
    int items;
    cl_mem workspace;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} weft_dcsr_params;
#define WEFT_DCSR(...) WEFT_PARAMS(weft_dcsr_params, __VA_ARGS__)
WEFT_API weft_status weft_dcsr_count(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                                     int64_t *n_stored, const weft_dcsr_params *params);
WEFT_API weft_status weft_dcsr_from_csr(weft_context *ctx, cl_command_queue queue,
                                        const weft_csr *A, const weft_dcsr *D,
                                        const weft_dcsr_params *params);
WEFT_API weft_status weft_dcsr_workspace(weft_context *ctx, const weft_csr *A,
                                         const weft_dcsr_params *params, size_t *bytes);
WEFT_API weft_status weft_dcsr_to_csr(weft_context *ctx, cl_command_queue queue, const weft_dcsr *D,
                                      const weft_csr *A, const weft_dcsr_params *params);
WEFT_END
#endif
WEFT_BEGIN
typedef struct weft_dcsc {
    int64_t n_rows, n_cols, n_stored, nnz;
    weft_dtype offset_dtype;
    weft_dtype index_dtype;
    weft_dtype dtype;
    cl_mem cols, offsets, indices, values;
    int64_t cols_start, offsets_start, indices_start, values_start;
    int64_t values_batch_stride;
} weft_dcsc;
static inline weft_dcsr weft_dcsr_of_dcsc(const weft_dcsc *A)
{
    const weft_dcsr T = {
        A->n_cols,        A->n_rows,        A->n_stored,     A->nnz,
        A->offset_dtype,  A->index_dtype,   A->dtype,        A->cols,
        A->offsets,       A->indices,       A->values,       A->cols_start,
        A->offsets_start, A->indices_start, A->values_start, A->values_batch_stride};
    return T;
}
static inline weft_dcsc weft_dcsc_of_dcsr(const weft_dcsr *T)
{
    const weft_dcsc A = {
        T->n_cols,        T->n_rows,        T->n_stored,     T->nnz,
        T->offset_dtype,  T->index_dtype,   T->dtype,        T->rows,
        T->offsets,       T->indices,       T->values,       T->rows_start,
        T->offsets_start, T->indices_start, T->values_start, T->values_batch_stride};
    return A;
}
WEFT_END
#endif
#ifndef WEFT_ELEMENTWISE_H
#define WEFT_ELEMENTWISE_H
WEFT_BEGIN
enum {
    WEFT_ELEMENTWISE_INPUTS = 8,
    WEFT_ELEMENTWISE_OUTPUTS = 4,
    WEFT_ELEMENTWISE_VALUES = 16,
};
typedef struct weft_elementwise_plan weft_elementwise_plan;
typedef struct weft_elementwise_input {
    const char *name;
    const weft_tensor *tensor;
} weft_elementwise_input;
typedef struct weft_elementwise_value {
    const char *name;
    double value;
} weft_elementwise_value;
typedef struct weft_elementwise_output {
    const char *formula;
    const weft_tensor *tensor;
} weft_elementwise_output;
#define WEFT_INPUTS(...)                                                                           \
    WEFT_COUNT(weft_elementwise_input, __VA_ARGS__), WEFT_ARRAY(weft_elementwise_input, __VA_ARGS__)
#define WEFT_OUTPUTS(...)                                                                          \
    WEFT_COUNT(weft_elementwise_output, __VA_ARGS__),                                              \
        WEFT_ARRAY(weft_elementwise_output, __VA_ARGS__)
#define WEFT_VALUES(...)                                                                           \
    .n_values = WEFT_COUNT(weft_elementwise_value, __VA_ARGS__),                                   \
    .values = WEFT_ARRAY(weft_elementwise_value, __VA_ARGS__)
typedef struct weft_elementwise_params {
    size_t size;
    int n_values;
    const weft_elementwise_value *values;
    weft_dtype arithmetic;
    const weft_elementwise_plan *plan;
    const char *tiling;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} weft_elementwise_params;
#define WEFT_ELEMENTWISE(...) WEFT_PARAMS(weft_elementwise_params, __VA_ARGS__)
WEFT_API weft_status weft_elementwise(weft_context *ctx, cl_command_queue queue, int n_inputs,
                                      const weft_elementwise_input *inputs, int n_outputs,
                                      const weft_elementwise_output *outputs,
                                      const weft_elementwise_params *params);
WEFT_API weft_status weft_elementwise_plan_create(weft_elementwise_plan **out, weft_context *ctx,
                                                  int n_inputs,
                                                  const weft_elementwise_input *inputs,
                                                  int n_outputs,
                                                  const weft_elementwise_output *outputs,
                                                  const weft_elementwise_params *params);
WEFT_API void weft_elementwise_plan_destroy(weft_elementwise_plan **plan);
WEFT_API int weft_elementwise_describe(weft_context *ctx, int n_inputs,
                                       const weft_elementwise_input *inputs, int n_outputs,
                                       const weft_elementwise_output *outputs,
                                       const weft_elementwise_params *params, char *text,
                                       size_t size);
WEFT_END
#endif
#ifndef WEFT_GEOMETRY_H
#define WEFT_GEOMETRY_H
WEFT_BEGIN
typedef struct weft_geometry {
    int block_x, block_y;
    int lanes_x, lanes_y;
    int64_t grid_x, grid_y;
} weft_geometry;
WEFT_API weft_geometry weft_geometry_for(const weft_limits *limits, int64_t high, int64_t mid,
                                         int64_t low);
WEFT_API void weft_geometry_sizes(const weft_geometry *geometry, size_t global[2], size_t local[2]);
WEFT_END
#endif
#ifndef WEFT_HOST_TENSOR_H
#define WEFT_HOST_TENSOR_H
WEFT_BEGIN
typedef struct weft_host_tensor {
    void *data;
    weft_dtype dtype;
    int ndim;
    int64_t shape[WEFT_MAX_NDIM];
    int64_t stride[WEFT_MAX_NDIM];
} weft_host_tensor;
static inline weft_host_tensor weft_host_matrix(void *data, weft_dtype dtype, int64_t n_rows,
                                                int64_t n_cols)
{
    const weft_host_tensor t = {data, dtype, 2, {n_rows, n_cols}, {n_cols, 1}};
    return t;
}
WEFT_END
#endif
#ifndef WEFT_MATMUL_H
#define WEFT_MATMUL_H
WEFT_BEGIN
enum { WEFT_MATMUL_INPUTS = 4 };
typedef struct weft_matmul_params {
    size_t size;
    const char *epilogue;
    int n_inputs;
    const weft_elementwise_input *inputs;
    int n_values;
    const weft_elementwise_value *values;
    const char *tiling;
    cl_mem workspace;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} weft_matmul_params;
#define WEFT_MATMUL(...) WEFT_PARAMS(weft_matmul_params, __VA_ARGS__)
#define WEFT_MATMUL_WITH(...)                                                                      \
    .n_inputs = WEFT_COUNT(weft_elementwise_input, __VA_ARGS__),                                   \
    .inputs = WEFT_ARRAY(weft_elementwise_input, __VA_ARGS__)
WEFT_API weft_status weft_matmul(weft_context *ctx, cl_command_queue queue, double alpha,
                                 const weft_tensor *A, const weft_tensor *B, double beta,
                                 const weft_tensor *C, const weft_matmul_params *params);
WEFT_API weft_status weft_matmul_workspace(weft_context *ctx, const weft_tensor *A,
                                           const weft_tensor *B, const weft_tensor *C,
                                           const weft_matmul_params *params, size_t *bytes);
WEFT_API int weft_matmul_describe(weft_context *ctx, const weft_tensor *A, const weft_tensor *B,
                                  const weft_tensor *C, const weft_matmul_params *params,
                                  char *text, size_t size);
WEFT_END
#endif
#ifndef WEFT_NORM_H
#define WEFT_NORM_H
WEFT_BEGIN
typedef struct weft_norm_params {
    size_t size;
    const weft_tensor *weight;
    const weft_tensor *bias;
    const char *tiling;
    cl_mem workspace;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} weft_norm_params;
#define WEFT_NORM(...) WEFT_PARAMS(weft_norm_params, __VA_ARGS__)
WEFT_API weft_status weft_layer_norm(weft_context *ctx, cl_command_queue queue, double epsilon,
                                     const weft_tensor *X, int n_axes, const weft_tensor *Y,
                                     const weft_norm_params *params);
WEFT_API weft_status weft_rms_norm(weft_context *ctx, cl_command_queue queue, double epsilon,
                                   const weft_tensor *X, int n_axes, const weft_tensor *Y,
                                   const weft_norm_params *params);
WEFT_API weft_status weft_norm_workspace(weft_context *ctx, const weft_tensor *X, int n_axes,
                                         const weft_tensor *Y, const weft_norm_params *params,
                                         size_t *bytes);
WEFT_API int weft_norm_describe(weft_context *ctx, const weft_tensor *X, int n_axes,
                                const weft_tensor *Y, const weft_norm_params *params, char *text,
                                size_t size);
WEFT_API int weft_rms_norm_describe(weft_context *ctx, const weft_tensor *X, int n_axes,
                                    const weft_tensor *Y, const weft_norm_params *params,
                                    char *text, size_t size);
typedef struct weft_norm_backward_params {
    size_t size;
    const weft_tensor *weight;
    const weft_tensor *dW;
    const weft_tensor *db;
    const char *tiling;
    const char *scaling_tiling;
    cl_mem workspace;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} weft_norm_backward_params;
#define WEFT_NORM_BACKWARD(...) WEFT_PARAMS(weft_norm_backward_params, __VA_ARGS__)
WEFT_API weft_status weft_layer_norm_backward(weft_context *ctx, cl_command_queue queue,
                                              double epsilon, const weft_tensor *X, int n_axes,
                                              const weft_tensor *dY, const weft_tensor *dX,
                                              const weft_norm_backward_params *params);
WEFT_API weft_status weft_rms_norm_backward(weft_context *ctx, cl_command_queue queue,
                                            double epsilon, const weft_tensor *X, int n_axes,
                                            const weft_tensor *dY, const weft_tensor *dX,
                                            const weft_norm_backward_params *params);
WEFT_API weft_status weft_norm_backward_workspace(weft_context *ctx, const weft_tensor *X,
                                                  int n_axes, const weft_tensor *dY,
                                                  const weft_tensor *dX,
                                                  const weft_norm_backward_params *params,
                                                  size_t *bytes);
WEFT_API int weft_norm_backward_describe(weft_context *ctx, const weft_tensor *X, int n_axes,
                                         const weft_tensor *dY, const weft_tensor *dX,
                                         const weft_norm_backward_params *params, char *text,
                                         size_t size);
WEFT_API int weft_rms_norm_backward_describe(weft_context *ctx, const weft_tensor *X, int n_axes,
                                             const weft_tensor *dY, const weft_tensor *dX,
                                             const weft_norm_backward_params *params, char *text,
                                             size_t size);
WEFT_END
#endif
#ifndef WEFT_RECORDING_H
#define WEFT_RECORDING_H
WEFT_BEGIN
typedef struct weft_recording weft_recording;
WEFT_API weft_status weft_recording_begin(weft_recording **out, weft_context *ctx);
WEFT_API weft_status weft_recording_end(weft_recording *recording);
WEFT_API weft_status weft_recording_name(weft_recording *recording, cl_mem buffer,
                                         const char *name);
typedef struct weft_recording_params {
    size_t size;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} weft_recording_params;
#define WEFT_RECORDING(...) WEFT_PARAMS(weft_recording_params, __VA_ARGS__)
WEFT_API weft_status weft_recording_run(weft_recording *recording, cl_command_queue queue,
                                        const weft_recording_params *params);
typedef struct weft_exchange {
    const char *name;
    int position;
    cl_mem buffer;
} weft_exchange;
WEFT_API weft_status weft_recording_exchange(weft_recording *recording, int n,
                                             const weft_exchange *exchanges);
typedef struct weft_recording_info {
    int n_launches;
    int n_buffers;
    uint64_t scratch_bytes;
    bool has_command_buffer;
} weft_recording_info;
WEFT_API weft_recording_info weft_recording_get_info(weft_recording *recording);
WEFT_API cl_mem weft_recording_buffer(weft_recording *recording, int position);
WEFT_API const char *weft_recording_buffer_name(weft_recording *recording, int position);
WEFT_API void weft_recording_destroy(weft_recording **recording);
WEFT_END
#endif
#ifndef WEFT_REDUCE_H
#define WEFT_REDUCE_H
WEFT_BEGIN
typedef enum weft_reduction {
    WEFT_SUM = 0,
    WEFT_PROD,
    WEFT_MEAN,
    WEFT_MIN,
    WEFT_MAX,
    WEFT_ARGMIN,
    WEFT_ARGMAX,
    WEFT_ANY,
    WEFT_ALL,
    WEFT_NORM1,
    WEFT_NORM2,
    WEFT_NORM_INF,
    WEFT_VAR,
    WEFT_STD,
    WEFT_LOGSUMEXP,
} weft_reduction;
WEFT_API const char *weft_reduction_name(weft_reduction op);
WEFT_API bool weft_reduction_find(const char *name, weft_reduction *op);
typedef struct weft_reduce_params {
    size_t size;
    int64_t correction;
    const char *tiling;
    cl_mem workspace;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} weft_reduce_params;
#define WEFT_REDUCE(...) WEFT_PARAMS(weft_reduce_params, __VA_ARGS__)
WEFT_API weft_status weft_reduce(weft_context *ctx, cl_command_queue queue, weft_reduction op,
                                 const weft_tensor *X, int n_axes, const int *axes,
                                 const weft_tensor *Y, const weft_reduce_params *params);
WEFT_API weft_status weft_reduce_workspace(weft_context *ctx, weft_reduction op,
                                           const weft_tensor *X, int n_axes, const int *axes,
                                           const weft_tensor *Y, const weft_reduce_params *params,
                                           size_t *bytes);
WEFT_API int weft_reduce_describe(weft_context *ctx, weft_reduction op, const weft_tensor *X,
                                  int n_axes, const int *axes, const weft_tensor *Y,
                                  const weft_reduce_params *params, char *text, size_t size);
WEFT_END
#endif
#ifndef WEFT_REHEARSAL_H
#define WEFT_REHEARSAL_H
WEFT_BEGIN
typedef struct weft_refusal {
    char variant[48];
    char reason[176];
} weft_refusal;
typedef struct weft_rehearsed_launch {
    const char *source, *kernel;
    const char *source_text;
    const char *options;
    size_t global[3], local[3];
    size_t n_arguments;
    size_t local_bytes;
    int64_t times;
    size_t max_items;
    size_t kernel_local_bytes;
    size_t kernel_private_bytes;
} weft_rehearsed_launch;
typedef struct weft_rehearsal {
    size_t n_refusals, n_launches;
    const weft_refusal *refusals;
    const weft_rehearsed_launch *launches;
    size_t scratch_bytes;
} weft_rehearsal;
WEFT_API weft_status weft_rehearsal_create(weft_context **out, const weft_limits *limits,
                                           const weft_context *real);
enum { WEFT_REHEARSAL_BUFFERS = 64 };
WEFT_API cl_mem weft_rehearsal_buffer(weft_context *ctx, const void *data);
WEFT_API weft_status weft_rehearsal_begin(weft_context *ctx);
WEFT_API const weft_rehearsal *weft_rehearsal_end(weft_context *ctx);
WEFT_END
#endif
#ifndef WEFT_SDDMM_H
#define WEFT_SDDMM_H
WEFT_BEGIN
typedef struct weft_sddmm_params {
    size_t size;
    bool indicator;
    const char *tiling;
    cl_mem workspace;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} weft_sddmm_params;
#define WEFT_SDDMM(...) WEFT_PARAMS(weft_sddmm_params, __VA_ARGS__)
WEFT_API weft_status weft_sddmm(weft_context *ctx, cl_command_queue queue, double alpha,
                                const weft_tensor *A, const weft_tensor *B, const weft_csr *C,
                                double beta, const weft_tensor *D, const weft_sddmm_params *params);
WEFT_API weft_status weft_sddmm_workspace(weft_context *ctx, const weft_tensor *A,
                                          const weft_tensor *B, const weft_csr *C,
                                          const weft_tensor *D, const weft_sddmm_params *params,
                                          size_t *bytes);
WEFT_API int weft_sddmm_describe(weft_context *ctx, const weft_tensor *A, const weft_tensor *B,
                                 const weft_csr *C, const weft_tensor *D,
                                 const weft_sddmm_params *params, char *text, size_t size);
WEFT_END
#endif
#ifndef WEFT_SDDMM_SPARSE_H
#define WEFT_SDDMM_SPARSE_H
WEFT_BEGIN
typedef struct weft_factor {
    const weft_tensor *dense;
    const weft_csr *sparse;
} weft_factor;
#define WEFT_SPARSE(csr)   WEFT_POINTER(weft_factor, .sparse = (csr))
#define WEFT_DENSE(tensor) WEFT_POINTER(weft_factor, .dense = (tensor))
typedef struct weft_sddmm_sparse_params {
    size_t size;
    bool indicator;
    const char *tiling;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} weft_sddmm_sparse_params;
#define WEFT_SDDMM_SPARSE(...) WEFT_PARAMS(weft_sddmm_sparse_params, __VA_ARGS__)
WEFT_API weft_status weft_sddmm_sparse(weft_context *ctx, cl_command_queue queue, double alpha,
                                       const weft_factor *A, const weft_factor *B,
                                       const weft_csr *C, double beta, const weft_tensor *D,
                                       const weft_sddmm_sparse_params *params);
WEFT_API int weft_sddmm_sparse_describe(weft_context *ctx, const weft_factor *A,
                                        const weft_factor *B, const weft_csr *C,
                                        const weft_tensor *D,
                                        const weft_sddmm_sparse_params *params, char *text,
                                        size_t size);
WEFT_END
#endif
#ifndef WEFT_SOFTMAX_H
#define WEFT_SOFTMAX_H
WEFT_BEGIN
typedef struct weft_softmax_params {
    size_t size;
    bool masked;
    const char *tiling;
    cl_mem workspace;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} weft_softmax_params;
#define WEFT_SOFTMAX(...) WEFT_PARAMS(weft_softmax_params, __VA_ARGS__)
WEFT_API weft_status weft_softmax(weft_context *ctx, cl_command_queue queue, double scale,
                                  const weft_tensor *X, int axis, const weft_tensor *Y,
                                  const weft_softmax_params *params);
WEFT_API weft_status weft_log_softmax(weft_context *ctx, cl_command_queue queue, double scale,
                                      const weft_tensor *X, int axis, const weft_tensor *Y,
                                      const weft_softmax_params *params);
WEFT_API weft_status weft_softmax_backward(weft_context *ctx, cl_command_queue queue, double scale,
                                           const weft_tensor *Y, const weft_tensor *dY, int axis,
                                           const weft_tensor *dX,
                                           const weft_softmax_params *params);
WEFT_API weft_status weft_log_softmax_backward(weft_context *ctx, cl_command_queue queue,
                                               double scale, const weft_tensor *Y,
                                               const weft_tensor *dY, int axis,
                                               const weft_tensor *dX,
                                               const weft_softmax_params *params);
WEFT_API weft_status weft_softmax_workspace(weft_context *ctx, const weft_tensor *X, int axis,
                                            const weft_tensor *Y, const weft_softmax_params *params,
                                            size_t *bytes);
WEFT_API int weft_softmax_describe(weft_context *ctx, const weft_tensor *X, int axis,
                                   const weft_tensor *Y, const weft_softmax_params *params,
                                   char *text, size_t size);
WEFT_API int weft_log_softmax_describe(weft_context *ctx, const weft_tensor *X, int axis,
                                       const weft_tensor *Y, const weft_softmax_params *params,
                                       char *text, size_t size);
WEFT_API int weft_softmax_backward_describe(weft_context *ctx, const weft_tensor *Y,
                                            const weft_tensor *dY, int axis, const weft_tensor *dX,
                                            const weft_softmax_params *params, char *text,
                                            size_t size);
WEFT_API int weft_log_softmax_backward_describe(weft_context *ctx, const weft_tensor *Y,
                                                const weft_tensor *dY, int axis,
                                                const weft_tensor *dX,
                                                const weft_softmax_params *params, char *text,
                                                size_t size);
WEFT_END
#endif
#ifndef WEFT_SPARSE_ATTENTION_H
#define WEFT_SPARSE_ATTENTION_H
WEFT_BEGIN
typedef struct weft_sparse_attention_params {
    size_t size;
    const char *tiling;
    cl_mem workspace;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} weft_sparse_attention_params;
#define WEFT_SPARSE_ATTENTION(...) WEFT_PARAMS(weft_sparse_attention_params, __VA_ARGS__)
WEFT_API weft_status weft_sparse_attention(weft_context *ctx, cl_command_queue queue, double scale,
                                           const weft_tensor *Q, const weft_tensor *K,
                                           const weft_tensor *V, const weft_csr *M,
                                           const weft_tensor *O,
                                           const weft_sparse_attention_params *params);
WEFT_API weft_status weft_sparse_attention_workspace(weft_context *ctx, const weft_tensor *Q,
                                                     const weft_tensor *K, const weft_tensor *V,
                                                     const weft_csr *M, const weft_tensor *O,
                                                     const weft_sparse_attention_params *params,
                                                     size_t *bytes);
WEFT_API int weft_sparse_attention_describe(weft_context *ctx, const weft_tensor *Q,
                                            const weft_tensor *K, const weft_tensor *V,
                                            const weft_csr *M, const weft_tensor *O,
                                            const weft_sparse_attention_params *params, char *text,
                                            size_t size);
WEFT_END
#endif
#ifndef WEFT_SPARSE_GATHER_H
#define WEFT_SPARSE_GATHER_H
WEFT_BEGIN
typedef struct weft_sparse_gather_params {
    size_t size;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} weft_sparse_gather_params;
#define WEFT_SPARSE_GATHER(...) WEFT_PARAMS(weft_sparse_gather_params, __VA_ARGS__)
WEFT_API weft_status weft_sparse_gather(weft_context *ctx, cl_command_queue queue,
                                        const weft_tensor *values, const weft_tensor *source,
                                        const weft_tensor *out,
                                        const weft_sparse_gather_params *params);
WEFT_END
#endif
#ifndef WEFT_SPARSE_LINEAR_H
#define WEFT_SPARSE_LINEAR_H
#ifndef WEFT_SPMM_H
#define WEFT_SPMM_H
WEFT_BEGIN
typedef struct weft_spmm_plan weft_spmm_plan;
typedef enum weft_spmm_reduction {
    WEFT_SPMM_SUM = 0,
    WEFT_SPMM_MEAN,
    WEFT_SPMM_MAX,
    WEFT_SPMM_MIN,
} weft_spmm_reduction;
WEFT_API const char *weft_spmm_reduction_name(weft_spmm_reduction reduction);
WEFT_API bool weft_spmm_reduction_find(const char *name, weft_spmm_reduction *reduction);
typedef enum weft_spmm_row_schedule {
    WEFT_SPMM_ROW_SCHEDULE_DEFAULT = 0,
    WEFT_SPMM_ROW_SCHEDULE_GIVEN,
    WEFT_SPMM_ROW_SCHEDULE_SORTED,
    WEFT_SPMM_ROW_SCHEDULE_SNAKE,
    WEFT_SPMM_ROW_SCHEDULE_ALTERNATING,
    WEFT_SPMM_ROW_SCHEDULE_QUEUE,
    WEFT_SPMM_ROW_SCHEDULE_REUSE,
} weft_spmm_row_schedule;
WEFT_API const char *weft_spmm_row_schedule_name(weft_spmm_row_schedule schedule);
WEFT_API bool weft_spmm_row_schedule_find(const char *name, weft_spmm_row_schedule *schedule);
typedef struct weft_spmm_plan_params {
    size_t size;
    bool transpose_a;
    int64_t row_chunk;
    weft_spmm_row_schedule row_schedule;
    cl_uint n_wait;
    const cl_event *wait;
} weft_spmm_plan_params;
#define WEFT_SPMM_PLAN(...) WEFT_PARAMS(weft_spmm_plan_params, __VA_ARGS__)
WEFT_API weft_status weft_spmm_plan_create(weft_spmm_plan **out, weft_context *ctx,
                                           cl_command_queue queue, const weft_csr *A,
                                           const weft_spmm_plan_params *params);
WEFT_API void weft_spmm_plan_destroy(weft_spmm_plan **plan);
WEFT_API const weft_row_stats *weft_spmm_plan_rows(const weft_spmm_plan *plan);
typedef struct weft_spmm_params {
    size_t size;
    const weft_spmm_plan *plan;
    bool transpose_a;
    const char *tiling;
    cl_mem workspace;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
    weft_spmm_reduction reduction;
    const weft_tensor *arguments;
    const weft_tensor *bias;
    weft_activation activation;
} weft_spmm_params;
#define WEFT_SPMM(...) WEFT_PARAMS(weft_spmm_params, __VA_ARGS__)
WEFT_API weft_status weft_spmm(weft_context *ctx, cl_command_queue queue, double alpha,
                               const weft_csr *A, const weft_tensor *B, double beta,
                               const weft_tensor *C, const weft_spmm_params *params);
WEFT_API weft_status weft_spmm_workspace(weft_context *ctx, const weft_csr *A, const weft_tensor *B,
                                         const weft_tensor *C, const weft_spmm_params *params,
                                         size_t *bytes);
WEFT_API int weft_spmm_describe(weft_context *ctx, const weft_csr *A, const weft_tensor *B,
                                const weft_tensor *C, const weft_spmm_params *params, char *text,
                                size_t size);
WEFT_END
#endif
WEFT_BEGIN
typedef struct weft_sparse_linear_params {
    size_t size;
    const weft_spmm_plan *plan;
    const weft_tensor *bias;
    weft_activation activation;
    double beta;
    cl_mem workspace;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} weft_sparse_linear_params;
#define WEFT_SPARSE_LINEAR(...) WEFT_PARAMS(weft_sparse_linear_params, __VA_ARGS__)
WEFT_API weft_status weft_sparse_linear(weft_context *ctx, cl_command_queue queue,
                                        const weft_csr *W, const weft_tensor *X,
                                        const weft_tensor *Y,
                                        const weft_sparse_linear_params *params);
WEFT_API weft_status weft_sparse_linear_dx(weft_context *ctx, cl_command_queue queue,
                                           const weft_csr *W, const weft_tensor *dY,
                                           const weft_tensor *dX,
                                           const weft_sparse_linear_params *params);
WEFT_API weft_status weft_sparse_linear_dw(weft_context *ctx, cl_command_queue queue,
                                           const weft_tensor *dY, const weft_tensor *X,
                                           const weft_csr *W, const weft_tensor *dW,
                                           const weft_sparse_linear_params *params);
WEFT_END
#endif
#ifndef WEFT_SPARSE_SOFTMAX_H
#define WEFT_SPARSE_SOFTMAX_H
WEFT_BEGIN
typedef struct weft_sparse_softmax_params {
    size_t size;
    const char *tiling;
    cl_mem workspace;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} weft_sparse_softmax_params;
#define WEFT_SPARSE_SOFTMAX(...) WEFT_PARAMS(weft_sparse_softmax_params, __VA_ARGS__)
WEFT_API weft_status weft_sparse_softmax(weft_context *ctx, cl_command_queue queue, double scale,
                                         const weft_csr *X, const weft_tensor *Y,
                                         const weft_sparse_softmax_params *params);
WEFT_API weft_status weft_sparse_softmax_backward(weft_context *ctx, cl_command_queue queue,
                                                  double scale, const weft_csr *Y,
                                                  const weft_tensor *dY, const weft_tensor *dX,
                                                  const weft_sparse_softmax_params *params);
WEFT_API weft_status weft_sparse_softmax_workspace(weft_context *ctx, const weft_csr *X,
                                                   const weft_tensor *Y,
                                                   const weft_sparse_softmax_params *params,
                                                   size_t *bytes);
WEFT_API int weft_sparse_softmax_describe(weft_context *ctx, const weft_csr *X,
                                          const weft_tensor *Y,
                                          const weft_sparse_softmax_params *params, char *text,
                                          size_t size);
WEFT_API int weft_sparse_softmax_backward_describe(weft_context *ctx, const weft_csr *Y,
                                                   const weft_tensor *dY, const weft_tensor *dX,
                                                   const weft_sparse_softmax_params *params,
                                                   char *text, size_t size);
WEFT_END
#endif
#ifndef WEFT_SPGEMM_H
#define WEFT_SPGEMM_H
WEFT_BEGIN
typedef struct weft_spgemm_params {
    size_t size;
    const char *tiling;
    cl_mem workspace;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} weft_spgemm_params;
#define WEFT_SPGEMM(...) WEFT_PARAMS(weft_spgemm_params, __VA_ARGS__)
WEFT_API weft_status weft_spgemm_count(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                                       const weft_csr *B, const weft_csr *C, int64_t *nnz,
                                       const weft_spgemm_params *params);
WEFT_API weft_status weft_spgemm(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                                 const weft_csr *B, const weft_csr *C,
                                 const weft_spgemm_params *params);
WEFT_API weft_status weft_spgemm_dense(weft_context *ctx, cl_command_queue queue, double alpha,
                                       const weft_csr *A, const weft_csr *B, double beta,
                                       const weft_tensor *C, const weft_spgemm_params *params);
WEFT_API weft_status weft_spgemm_workspace(weft_context *ctx, const weft_csr *A, const weft_csr *B,
                                           const weft_csr *C, const weft_spgemm_params *params,
                                           size_t *bytes);
WEFT_API int weft_spgemm_describe(weft_context *ctx, const weft_csr *A, const weft_csr *B,
                                  const weft_csr *C, const weft_spgemm_params *params, char *text,
                                  size_t size);
WEFT_API weft_status weft_spgemm_dense_workspace(weft_context *ctx, const weft_csr *A,
                                                 const weft_csr *B, const weft_tensor *C,
                                                 const weft_spgemm_params *params, size_t *bytes);
WEFT_API int weft_spgemm_dense_describe(weft_context *ctx, const weft_csr *A, const weft_csr *B,
                                        const weft_tensor *C, const weft_spgemm_params *params,
                                        char *text, size_t size);
WEFT_END
#endif
#ifndef WEFT_SPMM_DCSR_H
#define WEFT_SPMM_DCSR_H
WEFT_BEGIN
WEFT_API weft_status weft_spmm_dcsr(weft_context *ctx, cl_command_queue queue, double alpha,
                                    const weft_dcsr *A, const weft_tensor *B, double beta,
                                    const weft_tensor *C, const weft_spmm_params *params);
WEFT_API weft_status weft_spmm_dcsr_plan_create(weft_spmm_plan **out, weft_context *ctx,
                                                cl_command_queue queue, const weft_dcsr *A,
                                                const weft_spmm_plan_params *params);
WEFT_API weft_status weft_spmm_dcsr_workspace(weft_context *ctx, const weft_dcsr *A,
                                              const weft_tensor *B, const weft_tensor *C,
                                              const weft_spmm_params *params, size_t *bytes);
WEFT_API int weft_spmm_dcsr_describe(weft_context *ctx, const weft_dcsr *A, const weft_tensor *B,
                                     const weft_tensor *C, const weft_spmm_params *params,
                                     char *text, size_t size);
WEFT_END
#endif
#ifndef WEFT_SPMM_HOST_H
#define WEFT_SPMM_HOST_H
WEFT_BEGIN
typedef struct weft_spmm_host_params {
    size_t size;
    uint64_t device_bytes;
    const char *tiling;
    weft_spmm_reduction reduction;
    const weft_host_tensor *bias;
    weft_activation activation;
    int64_t
        *done;
} weft_spmm_host_params;
#define WEFT_SPMM_HOST(...) WEFT_PARAMS(weft_spmm_host_params, __VA_ARGS__)
WEFT_API weft_status weft_spmm_host(weft_context *ctx, double alpha, const weft_csr_host *A,
                                    const weft_host_tensor *B, double beta,
                                    const weft_host_tensor *C, const weft_spmm_host_params *params);
WEFT_API int weft_spmm_host_describe(weft_context *ctx, const weft_csr_host *A,
                                     const weft_host_tensor *B, const weft_host_tensor *C,
                                     const weft_spmm_host_params *params, char *text, size_t size);
WEFT_END
#endif
#endif
