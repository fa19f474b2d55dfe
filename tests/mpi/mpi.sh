#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mpi.sh MPIRUN PROGRAM RANKS: the program with so many ranks, of which the first prints TAP. More
# ranks than cores share them, and do not spin while they wait.
set -u
mpirun=$1 program=$2 ranks=$3
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
OMPI_MCA_btl_vader_single_copy_mechanism=none
TMPDIR=${TMPDIR:-/tmp}
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe
export OMPI_MCA_mpi_yield_when_idle OMPI_MCA_btl_vader_single_copy_mechanism TMPDIR
exec "$mpirun" -n "$ranks" "$program"
