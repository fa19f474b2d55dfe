#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu-check.sh SOURCE BUILD: what tools/gpu-check reports of PoCL, with few tests and a short bench.
set -u
source_dir=$1 build=$2
. "$source_dir/tests/house/tap.sh"
cd "$WEFT_TEST_DIR" || exit 1

# A build with the real program and two tests: one knows on which device it is, one is yet to pass.
mkdir project python
cat >project/meson.build <<END
project('few-tests')
foreach name : ['told', 'summed']
    test(name + ' on the device', find_program('$source_dir/tests/run_on'),
        args: ['device', 'sh', meson.current_source_dir() / name + '.sh'],
        env: ['WEFT_DEVICE=' + get_option('device'),
              'WEFT_TEST_DIR=' + meson.current_build_dir() / name],
        suite: 'device', protocol: 'tap')
endforeach
test('elsewhere', find_program('false'))
END
echo "option('device', type: 'string', value: '')" >project/meson_options.txt
cat >project/told.sh <<'END'
[ "$WEFT_TEST_IMPLEMENTATION $WEFT_TEST_REDUCED" = 'device 1' ] || printf 'not '
echo "ok 1 - quick on $WEFT_DEVICE"
echo 'ok 2 # SKIP'
echo 1..2
END
cat >project/summed.sh <<'END'
echo 'not ok 1 - sums'
echo '# 3 is not 4'
echo 1..1
exit 1
END
meson setup build project >log 2>&1 || cat log
mkdir build/tools
ln -s "$build/tools/weft" build/tools/weft

# Whether the machine has PyTorch is not to matter: the one that is found first says what is wanted.
export PYTHONPATH="$PWD/python" PYTHONDONTWRITEBYTECODE=1
echo 'raise ModuleNotFoundError' >python/torch.py

gpu_check() {
    sh "$source_dir/tools/gpu-check" --build build --output report --self-test dcsr_to_csr "$@" \
        >said 2>&1
}

ends_with() {
    wanted=$1
    shift
    "$@"
    status=$?
    [ "$status" = "$wanted" ] || { echo "ends with $status" && cat said && false; }
}

# holds EXPRESSION: of the report's JSON.
holds() {
    python3 -c "import json; report = json.load(open('report/report.json')); assert ($1), report"
}

check "a failed test, and a bench that fails" \
    ends_with 1 gpu_check --device PoCL --quick --bench nothing
check "the failure is of that set" holds 'list(report["bench"]["failures"]) == ["nothing"]'
check "failures are no success" holds 'report["ok"] is False'
check "tests are counted" holds \
    '[report["tests"][its] for its in ("passed", "failed", "skipped")] == [1, 1, 1]'
check "tests know the device" grep -qx 'ok 1 - quick on PoCL' build/meson-logs/gpu-check.txt
check "the failed test is named" holds \
    'report["tests"]["failures"] == ["summed on the device: 1 - sums"]'
check "and told" grep -qx '    # 3 is not 4' report/report.txt
check "what the bench says is told" grep -q "'nothing' is none of limits," report/report.txt

echo 'echo ok 1 - sums; echo 1..1' >project/summed.sh
check "all is well" ends_with 0 gpu_check --device PoCL --quick --bench sddmm
check "no set failed" holds 'report["bench"]["failures"] == {}'
check "the self-test finds nothing" holds \
    'report["self_test"]["ok"] and [its["op"] for its in report["self_test"]["checks"]] ==
     ["dcsr_to_csr"]'
check "and says so" grep -qE '^1 of 1 right, 0 wrong, 0 failed, 0 skipped, in [0-9.]+ s$' \
    report/report.txt
check "all tests pass" holds 'report["ok"] and report["tests"]["failed"] == 0'
check "the device" holds \
    'report["device"]["limits"]["kind"] == "CPU" and "pocl" in report["device"]["vendor"]'
check "limits" holds 'all(report["bench"]["limits"][its + "_gbps"] > 0 for its in ("copy", "read"))'
check "cases with shares and plans" holds \
    'len(report["bench"]["cases"]) > 1 and
     all(its["share"] > 0 and its["plan"] for its in report["bench"]["cases"])'
check "no PyTorch" holds 'report["peers"]["missing"] == "PyTorch is not installed"'
check "the text" grep -qE '^sddmm-pruned-2048x512-s90-k128 .* GFLOP/s  +[0-9]+\.[0-9]+$' \
    report/report.txt
check "its width" prints_nothing grep -E '^.{101}' report/report.txt

# What PyTorch might have said of the first two cases: three times as long, and a refusal.
cat >compared.py <<'END'
import json
import gpu_check
import gpu_report

