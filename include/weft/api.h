// SPDX-License-Identifier: Apache-2.0
// Marks exported functions, and has the library's version.
#ifndef WEFT_API_H
#define WEFT_API_H

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

// WEFT_IS_COMPILED is defined where the library itself is compiled.
#if defined(_WIN32) && defined(WEFT_IS_COMPILED)
#define WEFT_API __declspec(dllexport)
#elif defined(_WIN32)
#define WEFT_API
#elif defined(__GNUC__) || defined(__clang__)
#define WEFT_API __attribute__((visibility("default")))
#else
#define WEFT_API
#endif

// The headers are for C++ too.
#ifdef __cplusplus
#define WEFT_BEGIN extern "C" {
#define WEFT_END   }
#else
#define WEFT_BEGIN
#define WEFT_END
#endif

WEFT_BEGIN

// "0.1.0", of the library that is linked (the macros above are of the header that was compiled).
WEFT_API const char *weft_version(void);

WEFT_END

#endif
