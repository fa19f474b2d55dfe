#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kernels.sh SOURCE: each .cl file compiles alone, as OpenCL C 1.2 and 3.0, without a warning (but for
# parameters that one build of a source does not use). So do those that use the shuffles of
# sub-groups, of which clang knows two kinds.
set -u
source_dir=$1
. "$source_dir/tests/house/tap.sh"

# compile FILE LEVEL OPTION ...
compile() {
    file=$1
    level=$2
    shift 2
    clang -x cl -cl-std="$level" -Xclang -finclude-default-header -fsyntax-only \
        -Wall -Wextra -Wpedantic -Wno-unused-parameter -Werror -I "$source_dir/cl" "$@" "$file"
}

for file in "$source_dir"/cl/*/*.cl "$source_dir"/tools/*.cl; do
    [ -f "$file" ] || continue
    for level in CL1.2 CL3.0; do
        what="${file#"$source_dir"/} as $level"
        if command -v clang >/dev/null; then
            check "$what" compile "$file" "$level"
        else
            skip "$what" "there is no clang"
        fi
    done
done

# SpMM's rows from queues, stored rows alone, and what C goes through at the end.
for name in sparse/spmm sparse/spmm_max_min; do
    if command -v clang >/dev/null; then
        check "cl/$name.cl with queues" compile "$source_dir/cl/$name.cl" CL1.2 -DQUEUED=1
        check "cl/$name.cl with a bias and an activation" \
            compile "$source_dir/cl/$name.cl" CL1.2 -DBIASED=1 -DACTIVATION=GELU
        check "cl/$name.cl by stored rows" \
            compile "$source_dir/cl/$name.cl" CL1.2 -DHAS_ROWS=1 -DBIASED=1
        [ $name = sparse/spmm ] && check "cl/$name.cl with B in local memory" \
            compile "$source_dir/cl/$name.cl" CL1.2 -DSTAGED_B=1
    else
        skip "cl/$name.cl with queues, stored rows, a bias" "there is no clang"
    fi
done

# Reductions as CPUs have them: lines, and rows.
for options in -DVECTOR_WIDTH=16 "-DFOLD=16 -DROWS=1 -DVECTORS=1 -Wno-unused-function"; do
    if command -v clang >/dev/null; then
        # shellcheck disable=SC2086 # a list of options
        check "cl/axis/reduce.cl with $options" compile "$source_dir/cl/axis/reduce.cl" CL1.2 $options
    else
        skip "cl/axis/reduce.cl with $options" "there is no clang"
    fi
done

# Sampled products where one factor is dense, where rows come in parts or hashed, and by vectors.
for options in -DB_SPARSE=0 "-DA_SPARSE=0 -DPARTS=1" -DPARTS=1 "-DITEMS=1 -DLANES=1 -DVECTOR_WIDTH=8"; do
    if command -v clang >/dev/null; then
        # shellcheck disable=SC2086 # a list of options
        check "cl/sparse/sddmm_sparse.cl with $options" \
            compile "$source_dir/cl/sparse/sddmm_sparse.cl" CL1.2 $options
    else
        skip "cl/sparse/sddmm_sparse.cl with $options" "there is no clang"
    fi
done

# Elementwise operations as CPUs have them, by tiles; and bf16 by pairs of vectors.
for width in 2 4 8 16; do
    if command -v clang >/dev/null; then
        # shellcheck disable=SC2086 # a list of options
        check "cl/elementwise/elementwise.cl by tiles of $width" \
            compile "$source_dir/cl/elementwise/elementwise.cl" CL1.2 -DVECTOR_WIDTH=$width -DTILED=1 -DINPUTS=2 \
            -DIN0=DTYPE_F32 -DIN_WAY0=ADJACENT -DIN1=DTYPE_F16 -DIN_WAY1=ACROSS -DOUT0=DTYPE_F32 \
            -DOUT_WAY0=ADJACENT "-DF0=ADD(x0,x1)"
        for name in sparse/spmm sparse/sddmm; do
            check "cl/$name.cl by pairs of $width" \
                compile "$source_dir/cl/$name.cl" CL1.2 -DDTYPE=DTYPE_BF16 -DLANES=1 -DVECTORS=2 \
                -DVECTOR_WIDTH=$width
        done
    else
        skip "elementwise.cl, spmm.cl and sddmm.cl by vectors of $width" "there is no clang"
    fi
done

# Without -cl-no-stdinc clang 14 knows the built-ins of no extension but its own.
for name in axis/reduce axis/softmax axis/softmax_backward axis/norm axis/norm_backward \
    axis/norm_scaling sparse/sddmm; do
    file=$source_dir/cl/$name.cl
    set -- -target spir64 -cl-no-stdinc -Wno-ignored-pragmas -Dcl_khr_subgroups=1 \
        -DVECTOR_WIDTH=1 -DSHUFFLES=2
    [ "$name" = sparse/sddmm ] || set -- "$@" -DITEMS=2 -DITEMS_Y=64
    if command -v clang >/dev/null; then
        check "cl/$name.cl with Intel's sub-groups" compile "$file" CL1.2 "$@"
        check "cl/$name.cl with Khronos' sub-groups" compile "$file" CL1.2 "$@" \
            -Ucl_intel_subgroups -Dcl_khr_subgroup_shuffle_relative=1
    else
        skip "cl/$name.cl with sub-groups" "there is no clang"
    fi
done
finish
