/* SPDX-License-Identifier: GPL-2.0 */
#ifndef USERSPACE_LINUX_LIMITS_H
#define USERSPACE_LINUX_LIMITS_H

#define ULONG_MAX	(~0UL)

#endif
