// SPDX-License-Identifier: GPL-2.0
/* Limits of tags: see pardispatch_depth.h. */
#include <linux/compiler.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/version.h>

#include "pardispatch_depth.h"

/**
 * pd_depth_note_tags - take note of how tags are stored
 * @depth: the limits
 * @hctx: a hardware queue that has got its tags, or others; all hardware
 *	queues of a device have bitmaps of the same form
 */
void pd_depth_note_tags(struct pd_depth *depth,
			const struct blk_mq_hw_ctx *hctx)
{
	WRITE_ONCE(depth->word_shift, hctx->sched_tags->bitmap_tags.sb.shift);
}

/*
 * What the block layer is told so that a request gets a tag only while fewer
 * than @tags of @nr_requests are taken. Since Linux 6.12.43 that is their
 * number, before it the limit of each word of the bitmap.
 */
static unsigned int pd_shallow_depth(const struct pd_depth *depth, u32 tags,
				     unsigned long nr_requests)
{
	/* A queue that was made shorter may not fill its first word. */
	const unsigned long word = min(1UL << READ_ONCE(depth->word_shift),
				       nr_requests);

	if (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 43))
		return tags;
	return DIV_ROUND_UP(tags * word, nr_requests);
}

/**
 * pd_depth_limit - limit the tags that a request may be given one of
 * @depth: the limits
 * @opf: the request's operation and flags
 * @data: what is known of the request; not its hardware queue, which Linux 6.1
 *	up to 6.1.104 chooses only afterwards
 *
 * Reads that a task waits for may take all tags, so that what is written does
 * not keep them from their turn; what no task waits for leaves a quarter of the
 * others. Who gets no tag waits with one request, however many it has to
 * submit: so tasks that write share the tags, and a task with few requests
 * waits for few of the others' requests.
 */
void pd_depth_limit(const struct pd_depth *depth, blk_opf_t opf,
		    struct blk_mq_alloc_data *data)
{
	u32 tags = READ_ONCE(depth->async);

	if (op_is_sync(opf) && !op_is_write(opf))
		return;
	if (!op_is_sync(opf))
		tags = max(1U, 3 * tags / 4);
	data->shallow_depth = pd_shallow_depth(depth, tags,
					       data->q->nr_requests);
}
