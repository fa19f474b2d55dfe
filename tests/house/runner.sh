#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# runner.sh SOURCE: the test runner and the counting of tests, over programs that end in every way.
set -eu
source_dir=$1
. "$source_dir/tests/house/tap.sh"

mkdir "$WEFT_TEST_DIR/project"
cd "$WEFT_TEST_DIR/project"

cat >program.sh <<'END'
case $1 in
passes) echo 1..2; echo ok 1 - a; echo ok 2 - b ;;
fails) echo 1..2; echo ok 1 - a; echo not ok 2 - b; exit 1 ;;
skips) echo 1..1; echo "not ok 1 # SKIP as cmocka says it" ;;
has-no-device) exit 77 ;;
crashes) echo 1..3; echo ok 1 - a; kill -SEGV $$ ;;
stops-early) echo 1..2; echo ok 1 - a ;;
says-nothing) ;;
hangs) echo ok 1 - a; sleep 60 ;;
has-two-plans) echo 1..1; echo ok 1 - a; echo 1..1; echo ok 1 - b; echo by the way ;;
ends-badly) echo 1..1; echo ok 1 - a; exit 3 ;;
esac
END

cat >meson.build <<END
project('ways-to-end')
foreach way : ['passes', 'fails', 'skips', 'has-no-device', 'crashes', 'stops-early',
               'says-nothing', 'hangs', 'has-two-plans', 'ends-badly']
    test(way, find_program('$source_dir/tests/run_on'),
        args: ['none', 'sh', meson.current_source_dir() / 'program.sh', way],
        env: ['WEFT_TEST_DIR=' + meson.current_build_dir() / way],
        protocol: 'tap', timeout: way == 'hangs' ? 5 : 60)
endforeach
END

{ meson setup build && meson test -C build; } >log 2>&1 || true
count=$("$source_dir/tools/count-tests" build/meson-logs/testlog) || status=$?

expected='9 passed, 6 failed, 2 skipped'
check "every end is counted" test "$(echo "$count" | tail -n 1)" = "$expected"
check "failures make the count fail" test "${status:-0}" = 1
for way in fails crashes stops-early says-nothing hangs ends-badly; do
    check "$way is named" sh -c "echo '$count' | grep -q 'failed: $way:'"
done

# On rusticl, what a signal ends is run once more.
cat >once.sh <<'END'
echo 1..1
[ -e "$1" ] || { : >"$1"; [ "$2" = told ] && echo "not ok 1 - a
# Test failed with exception: Segmentation fault(11)" && exit 1; kill -SEGV $$; }
echo ok 1 - b
END
on_rusticl() {
    WEFT_TEST_DIR="$WEFT_TEST_DIR/once" "$source_dir/tests/run_on" rusticl sh "$PWD/once.sh" "$@"
}
for way in told silent; do
    seen=$(on_rusticl "$PWD/marker-$way" "$way")
    case $seen in
    *SKIP*) skip "a program that a signal ends once ($way)" "rusticl is not installed" ;;
    *)
        check "a program that a signal ends once is run again ($way)" \
            test "$(echo "$seen" | grep -v '^#')" = 'ok 1 - b
1..1'
        ;;
    esac
done
seen=$(on_rusticl /nowhere/marker silent 2>&1)
case $seen in
*SKIP*) skip "a program that a signal ends always" "rusticl is not installed" ;;
*) check "a program that a signal ends always fails" sh -c "echo '$seen' | grep -q '^not ok'" ;;
esac

# On a device of the machine, its loader is as it was, and the device must be there.
cat >own.sh <<'END'
echo 1..1
[ "$WEFT_DEVICE, $OCL_ICD_VENDORS, $OPENCL_LAYERS" = 'mine, their-own, theirs' ] || printf 'not '
echo ok 1
END
on_device() {
    WEFT_DEVICE=mine OCL_ICD_VENDORS=their-own OPENCL_LAYERS=theirs WEFT_TEST_DIR="$WEFT_TEST_DIR/own" \
        "$source_dir/tests/run_on" device sh "$@"
}
check "the machine's own devices" test "$(on_device "$PWD/own.sh")" = 'ok 1
1..1'
check "a device that is not there fails" test "$(on_device "$PWD/program.sh" has-no-device)" = \
    'not ok 1 - there is a device mine
1..1'

# What must have run.
cat >enqueues.sh <<'END'
echo 1..1
echo ok 1
for line in "$@"; do echo "$line" >>"$WEFT_LAYER_ENQUEUED"; done
END
enqueues() {
    WEFT_TEST_ENQUEUED='-D SHUFFLES=2' WEFT_TEST_DIR="$WEFT_TEST_DIR/enqueues" \
        "$source_dir/tests/run_on" none sh "$PWD/enqueues.sh" "$@" | grep 'kernels'
}
check "kernels that ran are counted" test \
    "$(enqueues 'sum -D SHUFFLES=2' 'sum -D SHUFFLES=0' 'max -D A=1 -D SHUFFLES=2 ')" = \
    'ok 2 - kernels are built with -D SHUFFLES=2: 2 of 3 kernels'
check "kernels of another kind fail" test "$(enqueues 'sum -D SHUFFLES=1')" = \
    'not ok 2 - kernels are built with -D SHUFFLES=2: 0 of 1 kernels'
check "no kernels fail" test "$(enqueues)" = \
    'not ok 2 - kernels are built with -D SHUFFLES=2: 0 of 0 kernels'

rm build/meson-logs/testlog.json
check "a report that is missing fails" \
    sh -c "! '$source_dir/tools/count-tests' build/meson-logs/testlog"
check "nothing run is a failure" sh -c "! '$source_dir/tools/count-tests'"
finish
