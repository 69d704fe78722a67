// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the tag limits, for the kernel that LINUX_VERSION_CODE names. The
 * hardware queue of an allocation is NULL, as on Linux 6.1 up to 6.1.104; the
 * sanitizers report a use of it.
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/version.h>

#include "pardispatch_depth.h"

#define UNLIMITED	0U

/* Whether the block layer limits each word of the bitmap, not the whole. */
#define BY_WORD		(LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 43))

struct device {
	struct request_queue queue;
	struct blk_mq_tags tags;
	struct blk_mq_hw_ctx hctx;
	struct pd_depth depth;
};

static void begin(struct device *device, u32 nr_requests, u32 shift, u32 async)
{
	*device = (struct device) {
		.queue.nr_requests = nr_requests,
		.tags.bitmap_tags.sb.shift = shift,
		.depth.async = async,
	};
	device->hctx.queue = &device->queue;
	device->hctx.sched_tags = &device->tags;
	pd_depth_note_tags(&device->depth, &device->hctx);
}

static void expect(const struct device *device, blk_opf_t opf,
		   unsigned int of_word, unsigned int of_all, int line)
{
	struct blk_mq_alloc_data data = {
		.q = (struct request_queue *)&device->queue,
		.shallow_depth = UNLIMITED,
		.hctx = NULL,
	};
	const unsigned int expected = BY_WORD ? of_word : of_all;

	pd_depth_limit(&device->depth, opf, &data);
	if (data.shallow_depth != expected) {
		fprintf(stderr, "%s:%d: the limit is %u, not %u\n", __FILE__,
			line, data.shallow_depth, expected);
		exit(1);
	}
}

#define EXPECT(opf, of_word, of_all) \
	expect(&device, opf, of_word, of_all, __LINE__)

int main(void)
{
	struct device device;

	/* 256 tags in four words. Reads are not limited. */
	begin(&device, 256, 6, 256);
	EXPECT(REQ_OP_READ, UNLIMITED, UNLIMITED);
	EXPECT(REQ_OP_WRITE | REQ_SYNC, 64, 256);
	/* Asynchronous writes leave a quarter. */
	EXPECT(REQ_OP_WRITE, 48, 192);

	/* 8 of 256: two of each word. */
	begin(&device, 256, 6, 8);
	EXPECT(REQ_OP_WRITE | REQ_SYNC, 2, 8);
	EXPECT(REQ_OP_WRITE, 2, 6);

	/* Never less than one, or no write would be dispatched. */
	begin(&device, 256, 6, 1);
	EXPECT(REQ_OP_WRITE | REQ_SYNC, 1, 1);
	EXPECT(REQ_OP_WRITE, 1, 1);

	/* The queue is shortened to less than a word of its bitmap. */
	begin(&device, 16, 6, 8);
	EXPECT(REQ_OP_WRITE | REQ_SYNC, 8, 8);

	/* Then lengthened, with a new bitmap. */
	device.queue.nr_requests = 32;
	device.tags.bitmap_tags.sb.shift = 3;
	pd_depth_note_tags(&device.depth, &device.hctx);
	EXPECT(REQ_OP_WRITE | REQ_SYNC, 2, 8);

	printf("limits of tags %s: they need no hardware queue\n",
	       BY_WORD ? "by the word" : "of all words");
	return 0;
}
