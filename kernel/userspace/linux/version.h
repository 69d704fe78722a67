/* SPDX-License-Identifier: GPL-2.0 */
/* LINUX_VERSION_CODE is defined by whoever compiles for a kernel. */
#ifndef USERSPACE_LINUX_VERSION_H
#define USERSPACE_LINUX_VERSION_H

#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))

#endif
