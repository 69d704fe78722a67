/* SPDX-License-Identifier: GPL-2.0 */
/* Lockless accesses; the tests have one thread, so these are plain ones. */
#ifndef USERSPACE_LINUX_COMPILER_H
#define USERSPACE_LINUX_COMPILER_H

#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, value)	((x) = (value))

#endif
