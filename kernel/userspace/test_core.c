// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the core: one per rule, and random operations against a naive model
 * that searches one array for every decision. Built with the sanitizers for
 * addresses, undefined behaviour and leaks.
 *
 *	test_core [SEED [RUNS]]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/slab.h>

#include "core_check.h"

#define R	2048		/* sectors of a region in these tests */
#define MANY	64		/* requests at most */

static struct pd_core core;
static struct request requests[MANY];
static u64 now;
static u64 waiting;

/* The seed of the current random run, for messages; 0 in other tests. */
static unsigned int seed;

#define FAIL(format, ...) do {						\
	fprintf(stderr, "%s:%d: %s (seed %u): " format "\n", __FILE__,	\
		__LINE__, __func__, seed, __VA_ARGS__);			\
	exit(1);							\
} while (0)

#define EXPECT(rule) do {						\
	if (!(rule))							\
		FAIL("it does not hold that %s", #rule);		\
} while (0)

static void check(void)
{
	const char *broken = core_check(&core, waiting);

	if (broken)
		FAIL("the core breaks the rule %s", broken);
}

static void begin(u32 reads, u32 writes)
{
	const struct pd_tunables tunables = {
		.batch = { reads, writes },
		.expire = { 500, 5000 },
		.front_merges = true,
	};

	now = 0;
	waiting = 0;
	for (int i = 0; i < MANY; i++) {
		requests[i] = (struct request) { 0 };
		RB_CLEAR_NODE(&requests[i].rb_node);
	}
	EXPECT(pd_init(&core, R, &tunables) == 0);
}

/* As in the module, which takes its lock between the first two calls. */
static int set_region_sectors(u64 region_sectors)
{
	struct pd_map map;
	int ret = pd_map_init(&map);

	if (ret)
		return ret;
	ret = pd_set_region_sectors(&core, region_sectors, &map);
	pd_map_free(&map);
	return ret;
}

static struct request *unused(void)
{
	for (int i = 0; i < MANY; i++)
		if (!pd_holds(&requests[i]))
			return &requests[i];
	return NULL;
}

static int try_add(int direction, sector_t sector)
{
	struct request *rq = unused();
	int err;

	EXPECT(rq);
	rq->direction = direction;
	rq->sector = sector;
	rq->sectors = 8;
	err = pd_insert(&core, rq, now);
	waiting += !err;
	check();
	return err;
}

static struct request *add(int direction, sector_t sector)
{
	EXPECT(try_add(direction, sector) == 0);
	for (int i = 0; i < MANY; i++)
		if (pd_holds(&requests[i]) && requests[i].sector == sector &&
		    requests[i].direction == direction)
			return &requests[i];
	return NULL;
}

/* Dispatches a request; returns its first sector, or -1 if there is none. */
static long long serve(void)
{
	struct request *rq = pd_dispatch(&core, now);

	if (!rq)
		return -1;
	waiting--;
	EXPECT(!pd_holds(rq) && list_empty(&rq->queuelist));
	check();
	return rq->sector;
}

static void serves(int count, const long long *sectors)
{
	for (int i = 0; i < count; i++) {
		long long sector = serve();

		if (sector != sectors[i])
			FAIL("dispatch %d is at %lld, not %lld", i, sector,
			     sectors[i]);
	}
}

#define SERVES(...) serves(sizeof((long long[]) { __VA_ARGS__ }) /	\
			   sizeof(long long), (long long[]) { __VA_ARGS__ })

static void regions_take_turns_in_address_order_and_round_the_end(void)
{
	begin(2, 1);
	for (int i = 0; i < 3; i++)
		add(READ, 5 * R + 20 * i);
	add(READ, 9 * R);
	for (int i = 0; i < 3; i++)
		add(READ, R + 20 * i);
	SERVES(R, R + 20, 5 * R, 5 * R + 20, 9 * R, R + 40, 5 * R + 40, -1);
	EXPECT(core.stats.turns == 5 && core.stats.region_switches == 4);
	pd_exit(&core);
}

static void turns_of_a_region_alternate_and_the_first_is_of_reads(void)
{
	begin(2, 1);
	for (int i = 0; i < 3; i++) {
		add(WRITE, 100 + 100 * i);
		add(READ, 150 + 100 * i);
	}
	SERVES(150, 250, 100, 350, 200, 300, -1);
	EXPECT(core.stats.direction_switches == 3);
	pd_exit(&core);
}

