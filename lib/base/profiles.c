// SPDX-License-Identifier: Apache-2.0
// Known devices, from the public documents named at each; the memory's GB are 2^30 bytes, as
// drivers count them. If no document gives the largest buffer, it is the least that OpenCL 1.2
// allows: a quarter of the memory.
#include <weft/limits.h>

#include "base/text.h"

#define KIB(n) ((n)*UINT64_C(1024))
#define MIB(n) ((n)*UINT64_C(1048576))
#define GIB(n) ((n)*UINT64_C(1073741824))

// Lanes are items. `resident` is the number of them that a compute unit holds at once.
#define GPU(units, resident, block, memory)                                                        \
    .kind = WEFT_DEVICE_GPU, .vector_width = 1, .vectors = 1, .max_block = (block),                \
    .max_items_y = (block), .max_blocks = (units) * (resident) / (block), .max_items = (block),    \
    .compute_units = (units), .load_bytes = 16, .global_bytes = (memory),                          \
    .max_alloc_bytes = (memory) / 4, .has_fma = true

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": warp, threads of
// a block and along z, static shared memory. The OpenCL driver names neither cl_khr_fp16 nor
// sub-groups, but warps have shuffles in PTX.
#define NVIDIA(units, resident, memory)                                                            \
    .warp = 32, .max_items_along = {1024, 1024, 64}, .local_bytes = KIB(48),                       \
    .local_is_fast = true, .cache_line_bytes = 128, .has_f64 = true, .has_subgroups = true,        \
    GPU(units, resident, 1024, memory)

// AMD ROCm documentation, "Accelerator and GPU hardware specifications": wavefront, LDS (64 KiB, if
// a profile does not say otherwise). The driver's own limit is 256 items a group, and its compute
// units are pairs of CUs on RDNA. A CU of CDNA 2 to 4 holds 32 wavefronts of 64, one of CDNA 40, a
// pair of RDNA 64 of 32.
#define AMD(width, units, resident, memory) AMD_WITH_LDS(KIB(64), width, units, resident, memory)
#define AMD_WITH_LDS(local, width, units, resident, memory)                                        \
    .warp = (width), .max_items_along = {256, 256, 256}, .local_bytes = (local),                   \
    .local_is_fast = true, .cache_line_bytes = 128, .has_f64 = true, .has_f16 = true,              \
    GPU(units, resident, 256, memory)

// Intel oneAPI GPU Optimization Guide, "Intel GPU Architecture": sub-groups of 8 or 16 to 32,
// hardware threads of a vector engine (7, from Xe-HPG on 8), shared local memory of a group.
// Compute units are vector engines.
#define INTEL(units, threads, least, block, local, memory)                                         \
    .warp = 16, .max_items_along = {block, block, block}, .local_bytes = (local),                  \
    .local_is_fast = true, .cache_line_bytes = 64, .has_f16 = true, .has_subgroups = true,         \
    .least_subgroup = (least), GPU(units, 16 * (threads), block, memory)

// As PoCL shows a CPU: every hardware thread a compute unit, local memory ordinary memory as large
// as a core's L2.
#define CPU(width, units, l1, l2, memory)                                                          \
    .kind = WEFT_DEVICE_CPU, .warp = (width), .vector_width = (width), .vectors = 8,               \
    .max_block = 8 * (width), .max_items_y = 1, .max_blocks = 4 * (units), .max_items = 4096,      \
    .max_items_along = {4096, 4096, 4096}, .compute_units = (units), .load_bytes = 4 * (width),    \
    .local_bytes = (l2), .l1_bytes = (l1), .l2_bytes = (l2), .global_bytes = (memory),             \
    .max_alloc_bytes = (memory) / 4, .cache_line_bytes = 64, .has_f64 = true, .has_fma = true

#define PEAK(gbps, gflops) .peak_gbps = (gbps), .peak_gflops = (gflops)

