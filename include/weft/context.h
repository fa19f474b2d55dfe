// SPDX-License-Identifier: Apache-2.0
// A weft_context belongs to one device in one OpenCL context. It keeps compiled programs, scratch
// memory, and how calls run: a call with the shapes, strides, data types and params of an earlier
// one is neither planned nor built again, only its buffers are checked. About a thousand different
// calls are kept, a few KiB each; others push the older ones out. Any number of threads may use a
// context at a time, until it is destroyed.
#ifndef WEFT_CONTEXT_H
#define WEFT_CONTEXT_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>

#include <weft/limits.h>
#include <weft/params.h>
#include <weft/status.h>

WEFT_BEGIN

typedef struct weft_context weft_context;

typedef enum weft_log_level {
    WEFT_LOG_ERROR,   // a build failed: options, compiler log and numbered source
    WEFT_LOG_WARNING, // something was worked around: a program that cannot be kept on disk
    WEFT_LOG_INFO,    // a program was compiled or loaded
} weft_log_level;

// One message, no newline at the end, valid until the callback returns. Comes on whichever thread
// calls weft, and on several at once. The callback must not use the same context: the program that
// the message is about may be locked.
typedef void (*weft_log_fn)(void *user, weft_log_level level, const char *message);

typedef struct weft_context_params {
    size_t size;        // sizeof(weft_context_params): WEFT_CONTEXT() fills it in
    const char *device; // weft_context_open: part of the name of a device, a platform or the
                        // platform's vendor, case ignored; NULL takes $WEFT_DEVICE; where that is
                        // unset, or the text is "", any device: GPUs first, then accelerators,
                        // then CPUs
    weft_log_fn log;    // NULL is silence
    void *log_user;
    const char *cache_dir; // of compiled programs, and of what was found out about devices; NULL
                           // takes $WEFT_CACHE_DIR, $XDG_CACHE_HOME/weft, or ~/.cache/weft: the
                           // first of them that is an absolute path; "" here or in $WEFT_CACHE_DIR
                           // keeps nothing on disk. Left alone where it is a link, somebody else's,
                           // or open to other writers. On PoCL, which keeps what it compiles and
                           // compiles it twice to give it away, programs are kept only where the
                           // folder is named, here or by $WEFT_CACHE_DIR
    uint64_t cache_bytes;  // bound on that folder; 0 takes 256 MiB. Those used longest ago go first
    const weft_limits *limits; // plan for this device instead, clamped to what the real one can
                               // hold. Copied. NULL takes the built-in profile that $WEFT_PROFILE
                               // names, as weft_profile_find() does; where that is unset or "",
                               // the device's own
    uint64_t scratch_bytes;    // bound on the context's scratch memory, in use or kept for later; 0
                               // takes a quarter of max_alloc_bytes. What is kept goes where the
                               // device has no memory for a call. Where calls in flight have it
                               // all, the next one that needs some waits until enough of them,
                               // whichever they are, have ended. A workspace of the caller's
                               // stands in for it in a call; one that is the host's memory
                               // (CL_MEM_USE_HOST_PTR) begins there on a multiple of 128 bytes
    bool check_matrices;       // sparse operations check what stands in the matrices they are
                               // handed, see below; by default they trust it
    bool trusts_device;        // nothing is tried on the device, see below: what it claims counts
} weft_context_params;

#define WEFT_CONTEXT(...) WEFT_PARAMS(weft_context_params, __VA_ARGS__)

// With check_matrices no offset or index of a sparse operand is trusted: each operation waits for
// its wait list, reads them back and demands what weft_csr_check() does, before it enqueues
// anything. Of a matrix whose indices the operation writes itself it reads the offsets alone, and
// of a DCSR that is converted the offsets and the rows. WEFT_BAD_DATA names the operand and the
// row, of a DCSR by its place among those that are stored:
//
//     spmm: A: row 3: entry 17 has column 90, the matrix has 64 columns
//
// It costs moving all patterns to the host, and every such call blocks: on an in-order queue until
// all before it is done. On an out-of-order queue what fills the arrays must be complete or in the
// wait list. It is for data that nobody vouches for, and for finding a mistake. It holds for the
// moment of the call: what changes the arrays before the kernels run goes unseen.
// weft_sparse_linear() and its gradients move W's pattern twice, all others each pattern once. What
// stays trusted: that a plan is given the pattern that it was made from, and the source of
// weft_sparse_gather(), which is no matrix.

