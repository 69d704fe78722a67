// SPDX-License-Identifier: GPL-2.0
/* Userspace implementations of kernel functions: trees, memory and time. */
#include <stdlib.h>

#include <linux/rbtree.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

long allocations_left = -1;
_Thread_local u64 clock_ns;

void *kzalloc(size_t size, gfp_t flags)
{
	(void)flags;
	if (!allocations_left)
		return NULL;
	if (allocations_left > 0)
		allocations_left--;
	return calloc(1, size);
}

void kfree(const void *memory)
{
	free((void *)memory);
}

/* Marsaglia's xorshift: the same trees in every run. */
static u32 next_priority(void)
{
	/* Per thread, so that schedulers can be tested in parallel. */
	static _Thread_local u32 state = 2463534242u;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

/* Puts @with, which may be NULL, in the place of @node. */
static void replace_child(struct rb_root *root, struct rb_node *node,
			  struct rb_node *with)
{
	struct rb_node *parent = node->parent;

	if (!parent)
		root->rb_node = with;
	else if (parent->rb_left == node)
		parent->rb_left = with;
	else
		parent->rb_right = with;
	if (with)
		with->parent = parent;
}

/* Rotates a node above its parent; the order stays. */
static void rotate_up(struct rb_root *root, struct rb_node *node)
{
	struct rb_node *parent = node->parent;
	struct rb_node *inner;

	replace_child(root, parent, node);
	if (parent->rb_left == node) {
		inner = node->rb_right;
		parent->rb_left = inner;
		node->rb_right = parent;
	} else {
		inner = node->rb_left;
		parent->rb_right = inner;
		node->rb_left = parent;
	}
	if (inner)
		inner->parent = parent;
	parent->parent = node;
}

void rb_insert_color_cached(struct rb_node *node, struct rb_root_cached *tree,
			    bool leftmost)
{
	if (leftmost)
		tree->rb_leftmost = node;
	node->priority = next_priority();
	while (node->parent && node->parent->priority < node->priority)
		rotate_up(&tree->rb_root, node);
}

void rb_erase_cached(struct rb_node *node, struct rb_root_cached *tree)
{
	if (tree->rb_leftmost == node)
		tree->rb_leftmost = rb_next(node);
	while (node->rb_left && node->rb_right) {
		bool left = node->rb_left->priority > node->rb_right->priority;

		rotate_up(&tree->rb_root,
			  left ? node->rb_left : node->rb_right);
	}
	replace_child(&tree->rb_root, node,
		      node->rb_left ? node->rb_left : node->rb_right);
}

struct rb_node *rb_next(const struct rb_node *node)
{
	if (node->rb_right) {
		node = node->rb_right;
		while (node->rb_left)
			node = node->rb_left;
		return (struct rb_node *)node;
	}
	while (node->parent && node->parent->rb_right == node)
		node = node->parent;
	return node->parent;
}

struct rb_node *rb_prev(const struct rb_node *node)
{
	if (node->rb_left) {
		node = node->rb_left;
		while (node->rb_right)
			node = node->rb_right;
		return (struct rb_node *)node;
	}
	while (node->parent && node->parent->rb_left == node)
		node = node->parent;
	return node->parent;
}
