/* SPDX-License-Identifier: GPL-2.0 */
/* A clock that stands where the test puts it. */
#ifndef USERSPACE_LINUX_TIMEKEEPING_H
#define USERSPACE_LINUX_TIMEKEEPING_H

#include <linux/types.h>

/* Per thread, so that schedulers can be tested in parallel. */
extern _Thread_local u64 clock_ns;

static inline u64 ktime_get_ns(void)
{
	return clock_ns;
}

#endif
