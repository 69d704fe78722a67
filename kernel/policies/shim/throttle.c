// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write-back throttling with tasks that sleep: each submission is a context of
 * its own, which runs until it is let in or sleeps, and goes on when it was
 * woken and the call that woke it has ended.
 */
#include <ucontext.h>

#include "blk-wbt.c"
#include "policy.h"
#include "throttle.h"
#include "machine.c"

#define STACK_BYTES		(64 * 1024)

struct submission {
	struct task_struct task;
	struct throttle *throttle;
	struct submission *next;
	struct bio bio;
	u32 id;
	bool is_awake, has_ended;
	ucontext_t context;
	char stack[STACK_BYTES];
};

struct throttle {
	struct machine machine;
	struct request_queue queue;
	struct gendisk disk;
	struct backing_dev_info bdi;
	ucontext_t caller;
	/* Submissions that have not ended, in order. */
	struct submission *submissions;
	u32 *let_in, nr_let_in, taken;
	u32 capacity;
	struct request requests[];
};

/* There are no requests to wait for, and no files of debugfs. */
void blk_mq_freeze_queue(struct request_queue *q)
{
}

void blk_mq_unfreeze_queue(struct request_queue *q)
{
}

void blk_mq_debugfs_register_rqos(struct rq_qos *rqos)
{
}

void blk_mq_debugfs_unregister_rqos(struct rq_qos *rqos)
{
}

void blk_queue_flag_set(unsigned int flag, struct request_queue *q)
{
	set_bit(flag, &q->queue_flags);
}

void blk_queue_flag_clear(unsigned int flag, struct request_queue *q)
{
	clear_bit(flag, &q->queue_flags);
}

static struct submission *submission_of(struct task_struct *task)
{
	return container_of(task, struct submission, task);
}

/* The present task sleeps. */
void shim_io_schedule(void)
{
	struct submission *submission = submission_of(current);

	submission->is_awake = false;
	swapcontext(&submission->context, &submission->throttle->caller);
}

void shim_wake_task(struct task_struct *task)
{
	submission_of(task)->is_awake = true;
}

static void run_submission(unsigned int low, unsigned int high)
{
	struct submission *submission = (void *)((uintptr_t)high << 32 | low);
	struct throttle *throttle = submission->throttle;
	struct request *rq = &throttle->requests[submission->id];

	rq_qos_throttle(&throttle->queue, &submission->bio);
	rq->q = &throttle->queue;
	rq->cmd_flags = submission->bio.bi_opf;
	rq_qos_track(&throttle->queue, rq, &submission->bio);
	throttle->let_in[throttle->nr_let_in++] = submission->id;
	submission->has_ended = true;
}

/* Lets all go on that were woken, in order. */
static void run(struct throttle *throttle)
{
	struct submission **at = &throttle->submissions;

	while (*at) {
		struct submission *submission = *at;

		if (submission->is_awake) {
			shim->task = &submission->task;
			swapcontext(&throttle->caller, &submission->context);
		}
		if (submission->has_ended) {
			*at = submission->next;
			free(submission);
		} else {
			at = &submission->next;
		}
	}
}

static void enter(struct throttle *throttle, u64 now)
{
	shim = &throttle->machine;
	advance_to(now);
	run(throttle);
}

#ifdef QUEUE_FLAG_WC
/* Linux 6.1. */
static int init(struct throttle *throttle, bool has_volatile_cache)
{
	if (has_volatile_cache)
		blk_queue_flag_set(QUEUE_FLAG_WC, &throttle->queue);
	return wbt_init(&throttle->queue);
}
#else
static int init(struct throttle *throttle, bool has_volatile_cache)
{
	if (has_volatile_cache)
		throttle->queue.limits.features |= BLK_FEAT_WRITE_CACHE;
	return wbt_init(&throttle->disk);
}
#endif

static struct throttle *throttle_new(const struct throttle_setup *setup)
{
	struct throttle *throttle = shim_allocate(sizeof(*throttle) + setup->capacity * sizeof(struct request));
	struct request_queue *q = &throttle->queue;

