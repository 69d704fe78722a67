/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits on the scheduler tags of asynchronous requests and writes.
 *
 * A file of its own so that it also compiles in userspace.
 */
#ifndef PARDISPATCH_DEPTH_H
#define PARDISPATCH_DEPTH_H

#include <linux/blk-mq.h>
#include <linux/types.h>

#include "blk-mq.h"

struct pd_depth {
	/* Tags a hardware queue gives to anything but synchronous reads. */
	u32 async;
#ifdef PD_OUT_OF_TREE
	/* log2 of the tags in a word of a hardware queue's tag bitmap. */
	u32 word_shift;
#endif
};

#ifdef PD_OUT_OF_TREE
void pd_depth_note_tags(struct pd_depth *depth,
			const struct blk_mq_hw_ctx *hctx);
#endif
void pd_depth_limit(const struct pd_depth *depth, blk_opf_t opf,
		    struct blk_mq_alloc_data *data);

#endif /* PARDISPATCH_DEPTH_H */
