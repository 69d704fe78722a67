# SPDX-License-Identifier: GPL-2.0
"""The waits of requests in a blktrace recording: for a tag, and in the scheduler behind how many other requests."""

import struct
from dataclasses import dataclass

# The head of an event in the kernel's linux/blktrace_api.h: magic number, sequence, nanoseconds, sector, bytes, action,
# process, device, processor, error, and how many bytes follow.
EVENT = struct.Struct("<IIQQIIIIIHH")
MAGIC = 0x65617407
SECTOR_BYTES = 512

# Actions, in the low bits; the high bits are categories, such as messages about the recording itself.
ACTION_BITS = 0xFFFF
NOTIFY = 1 << 26
QUEUED, TAGGED, ISSUED, INSERTED = 1, 4, 7, 12


@dataclass(frozen=True)
class Wait:
    """The waits of a request on its way to the device."""

    # Nanoseconds from the request for a tag until it was given; decided by the block layer.
    tag_ms: float
    # Other requests issued between its insertion and its issue; decided by the scheduler.
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
    """The waits of the requests at or above an address; at most one of them is outstanding at a time."""
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
