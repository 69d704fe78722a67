/* SPDX-License-Identifier: GPL-2.0 */
/* What others may look at without a lock; in the tests nobody does. */
#ifndef USERSPACE_LINUX_COMPILER_H
#define USERSPACE_LINUX_COMPILER_H

#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, value)	((x) = (value))

#endif
