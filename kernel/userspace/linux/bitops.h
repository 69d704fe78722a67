/* SPDX-License-Identifier: GPL-2.0 */
#ifndef USERSPACE_LINUX_BITOPS_H
#define USERSPACE_LINUX_BITOPS_H

#include <linux/types.h>

/* The index of the lowest bit that is set; @word is not zero. */
static inline int __ffs64(u64 word)
{
	return __builtin_ctzll(word);
}

#endif
