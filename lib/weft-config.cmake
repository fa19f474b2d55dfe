# SPDX-License-Identifier: Apache-2.0
# find_package(weft) ends here, and says what finds it.
set(weft_FOUND FALSE)
set(weft_NOT_FOUND_MESSAGE
    "weft has no CMake package. Its pkg-config file is found by find_package(PkgConfig REQUIRED) and \
pkg_check_modules(weft REQUIRED IMPORTED_TARGET weft); link PkgConfig::weft then.")
