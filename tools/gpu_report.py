# SPDX-License-Identifier: Apache-2.0
"""The report of tools/gpu-check for people: from the JSON to text, 100 columns wide."""
import statistics
import textwrap

WIDTH = 100


def wrapped(label, text):
    """A label of 10 columns, and the text behind it."""
    return textwrap.wrap(text, WIDTH, initial_indent=f"{label:<10} ", subsequent_indent=" " * 11,
                         break_on_hyphens=False)


def heading(text):
    return ["", text, "-" * len(text)]


def about(report):
    device, limits, machine = report["device"], report["device"]["limits"], report["machine"]
    title = f"weft on {device['name']}"
    rows = {
        "device": f"{device['name']}, {limits['kind']}",
        "platform": f"{device['platform']} ({device['vendor']})",
        "driver": f"{device['driver']}, {device['version']}",
        "plans from": f"warps of {limits['warp']}, groups of {limits['max_items']} items, "
                      f"{limits['compute_units']} compute units, "
                      f"{limits['local_bytes'] // 1024} KiB of local memory",
        "weft": report["weft"] + (f", commit {report['commit']}" if report["commit"] else ""),
        "machine": f"{machine['system']}, {machine['cores']} cores, Python {machine['python']}",
        "date": report["date"] + (", quick: few cases and few runs" if report["quick"] else ""),
    }
    return [title, "=" * len(title)] + [line for row in rows.items() for line in wrapped(*row)]


def about_self_test(found):
    lines = heading("Self-test")
    if "why" in found:
        return lines + wrapped("failed", found["why"])
    lines.append(f"{found['right']} of {found['right'] + found['wrong'] + found['failed']} right, "
                 f"{found['wrong']} wrong, {found['failed']} failed, {found['skipped']} skipped, "
                 f"in {found['seconds']:.1f} s")
    for check in found["checks"]:
        if check["verdict"] in ("ok", "skipped"):
            continue
        name = check["op"] + (f": {check['variant']}" if check["variant"] else "")
        lines += wrapped(check["verdict"], name)
        for key in ("case", "plan", "difference", "why"):
            if check.get(key):
                lines += wrapped("", f"{key}: {check[key]}")
    return lines


def about_tests(tests):
    lines = heading("Tests of the operations")
    if "why" in tests:
        return lines + wrapped("not run", tests["why"])
    counted = ("passed", "failed", "skipped")
    lines.append(", ".join(f"{tests[result]} {result}" for result in counted))
    for what in tests["failures"]:
        lines += wrapped("failed", what)
    for program, said in tests["explanations"].items():
        lines += ["", f"{program}:"] + [f"    {line}"[:WIDTH] for line in said]
    return lines


def speed_of(case):
    if "gflops" in case:
        return f"{case['gflops']:.1f} GFLOP/s"
    return f"{case['gbps']:.1f} GB/s" if "gbps" in case else ""


def share_of(case):
    if "share" in case:
        return f"{case['share']:.2f}"
    return f"{case['launches']:.1f} launches" if "launches" in case else ""


def name_of(case):
    return case["case"] + ("" if case.get("planned") is not False else ", no plan")


def table(head, rows):
    """Columns as wide as they must be: the first from the left, the others from the right."""
    widths = [max(len(row[i]) for row in [head] + rows) for i in range(len(head))]
    for row in [head] + rows:
        yield "  ".join([row[0].ljust(widths[0])] +
                        [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]).rstrip()


def about_bench(bench):
    lines = heading("Bench")
    for name, why in bench["failures"].items():
        lines += wrapped("failed", f"{name}: {why}")
    if "limits" not in bench:
        return lines
    limits = bench["limits"]
    lines.append(f"At best the device copies {limits['copy_gbps']:g} GB/s, reads "
                 f"{limits['read_gbps']:g} GB/s, and does {limits['fma_gflops']:g} GFLOP/s of "
                 "multiply-adds.")
    lines += textwrap.wrap("A share is relative to the limit of its case, copying, reading or "
                           "multiply-adds, which ran alternately with it. Times of small cases are "
                           "multiples of an empty launch.", WIDTH)
    if bench["cases"]:
        rows = [[name_of(case), f"{case['setup_ms']:.3g}", f"{case['median_ms']:.4g}",
                 speed_of(case), share_of(case)] for case in bench["cases"]]
        lines += [""] + list(table(["case", "set-up ms", "median ms", "speed", "share"], rows))
    if "sweep" in bench:
        sweep = bench["sweep"]
        lines += ["", f"{sweep['shapes']} random dense products: shares of {sweep['worst']:.2f} to "
                  f"{sweep['best']:.2f}, median {sweep['median']:.2f}; programs compiled for all: "
                  f"{sweep['programs']}."]
    for note in bench["notes"]:
        lines += wrapped("note", note)
    return lines


