# SPDX-License-Identifier: GPL-2.0
"""The lab of the kernel module: boots Debian's kernels in QEMU, keeps their output and evaluates it."""
