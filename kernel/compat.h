/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The names of Linux 6.18 on Linux 6.1 and 6.12, and the kernels that the module
 * compiles for; operations of a scheduler that had other arguments are in
 * pardispatch_iosched.c. The block layer's private headers come from the kernel's
 * source. Only for the module out of the kernel's tree.
 */
#ifndef PARDISPATCH_COMPAT_H
#define PARDISPATCH_COMPAT_H

#include <linux/blk-mq.h>
#include <linux/types.h>
#include <linux/version.h>

#include "tested_kernels.h"

#ifndef CONFIG_64BIT
#error "pardispatcher keeps deadlines in nanoseconds, for which a long is too short here"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)

typedef bool blk_insert_t;

#define BLK_MQ_INSERT_AT_HEAD	true

/* prepare_request() was called, and finish_request() will be. */
#define RQF_USE_SCHED		RQF_ELVPRIV

#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)

/* Since 6.14 a frozen queue also keeps the task from allocating with I/O. */
#define blk_mq_freeze_queue(q)			({ blk_mq_freeze_queue(q); 0U; })
#define blk_mq_unfreeze_queue(q, memflags)	\
	({ (void)(memflags); blk_mq_unfreeze_queue(q); })

#endif

#endif /* PARDISPATCH_COMPAT_H */
