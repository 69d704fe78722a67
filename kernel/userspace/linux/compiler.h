/* SPDX-License-Identifier: GPL-2.0 */
/* Stores that others may look at without a lock; in the tests nobody does. */
#ifndef USERSPACE_LINUX_COMPILER_H
#define USERSPACE_LINUX_COMPILER_H

#define WRITE_ONCE(x, value)	((x) = (value))

#endif
