/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CORE_CHECK_H
#define CORE_CHECK_H

#include "pardispatch_core.h"

/*
 * Walks everything that a scheduler holds. Returns the rule that does not
 * hold, or NULL; @waiting is how many requests there should be.
 */
const char *core_check(const struct pd_core *core, u64 waiting);

#endif
