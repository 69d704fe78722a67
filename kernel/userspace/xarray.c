// SPDX-License-Identifier: GPL-2.0
/* A userspace implementation of XArrays: see linux/xarray.h. */
#include <stdlib.h>
#include <string.h>

#include <linux/xarray.h>

void xa_init(struct xarray *xa)
{
	*xa = (struct xarray) { 0 };
}

void xa_destroy(struct xarray *xa)
{
	free(xa->slots);
	xa_init(xa);
}

/* The place of an index, or that before which it belongs. */
static size_t place_of(const struct xarray *xa, unsigned long index)
{
	size_t low = 0, high = xa->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (xa->slots[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct xa_slot *slot_of(const struct xarray *xa, unsigned long index)
{
	size_t at = place_of(xa, index);

	if (at < xa->count && xa->slots[at].index == index)
		return &xa->slots[at];
	return NULL;
}

/* The slot of an index, made if there is none; NULL without memory. */
static struct xa_slot *make_slot(struct xarray *xa, unsigned long index)
{
	struct xa_slot *slot = slot_of(xa, index);
	size_t at = place_of(xa, index);

	if (slot)
		return slot;
	/* The array's own memory counts as one allocation a slot. */
	if (!allocations_left)
		return NULL;
	if (allocations_left > 0)
		allocations_left--;
	if (xa->count == xa->room) {
		xa->room = 2 * xa->room + 8;
		xa->slots = realloc(xa->slots, xa->room * sizeof(*slot));
		if (!xa->slots)
			abort();
	}
	slot = &xa->slots[at];
	memmove(slot + 1, slot, (xa->count++ - at) * sizeof(*slot));
	*slot = (struct xa_slot) { .index = index };
	return slot;
}

void *xa_load(struct xarray *xa, unsigned long index)
{
	const struct xa_slot *slot = slot_of(xa, index);

	return slot ? slot->entry : NULL;
}

void *xa_store(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp)
{
	struct xa_slot *slot = make_slot(xa, index);
	void *before;

	(void)gfp;
	if (!slot)
		return XA_NO_MEMORY;
	before = slot->entry;
	slot->entry = entry;
	return before;
}

void *xa_erase(struct xarray *xa, unsigned long index)
{
	struct xa_slot *slot = slot_of(xa, index);
	void *before;

	if (!slot)
		return NULL;
	before = slot->entry;
	memmove(slot, slot + 1,
		(xa->slots + --xa->count - slot) * sizeof(*slot));
	return before;
}

int xa_reserve(struct xarray *xa, unsigned long index, gfp_t gfp)
{
	(void)gfp;
	return make_slot(xa, index) ? 0 : -1;
}

void xa_release(struct xarray *xa, unsigned long index)
{
	if (!xa_load(xa, index))
		xa_erase(xa, index);
}

static void mark(struct xarray *xa, unsigned long index, bool marked)
{
	struct xa_slot *slot = slot_of(xa, index);

	if (slot)
		slot->marked = marked;
}

void xa_set_mark(struct xarray *xa, unsigned long index, xa_mark_t which)
{
	(void)which;
	mark(xa, index, true);
}

void xa_clear_mark(struct xarray *xa, unsigned long index, xa_mark_t which)
{
	(void)which;
	mark(xa, index, false);
}

void *xa_find(struct xarray *xa, unsigned long *index, unsigned long most,
	      xa_mark_t which)
{
	(void)which;
	for (size_t at = place_of(xa, *index); at < xa->count; at++) {
		const struct xa_slot *slot = &xa->slots[at];

		if (slot->index > most)
			break;
		if (slot->entry && slot->marked) {
			*index = slot->index;
			return slot->entry;
		}
	}
	return NULL;
}

void *xa_find_after(struct xarray *xa, unsigned long *index,
		    unsigned long most, xa_mark_t which)
{
	unsigned long after = *index + 1;
	void *entry = after ? xa_find(xa, &after, most, which) : NULL;

	if (entry)
		*index = after;
	return entry;
}