	shim = &throttle->machine;
	/* Throttling began long before the first request. */
	throttle->bdi.last_bdp_sleep = throttle->bdi.wb.dirty_sleep =
		setup->is_held_up ? LONG_MAX / 2 : -2UL * HZ;
	throttle->capacity = setup->capacity;
	throttle->let_in = shim_allocate(setup->capacity * sizeof(u32));
	throttle->disk.queue = q;
	throttle->disk.bdi = &throttle->bdi;
	q->disk = &throttle->disk;
	q->queue_depth = setup->depth;
	q->stats = blk_alloc_queue_stats();
	if (init(throttle, setup->has_volatile_cache))
		BUG();
	RQWB(wbt_rq_qos(q))->min_lat_nsec = setup->latency_ns;
	RQWB(wbt_rq_qos(q))->last_issue = RQWB(wbt_rq_qos(q))->last_comp = -2UL * HZ;
	return throttle;
}

static void throttle_free(struct throttle *throttle)
{
	struct rq_wb *rwb = RQWB(wbt_rq_qos(&throttle->queue));

	shim = &throttle->machine;
	while (throttle->submissions) {
		struct submission *next = throttle->submissions->next;

		free(throttle->submissions);
		throttle->submissions = next;
	}
	free(rwb->cb->cpu_stat);
	free(rwb->cb->stat);
	free(rwb->cb);
	free(rwb);
	free(throttle->queue.stats);
	free(throttle->let_in);
	free(throttle);
}

static void throttle_submit(struct throttle *throttle, u64 now, u32 id, const struct throttle_request *request)
{
	static const enum req_op ops[] = { REQ_OP_READ, REQ_OP_WRITE, REQ_OP_DISCARD };
	struct submission *submission = shim_allocate(sizeof(*submission)), **at = &throttle->submissions;

	enter(throttle, now);
	submission->throttle = throttle;
	submission->id = id;
	submission->is_awake = true;
	submission->bio.bi_opf = (__force blk_opf_t)ops[request->op] | (request->is_sync ? REQ_SYNC : 0) |
		(request->is_direct ? REQ_SYNC | REQ_IDLE : 0) | (request->is_background ? REQ_BACKGROUND : 0);
	getcontext(&submission->context);
	submission->context.uc_stack.ss_sp = submission->stack;
	submission->context.uc_stack.ss_size = STACK_BYTES;
	submission->context.uc_link = &throttle->caller;
	makecontext(&submission->context, (void (*)(void))run_submission, 2, (unsigned int)(uintptr_t)submission,
		    (unsigned int)((uintptr_t)submission >> 32));
	while (*at)
		at = &(*at)->next;
	*at = submission;
	run(throttle);
}

static void throttle_pass(struct throttle *throttle, u64 now)
{
	enter(throttle, now);
}

static u32 throttle_let_in(struct throttle *throttle)
{
	if (throttle->taken < throttle->nr_let_in)
		return throttle->let_in[throttle->taken++];
	throttle->taken = throttle->nr_let_in = 0;
	return NONE;
}

static void throttle_issue(struct throttle *throttle, u64 now, u32 id)
{
	struct request *rq = &throttle->requests[id];

	enter(throttle, now);
	rq->io_start_time_ns = now;
	rq_qos_issue(&throttle->queue, rq);
}

static void throttle_requeue(struct throttle *throttle, u64 now, u32 id)
{
	enter(throttle, now);
	rq_qos_requeue(&throttle->queue, &throttle->requests[id]);
}

static void throttle_complete(struct throttle *throttle, u64 now, u32 id, bool is_joined)
{
	struct request *rq = &throttle->requests[id];

	enter(throttle, now);
	if (!is_joined)
		blk_stat_add(rq, now);
	rq_qos_done(&throttle->queue, rq);
	run(throttle);
}

static struct throttle_state throttle_state(struct throttle *throttle)
{
	struct rq_wb *rwb = RQWB(wbt_rq_qos(&throttle->queue));

	return (struct throttle_state){
		.writes = atomic_read(&rwb->rq_wait[WBT_RWQ_BG].inflight),
		.discards = atomic_read(&rwb->rq_wait[WBT_RWQ_DISCARD].inflight),
		.most = rwb->rq_depth.max_depth,
		.normal = rwb->wb_normal,
		.background = rwb->wb_background,
		.step = rwb->rq_depth.scale_step,
		.window_ns = rwb->cur_win_nsec,
	};
}

const struct throttle_calls SHIM_CALLS = {
	.new = throttle_new,
	.free = throttle_free,
	.submit = throttle_submit,
	.pass = throttle_pass,
	.let_in = throttle_let_in,
	.issue = throttle_issue,
	.requeue = throttle_requeue,
	.complete = throttle_complete,
	.state = throttle_state,
};
