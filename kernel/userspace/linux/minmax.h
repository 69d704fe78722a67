/* SPDX-License-Identifier: GPL-2.0 */
#ifndef USERSPACE_LINUX_MINMAX_H
#define USERSPACE_LINUX_MINMAX_H

#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))

#define swap(a, b)			\
	do {				\
		__typeof__(a) was = (a);	\
		(a) = (b);		\
		(b) = was;		\
	} while (0)

#endif
