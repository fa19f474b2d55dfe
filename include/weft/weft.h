// SPDX-License-Identifier: Apache-2.0
// All of weft.
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <weft/activation.h>
#include <weft/api.h>
#include <weft/context.h>
#include <weft/csc.h>
#include <weft/csr.h>
#include <weft/csr_dense.h>
#include <weft/csr_file.h>
#include <weft/csr_transpose.h>
#include <weft/dcsc.h>
#include <weft/dcsr.h>
#include <weft/dtype.h>
#include <weft/elementwise.h>
#include <weft/geometry.h>
#include <weft/host_tensor.h>
#include <weft/limits.h>
#include <weft/matmul.h>
#include <weft/norm.h>
#include <weft/params.h>
#include <weft/recording.h>
#include <weft/reduce.h>
#include <weft/rehearsal.h>
#include <weft/sddmm.h>
#include <weft/sddmm_sparse.h>
#include <weft/softmax.h>
#include <weft/sparse_attention.h>
#include <weft/sparse_gather.h>
#include <weft/sparse_linear.h>
#include <weft/sparse_softmax.h>
#include <weft/spgemm.h>
#include <weft/spmm.h>
#include <weft/spmm_dcsr.h>
#include <weft/spmm_host.h>
#include <weft/status.h>
#include <weft/tensor.h>

#endif
