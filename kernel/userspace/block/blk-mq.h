/* SPDX-License-Identifier: GPL-2.0 */
/* The part of the block layer's private header that the tag limits use. */
#ifndef USERSPACE_BLOCK_BLK_MQ_H
#define USERSPACE_BLOCK_BLK_MQ_H

#include <linux/blk-mq.h>

struct request_queue {
	unsigned long nr_requests;
};

struct blk_mq_tags {
	struct {
		struct {
			unsigned int shift;
		} sb;
	} bitmap_tags;
};

struct blk_mq_hw_ctx {
	struct request_queue *queue;
	struct blk_mq_tags *sched_tags;
};

struct blk_mq_alloc_data {
	struct request_queue *q;
	unsigned int shallow_depth;
	struct blk_mq_hw_ctx *hctx;
};

#endif
