# SPDX-License-Identifier: GPL-2.0
"""Where a request has waited, as blktrace saw it: for a tag, or in the scheduler, and behind how many others."""

import struct
from dataclasses import dataclass

# The head of an event in the kernel's linux/blktrace_api.h: magic number, sequence, nanoseconds, sector, bytes, action,
# process, device, processor, error, and how many bytes follow.
EVENT = struct.Struct("<IIQQIIIIIHH")
MAGIC = 0x65617407
SECTOR_BYTES = 512

# Actions; above them are categories, of which messages about the recording itself are one.
ACTION_BITS = 0xFFFF
NOTIFY = 1 << 26
QUEUED, TAGGED, ISSUED, INSERTED = 1, 4, 7, 12


@dataclass(frozen=True)
class Wait:
    """A request's way to the device."""

    # From the time that it was asked for until it had a tag. The block layer decides this.
    tag_ms: float
    # How many requests were issued between its insertion and its own issue. The scheduler decides this.
    overtaken: int


def events(recording: bytes):
    """Time in nanoseconds, action and sector of every event, in the recording's order."""
    at = 0
    while at < len(recording):
        magic, _, time_ns, sector, _, action, _, _, _, _, more = EVENT.unpack_from(recording, at)
        if magic != MAGIC:
            raise ValueError(f"at byte {at} there is {magic:#x} and no event of blktrace, {MAGIC:#x}")
        at += EVENT.size + more
        if not action & NOTIFY:
            yield time_ns, action & ACTION_BITS, sector


def waits(recording: bytes, from_byte: int) -> list[Wait]:
    """The waits of the requests at or above an address, of which there is one at a time."""
    found = []
    issued = queued_ns = tagged_ns = before = 0
    for time_ns, action, sector in events(recording):
        ours = sector >= from_byte // SECTOR_BYTES
        if ours and action == QUEUED:
            queued_ns = time_ns
        elif ours and action == TAGGED:
            tagged_ns = time_ns
        elif ours and action == INSERTED:
            before = issued
        elif action == ISSUED:
            if ours:
                found.append(Wait((tagged_ns - queued_ns) / 1e6, issued - before))
            issued += 1
    return found
