/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernels that the module compiles for: private parts of the block layer
 * change with every version and with some point releases. build-module has the
 * same ranges and refuses earlier; README.md lists them.
 */
#ifndef TESTED_KERNELS_H
#define TESTED_KERNELS_H

#include <linux/version.h>

#define PD_FROM(major, minor, first) \
	(LINUX_VERSION_CODE >= KERNEL_VERSION(major, minor, first))
#define PD_UP_TO(major, minor, last) \
	(LINUX_VERSION_CODE <= KERNEL_VERSION(major, minor, last))

#if !(PD_FROM(6, 1, 0) && PD_UP_TO(6, 1, 255)) && \
	!(PD_FROM(6, 12, 0) && PD_UP_TO(6, 12, 255)) && \
	!(PD_FROM(6, 18, 0) && PD_UP_TO(6, 18, 255))
#error "pardispatcher knows the block layers of Linux 6.1, 6.12 and 6.18 alone"
#endif

/* The first and the last point release that every test has run on. */
#if !defined(PD_UNTESTED) && \
	!(PD_FROM(6, 1, 176) && PD_UP_TO(6, 1, 192)) && \
	!(PD_FROM(6, 12, 107) && PD_UP_TO(6, 12, 117)) && \
	!(PD_FROM(6, 18, 0) && PD_UP_TO(6, 18, 35))
#error "pardispatcher was not tested on this point release (README.md has the range); UNTESTED=1 builds it all the same"
#endif

#endif /* TESTED_KERNELS_H */
