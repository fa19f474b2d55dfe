# SPDX-License-Identifier: Apache-2.0
"""Times one peer, in a process of its own, as tools/peers says:

    peer_worker.py NAME PATTERNS THREADS [GPU]

The first line of standard output is {"version": ...} or {"missing": why}. Then each line of
standard input is a wish, and is answered: {"case": one of weft bench} by {} or {"why": ...};
{"calls": 10, "each": false} by {"ms": ...}, the time of 10 calls together, waited for once or each.
"""
import ctypes
import gc
import json
import os
import pathlib
import signal
import sys
import time
import warnings

import peer_libraries

PR_SET_PDEATHSIG = 1  # <sys/prctl.h>


class Worker:
    def __init__(self, peer):
        self.peer = peer
        self.call = None

    def prepare(self, case):
        """Runs it once: that may compile, and fail."""
        self.call = None  # what it holds is given back first
        gc.collect()
        try:
            call = self.peer.call_of(case)
            if call is None:
                return {"why": "it has no function for this"}
            call()
            self.peer.wait()
        except Exception as error:  # whatever a library raises where it does not support a case
            return {"why": (str(error).splitlines() or [repr(error)])[0]}
        self.call = call
        return {}

    def time(self, n_calls, waits_for_each):
        call, wait = self.call, self.peer.wait
        start = time.perf_counter()
        for _ in range(n_calls):
            call()
            if waits_for_each:
                wait()
        wait()
        return {"ms": 1e3 * (time.perf_counter() - start)}

    def answer(self, wish):
        if "case" in wish:
            return self.prepare(wish["case"])
        return self.time(wish["calls"], wish["each"])


def end_with_parent():
    """A stopped process does not see that nobody reads its answers."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main(name, patterns, n_threads, gpu=None):
    end_with_parent()
    # What libraries print is not an answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    warnings.simplefilter("ignore")

    def say(answer):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        peer = peer_libraries.PEERS[name](pathlib.Path(patterns), gpu, int(n_threads))
    except peer_libraries.Missing as missing:
        return say({"missing": str(missing)})
    say({"version": peer.version})
    worker = Worker(peer)
    gc.disable()
    for line in sys.stdin:
        say(worker.answer(json.loads(line)))
    return None


main(*sys.argv[1:])