static const weft_limits profiles[] = {
    // "NVIDIA Tesla V100 GPU Architecture" white paper: SXM2, 16 GB
    {"nvidia-v100", NVIDIA(80, 2048, GIB(16)), .cache_bytes = MIB(6), PEAK(900, 15700)},
    // "NVIDIA Turing GPU Architecture" white paper, NVIDIA T4 data sheet
    {"nvidia-t4", NVIDIA(40, 1024, GIB(16)), .cache_bytes = MIB(4), PEAK(320, 8100)},
    // "NVIDIA A100 Tensor Core GPU Architecture" white paper: SXM4, 40 GB
    {"nvidia-a100", NVIDIA(108, 2048, GIB(40)), .cache_bytes = MIB(40), PEAK(1555, 19500)},
    // "NVIDIA Ampere GA102 GPU Architecture" white paper
    {"nvidia-rtx-3090", NVIDIA(82, 1536, GIB(24)), .cache_bytes = MIB(6), PEAK(936, 35600)},
    // "NVIDIA Ada GPU Architecture" white paper
    {"nvidia-rtx-4090", NVIDIA(128, 1536, GIB(24)), .cache_bytes = MIB(72), PEAK(1008, 82600)},
    // "NVIDIA RTX Blackwell GPU Architecture" white paper
    {"nvidia-rtx-5090", NVIDIA(170, 1536, GIB(32)), .cache_bytes = MIB(96), PEAK(1792, 104800)},
    // "NVIDIA H100 Tensor Core GPU Architecture" white paper, H100 data sheet: SXM5
    {"nvidia-h100", NVIDIA(132, 2048, GIB(80)), .cache_bytes = MIB(50), PEAK(3350, 66900)},
    // NVIDIA H200 data sheet: SXM5, 141 GB
    {"nvidia-h200", NVIDIA(132, 2048, GIB(141)), .cache_bytes = MIB(50), PEAK(4800, 67000)},
    // NVIDIA DGX B200 data sheet (an eighth of 1440 GB and 64 TB/s), NVIDIA HGX specifications (an
    // eighth of 600 TFLOPS). SMs and L2 as the driver gives them in pytorch/ao, pull request 4002,
    // where the L2 is 126.5 MiB; some reviews say 96 MB
    {"nvidia-b200", NVIDIA(148, 2048, GIB(180)), .cache_bytes = MIB(126), PEAK(8000, 75000)},

    // AMD Instinct MI100 data sheet, "AMD CDNA Architecture" white paper
    {"amd-mi100", AMD(64, 120, 2560, GIB(32)), .cache_bytes = MIB(8), PEAK(1228.8, 23100)},
    // AMD Instinct MI250X data sheet, "AMD CDNA 2 Architecture" white paper: one of two dies
    {"amd-mi250x", AMD(64, 110, 2048, GIB(64)), .cache_bytes = MIB(8), PEAK(1638.4, 23900)},
    // AMD Instinct MI300X data sheet, "AMD CDNA 3 Architecture" white paper
    {"amd-mi300x", AMD(64, 304, 2048, GIB(192)), .cache_bytes = MIB(256), PEAK(5300, 163400)},
    // AMD Instinct MI355X data sheet, "AMD CDNA 4 Architecture" white paper. A group may have the
    // whole LDS: the OpenCL driver (ROCm/clr, rocdevice.cpp) gives the size of the group segment
    {"amd-mi355x", AMD_WITH_LDS(KIB(160), 64, 256, 2048, GIB(288)), .cache_bytes = MIB(256),
     PEAK(8000, 157300)},
    // AMD Radeon RX 6800 XT specifications: 72 CUs
    {"amd-rx-6800-xt", AMD(32, 36, 2048, GIB(16)), .cache_bytes = MIB(128), PEAK(512, 20740)},
    // AMD Radeon RX 7900 XTX specifications: 96 CUs
    {"amd-rx-7900-xtx", AMD(32, 48, 2048, GIB(24)), .cache_bytes = MIB(96), PEAK(960, 61400)},
    // AMD Radeon RX 9070 XT specifications: 64 CUs
    {"amd-rx-9070-xt", AMD(32, 32, 2048, GIB(16)), .cache_bytes = MIB(64), PEAK(640, 48700)},

    // "The Compute Architecture of Intel Processor Graphics Gen9", Core i7-8700 specifications:
    // 24 EUs at 1.2 GHz, in a machine with 16 GiB
    {"intel-uhd-630", INTEL(24, 7, 8, 256, KIB(64), GIB(16)), .cache_bytes = MIB(12),
     .has_f64 = true, PEAK(41.6, 460.8)},
    // Core i7-1185G7 specifications: 96 EUs at 1.35 GHz, in a machine with 16 GiB
    {"intel-iris-xe", INTEL(96, 7, 8, 512, KIB(64), GIB(16)), .cache_bytes = MIB(12),
     PEAK(68.2, 2073.6)},
    // Arc A770 specifications: 512 vector engines at 2.1 GHz, 16 GB
    {"intel-arc-a770", INTEL(512, 8, 8, 1024, KIB(64), GIB(16)), .cache_bytes = MIB(16),
     PEAK(560, 17203)},
    // Arc B580 specifications: 20 Xe2 cores of 8 vector engines at 2.67 GHz, 16 lanes each, 12 GB.
    // "Intel Graphics Compute Runtime", hw_info_bmg.cpp: local memory, f64. Sub-groups of 16 or 32
    {"intel-arc-b580", INTEL(160, 8, 16, 1024, KIB(128), GIB(12)), .cache_bytes = MIB(18),
     .has_f64 = true, PEAK(456, 13670)},
    // "Intel Data Center GPU Max Series Technical Overview": one of two stacks
    {"intel-max-1550", INTEL(512, 8, 16, 1024, KIB(128), GIB(64)), .cache_bytes = MIB(204),
     .has_f64 = true, PEAK(1638, 26200)},

    // Apple M1 announcement (8 cores, 2.6 TFLOPS, 16 GB), "Metal Feature Set Tables" (SIMD width,
    // threadgroup memory); LPDDR4X-4266 on 128 bits; groups of 256 items as OpenCL has them there
    {"apple-m1", GPU(8, 1024, 256, GIB(16)), .warp = 32, .max_items_along = {256, 256, 256},
     .local_bytes = KIB(32), .local_is_fast = true, .cache_line_bytes = 128, .cache_bytes = MIB(8),
     PEAK(68.2, 2600)},
    // Apple M4 announcement (10 cores, 120 GB/s, 16 GB), and as the M1
    {"apple-m4", GPU(10, 1024, 256, GIB(16)), .warp = 32, .max_items_along = {256, 256, 256},
     .local_bytes = KIB(32), .local_is_fast = true, .cache_line_bytes = 128, PEAK(120, 0)},
    // "Arm Mali GPU Datasheet": 14 cores, warps of 16, 64 f32 operations a core and clock, at
    // 0.854 GHz in Exynos 2100. A kernel with many registers leaves a core 512 threads
    {"arm-mali-g78", GPU(14, 512, 512, GIB(8)), .warp = 16, .max_items_along = {512, 512, 512},
     .local_bytes = KIB(32), .cache_line_bytes = 64, .has_f16 = true, PEAK(51.2, 765)},
    // "Snapdragon OpenCL General Programming and Optimization" guide (waves of 64 or 128, local
    // memory), Snapdragon 855 product brief (memory)
    {"qualcomm-adreno-640", GPU(2, 1024, 1024, GIB(6)), .warp = 64,
     .max_items_along = {1024, 1024, 1024}, .local_bytes = KIB(32), .local_is_fast = true,
     .cache_line_bytes = 64, .has_f16 = true, PEAK(34.1, 0)},
    // Snapdragon X Elite product brief (4.6 TFLOPS, LPDDR5X-8448 at 135 GB/s), AnandTech, "The
    // Qualcomm Snapdragon X Architecture Deep Dive" (6 shader processors, system level cache), in a
    // machine with 16 GiB; else as the Adreno 640
    {"qualcomm-adreno-x1-85", GPU(6, 1024, 1024, GIB(16)), .warp = 64,
     .max_items_along = {1024, 1024, 1024}, .local_bytes = KIB(32), .local_is_fast = true,
     .cache_line_bytes = 64, .cache_bytes = MIB(6), .has_f16 = true, PEAK(135, 4600)},

    // AMD Ryzen 9 5950X specifications: 16 cores, AVX2, two FMA units, 3.4 GHz; with 64 GiB.
    // "Software Optimization Guide for AMD Family 19h Processors": L1
    {"amd-ryzen-5950x", CPU(8, 32, KIB(32), KIB(512), GIB(64)), .cache_bytes = MIB(64),
     PEAK(51.2, 1740.8)},
    // Intel Xeon Platinum 8380 specifications: 40 cores, AVX-512, two FMA units, 2.3 GHz; with
    // 256 GiB. "Intel 64 and IA-32 Architectures Optimization Reference Manual": caches of a core
    {"intel-xeon-8380", CPU(16, 80, KIB(48), KIB(1280), GIB(256)), .cache_bytes = MIB(60),
     PEAK(204.8, 5888)},
    // "Arm Neoverse N1 Software Optimization Guide", Amazon EC2 M6g announcement: 64 cores, NEON,
    // two FMA units, 2.5 GHz; with 256 GiB
    {"arm-graviton2", CPU(4, 64, KIB(64), MIB(1), GIB(256)), .cache_bytes = MIB(32),
     PEAK(204.8, 2560)},
};

size_t weft_profile_count(void)
{
    return sizeof(profiles) / sizeof(profiles[0]);
}

const weft_limits *weft_profile_at(size_t i)
{
    return i < weft_profile_count() ? &profiles[i] : NULL;
}

const weft_limits *weft_profile_find(const char *text)
{
    for (size_t i = 0; text && i < weft_profile_count(); i++)
        if (text_contains(profiles[i].name, text))
            return &profiles[i];
    return NULL;
}
