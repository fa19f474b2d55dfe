#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# headers.sh SOURCE CC [CXX]: each public header compiles alone, as C11 and as C++11, and all macros
# as C++17 and C++20, without a warning.
set -u
source_dir=$1 cc=$2 cxx=${3:-}
. "$source_dir/tests/house/tap.sh"

warnings='-Wall -Wextra -Wpedantic -Wshadow -Werror'

# compile LANGUAGE FILE COMPILER: nothing is written. CC and CXX may hold several words.
compile() {
    $3 -x "${1%[0-9][0-9]}" -std="$1" $warnings -fsyntax-only -I"$source_dir/include" "$2"
}

as_c() {
    check "$1 as C11" compile c11 "$2" "$cc"
}

as_cpp() {
    if [ -n "$cxx" ]; then
        check "$1 as C++11" compile c++11 "$2" "$cxx"
    else
        skip "$1 as C++11" "there is no C++ compiler"
    fi
}

for header in "$source_dir"/include/weft/*.h; do
    name=$(basename "$header" .h)
    printf '#include <weft/%s.h>\n#include <weft/%s.h>\n' "$name" "$name" >"$WEFT_TEST_DIR/$name.inc"
    as_c "$name.h" "$WEFT_TEST_DIR/$name.inc"
    as_cpp "$name.h" "$WEFT_TEST_DIR/$name.inc"
done

# What formulas may say, and what nothing in them may be called: the library's tables are in the
# manual.
not_in_the_manual() {
    sed -n '/^\/\/ A formula is an expression/,/^\/\/ A text has/p' \
        "$source_dir/include/weft/elementwise.h" | tr -cs 'A-Za-z0-9_' '\n' | sort -u >manual.txt
    sed -nE -e 's/^    [A-Z_]+\("([a-z0-9_]+)".*/\1/p' -e 's/^    \{"([A-Z0-9_]+)", .*/\1/p' \
        -e '/ reserved\[\] = /,/^\};/{/"/{s/[",]/ /g;p;}}' \
        "$source_dir/lib/formula/expression_function.c" | tr -s ' ' '\n' | grep . | sort -u >tables.txt
    [ "$(wc -l <tables.txt)" -gt 170 ] || cat tables.txt
    comm -23 tables.txt manual.txt
}
cd "$WEFT_TEST_DIR" || exit 1
check "all names of formulas are in the manual" prints_nothing not_in_the_manual

# The macros that fill in a struct, in C and, each of them, in C++; tests/house/install.sh runs them.
cat >"$WEFT_TEST_DIR/use_c.inc" <<'END'
#include <weft/weft.h>
weft_status use(weft_context *ctx, cl_command_queue queue, const weft_csr *A, cl_mem memory);
weft_status use(weft_context *ctx, cl_command_queue queue, const weft_csr *A, cl_mem memory)
{
    const weft_tensor B = weft_matrix(memory, WEFT_F32, 3, 4), C = weft_matrix(memory, WEFT_F32, 3, 4);
    cl_event event;
    return weft_spmm(ctx, queue, 1, A, &B, 0, &C, WEFT_SPMM(.event = &event));
}
END
as_c "a call of weft_spmm()" "$WEFT_TEST_DIR/use_c.inc"

# Whose macros begin with WEFT_ and take arguments, but for those that others are made of.
macros() {
    cat "$source_dir"/include/weft/*.h | sed -n 's/^#define \(WEFT_[A-Z_]*\)(.*/\1/p' |
        grep -vxE 'WEFT_(POINTER|ARRAY|COUNT|PARAMS)' | sort -u
}
not_in_cpp() {
    [ -n "$(macros)" ] || echo "no macro was found"
    macros | while read -r macro; do
        grep -qF "$macro(" "$source_dir/tests/house/params.cc" || echo "$macro"
    done
}
check "params.cc has every macro" prints_nothing not_in_cpp

for compiler in g++ clang++; do
    for standard in 17 20; do
        if command -v "$compiler" >/dev/null; then
            check "every macro as C++$standard by $compiler" compile c++"$standard" \
                "$source_dir/tests/house/params.cc" "$compiler -Wold-style-cast"
        else
            skip "every macro as C++$standard by $compiler" "there is no $compiler"
        fi
    done
done
finish
