/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between Linux 6.1 and 6.12, under one name each. The block
 * layer's private headers come from the kernel's source.
 */
#ifndef PARDISPATCH_COMPAT_H
#define PARDISPATCH_COMPAT_H

#include <linux/version.h>

#include "tested_kernels.h"

#include "elevator.h"
#include "blk.h"
#include "blk-mq.h"
#include "blk-mq-debugfs.h"
#include "blk-mq-sched.h"

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)

#define pd_insert_t		blk_insert_t
#define PD_AT_HEAD(flags)	((flags) & BLK_MQ_INSERT_AT_HEAD)

/* prepare_request() was called, and finish_request() will be. */
#define PD_RQF_PREPARED		RQF_USE_SCHED

#else

#define pd_insert_t		bool
#define PD_AT_HEAD(flags)	(flags)

#define PD_RQF_PREPARED		RQF_ELVPRIV

#endif

#endif /* PARDISPATCH_COMPAT_H */
