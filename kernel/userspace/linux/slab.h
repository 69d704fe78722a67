/* SPDX-License-Identifier: GPL-2.0 */
/* Memory that can be made to run out, for tests of that case. */
#ifndef USERSPACE_LINUX_SLAB_H
#define USERSPACE_LINUX_SLAB_H

#include <linux/types.h>

typedef unsigned int gfp_t;

#define GFP_KERNEL	0U
#define GFP_NOWAIT	1U
#define __GFP_NOWARN	2U
#define __GFP_NOMEMALLOC	4U

/* How many allocations succeed before all others fail; negative: all do. */
extern long allocations_left;

void *kzalloc(size_t size, gfp_t flags);
void kfree(const void *memory);

#endif
