// SPDX-License-Identifier: Apache-2.0
// A weft_context belongs to one device in one OpenCL context. It caches compiled programs, scratch
// memory, and plans of calls: for a call with the shapes, strides, data types and params of an
// earlier one only the buffers are checked. It stores about a thousand different calls, of a few
// KiB each; new ones replace older ones. Any number of threads may use a context at a time, until
// it is destroyed.
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

#include <weft/limits.h>
#include <weft/params.h>
#include <weft/status.h>

WEFT_BEGIN

typedef struct weft_context weft_context;

typedef enum weft_log_level {
    WEFT_LOG_ERROR,   // a build failed: options, compiler log and numbered source
    WEFT_LOG_WARNING, // weft worked around a problem: a program that cannot be stored on disk
    WEFT_LOG_INFO,    // a program was compiled or loaded
} weft_log_level;

// Receives one message, without a newline at the end, valid until the callback returns. Any thread
// that calls weft calls it, several at once. The callback must not use the same context: the
// program of the message may be locked.
typedef void (*weft_log_fn)(void *user, weft_log_level level, const char *message);

typedef struct weft_context_params {
    size_t size;        // sizeof(weft_context_params): WEFT_CONTEXT() fills it in
    const char *device; // weft_context_open: part of the name of a device, a platform or the
                        // platform's vendor, case ignored; NULL takes $WEFT_DEVICE; if that is
                        // unset, or the text is "", any device: GPUs first, then accelerators,
                        // then CPUs
    weft_log_fn log;    // NULL: no messages
    void *log_user;
    const char *cache_dir; // of compiled programs, and of verdicts on devices; NULL takes
                           // $WEFT_CACHE_DIR, $XDG_CACHE_HOME/weft, or ~/.cache/weft (on macOS
                           // ~/Library/Caches/weft, on Windows %LOCALAPPDATA%\weft\cache): the
                           // first that is an absolute path; "" here or in $WEFT_CACHE_DIR stores
                           // nothing on disk. Not used if it is a link, somebody else's, or open
                           // to other writers. PoCL has a cache of its own and compiles again to
                           // return a binary: on it, programs are stored only in a folder that is
                           // named here or by $WEFT_CACHE_DIR
    uint64_t cache_bytes;  // bound on that folder; 0: 256 MiB. Deletes the least recently used
    const weft_limits *limits; // plan for this device instead, clamped to the real one's capacity.
                               // Copied. NULL takes the built-in profile that $WEFT_PROFILE names,
                               // as weft_profile_find() does; if that is unset or "", the device's
                               // own
    uint64_t scratch_bytes;    // bound on the context's scratch memory, in use or idle; 0 takes a
                               // quarter of max_alloc_bytes. Idle memory is released if the device
                               // has no other memory for a call. If calls in flight use all of it,
                               // the next one that needs some waits until enough of them have
                               // ended. A call with a workspace of the caller's does not need it; a
                               // workspace in the host's memory (CL_MEM_USE_HOST_PTR) must begin
                               // at a multiple of 128 bytes
    bool check_matrices;       // sparse operations check the contents of their matrices, see below;
                               // by default they trust them
    bool trusts_device;        // no trials of the device, see below: its claims are used
} weft_context_params;

#define WEFT_CONTEXT(...) WEFT_PARAMS(weft_context_params, __VA_ARGS__)

// With check_matrices offsets and indices of sparse operands are not trusted: each operation waits
// for its wait list, reads them back and checks them like weft_csr_check(), before it enqueues
// anything. If the operation writes a matrix's indices, it reads only the offsets; if it converts a
// DCSR, the offsets and row numbers. WEFT_BAD_DATA names the operand and the row, of a DCSR by its
// position among the stored rows:
//
//     spmm: A: row 3: entry 17 has column 90, the matrix has 64 columns
//
// It costs the transfer of all patterns to the host, and every such call blocks: on an in-order
// queue until all earlier commands are done. On an out-of-order queue the commands that fill the
// arrays must be complete or in the wait list. It is for untrusted data, and for debugging. It sees
// the arrays at the time of the call, but not changes before the kernels run. weft_sparse_linear()
// and its gradients transfer W's pattern twice, all others each pattern once. It does not check
// that a plan is used with its own pattern, nor the source of weft_sparse_gather(), which is not a
// matrix.

