// SPDX-License-Identifier: Apache-2.0
// Names that OpenCL's headers lack where they are of, or are asked for, version 1.2. weft asks for
// these numbers whatever a device's version is: one that does not know them answers with an error.
#ifndef WEFT_LIB_OCL_NAMES_H
#define WEFT_LIB_OCL_NAMES_H

#ifndef CL_VERSION_2_0
#define CL_INVALID_PIPE_SIZE    -69
#define CL_INVALID_DEVICE_QUEUE -70
#define CL_MEM_OBJECT_PIPE      0x10F7
#endif

#ifndef CL_VERSION_2_1
#define CL_DEVICE_MAX_NUM_SUB_GROUPS 0x105C
#endif

#ifndef CL_VERSION_2_2
#define CL_INVALID_SPEC_ID               -71
#define CL_MAX_SIZE_RESTRICTION_EXCEEDED -72
#endif

#ifndef CL_VERSION_3_0
#define CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE 0x1067
#endif

#endif
