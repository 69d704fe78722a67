/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CORE_CHECK_H
#define CORE_CHECK_H

#include "pardispatch_core.h"

/*
 * Checks the invariants of all state of a scheduler. Returns the first rule
 * that is violated, or NULL; @waiting is the expected number of requests.
 */
const char *core_check(const struct pd_core *core, u64 waiting);

/* Inserts as the module does: a region that is missing is allocated. */
bool core_insert(struct pd_core *core, struct request *rq);

#endif
