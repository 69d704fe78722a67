/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's integer types, and container_of(). */
#ifndef USERSPACE_LINUX_TYPES_H
#define USERSPACE_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef uint64_t sector_t;

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

#endif
