/* SPDX-License-Identifier: GPL-2.0 */
/* An allocator that can be made to fail. */
#ifndef USERSPACE_LINUX_SLAB_H
#define USERSPACE_LINUX_SLAB_H

#include <linux/types.h>

typedef unsigned int gfp_t;

#define GFP_KERNEL	0U
#define GFP_NOWAIT	1U
#define __GFP_NOWARN	2U
#define __GFP_NOMEMALLOC	4U

/* Allocations that succeed before all others fail; negative: none fails. */
extern long allocations_left;

void *kzalloc(size_t size, gfp_t flags);
void kfree(const void *memory);

#endif