static void the_earliest_expired_goes_first_but_in_every_second_turn(void)
{
	begin(1, 1);
	for (int i = 9; i > 6; i--)
		add(READ, i * R);
	now = 500;
	add(READ, R);
	add(READ, 2 * R);
	EXPECT(serve() == R);	/* at its deadline nothing has expired yet */
	now = 501;
	SERVES(9 * R, 2 * R, 8 * R, 7 * R);
	EXPECT(core.stats.expired_turns == 2 && core.stats.expired == 3);
	EXPECT(core.stats.wait[READ].count == 5);
	EXPECT(core.stats.wait[READ].max == 501);
	EXPECT(core.stats.wait[READ].total == 3 * 501 + 1);
	pd_exit(&core);
}

static void every_region_of_a_large_map_is_found(void)
{
	static const u32 regions[] = {
		0, 63, 64, 4095, 4096, 262143, 262144, PD_MAX_REGIONS - 1,
	};

	begin(1, 1);
	for (int i = 7; i >= 0; i--)
		add(READ, (u64)regions[i] * R);
	for (int i = 0; i < 8; i++)
		EXPECT(serve() == (long long)regions[i] * R);
	pd_exit(&core);
}

static void what_lies_beyond_the_most_regions_belongs_to_the_last(void)
{
	begin(8, 8);
	add(READ, ((u64)PD_MAX_REGIONS + 77) * R);
	add(READ, ((u64)PD_MAX_REGIONS - 1) * R);
	SERVES(((long long)PD_MAX_REGIONS - 1) * R,
	       ((long long)PD_MAX_REGIONS + 77) * R);
	EXPECT(core.stats.turns == 1);
	pd_exit(&core);
}

static void a_changed_region_size_sorts_anew_and_keeps_deadlines(void)
{
	begin(1, 1);
	add(READ, 3 * R);
	now = 400;
	add(READ, 100);
	add(READ, R);
	add(WRITE, R);
	EXPECT(set_region_sectors(16 * R) == 0);
	check();
	SERVES(100);
	now = 501;
	SERVES(3 * R);
	EXPECT(set_region_sectors(8) == 0);
	check();
	SERVES(R, R, -1);
	pd_exit(&core);
}

static void without_memory_nothing_is_lost_and_nothing_changes(void)
{
	begin(1, 1);
	add(READ, R);
	for (long left = 0; left < PD_LEVELS; left++) {
		/* The first leaves no node; the second may be allocated. */
		const u64 unused_part = 64ULL * 64 * 64 * R * (left ?: 1);

		allocations_left = left;
		EXPECT(try_add(READ, unused_part) == -ENOMEM);
		EXPECT(try_add(READ, R + left) == 0);
		allocations_left = left;
		EXPECT(set_region_sectors(8) == -ENOMEM);
		check();
		EXPECT(core.region_sectors == R);
	}
	allocations_left = -1;
	SERVES(R, R, R + 1, R + 2, R + 3, -1);
	pd_exit(&core);
	allocations_left = 0;
	EXPECT(pd_init(&core, R, &core.tunables) == -ENOMEM);
	allocations_left = -1;
}

static void front_merge_candidates_begin_at_the_end_if_they_are_wanted(void)
{
	struct request *rq;

	begin(1, 1);
	rq = add(READ, 100);
	EXPECT(pd_front_merge_candidate(&core, 100, READ) == rq);
	EXPECT(!pd_front_merge_candidate(&core, 100, WRITE));
	EXPECT(!pd_front_merge_candidate(&core, 99, READ));
	EXPECT(!pd_front_merge_candidate(&core, 5ULL << 40, READ));
	core.tunables.front_merges = false;
	EXPECT(!pd_front_merge_candidate(&core, 100, READ));
	SERVES(100);
	pd_exit(&core);
}

static void a_request_that_absorbs_takes_the_place_of_the_older(void)
{
	struct request *older, *kept;

	begin(1, 1);
	older = add(READ, 7 * R + 8);
	now = 1;
	add(READ, 9 * R);
	kept = add(READ, 7 * R);
	pd_absorb(kept, older);
	waiting--;
	check();
	EXPECT(kept->fifo_time == 500 && !pd_holds(older));
	now = 501;
	SERVES(7 * R, 9 * R, -1);
	pd_exit(&core);
}

