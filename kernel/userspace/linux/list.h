/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's circular doubly linked lists, as far as the core uses them. */
#ifndef USERSPACE_LINUX_LIST_H
#define USERSPACE_LINUX_LIST_H

#include <linux/types.h>

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void list_add(struct list_head *entry, struct list_head *after)
{
	entry->prev = after;
	entry->next = after->next;
	after->next->prev = entry;
	after->next = entry;
}

static inline void list_add_tail(struct list_head *entry,
				 struct list_head *head)
{
	list_add(entry, head->prev);
}

static inline void list_del_init(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	INIT_LIST_HEAD(entry);
}

static inline void list_move(struct list_head *entry, struct list_head *after)
{
	list_del_init(entry);
	list_add(entry, after);
}

#define list_entry(ptr, type, member) container_of(ptr, type, member)

#define list_first_entry(head, type, member) \
	list_entry((head)->next, type, member)

#define list_first_entry_or_null(head, type, member) \
	(list_empty(head) ? NULL : list_entry((head)->next, type, member))

#define list_for_each_entry(at, head, member)				\
	for (at = list_entry((head)->next, typeof(*at), member);	\
	     &at->member != (head);					\
	     at = list_entry(at->member.next, typeof(*at), member))

#define list_for_each_entry_safe(at, after, head, member)		\
	for (at = list_entry((head)->next, typeof(*at), member),	\
	     after = list_entry(at->member.next, typeof(*at), member);	\
	     &at->member != (head);					\
	     at = after,						\
	     after = list_entry(after->member.next, typeof(*at), member))

#endif