def about_peers(peers):
    lines = heading("Against PyTorch on the same machine")
    if "missing" in peers:
        return lines + textwrap.wrap(f"Not compared: {peers['missing']}.", WIDTH)
    lines += textwrap.wrap(
        f"PyTorch {peers['version']} on {peers['device']}; sparse products by "
        f"{peers['sparse']}. Sizes and non-zeros are the same; f32 is multiplied as f32, without "
        "TF32. The ratio is PyTorch's time divided by weft's: above 1 weft is faster.",
        WIDTH)
    rows = [[name_of(row), f"{row['weft_ms']:.4g}", f"{row['peer_ms']:.4g}", f"{row['ratio']:.2f}"]
            for row in peers["ratios"]]
    if rows:
        lines += [""] + list(table(["case", "weft ms", "PyTorch ms", "ratio"], rows)) + [""]
    for op in dict.fromkeys(row["op"] for row in peers["ratios"]):
        its = [row for row in peers["ratios"] if row["op"] == op]
        its.sort(key=lambda row: row["ratio"])
        middle = statistics.median(row["ratio"] for row in its)
        lines.append(f"{op}: ratio {its[0]['ratio']:.2f} to {its[-1]['ratio']:.2f}, "
                     f"median {middle:.2f}; least for {name_of(its[0])}")
    reasons = {}
    for case in peers["cases"]:
        if "why" in case:
            reasons.setdefault(case["why"], []).append(case["case"])
    for why, cases in reasons.items():
        lines += [""] + textwrap.wrap(f"Not compared: {why}: {', '.join(cases)}.", WIDTH,
                                      break_on_hyphens=False)
    return lines


def about_files(peers):
    """Products by the matrices of files, together for each share of zeros."""
    rows = [row for row in peers.get("ratios", []) if "zeros" in row]
    if not rows:
        return []
    lines = heading("SpMM of files, by the zeros of A") + textwrap.wrap(
        "Geometric means of PyTorch's time divided by weft's.", WIDTH)
    found = []
    for planned in (True, False):
        its = [row for row in rows if row["planned"] is planned]
        for label, chosen in [*by_zeros(its), ("all", its)] if its else []:
            ratios = [row["ratio"] for row in chosen]
            found.append([label + ("" if planned else ", no plan"), str(len(ratios)),
                          f"{statistics.geometric_mean(ratios):.2f}", f"{min(ratios):.2f}"])
    return lines + [""] + list(table(["zeros", "matrices", "mean", "least"], found))


def by_zeros(rows):
    """Pairs of a range's name and its rows, from few zeros to many; none is empty."""
    edges = [0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 1]
    margin = 0.005  # files of "90%" have a few more or less
    for low, high in zip(edges, edges[1:]):
        top = high - margin if high < 1 else 2
        chosen = [row for row in rows if low - margin <= row["zeros"] < top]
        if chosen:
            yield f"{low:.0%} to {high:.0%}", chosen


def about_plans(bench):
    if not bench["cases"]:
        return []
    lines = heading("Plans")
    for case in bench["cases"]:
        lines.append(name_of(case))
        lines += textwrap.wrap(case["plan"], WIDTH, initial_indent="    ", subsequent_indent="    ",
                               break_on_hyphens=False)
    return lines


def text_of(report):
    lines = (about(report) + about_self_test(report["self_test"]) + about_tests(report["tests"]) +
             about_bench(report["bench"]) + about_peers(report["peers"]) +
             about_files(report["peers"]) + about_plans(report["bench"]))
    return "\n".join(lines) + "\n"
