#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fresh.sh SOURCE: what tools/fresh and tools/check say of themselves, and what tools/fresh refuses.
set -u
source_dir=$1
. "$source_dir/tests/house/tap.sh"

# has_help TOOL WORDS ...: wherever lines end.
has_help() {
    said=$(sh "$source_dir/tools/$1" --help | tr '\n' ' ')
    shift
    for words in "$@"; do
        case $said in *"$words"*) ;; *) echo "no word of: $words" && return 1 ;; esac
    done
}

check "tools/check says what it builds, how long it takes, and where" has_help check \
    'thread sanitizer' 'minutes on two cores' 'GB in build/'
check "tools/fresh says what it deletes, how long it takes, and that it is alone" has_help fresh \
    'deletes that Debian' 'all but build/ is deleted' 'hour on two cores' 'GB' 'is refused'

# As if one were made: whatever is wrong here, none is fetched.
export WEFT_FRESH_DIR="$WEFT_TEST_DIR/folder"
mkdir -p "$WEFT_FRESH_DIR/trixie/etc"
touch "$WEFT_FRESH_DIR/trixie/etc/weft-made-it"

second() {
    said=$(flock "$WEFT_FRESH_DIR/trixie.lock" sh "$source_dir/tools/fresh" trixie run true 2>&1)
    [ $? = 1 ] && [ "${said#*: another tools/fresh is at work in "$WEFT_FRESH_DIR/trixie": }" != "$said" ] ||
        { echo "$said" && return 1; }
    [ ! -e "$WEFT_FRESH_DIR/trixie/root" ] || { echo "it copied the tree" && return 1; }
}

refused="a second one in the same folder is refused, and touches nothing"
if [ "$(id -u)" = 0 ]; then
    check "$refused" second
else
    skip "$refused" "only root gets as far"
fi
finish
