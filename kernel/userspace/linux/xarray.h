/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's XArray with one mark, as far as the core uses it: an array
 * sorted by index. A reserved place is an entry without a pointer.
 */
#ifndef USERSPACE_LINUX_XARRAY_H
#define USERSPACE_LINUX_XARRAY_H

#include <linux/slab.h>
#include <linux/types.h>

struct xa_slot {
	unsigned long index;
	void *entry;
	bool marked;
};

struct xarray {
	struct xa_slot *slots;
	size_t count;
	size_t room;
};

typedef enum { XA_MARK_0 } xa_mark_t;

void xa_init(struct xarray *xa);
void xa_destroy(struct xarray *xa);
void *xa_load(struct xarray *xa, unsigned long index);
void *xa_store(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp);
void *xa_erase(struct xarray *xa, unsigned long index);
int xa_reserve(struct xarray *xa, unsigned long index, gfp_t gfp);
void xa_release(struct xarray *xa, unsigned long index);
void xa_set_mark(struct xarray *xa, unsigned long index, xa_mark_t mark);
void xa_clear_mark(struct xarray *xa, unsigned long index, xa_mark_t mark);
void *xa_find(struct xarray *xa, unsigned long *index, unsigned long most,
	      xa_mark_t mark);
void *xa_find_after(struct xarray *xa, unsigned long *index,
		    unsigned long most, xa_mark_t mark);

/* What xa_store() returns without memory. */
#define XA_NO_MEMORY	((void *)-1)

static inline int xa_err(const void *entry)
{
	return entry == XA_NO_MEMORY ? -1 : 0;
}

#endif
