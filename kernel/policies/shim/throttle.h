/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's write-back throttling as the judge calls it: src/throttle.rs has
 * the same structures. Requests are numbers below the capacity. All times are
 * nanoseconds since the start, above 0, and never decrease.
 */
#ifndef SHIM_THROTTLE_H
#define SHIM_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

struct throttle_setup {
	uint32_t capacity;
	uint32_t depth;
	uint64_t latency_ns;
	bool has_volatile_cache, is_held_up;
};

struct throttle_request {
	uint32_t op;
	bool is_sync, is_direct, is_background;
};

/* What the kernel holds: tokens of writes and discards, limits and step. */
struct throttle_state {
	uint32_t writes, discards;
	uint32_t most, normal, background;
	int32_t step;
	uint64_t window_ns;
};

struct throttle;

struct throttle_calls {
	struct throttle *(*new)(const struct throttle_setup *setup);
	void (*free)(struct throttle *throttle);
	/* Submits a request, whose task may fall asleep. */
	void (*submit)(struct throttle *throttle, uint64_t now, uint32_t id, const struct throttle_request *request);
	/* Time passes. */
	void (*pass)(struct throttle *throttle, uint64_t now);
	/* The next request that was let in since it was last asked, in order; NONE after the last. */
	uint32_t (*let_in)(struct throttle *throttle);
	void (*issue)(struct throttle *throttle, uint64_t now, uint32_t id);
	void (*requeue)(struct throttle *throttle, uint64_t now, uint32_t id);
	/* A request has completed, or became part of another one. */
	void (*complete)(struct throttle *throttle, uint64_t now, uint32_t id, bool is_joined);
	struct throttle_state (*state)(struct throttle *throttle);
};

#endif
