// SPDX-License-Identifier: GPL-2.0-only
#include "bfq-iosched.c"

int shim_register_bfq(void)
{
	return bfq_init();
}
