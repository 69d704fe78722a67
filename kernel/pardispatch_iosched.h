/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of ParDispatcher for a queue, between the glue to the block layer
 * (pardispatch_iosched.c) and its files in sysfs and debugfs
 * (pardispatch_attrs.c).
 */
#ifndef PARDISPATCH_IOSCHED_H
#define PARDISPATCH_IOSCHED_H

#include <linux/bits.h>
#include <linux/blkdev.h>
#include <linux/blk-mq.h>
#include <linux/spinlock.h>

#ifdef PD_OUT_OF_TREE
#include "compat.h"
#endif
#include "elevator.h"
#include "blk-mq-debugfs.h"
#include "pardispatch_core.h"
#include "pardispatch_depth.h"

#define PD_SECTORS_PER_KB	2
#define PD_MIN_REGION_KB	1024ULL
#define PD_MAX_REGION_KB	BIT_ULL(40)

/* I/O priority classes, the most urgent first. */
enum pd_class { PD_RT, PD_BE, PD_IDLE, PD_CLASSES };

struct pd_data {
	/* Protects @classes, @dispatch and all counters but @completed. */
	spinlock_t lock;
	struct pd_core classes[PD_CLASSES];
	struct pd_tunables tunables;
	struct pd_stats stats;
	/*
	 * Requests that bypass the regions: inserted at the head, passthrough,
	 * or unsorted because a region could not be allocated. They are
	 * dispatched first, in this order.
	 */
	struct list_head dispatch;
	/* The request that the last merge enlarged. */
	struct request *grown;
	struct request_queue *queue;
	/* Whether the last request went before those of a higher class. */
	bool last_was_aged;
	u64 prio_aging_expire;
	struct pd_depth depth;

	/* Requests; pd_exit_sched() checks that they add up. */
	u64 inserted;
	u64 merged;
	u64 dispatched;
	u64 requeued;
	u64 unsorted;
	u64 aged;
	u64 __percpu *completed;
};

static inline struct pd_data *pd_of_queue(struct request_queue *q)
{
	return q->elevator->elevator_data;
}

u64 pd_completed(const struct pd_data *pd);

extern struct elv_fs_entry pd_attrs[];
#ifdef CONFIG_BLK_DEBUG_FS
extern const struct blk_mq_debugfs_attr pd_debugfs_attrs[];
#endif

#endif /* PARDISPATCH_IOSCHED_H */
