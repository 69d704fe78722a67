// SPDX-License-Identifier: GPL-2.0-only
#include "kyber-iosched.c"

int shim_register_kyber(void)
{
	return kyber_init();
}
