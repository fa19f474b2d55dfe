// SPDX-License-Identifier: Apache-2.0
// Operands of layer and RMS normalisation and of their backward.
#include "axis/norm_operands.h"

#include <inttypes.h>
#include <math.h>

#include "base/dtype.h"
#include "base/fail.h"

weft_status weft_norm_epsilon_check(const char *what, double epsilon)
{
    if (!(epsilon >= 0) || !isfinite(epsilon) || !isfinite((float)epsilon))
        return fail(WEFT_BAD_ARGUMENT, "%s: epsilon is %g: 0 to 3.4e38 is wanted", what, epsilon);
    return WEFT_OK;
}

weft_status weft_norm_axes_check(const char *what, const weft_tensor *X, int n_axes)
{
    if (n_axes < 1 || n_axes > X->ndim)
        return fail(WEFT_BAD_ARGUMENT, "%s: n_axes is %d, X has %d dimensions", what, n_axes,
                    X->ndim);
    return WEFT_OK;
}

weft_status weft_norm_scaling_check(const char *what, const weft_tensor *X,
                                    const weft_tensor *scaling, const char *name, int n_axes)
{
    if (scaling->ndim != n_axes)
        return fail(WEFT_BAD_SHAPE, "%s: %s has %d dimensions, %d are normalised", what, name,
                    scaling->ndim, n_axes);
    for (int i = 0; i < n_axes; ++i) {
        const int d = X->ndim - n_axes + i;
        if (scaling->shape[i] != X->shape[d])
            return fail(WEFT_BAD_SHAPE,
                        "%s: extent %d of %s is %" PRId64 ", X's axis %d has %" PRId64, what, i,
                        name, scaling->shape[i], d, X->shape[d]);
    }
    const weft_dtype dtype = weft_dtype_or(scaling->dtype, WEFT_F32);
    const weft_dtype wanted = weft_dtype_or(X->dtype, WEFT_F32);
    if (dtype != wanted)
        return fail(WEFT_BAD_DTYPE, "%s: X is %s, %s %s; both require the same", what,
                    weft_dtype_name(wanted), name, weft_dtype_name(dtype));
    return WEFT_OK;
}

void weft_norm_add_scaling(weft_axes_request *request, int64_t stride[WEFT_MAX_NDIM],
                           const weft_tensor *scaling)
{
    for (int d = 0; d < request->ndim; ++d)
        stride[d] = request->is_reduced[d] ? scaling->stride[d - request->ndim + scaling->ndim] : 0;
    request->start[request->n_operands] = scaling->offset;
    request->stride[request->n_operands++] = stride;
}
