/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How many tags what is not read by a waiting task may take.
 *
 * Apart from the rest of the glue so that it also compiles in userspace, where
 * it is tested for kernels that the lab cannot boot.
 */
#ifndef PARDISPATCH_DEPTH_H
#define PARDISPATCH_DEPTH_H

#include <linux/blk-mq.h>
#include <linux/types.h>

#include "blk-mq.h"

struct pd_depth {
	/* Tags of a hardware queue that may go to anything but such reads. */
	u32 async;
	/* The bitmap of a hardware queue's tags has 2^this of them in a word. */
	u32 word_shift;
};

void pd_depth_note_tags(struct pd_depth *depth,
			const struct blk_mq_hw_ctx *hctx);
void pd_depth_limit(const struct pd_depth *depth, blk_opf_t opf,
		    struct blk_mq_alloc_data *data);

#endif /* PARDISPATCH_DEPTH_H */