static void what_two_sweeps_join_goes_with_the_one_under_way(void)
{
	struct request *current, *next;

	for (int kept_is_current = 0; kept_is_current <= 1; kept_is_current++) {
		begin(16, 16);
		add(WRITE, 0);
		current = add(WRITE, 64 + 8 * !kept_is_current);
		add(WRITE, 512);
		SERVES(0);
		add(WRITE, 32);
		next = add(WRITE, 64 + 8 * kept_is_current);
		if (kept_is_current)
			pd_absorb(current, next);
		else
			pd_absorb(next, current);
		waiting--;
		check();
		SERVES(64, 512, 32, -1);
		pd_exit(&core);
	}
}

/* Serves while a stream gets a new request for each one dispatched. */
static int served_before(long long sector, int stream)
{
	for (int served = 0; served < 100; served++) {
		if (serve() == sector)
			return served;
		add(WRITE, 16 * (stream + served));
	}
	FAIL("%lld is never served", sector);
}

static void a_request_above_a_stream_goes_in_the_sweep_after_it_came(void)
{
	for (int scan = PD_SCAN_LOWEST; scan <= PD_SCAN_CONTINUE; scan++) {
		begin(16, 2);
		core.tunables.scan = scan;
		for (int i = 0; i < 8; i++)
			add(WRITE, 16 * i);
		SERVES(0, 16, 32);
		add(WRITE, R - 8);
		/* Five remain in that sweep; this is the next one's last. */
		EXPECT(served_before(R - 8, 8) == 5 + 5);
		while (serve() >= 0)
			;
		pd_exit(&core);
	}
}

static void a_turn_begins_at_the_lowest_of_the_sweep_or_goes_on(void)
{
	for (int scan = PD_SCAN_LOWEST; scan <= PD_SCAN_CONTINUE; scan++) {
		begin(2, 1);
		core.tunables.scan = scan;
		add(READ, 300);
		add(READ, 400);
		SERVES(300, 400);
		add(READ, 500);
		add(READ, 100);
		if (scan == PD_SCAN_LOWEST)
			SERVES(100, 500, -1);
		else
			SERVES(500, 100, -1);
		pd_exit(&core);
	}
}

static void what_arrives_ahead_of_a_turn_waits_for_the_next_sweep(void)
{
	begin(4, 1);
	for (int i = 1; i < 4; i++)
		add(READ, 100 * i);
	SERVES(100, 200);
	add(READ, 250);
	add(READ, 50);
	EXPECT(pd_front_merge_candidate(&core, 250, READ));
	EXPECT(pd_front_merge_candidate(&core, 300, READ));
	SERVES(300, 50, 250, -1);
	pd_exit(&core);
}

/* The naive model: every decision searches all queued requests. */
struct memory {
	bool turn;
	u64 turn_region, from;
	int direction;
	u32 sent;
	long long last_of_round;
	bool was_expired;
	int last_direction[8];
	u64 age[MANY], order[MANY], events;
	/* In the current sweep: it arrived before that began. */
	bool in_sweep[MANY];
	u64 stopped_at[8][2];
};

static u64 region_of(const struct request *rq)
{
	return rq->sector / R;
}

/* Whether a request is of the turn's region and direction. */
static bool of_turn(const struct memory *memory, const struct request *rq)
{
	return pd_holds(rq) && rq->direction == memory->direction &&
	       region_of(rq) == memory->turn_region;
}

static bool turn_has_any(const struct memory *memory)
{
	for (int i = 0; i < MANY; i++)
		if (of_turn(memory, &requests[i]))
			return true;
	return false;
}

static struct request *next_of_turn(const struct memory *memory, u64 from)
{
	struct request *best = NULL;

	for (int i = 0; i < MANY; i++) {
		struct request *rq = &requests[i];

		if (!of_turn(memory, rq) || !memory->in_sweep[i] ||
		    rq->sector < from)
			continue;
		if (!best || rq->sector < best->sector ||
		    (rq->sector == best->sector &&
		     memory->order[i] < memory->order[best - requests]))
			best = rq;
	}
	return best;
}

static struct request *oldest(const struct memory *memory, int direction)
{
	struct request *best = NULL;

	for (int i = 0; i < MANY; i++)
		if (pd_holds(&requests[i]) && requests[i].direction == direction &&
		    (!best || memory->age[i] < memory->age[best - requests]))
			best = &requests[i];
	return best;
}

