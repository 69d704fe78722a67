/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's tree interface over a treap: the caller links a node at a leaf,
 * and rotations by random priorities keep the tree balanced.
 */
#ifndef USERSPACE_LINUX_RBTREE_H
#define USERSPACE_LINUX_RBTREE_H

#include <linux/types.h>

struct rb_node {
	/* The node itself while it is in no tree. */
	struct rb_node *parent;
	struct rb_node *rb_left;
	struct rb_node *rb_right;
	u32 priority;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct rb_root_cached {
	struct rb_root rb_root;
	struct rb_node *rb_leftmost;
};

#define RB_ROOT_CACHED		((struct rb_root_cached) { 0 })
#define RB_EMPTY_NODE(node)	((node)->parent == (node))
#define RB_CLEAR_NODE(node)	((void)((node)->parent = (node)))

#define rb_entry_safe(ptr, type, member) ({				\
	struct rb_node *__node = (ptr);					\
	__node ? container_of(__node, type, member) : NULL;		\
})

static inline struct rb_node *rb_first_cached(const struct rb_root_cached *tree)
{
	return tree->rb_leftmost;
}

static inline void rb_link_node(struct rb_node *node, struct rb_node *parent,
				struct rb_node **link)
{
	node->parent = parent;
	node->rb_left = NULL;
	node->rb_right = NULL;
	*link = node;
}

void rb_insert_color_cached(struct rb_node *node, struct rb_root_cached *tree,
			    bool leftmost);
void rb_erase_cached(struct rb_node *node, struct rb_root_cached *tree);
struct rb_node *rb_next(const struct rb_node *node);
struct rb_node *rb_prev(const struct rb_node *node);

#endif
