// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the core: one per rule, and random operations against a naive model
 * that searches one array for every decision. Built with the sanitizers for
 * addresses, undefined behaviour and leaks.
 *
 *	test_core [SEED [RUNS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "core_check.h"

#define R	2048		/* sectors of a region in these tests */
#define MANY	64		/* requests at most */

static struct pd_core core;
static struct pd_tunables tunables;
static struct pd_stats stats;
static struct request requests[MANY];
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
	tunables = (struct pd_tunables) {
		.batch = { reads, writes },
		.expire = { 500, 5000 },
		.front_merges = true,
	};
	stats = (struct pd_stats) { 0 };
	clock_ns = 0;
	waiting = 0;
	for (int i = 0; i < MANY; i++)
		requests[i] = (struct request) { 0 };
	pd_init(&core, R, &tunables, &stats);
}

static struct request *unused(void)
{
	for (int i = 0; i < MANY; i++)
		if (!pd_holds(&requests[i]))
			return &requests[i];
	return NULL;
}

static bool try_add(int direction, sector_t sector)
{
	struct request *rq = unused();
	bool added;

	EXPECT(rq);
	rq->direction = direction;
	rq->sector = sector;
	rq->sectors = 8;
	pd_set_inserted(rq, clock_ns);
	added = core_insert(&core, rq);
	waiting += added;
	check();
	return added;
}

static struct request *add(int direction, sector_t sector)
{
	EXPECT(try_add(direction, sector));
	for (int i = 0; i < MANY; i++)
		if (pd_holds(&requests[i]) && requests[i].sector == sector &&
		    requests[i].direction == direction)
			return &requests[i];
	return NULL;
}

/* Dispatches a request; returns its first sector, or -1 if there is none. */
static long long serve(void)
{
	struct request *rq = pd_dispatch(&core);

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
	EXPECT(stats.turns == 5 && stats.region_switches == 4);
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
	EXPECT(stats.direction_switches == 3);
	pd_exit(&core);
}

static void the_earliest_expired_goes_first_but_in_every_second_turn(void)
{
	begin(1, 1);
	for (int i = 9; i > 6; i--)
		add(READ, i * R);
	clock_ns = 500;
	add(READ, R);
	add(READ, 2 * R);
	EXPECT(serve() == R);	/* at its deadline nothing has expired yet */
	clock_ns = 501;
	SERVES(9 * R, 2 * R, 8 * R, 7 * R);
	EXPECT(stats.expired_turns == 2 && stats.expired == 3);
	EXPECT(stats.wait[READ].count == 5);
	EXPECT(stats.wait[READ].max == 501);
	EXPECT(stats.wait[READ].total == 3 * 501 + 1);
	pd_exit(&core);
}

static void every_region_of_a_large_map_is_found(void)
{
	static const u64 regions[] = {
		0, 63, 64, 4095, 4096, 262143, 262144, 1ULL << 40,
	};

	begin(1, 1);
	for (int i = 7; i >= 0; i--)
		add(READ, regions[i] * R);
	for (int i = 0; i < 8; i++)
		EXPECT(serve() == (long long)(regions[i] * R));
	pd_exit(&core);
}

static void a_changed_region_size_keeps_the_place_of_the_round(void)
{
	begin(1, 1);
	add(READ, 3 * R);
	SERVES(3 * R);
	pd_set_region_sectors(&core, 2 * R);
	check();
	/* The round was at 4 R, so it goes on with the region that begins there. */
	add(READ, R);
	add(READ, 4 * R);
	SERVES(4 * R, R, -1);
	pd_set_region_sectors(&core, 16 * R);
	add(READ, 20 * R);
	add(READ, 15 * R);
	SERVES(15 * R, 20 * R, -1);
	EXPECT(stats.region_switches == 2);
	pd_exit(&core);
}

static void too_many_idle_regions_are_given_back_the_idlest_first(void)
{
	begin(1, 1);
	core.max_idle = 2;
	/* The last turns of regions 1, 2 and 3 are of reads, and stop at 200. */
	for (int region = 1; region <= 3; region++)
		add(READ, region * R + 200);
	SERVES(R + 200, 2 * R + 200, 3 * R + 200);
	EXPECT(core.nr_idle == 2 && core.regions.count == 2);
	/* Region 1 was given back and takes reads first; 2 and 3 alternate. */
	for (int region = 1; region <= 3; region++) {
		add(READ, region * R);
		add(WRITE, region * R + 8);
	}
	EXPECT(core.nr_idle == 0);
	SERVES(R, 2 * R + 8, 3 * R + 8, R + 8, 2 * R, 3 * R, -1);
	pd_exit(&core);
	begin(1, 1);
	core.max_idle = 0;
	add(READ, R);
	SERVES(R);
	EXPECT(core.regions.count == 0);
	pd_exit(&core);
}

static void without_memory_nothing_is_lost_and_nothing_changes(void)
{
	begin(1, 1);
	add(READ, R);
	/* Neither for the region nor for its place among the others. */
	for (long left = 0; left < 2; left++) {
		allocations_left = left;
		EXPECT(!try_add(READ, 7 * R));
		EXPECT(try_add(READ, R + 1 + left));
	}
	allocations_left = -1;
	SERVES(R, R + 1, R + 2, -1);
	pd_exit(&core);
}

static void a_region_that_is_not_needed_leaves_nothing_behind(void)
{
	struct request rq = { .direction = READ, .sector = 5 * R };
	struct pd_region *ours, *theirs;

	begin(1, 1);
	ours = pd_region_alloc(&core, &rq);
	/* Another processor allocates it too, and inserts first. */
	theirs = pd_region_alloc(&core, &rq);
	requests[0] = rq;
	pd_set_inserted(&requests[0], clock_ns);
	EXPECT(pd_insert(&core, &requests[0], &theirs) && !theirs);
	waiting = 1;
	pd_region_unused(ours);
	check();
	SERVES(5 * R);
	/* And without a request to insert after all. */
	rq.sector = 6 * R;
	pd_region_unused(pd_region_alloc(&core, &rq));
	check();
	EXPECT(core.regions.count == 1);
	pd_exit(&core);
}

static void the_age_of_the_oldest_is_known(void)
{
	begin(1, 1);
	clock_ns = 7;
	add(WRITE, 2 * R);
	clock_ns = 9;
	add(READ, R);
	EXPECT(pd_oldest_since(&core) == 7);
	SERVES(R);
	EXPECT(pd_oldest_since(&core) == 7);
	add(READ, R);
	SERVES(2 * R);
	EXPECT(pd_oldest_since(&core) == 9);
	SERVES(R);
	pd_exit(&core);
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
	tunables.front_merges = false;
	EXPECT(!pd_front_merge_candidate(&core, 100, READ));
	SERVES(100);
	pd_exit(&core);
}

static void a_request_that_absorbs_takes_the_place_of_the_older(void)
{
	struct request *older, *kept;

	begin(1, 1);
	older = add(READ, 7 * R + 8);
	clock_ns = 1;
	add(READ, 9 * R);
	kept = add(READ, 7 * R);
	pd_absorb(kept, older);
	waiting--;
	check();
	EXPECT(kept->fifo_time == 500 && !pd_holds(older));
	clock_ns = 501;
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
		tunables.scan = scan;
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
		tunables.scan = scan;
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
	/* When a region that is known lost its last request. */
	bool known[8];
	u64 idle_since[8];
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

static bool region_has_any(u64 region)
{
	for (int i = 0; i < MANY; i++)
		if (pd_holds(&requests[i]) && region_of(&requests[i]) == region)
			return true;
	return false;
}

/* Forgets the region that has been idle longest, if too many are idle. */
static void model_forgets(struct memory *memory)
{
	u32 idle = 0;
	int idlest = -1;

	for (int i = 0; i < 8; i++) {
		if (!memory->known[i] || region_has_any(i))
			continue;
		idle++;
		if (idlest < 0 ||
		    memory->idle_since[i] < memory->idle_since[idlest])
			idlest = i;
	}
	if (idle <= core.max_idle)
		return;
	memory->known[idlest] = false;
	memory->last_direction[idlest] = WRITE;
	memory->stopped_at[idlest][READ] = 0;
	memory->stopped_at[idlest][WRITE] = 0;
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
	memory->was_expired = !memory->was_expired && late->fifo_time < clock_ns;
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
	memory->from = tunables.scan == PD_SCAN_LOWEST ? 0 :
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
	if (memory->sent >= tunables.batch[memory->direction] ||
	    !turn_has_any(memory))
		memory->turn = false;
	memory->known[memory->turn_region] = true;
	if (!region_has_any(memory->turn_region)) {
		memory->idle_since[memory->turn_region] = ++memory->events;
		model_forgets(memory);
	}
}

static void random_step(struct memory *memory)
{
	struct request *rq = unused();
	struct request *expected;

	switch (random() % 8) {
	case 0:
		clock_ns += random() % 200;
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
		rq = pd_dispatch(&core);
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
	tunables.expire[WRITE] = 100 + random() % 2000;
	core.max_idle = (u32[]) { 0, 1, 3, PD_MAX_IDLE }[random() % 4];
	tunables.scan = random() % 2;
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
	a_changed_region_size_keeps_the_place_of_the_round();
	too_many_idle_regions_are_given_back_the_idlest_first();
	a_region_that_is_not_needed_leaves_nothing_behind();
	the_age_of_the_oldest_is_known();
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