static void model_begins_turn(struct memory *memory)
{
	struct request *read = oldest(memory, READ);
	struct request *late = oldest(memory, WRITE);
	long long next = -1;

	if (!late || (read && read->fifo_time <= late->fifo_time))
		late = read;
	memory->turn = true;
	memory->sent = 0;
	memory->was_expired = !memory->was_expired && late->fifo_time < now;
	if (memory->was_expired) {
		memory->turn_region = region_of(late);
		memory->direction = late->direction;
		memory->from = late->sector;
		return;
	}
	for (int round = 0; round < 2 && next < 0; round++)
		for (int i = 0; i < MANY; i++) {
			long long region = region_of(&requests[i]);

			if (pd_holds(&requests[i]) &&
			    (round || region > memory->last_of_round) &&
			    (next < 0 || region < next))
				next = region;
		}
	memory->last_of_round = next;
	memory->turn_region = next;
	memory->direction = !memory->last_direction[next];
	if (!turn_has_any(memory))
		memory->direction = !memory->direction;
	memory->from = core.tunables.scan == PD_SCAN_LOWEST ? 0 :
		memory->stopped_at[next][memory->direction];
}

static struct request *model_dispatches(struct memory *memory)
{
	struct request *rq;

	if (!waiting)
		return NULL;
	if (!memory->turn)
		model_begins_turn(memory);
	memory->last_direction[memory->turn_region] = memory->direction;
	if (!next_of_turn(memory, 0))
		for (int i = 0; i < MANY; i++)
			memory->in_sweep[i] |= of_turn(memory, &requests[i]);
	rq = next_of_turn(memory, memory->from);
	if (!rq)
		rq = next_of_turn(memory, 0);
	memory->from = rq->sector;
	memory->stopped_at[memory->turn_region][memory->direction] = rq->sector;
	return rq;
}

static void model_has_dispatched(struct memory *memory)
{
	memory->sent++;
	if (memory->sent >= core.tunables.batch[memory->direction] ||
	    !turn_has_any(memory))
		memory->turn = false;
}

static void random_step(struct memory *memory)
{
	struct request *rq = unused();
	struct request *expected;

	switch (random() % 8) {
	case 0:
		now += random() % 200;
		break;
	case 1 ... 4:
		if (!rq)
			break;
		memory->age[rq - requests] = ++memory->events;
		memory->order[rq - requests] = memory->events;
		memory->in_sweep[rq - requests] = false;
		add(random() % 3 == 0, random() % 8 * R + random() % 24 * 4);
		break;
	default:
		expected = model_dispatches(memory);
		rq = pd_dispatch(&core, now);
		EXPECT(rq == expected);
		if (!rq)
			break;
		waiting--;
		model_has_dispatched(memory);
		check();
	}
}

static void random_operations_agree_with_the_model(void)
{
	struct memory memory = { .last_of_round = -1 };

	srandom(seed);
	begin(1 + random() % 4, 1 + random() % 4);
	core.tunables.expire[WRITE] = 100 + random() % 2000;
	core.tunables.scan = random() % 2;
	for (int i = 0; i < 8; i++)
		memory.last_direction[i] = WRITE;
	for (int step = 0; step < 2000; step++)
		random_step(&memory);
	while (serve() >= 0)
		;
	EXPECT(waiting == 0);
	pd_exit(&core);
}

int main(int argc, char **argv)
{
	unsigned int first = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	unsigned int runs = argc > 2 ? strtoul(argv[2], NULL, 10) : 200;

	regions_take_turns_in_address_order_and_round_the_end();
	turns_of_a_region_alternate_and_the_first_is_of_reads();
	the_earliest_expired_goes_first_but_in_every_second_turn();
	every_region_of_a_large_map_is_found();
	what_lies_beyond_the_most_regions_belongs_to_the_last();
	a_changed_region_size_sorts_anew_and_keeps_deadlines();
	without_memory_nothing_is_lost_and_nothing_changes();
	front_merge_candidates_begin_at_the_end_if_they_are_wanted();
	a_request_that_absorbs_takes_the_place_of_the_older();
	what_two_sweeps_join_goes_with_the_one_under_way();
	a_turn_begins_at_the_lowest_of_the_sweep_or_goes_on();
	what_arrives_ahead_of_a_turn_waits_for_the_next_sweep();
	a_request_above_a_stream_goes_in_the_sweep_after_it_came();
	for (seed = first; seed < first + runs; seed++)
		random_operations_agree_with_the_model();
	printf("core: all rules hold, seeds %u to %u\n", first, seed - 1);
	return 0;
}
