/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What Linux 6.1 and 6.12 do differently, under one name each. The headers of
 * the block layer that are private to it come from the kernel's source.
 */
#ifndef PARDISPATCH_COMPAT_H
#define PARDISPATCH_COMPAT_H

#include <linux/version.h>

#define PD_FROM(major, minor, first) \
	(LINUX_VERSION_CODE >= KERNEL_VERSION(major, minor, first))
#define PD_UP_TO(major, minor, last) \
	(LINUX_VERSION_CODE <= KERNEL_VERSION(major, minor, last))

#if !(PD_FROM(6, 1, 0) && PD_UP_TO(6, 1, 255)) && \
	!(PD_FROM(6, 12, 0) && PD_UP_TO(6, 12, 255))
#error "pardispatcher knows the block layers of Linux 6.1 and 6.12 alone"
#endif

/* The first and the last point release that every test has run on. */
#if !defined(PD_UNTESTED) && \
	!(PD_FROM(6, 1, 170) && PD_UP_TO(6, 1, 192)) && \
	!(PD_FROM(6, 12, 107) && PD_UP_TO(6, 12, 117))
#error "pardispatcher was not tested on this point release: README.md has the range, and UNTESTED=1 builds all the same"
#endif

#include "elevator.h"
#include "blk.h"
#include "blk-mq.h"
#include "blk-mq-debugfs.h"
#include "blk-mq-sched.h"

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)

#define pd_insert_t		blk_insert_t
#define PD_AT_HEAD(flags)	((flags) & BLK_MQ_INSERT_AT_HEAD)

/* The request went through prepare_request() and will through the end. */
#define PD_RQF_PREPARED		RQF_USE_SCHED

#else

#define pd_insert_t		bool
#define PD_AT_HEAD(flags)	(flags)

#define PD_RQF_PREPARED		RQF_ELVPRIV

#endif

#endif /* PARDISPATCH_COMPAT_H */
