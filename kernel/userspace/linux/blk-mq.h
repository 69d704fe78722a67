/* SPDX-License-Identifier: GPL-2.0 */
/* A request, with the fields of the kernel's that the core uses. */
#ifndef USERSPACE_LINUX_BLK_MQ_H
#define USERSPACE_LINUX_BLK_MQ_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

#define READ	0
#define WRITE	1

struct request {
	struct list_head queuelist;
	struct rb_node rb_node;
	u64 fifo_time;
	struct {
		void *priv[2];
	} elv;
	sector_t sector;
	u32 sectors;
	int direction;
};

static inline sector_t blk_rq_pos(const struct request *rq)
{
	return rq->sector;
}

static inline int rq_data_dir(const struct request *rq)
{
	return rq->direction;
}

#endif
