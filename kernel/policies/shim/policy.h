/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A compiled scheduler as the simulator calls it: src/compiled.rs has the same
 * structures. Requests are numbers below the capacity; NONE is no request. All
 * times are nanoseconds since the start and never decrease.
 */
#ifndef SHIM_POLICY_H
#define SHIM_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#define NONE			UINT32_MAX
#define NEVER			UINT64_MAX

enum policy_op { POLICY_READ, POLICY_WRITE, POLICY_DISCARD };

struct policy_setup {
	uint32_t capacity;
	uint32_t queue_depth;
	/* Tags when the scheduler is selected, and those that it is given then. */
	uint32_t selected_tags, tags;
	uint32_t max_sectors;
	uint64_t device_sectors;
	/* What random numbers begin with; with 0 all of them are 0. */
	uint64_t seed;
	/* Processors, hardware queues, and the hardware queue of each processor. */
	uint32_t processors, queues;
	const uint32_t *queue_of;
};

struct policy_request {
	uint64_t sector;
	uint32_t sectors;
	uint32_t task;
	/* The one that the task runs on. */
	uint32_t processor;
	uint32_t op;
	/* Class and level as Linux numbers them. */
	uint16_t ioprio;
	bool is_sync, is_fua, is_preflush;
	/* Whether it merges with nothing. */
	bool is_alone;
};

/* How a request that came was merged. */
struct policy_merge {
	/* The request that it became part of; NONE if it was not merged. */
	uint32_t into;
	bool is_front;
};

/* Two requests that were joined: the second is gone. */
struct policy_join {
	uint32_t kept, gone;
};

struct policy;

struct policy_calls {
	struct policy *(*new)(const char *scheduler, const struct policy_setup *setup);
	void (*free)(struct policy *policy);
	/* Attributes in sysfs: 0, or an error of Linux below 0. */
	int (*store)(struct policy *policy, const char *attribute, const char *text);
	int (*show)(struct policy *policy, const char *attribute, char *text);
	struct policy_merge (*merge)(struct policy *policy, uint64_t now, const struct policy_request *request);
	/* Inserts a list of one task's requests, of so many ids, and writes the deadline of each, or NEVER. */
	void (*insert)(struct policy *policy, uint64_t now, uint32_t length, const uint32_t *ids,
		       const struct policy_request *requests, uint64_t *deadlines);
	/* The next of the joins that the last merge or insertion made; `gone` is NONE after the last. */
	struct policy_join (*take_join)(struct policy *policy);
	/* The next request for a hardware queue. */
	uint32_t (*dispatch)(struct policy *policy, uint64_t now, uint32_t queue);
	bool (*has_work)(struct policy *policy, uint32_t queue);
	/* When the next timer is due that may change what is dispatched, or NEVER. */
	uint64_t (*next_timer)(struct policy *policy);
	/* A request has completed that was sent to the device at `started`. */
	void (*complete)(struct policy *policy, uint64_t now, uint32_t id, uint64_t started);
	uint64_t (*requeue)(struct policy *policy, uint64_t now, uint32_t id);
	/* Tags below which such a request gets one. */
	uint32_t (*tags)(struct policy *policy, uint64_t now, const struct policy_request *request);
	/* Requests that the scheduler holds, and those that it has given and that have not completed. */
	void (*count)(struct policy *policy, uint32_t *queued, uint32_t *started);
};

#endif
