// SPDX-License-Identifier: GPL-2.0-only
#include "mq-deadline.c"

int shim_register_deadline(void)
{
	return deadline_init();
}
