// SPDX-License-Identifier: GPL-2.0
/* Limits of tags: see pardispatch_depth.h. */
#include <linux/compiler.h>
#include <linux/math.h>
#include <linux/minmax.h>
#ifdef PD_OUT_OF_TREE
#include <linux/version.h>
#endif

#include "pardispatch_depth.h"

#ifdef PD_OUT_OF_TREE
/**
 * pd_depth_note_tags - record the layout of the tag bitmap
 * @depth: the limits
 * @hctx: a hardware queue whose tags were allocated or replaced; the bitmaps
 *	of all hardware queues of a device have the same layout
 */
void pd_depth_note_tags(struct pd_depth *depth,
			const struct blk_mq_hw_ctx *hctx)
{
	WRITE_ONCE(depth->word_shift, hctx->sched_tags->bitmap_tags.sb.shift);
}

/*
 * The shallow depth by which a request gets a tag only while fewer than @tags
 * of @nr_requests are taken. Since Linux 6.12.43 it is a number of tags, before
 * that a limit for each word of the bitmap.
 */
static unsigned int pd_shallow_depth(const struct pd_depth *depth, u32 tags,
				     unsigned long nr_requests)
{
	/* A queue that was shortened may have less than one word of tags. */
	const unsigned long word = min(1UL << READ_ONCE(depth->word_shift),
				       nr_requests);

	if (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 43))
		return tags;
	return DIV_ROUND_UP(tags * word, nr_requests);
}
#endif

/**
 * pd_depth_limit - limit the tags that a request may choose from
 * @depth: the limits
 * @opf: the request's operation and flags
 * @data: the allocation
 *
 * Synchronous reads may take all tags, so writes never keep them from the
 * scheduler. Synchronous writes may take @depth->async tags, asynchronous
 * requests three quarters of them. A task blocks on its first request without a
 * tag, so writing tasks share the tags, and a task with few requests waits for
 * few requests of other tasks.
 */
void pd_depth_limit(const struct pd_depth *depth, blk_opf_t opf,
		    struct blk_mq_alloc_data *data)
{
	u32 tags = READ_ONCE(depth->async);

	if (op_is_sync(opf) && !op_is_write(opf))
		return;
	if (!op_is_sync(opf))
		tags = max(1U, 3 * tags / 4);
#ifdef PD_OUT_OF_TREE
	/* @data has no hardware queue before Linux 6.1.105. */
	tags = pd_shallow_depth(depth, tags, data->q->nr_requests);
#endif
	data->shallow_depth = tags;
}
