/* SPDX-License-Identifier: GPL-2.0 */
#ifndef USERSPACE_LINUX_MINMAX_H
#define USERSPACE_LINUX_MINMAX_H

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))

#endif
