#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# style.sh SOURCE: rules that a grep can check. Each prints the lines that break it.
set -u
source_dir=$1
. "$source_dir/tests/house/tap.sh"
cd "$source_dir" || exit 1

# All files of the tree, with and without Git; `files PATTERN` those that match.
find . -type d \( -name '.?*' -o -name 'build*' \) -prune -o -type f -print |
    sed 's|^\./||' | grep -v '^tests/data/' | sort >"$WEFT_TEST_DIR/tree"
files() {
    grep -E "$1" "$WEFT_TEST_DIR/tree"
}

# in_files PATTERN GREP_ARGUMENT ...: /dev/null makes grep name the file.
in_files() {
    pattern=$1
    shift
    files "$pattern" | xargs -r grep -n "$@" /dev/null
}

code='\.([ch]|cc|cl|clh|cmake|py|sh)$|^CMakeLists\.txt$|^tests/run_on$|^tools/(analyse|demo|check|fresh|gpu-check|intel-opencl|count-tests|peers|python)$|meson'
sources='\.([ch]|cc|cl|clh)$'

without_spdx() {
    files "$code" | while read -r file; do
        head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0$' || echo "$file"
    done
}

too_long() {
    files "$sources" | while read -r file; do
        [ "$(wc -l <"$file")" -le 700 ] || echo "$file"
    done
}

badly_formatted() {
    files '\.([ch]|cc)$' | xargs clang-format --dry-run 2>&1
}

check "every file names its licence" prints_nothing without_spdx
check "no tabs, no blanks at the end of a line" prints_nothing in_files "$code" -P '\t|\s$'
check "no line over 100 columns" prints_nothing in_files "$sources" -E '^.{101}'
check "no file over 700 lines" prints_nothing too_long
check "nothing left to do" prints_nothing in_files "$code" -wE 'TO''DO|FIX''ME|XX''X'

check "ocl.h is the one door to OpenCL in lib" \
    prints_nothing in_files '^lib/[a-z]*/([^o]|o[^c]|oc[^l]|ocl[^.]|ocl\.c)' -E '#include [<"]CL/'
check "os.h is the one door to the host in lib" prints_nothing in_files \
    '^lib/[a-z]*/([^oi]|o[^s]|os[^._]|i[^c]|icd[^_])' \
    -E '#include <(pthread|unistd|fcntl|dirent|dlfcn|windows|sys/.*)\.h>|_WIN32|__APPLE__|__linux|_POSIX_C_SOURCE'
check "sparse kernels find their group by stretches.clh" prints_nothing in_files \
    '^cl/[a-z]*/(csr|dcsr|queue|sddmm|n_tiles|sp)[a-z_]*\.clh?$' -E 'get_(group_id|num_groups)\([12]\)'
check "kernels wait by WAIT_FOR_ALL()" prints_nothing in_files '^cl/[a-z]*/([^t]|t[^y])' -E '\bbarrier\('
check "tools and examples use the public headers alone" \
    prints_nothing in_files '^(tools|examples)/.*\.[ch]$' -E '#include "(\.\.|lib)/'
check "the library is silent" \
    prints_nothing in_files '^lib/' -E '\b(printf|puts|fputs|putchar|perror)\([^)]|\b(stdout|stderr)\b'
check "nothing happens at exit" prints_nothing in_files '^lib/' -wE 'atexit|destructor'
check "no fast mathematics" \
    prints_nothing in_files '^(lib|cl)/' -E 'cl-(fast-relaxed|finite|unsafe)-math'

case $(clang-format --version 2>/dev/null) in
*' version 14.'*) check "clang-format changes nothing" prints_nothing badly_formatted ;;
*) skip "clang-format changes nothing" "there is no clang-format 14" ;;
esac
# From elsewhere, and before anything is installed.
describe_themselves() {
    for tool in demo check fresh gpu-check intel-opencl analyse peers python; do
        (cd / && "$source_dir/tools/$tool" --help) 2>&1 | grep -q "^    .*tools/$tool" ||
            echo "tools/$tool --help"
        said=$(cd / && "$source_dir/tools/$tool" --nix 2>&1)
        [ $? = 2 ] && [ "${said%; --help says what there is}" != "$said" ] ||
            echo "tools/$tool --nix: $said"
    done
}

check "tools say what they do, and refuse other options" prints_nothing describe_themselves

scripts=$(files '\.sh$|^tests/run_on$|^tools/(demo|check|fresh|gpu-check|intel-opencl|python)$')
if command -v shellcheck >/dev/null; then
    # shellcheck disable=SC2086 # a list of words
    check "shellcheck finds nothing" shellcheck -s sh -S warning -x -P SCRIPTDIR:"$source_dir" $scripts
else
    skip "shellcheck finds nothing" "there is no shellcheck"
fi
finish