// Unless trusts_device is set, a new context tries the device before plans use its features: it
// runs kernels of a few items, with known results, for features that the device claims (weft_trial
// in <weft/limits.h>) and for basic features of kernels. A feature that fails is removed from the
// limits: plans do not use it, operations that require it are refused, and weft_limits_quirk_at()
// names it. fma() is timed if the device says that it has none in hardware. The size of a CPU's
// last-level cache is taken from the system, or measured, if the device's answer is no larger than
// the second level. This is done once for a device, its driver and this version of weft, by one
// thread at a time. The result is stored in the process and in the folder of compiled programs,
// whose files may be deleted. Without a stored result three small kernels are compiled, one more if
// fma() is timed, and some after failures. Sub-groups come first, and no trial begins after 5
// seconds. Omitted trials count as passed for this process, with a warning in the log, and the next
// process that opens a context continues with them. A trial fails if it gives wrong numbers or an
// error twice; a feature that was wrong once when time was up is not used until it is tried again.
// If even a kernel without trials cannot be built and run, or there is no memory, no trial fails.
// There is no time-out for a compiler that hangs.

// fork(): a child lacks the threads of OpenCL, and waits for them forever, also in a context of its
// own. So in a child of a process that has used OpenCL through weft, every call that takes a
// context, weft_context_create(), weft_context_open() and weft_limits_query() are WEFT_UNSUPPORTED.
// Queries of a context's parts still work there. Functions that destroy weft's objects release
// nothing in OpenCL: that is the parent's. A child that calls exec(), or was forked before the
// first of these calls, has no such limits: it opens its own contexts. A rehearsal without a device
// continues in a child. weft cannot know whether the program itself has used OpenCL before it
// forked.

// A context over the caller's device. Both are retained until the context is destroyed. `params`
// may be NULL; its `device` is ignored. If groups have several items, as on GPUs, a trivial kernel
// is compiled, or loaded from the folder on disk, and queried for the largest group: some devices
// claim more than any kernel gets. If that fails, a warning is logged and the claim is used. Fails,
// with *out NULL: WEFT_BAD_ARGUMENT for a device outside the OpenCL context, limits that
// weft_limits_check() refuses, or a $WEFT_PROFILE that names no profile (the message lists them);
// WEFT_NO_MEMORY; WEFT_DEVICE_LOST and WEFT_OPENCL_ERROR.
WEFT_API weft_status weft_context_create(weft_context **out, cl_context cl, cl_device_id device,
                                         const weft_context_params *params);

// Picks a device and makes an OpenCL context and an in-order queue with it. Fails as above;
// WEFT_NO_DEVICE lists the existing devices.
WEFT_API weft_status weft_context_open(weft_context **out, const weft_context_params *params);

// Does not wait, and releases all objects of the context; enqueued work still completes. Sets *ctx
// to NULL. No other thread may be inside a call on the same context, and plans made with it must be
// destroyed first. Accepts NULL and a NULL handle. In a child of fork() nothing is released.
WEFT_API void weft_context_destroy(weft_context **ctx);

// The context's parts. Borrowed: do not release. Here and in the calls below `ctx` must not be
// NULL.
WEFT_API cl_context weft_context_cl(const weft_context *ctx);
WEFT_API cl_device_id weft_context_device(const weft_context *ctx);

// The queue that weft_context_open() made; NULL for a context over the caller's device.
WEFT_API cl_command_queue weft_context_queue(const weft_context *ctx);

// The limits that plans use: the device's answers, with groups no larger than kernels really get.
// Limits of the params, or of $WEFT_PROFILE, replace them, clamped to the device's capacity;
// has_subgroups and least_subgroup stay as given, and numbers from data sheets are the device's.
// The name then has both: "amd-mi300x on pthread-...". Contexts on one device with the same
// given limits get the same limits. Valid as long as the context.
WEFT_API const weft_limits *weft_context_limits(const weft_context *ctx);

typedef struct weft_context_stats {
    uint64_t programs_built;  // compiled from source, without the trivial kernel above
    uint64_t programs_loaded; // loaded from the folder on disk, without it too
    uint64_t launches;        // kernels enqueued
    uint64_t scratch_bytes;   // scratch memory allocated now; 0 in a child of fork()
} weft_context_stats;

// Thread-safety: any thread, at any time between create and destroy.
WEFT_API weft_context_stats weft_context_get_stats(weft_context *ctx);

// Fills `out` from the device's answers, without trials: if kernels get smaller groups than the
// device claims, weft_context_limits() is lower. A failed query is replaced by a cautious number,
// so this fails only with WEFT_BAD_ARGUMENT for a NULL, WEFT_NO_MEMORY of the host, and
// WEFT_DEVICE_LOST for a device without any answer.
WEFT_API weft_status weft_limits_query(cl_device_id device, weft_limits *out);

WEFT_END

#endif
