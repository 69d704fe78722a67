/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's requests and flags, as far as the module uses them. */
#ifndef USERSPACE_LINUX_BLK_MQ_H
#define USERSPACE_LINUX_BLK_MQ_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

#define READ	0
#define WRITE	1

typedef u32 blk_opf_t;

#define REQ_OP_READ	0U
#define REQ_OP_WRITE	1U
#define REQ_SYNC	(1U << 11)

static inline bool op_is_write(blk_opf_t op)
{
	return op & REQ_OP_WRITE;
}

static inline bool op_is_sync(blk_opf_t op)
{
	return !op_is_write(op) || op & REQ_SYNC;
}

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
