// SPDX-License-Identifier: GPL-2.0-only
#include "elevator.c"

struct elevator_type *shim_elevator(const char *name)
{
	struct elevator_type *type;

	list_for_each_entry(type, &elv_list, list) {
		if (!strcmp(type->elevator_name, name))
			return type;
	}
	return NULL;
}
