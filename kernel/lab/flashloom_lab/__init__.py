# SPDX-License-Identifier: GPL-2.0
"""The lab of the kernel module: Debian's kernels in QEMU, with what happens in them kept and judged."""