// Unless trusts_device is set, a new context tries the device before plans lean on it: kernels of a
// few items, whose results are known, for abilities that the device claims (weft_trial in
// <weft/limits.h>) and for what kernels are made of. What fails is left out of its limits: plans do
// without, operations that cannot are refused, and weft_limits_quirk_at() names it. fma() is timed
// where the device says that it has none in hardware, and a CPU's last-level cache is asked of the
// system, or measured, where the device's answer is no larger than the second level. This is done
// once for a device, its driver and this version of weft, by one thread at a time: the process
// remembers it, and so does the folder of compiled programs, where a deleted file is forgotten.
// Where it is not remembered it takes what the device's compiler takes for three small kernels, one
// more where fma() is timed, and some for what goes wrong; none is begun after 5 seconds,
// sub-groups come first. What is left then counts as claimed for this process, with a warning in
// the log, and the next one that opens a context goes on from there. A trial fails where it gives
// wrong numbers or an error twice; what was wrong once when time was up is left out until it is
// tried again. Where not even a kernel without any can be made and run, or memory lacks, none
// fails. A compiler that does not come back is waited for.

// fork(): a child has none of the threads that OpenCL runs in, and what waits for them waits for
// ever, in a context of its own as well. So in a child of a process that has used OpenCL by way of
// weft every call that takes a context, weft_context_create(), weft_context_open() and
// weft_limits_query() are WEFT_UNSUPPORTED. What a context was made of may still be asked there,
// and what destroys weft's objects releases nothing in OpenCL: that is the parent's. A child that
// calls exec() is free of it all, and so is one that was forked before the first of these calls: it
// opens contexts of its own. A rehearsal without a device goes on in a child. Whether the program
// itself has used OpenCL before it forked weft cannot know.

// A context over the caller's device. Both are retained until the context is destroyed.
// `params` may be NULL; its `device` is not looked at. Where groups have several items, as on GPUs,
// a trivial kernel is compiled, or loaded from the folder on disk, and asked how large a group may
// be: some devices promise more than any kernel gets. Where that fails, with a warning in the log,
// the promise counts. Fails, with *out NULL: WEFT_BAD_ARGUMENT for a device that is not one of the
// OpenCL context's, limits that weft_limits_check() refuses, or a $WEFT_PROFILE that names none of
// the profiles, which the sentence lists; WEFT_NO_MEMORY; WEFT_DEVICE_LOST and WEFT_OPENCL_ERROR.
WEFT_API weft_status weft_context_create(weft_context **out, cl_context cl, cl_device_id device,
                                         const weft_context_params *params);

// Picks a device and makes an OpenCL context and an in-order queue with it. Fails as above;
// WEFT_NO_DEVICE lists the devices that there are.
WEFT_API weft_status weft_context_open(weft_context **out, const weft_context_params *params);

// Waits for nothing and releases what the context holds; enqueued work still completes. Sets *ctx
// to NULL. No other thread may be inside a call on the same context, and plans made with it are to
// be destroyed first. NULL and a NULL handle are fine. In a child of fork() nothing is released.
WEFT_API void weft_context_destroy(weft_context **ctx);

// What the context was made of. Borrowed: do not release. Here and in the calls below `ctx` must
// not be NULL.
WEFT_API cl_context weft_context_cl(const weft_context *ctx);
WEFT_API cl_device_id weft_context_device(const weft_context *ctx);

// The queue that weft_context_open() made; NULL for a context over the caller's device.
WEFT_API cl_command_queue weft_context_queue(const weft_context *ctx);

// What plans are made from: the device's answers, with groups no larger than kernels really get.
// Where the params give limits, or $WEFT_PROFILE names some, these count, clamped to what the
// device can hold; has_subgroups and least_subgroup stay as given, and what data sheets say is the
// device's. The name is then made of both: "amd-mi300x on pthread-...". Every context on a device
// that asks for the same limits gets the same. Valid as long as the context.
WEFT_API const weft_limits *weft_context_limits(const weft_context *ctx);

typedef struct weft_context_stats {
    uint64_t programs_built;  // compiled from source; the trivial kernel above is not counted
    uint64_t programs_loaded; // taken from the folder on disk; nor is it here
    uint64_t launches;        // kernels enqueued
    uint64_t scratch_bytes;   // scratch memory held now; 0 in a child of fork()
} weft_context_stats;

// Thread-safety: any thread, at any time between create and destroy.
WEFT_API weft_context_stats weft_context_get_stats(weft_context *ctx);

// Fills `out` from whatever the device answers, and tries nothing: where kernels get smaller groups
// than it promises, weft_context_limits() is lower. Where a query fails a cautious number is taken,
// so this fails only with WEFT_BAD_ARGUMENT for a NULL, WEFT_NO_MEMORY of the host, and
// WEFT_DEVICE_LOST for a device that answers nothing at all.
WEFT_API weft_status weft_limits_query(cl_device_id device, weft_limits *out);

WEFT_END

#endif
