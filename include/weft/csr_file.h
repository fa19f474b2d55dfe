// SPDX-License-Identifier: Apache-2.0
// A CSR in a binary file, which is mapped and not parsed: opening takes no time whatever its size,
// and rows that nobody asks for are not read.
//
// All numbers are little-endian. A header of 128 bytes, then three sections:
//
//   byte   0  8 bytes  0x93 'W' 'E' 'F' 'T' 'C' 'S' 'R'
//          8  u32      version: 1
//         12  u32      data type of the offsets: 6 is i32, 7 is i64
//         16  u32      data type of the indices: 5 is i16, 6 is i32
//         20  u32      data type of the values: 1 is f32, 2 f64, 3 f16, 4 bf16
//         24  i64      rows
//         32  i64      columns
//         40  i64      entries
//         48  i64      where the offsets begin, in bytes from the start of the file
//         56  i64      where the indices begin
//         64  i64      where the values begin
//         72  i64      bytes of the file
//         80           zeros up to byte 128
//
// Data types are the numbers of weft_dtype. Sections are arrays as in weft_csr_host, in this order
// and without overlap; each begins at a multiple of 128. weft_csr_file_write() begins them at
// multiples of 4096, so that each can be mapped by itself, and fills gaps with zeros.
#ifndef WEFT_CSR_FILE_H
#define WEFT_CSR_FILE_H

#include <weft/csr.h>

WEFT_BEGIN

typedef struct weft_csr_file weft_csr_file;

// Maps the file and checks its header: every number of it, that the sections are within the file,
// and the first and the last offset. The rest is as trustworthy as the file: weft_csr_host_check()
// checks it, of all rows or of a part.
//
// Fails: WEFT_BAD_ARGUMENT for a NULL, or with the system's reason for a file that cannot be opened
// and mapped; WEFT_BAD_DATA names the number of the header that is wrong; as weft_csr_host_check()
// for sizes that do not go with their types; WEFT_UNSUPPORTED on a big-endian host, and for
// another version; WEFT_NO_MEMORY.
WEFT_API weft_status weft_csr_file_open(weft_csr_file **out, const char *path);

// Unmaps it. Sets *file to NULL; accepts NULL and a NULL handle.
WEFT_API void weft_csr_file_close(weft_csr_file **file);

// The matrix in the mapping, good until the file is closed. Its arrays may only be read, and are
// not freed: the struct is not destroyed. weft_csr_host_split() reads some offsets of it alone, and
// weft_csr_host_rows() the part that it copies; weft_csr_create() takes it as it is. A file that is
// cut short while it is mapped ends the process when what is missing is read (SIGBUS).
WEFT_API const weft_csr_host *weft_csr_file_matrix(const weft_csr_file *file);

// The same of a file's bytes in memory, which begin at a multiple of 8 and stay the caller's.
// Fails, with *out zeroed, as above.
WEFT_API weft_status weft_csr_file_view(weft_csr_host *out, const void *bytes, size_t size);

// Writes the matrix, under a name of its own beside `path` and renamed at the end: after a failure
// an earlier file is as it was. Fails: WEFT_BAD_ARGUMENT for a NULL, or with the system's reason,
// also if `path` exists and is no regular file; as weft_csr_host_check() for a matrix that is not
// WEFT_CSR_SOUND; WEFT_UNSUPPORTED on a big-endian host; WEFT_NO_MEMORY.
WEFT_API weft_status weft_csr_file_write(const char *path, const weft_csr_host *host);

// Thread-safety: any thread; several may read one open file.

WEFT_END

#endif
