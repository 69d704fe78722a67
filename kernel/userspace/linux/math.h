/* SPDX-License-Identifier: GPL-2.0 */
#ifndef USERSPACE_LINUX_MATH_H
#define USERSPACE_LINUX_MATH_H

#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))

#endif
