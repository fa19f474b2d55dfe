# SPDX-License-Identifier: Apache-2.0
"""The time that a launch needs at least, by bytes, instructions and latency.

    time = overhead + max(memory, cache, arithmetic, issue, latency)

    memory      bytes of the operands / bandwidth of the memory, or of the last cache if it holds
                them
    cache       bytes that all items load / rate at which caches deliver them
    arithmetic  of dense products: operations / the data sheet's rate
    issue       instructions of the busiest compute unit / the rate at which it issues them; not
                known of a dense product whose hot loop has one in it that multiplies
    latency     by Little's law: a warp waits for memory once for each batch of loads in flight, and
                as many warps as are resident wait at the same time

docs/performance.md says how the constants were found, and how far times are off.
"""
import math
import typing

# Fitted to the kernels measured on an H200 (tests/vendors/calibrate.py), and used for all devices.
OVERHEAD_US = 7.7
LATENCY_US = 0.6
MEMORY_SHARE = 0.88    # of the data sheet's bandwidth
CACHE_BYTES = 0.42     # that caches deliver, for each multiply-add on the data sheet
ISSUE_SHARE = 0.74     # of the rate of multiply-adds on the data sheet


class Device(typing.NamedTuple):
    gbps: float            # 0: not known
    gflops: float          # 0: not known
    cache_bytes: int
    units: int             # that warps are resident on

    def memory_rate(self, n_bytes):
        """Bytes in a nanosecond of operands of so many bytes in all; 0: not known."""
        fits = n_bytes <= self.cache_bytes
        return self.cache_rate() if fits else MEMORY_SHARE * self.gbps

    def cache_rate(self):
        return CACHE_BYTES * self.gflops / 2

    def issue_rate(self, lanes):
        """Instructions of warps of so many lanes that a unit issues in a microsecond."""
        return ISSUE_SHARE * self.gflops * 1e3 / 2 / lanes / self.units


class Launch(typing.NamedTuple):
    groups: int
    warps: int             # of a group
    lanes: int             # of a warp
    resident: int          # warps, on a unit
    share: float           # of the entries and bytes of the call
    bytes: float           # of the operands of the call
    operations: float      # of the launch, if it is a dense product; NaN: not counted


class Times(typing.NamedTuple):
    """Microseconds; NaN: not known."""
    memory: float
    cache: float
    arithmetic: float
    issue: float
    latency: float

    def total(self):
        return OVERHEAD_US + max((each for each in self if not math.isnan(each)), default=0)

    def bound(self):
        known = {name: each for name, each in self._asdict().items() if not math.isnan(each)}
        most = max(known, key=known.get, default="")
        return most if known and known[most] > OVERHEAD_US else "overhead"


UNKNOWN = Times(*[math.nan] * 5)


def memory_us(device, launch):
    rate = device.memory_rate(launch.bytes)
    return launch.share * launch.bytes / rate / 1e3 if rate else math.nan


def turns_of(loop, launch):
    """Of each item."""
    items = launch.groups * launch.warps * launch.lanes
    return launch.share * loop.total / loop.entries / items


def warps_of_unit(device, launch):
    """Of the busiest one."""
    return math.ceil(launch.groups / device.units) * launch.warps


def arithmetic_us(device, launch):
    if not device.gflops:
        return math.nan
    return launch.operations / device.gflops / 1e3


def issue_us(device, launch, loop):
    if not device.gflops or not loop.is_all:
        return math.nan
    n = loop.overhead + turns_of(loop, launch) * loop.turn.instructions
    return warps_of_unit(device, launch) * n / device.issue_rate(launch.lanes)


def latency_us(device, launch, loop):
    """A warp waits once at its start, once for each loop around that loads, and once for each batch
    of loads in flight."""
    n_warps = warps_of_unit(device, launch)
    batches = math.ceil(loop.n_loads / max(1, loop.turn.in_flight))
    waits = 1 + loop.n_around + turns_of(loop, launch) * batches
    return n_warps / min(launch.resident, n_warps) * waits * LATENCY_US


def loaded_us(device, launch, loop):
    if not device.gflops:
        return math.nan
    turns = launch.share * loop.total / loop.entries
    return turns * loop.turn.load_bytes / device.cache_rate() / 1e3


def times(device, launch, loop):
    """Of a launch whose time goes into this loop; of one without entries by bytes alone."""
    memory = memory_us(device, launch)
    if not loop.total or not loop.entries or launch.resident <= 0:
        return UNKNOWN._replace(memory=memory)
    return Times(memory, loaded_us(device, launch, loop), arithmetic_us(device, launch),
                 issue_us(device, launch, loop), latency_us(device, launch, loop))