report = json.load(open("report/report.json"))
first, second = report["bench"]["cases"][:2]
report["peers"] = {"version": "2", "device": "a GPU", "sparse": "cuSPARSE", "cases": [
    {"case": first["case"], "op": "sddmm", "median_ms": 3 * first["median_ms"]},
    {"case": second["case"], "op": "sddmm", "why": "not for f32"}]}
gpu_check.add_ratios(report["bench"], report["peers"])
print(gpu_report.text_of(report))
END
PYTHONPATH="$source_dir/tools" python3 compared.py >compared
check "times against PyTorch's" grep -qE '^sddmm-pruned-2048x512-s90-k128 .* 3\.00$' compared
check "all of an operation" grep -qx \
    'sddmm: ratio 3.00 to 3.00, median 3.00; least for sddmm-pruned-2048x512-s90-k128' compared
check "what is not compared" grep -qx \
    'Not compared: not for f32: sddmm-pruned-2048x512-s90-k128-row_major.' compared

# Two pruned layers, of half zeros and of three quarters, with plans that help and without.
cat >files.py <<'END'
import gpu_check
import gpu_report

def cases(name, nnz, planned_ms):
    for planned, its in ((True, planned_ms), (False, 1.0)):
        yield {"case": name, "op": "spmm", "planned": planned, "m": 8, "k": 4, "nnz": nnz,
               "is_file": True, "median_ms": its}

bench = {"cases": [*cases("half", 16, 0.5), *cases("quarter", 8, 0.5), *cases("other", 8, 0.25)]}
peers = {"cases": [{"case": its, "op": "spmm", "median_ms": 2} for its in ("half", "quarter", "other")]}
gpu_check.add_ratios(bench, peers)
print("\n".join(gpu_report.about_files(peers)))
END
PYTHONPATH="$source_dir/tools" python3 files.py >files
check "files by zeros" grep -qE '^50% to 60% +1 +4\.00 +4\.00$' files
check "their geometric mean" grep -qE '^70% to 80% +2 +5\.66 +4\.00$' files
check "and without a plan" grep -qE '^all, no plan +3 +2\.00 +2\.00$' files

cat >python/torch.py <<'END'
class cuda:
    is_available = staticmethod(lambda: False)
__version__ = "2"
END
sees_no_gpu() {
    python3 "$source_dir/tools/gpu_peers.py" report/report.json . | grep -q 'PyTorch 2 sees no GPU'
}
check "PyTorch without a GPU" sees_no_gpu

mkdir -p data/0.5
printf '3, 4, 2\n0 1 1 2\n0 3\n' >data/0.5/tiny.smtx
rm -r report
check "a folder of files" ends_with 0 gpu_check --device PoCL --quick --bench spmm --data data
check "its matrices are measured" holds \
    '[its["planned"] for its in report["bench"]["cases"] if its.get("is_file")] == [True, False]'

rm -r report
check "no GPU" ends_with 1 gpu_check --quick
check "which devices there are" grep -q 'has a GPU. There are: Portable Computing Language: ' said

# A layer makes PoCL wrong.
layer=$build/tests/libwrong.so
on_a_wrong_device() {
    OPENCL_LAYERS="$layer" WEFT_LAYER_WRONG=none gpu_check --device PoCL --no-tests --bench nothing
}
if [ -e "$layer" ]; then
    check "a device that is wrong" ends_with 1 on_a_wrong_device
    check "the self-test finds it" holds \
        'not report["self_test"]["ok"] and report["self_test"]["wrong"] == 1 and
         not report["ok"]'
    check "and tells it" grep -qE '^ +difference: offsets of A \(8,\): element \(0,\) is ' \
        report/report.txt
    check "its width" prints_nothing grep -E '^.{101}' report/report.txt
    rm -r report
else
    skip "a device that is wrong" "there is no layer"
fi

# Without a name the first GPU is taken, here one that a layer makes of PoCL.
layer=$build/tests/libpretend.so
on_a_gpu() {
    OPENCL_LAYERS="$layer" WEFT_LAYER_DEVICE=nvidia gpu_check --quick --bench nothing
}
if [ -e "$layer" ]; then
    check "a GPU" ends_with 1 on_a_gpu
    check "it is the first" holds 'report["device"]["name"] == "nvidia"'
    check "tests are told its name" grep -qx 'ok 1 - quick on nvidia' build/meson-logs/gpu-check.txt
    rm -r report
else
    skip "a GPU" "there is no layer"
fi

check "no such device" ends_with 1 gpu_check --device 'no such device'
check "which are meant" grep -q 'named like "no such device"; there are: ' said
check "no report without a device" test ! -e report
check "wrong usage" ends_with 2 gpu_check --fast
check "no tests" ends_with 1 gpu_check --device PoCL --bench nothing --no-tests
check "why there are no tests" grep -qx 'not run    left out by --no-tests' report/report.txt
finish
