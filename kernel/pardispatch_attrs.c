// SPDX-License-Identifier: GPL-2.0
/* ParDispatcher's tunables in sysfs, and its counters and lists in debugfs. */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/seq_file.h>
#include <linux/sysfs.h>
#include <linux/time64.h>

#include "pardispatch_iosched.h"

/* The range of a tunable. */
struct pd_limits {
	u64 least;
	u64 most;
};

static const struct pd_limits pd_region_kb_limits = {
	PD_MIN_REGION_KB, PD_MAX_REGION_KB
};

static const struct pd_limits pd_batch_limits = { 1, 65536 };
static const struct pd_limits pd_expire_ms_limits = { 1, 3600 * 1000 };
static const struct pd_limits pd_async_depth_limits = { 1, 65536 };
static const struct pd_limits pd_flag_limits = { 0, 1 };

/* Indexed by enum pd_scan. */
static const char * const pd_scan_names[] = { "lowest", "continue" };

/* A value out of range is refused and changes nothing. */
static int pd_parse(const char *page, const struct pd_limits *limits,
		    u64 *value)
{
	if (kstrtou64(page, 0, value))
		return -EINVAL;
	return *value < limits->least || *value > limits->most ? -EINVAL : 0;
}

static ssize_t pd_region_kb_show(struct elevator_queue *e, char *page)
{
	struct pd_data *pd = e->elevator_data;

	return sysfs_emit(page, "%llu\n",
			  READ_ONCE(pd->classes[PD_BE].region_sectors) /
			  PD_SECTORS_PER_KB);
}

/*
 * Frozen, a queue has no request that belongs to a region. I/O stops until
 * those under way have completed, as when nr_requests changes.
 */
static ssize_t pd_region_kb_store(struct elevator_queue *e, const char *page,
				  size_t count)
{
	struct pd_data *pd = e->elevator_data;
	unsigned int memflags;
	u64 value;
	int class;
	int ret;

	ret = pd_parse(page, &pd_region_kb_limits, &value);
	if (ret)
		return ret;
	memflags = blk_mq_freeze_queue(pd->queue);
	spin_lock(&pd->lock);
	for (class = PD_RT; class < PD_CLASSES; class++)
		pd_set_region_sectors(&pd->classes[class],
				      value * PD_SECTORS_PER_KB);
	spin_unlock(&pd->lock);
	blk_mq_unfreeze_queue(pd->queue, memflags);
	return count;
}

#define PD_BATCH(name, dir)						\
static ssize_t pd_##name##_show(struct elevator_queue *e, char *page)	\
{									\
	struct pd_data *pd = e->elevator_data;				\
									\
	return sysfs_emit(page, "%u\n",					\
			  READ_ONCE(pd->tunables.batch[dir]));		\
}									\
									\
static ssize_t pd_##name##_store(struct elevator_queue *e,		\
				 const char *page, size_t count)	\
{									\
	struct pd_data *pd = e->elevator_data;				\
	u64 value;							\
	int ret = pd_parse(page, &pd_batch_limits, &value);		\
									\
	if (ret)							\
		return ret;						\
	spin_lock(&pd->lock);						\
	WRITE_ONCE(pd->tunables.batch[dir], value);			\
	spin_unlock(&pd->lock);						\
	return count;							\
}

PD_BATCH(read_batch, READ)
PD_BATCH(write_batch, WRITE)

#define PD_EXPIRE(name, field)						\
static ssize_t pd_##name##_show(struct elevator_queue *e, char *page)	\
{									\
	struct pd_data *pd = e->elevator_data;				\
									\
	return sysfs_emit(page, "%llu\n",				\
			  div64_u64(READ_ONCE(pd->field),		\
				    NSEC_PER_MSEC));			\
}									\
									\
static ssize_t pd_##name##_store(struct elevator_queue *e,		\
				 const char *page, size_t count)	\
{									\
	struct pd_data *pd = e->elevator_data;				\
	u64 value;							\
	int ret = pd_parse(page, &pd_expire_ms_limits, &value);		\
									\
	if (ret)							\
		return ret;						\
	spin_lock(&pd->lock);						\
	WRITE_ONCE(pd->field, value * NSEC_PER_MSEC);			\
	spin_unlock(&pd->lock);						\
	return count;							\
}

PD_EXPIRE(read_expire, tunables.expire[READ])
PD_EXPIRE(write_expire, tunables.expire[WRITE])
PD_EXPIRE(prio_aging_expire, prio_aging_expire)

static ssize_t pd_scan_show(struct elevator_queue *e, char *page)
{
	struct pd_data *pd = e->elevator_data;

	return sysfs_emit(page, "%s\n",
			  pd_scan_names[READ_ONCE(pd->tunables.scan)]);
}

static ssize_t pd_scan_store(struct elevator_queue *e, const char *page,
			     size_t count)
{
	struct pd_data *pd = e->elevator_data;
	int scan = sysfs_match_string(pd_scan_names, page);

	if (scan < 0)
		return -EINVAL;
	spin_lock(&pd->lock);
	WRITE_ONCE(pd->tunables.scan, scan);
	spin_unlock(&pd->lock);
	return count;
}

static ssize_t pd_async_depth_show(struct elevator_queue *e, char *page)
{
	struct pd_data *pd = e->elevator_data;

	return sysfs_emit(page, "%u\n", READ_ONCE(pd->depth.async));
}

static ssize_t pd_async_depth_store(struct elevator_queue *e,
				    const char *page, size_t count)
{
	struct pd_data *pd = e->elevator_data;
	u64 value;
	int ret = pd_parse(page, &pd_async_depth_limits, &value);

	if (ret)
		return ret;
	WRITE_ONCE(pd->depth.async, value);
	return count;
}

static ssize_t pd_front_merges_show(struct elevator_queue *e, char *page)
{
	struct pd_data *pd = e->elevator_data;

	return sysfs_emit(page, "%d\n",
			  READ_ONCE(pd->tunables.front_merges));
}

static ssize_t pd_front_merges_store(struct elevator_queue *e,
				     const char *page, size_t count)
{
	struct pd_data *pd = e->elevator_data;
	u64 value;
	int ret = pd_parse(page, &pd_flag_limits, &value);

	if (ret)
		return ret;
	spin_lock(&pd->lock);
	WRITE_ONCE(pd->tunables.front_merges, value);
	spin_unlock(&pd->lock);
	return count;
}

#define PD_ATTR(name) __ATTR(name, 0644, pd_##name##_show, pd_##name##_store)

struct elv_fs_entry pd_attrs[] = {
	PD_ATTR(region_kb),
	PD_ATTR(read_batch),
	PD_ATTR(write_batch),
	PD_ATTR(read_expire),
	PD_ATTR(write_expire),
	PD_ATTR(prio_aging_expire),
	PD_ATTR(scan),
	PD_ATTR(async_depth),
	PD_ATTR(front_merges),
	__ATTR_NULL
};

#ifdef CONFIG_BLK_DEBUG_FS
/* Indexed by enum pd_class. */
static const char * const pd_class_names[] = { "rt", "be", "idle" };

static void pd_show_waits(struct seq_file *m, const char *direction,
			  const struct pd_waits *waits)
{
	const u64 mean = waits->count ? div64_u64(waits->total, waits->count) : 0;

	seq_printf(m, "%s_dispatched %llu\n", direction, waits->count);
	seq_printf(m, "%s_wait_mean_us %llu\n", direction,
		   div64_u64(mean, NSEC_PER_USEC));
	seq_printf(m, "%s_wait_max_us %llu\n", direction,
		   div64_u64(waits->max, NSEC_PER_USEC));
}

static int pd_counters_show(void *data, struct seq_file *m)
{
	struct request_queue *q = data;
	struct pd_data *pd = pd_of_queue(q);
	const struct pd_stats *stats = &pd->stats;
	u32 idle = 0;
	int class;

	spin_lock(&pd->lock);
	for (class = PD_RT; class < PD_CLASSES; class++)
		idle += pd->classes[class].nr_idle;
	seq_printf(m, "inserted %llu\n", pd->inserted);
	seq_printf(m, "merged %llu\n", pd->merged);
	seq_printf(m, "dispatched %llu\n", pd->dispatched);
	seq_printf(m, "requeued %llu\n", pd->requeued);
	seq_printf(m, "completed %llu\n", pd_completed(pd));
	seq_printf(m, "unsorted %llu\n", pd->unsorted);
	seq_printf(m, "turns %llu\n", stats->turns);
	seq_printf(m, "expired_turns %llu\n", stats->expired_turns);
	seq_printf(m, "region_switches %llu\n", stats->region_switches);
	seq_printf(m, "direction_switches %llu\n", stats->direction_switches);
	seq_printf(m, "expired %llu\n", stats->expired);
	seq_printf(m, "aged %llu\n", pd->aged);
	seq_printf(m, "idle_regions %u\n", idle);
	pd_show_waits(m, "read", &stats->wait[READ]);
	pd_show_waits(m, "write", &stats->wait[WRITE]);
	spin_unlock(&pd->lock);
	return 0;
}

static int pd_turn_show(void *data, struct seq_file *m)
{
	struct request_queue *q = data;
	struct pd_data *pd = pd_of_queue(q);
	int class;

	spin_lock(&pd->lock);
	for (class = PD_RT; class < PD_CLASSES; class++) {
		const struct pd_turn *turn = &pd->classes[class].turn;

		seq_printf(m, "%s ", pd_class_names[class]);
		if (turn->region)
			seq_printf(m, "region %lu %s left %u\n",
				   turn->region->index,
				   turn->direction == READ ? "read" : "write",
				   turn->left);
		else
			seq_puts(m, "none\n");
	}
	spin_unlock(&pd->lock);
	return 0;
}

/* Lists of requests, which @list names. */
#define PD_REQUESTS(name, list)						\
static void *pd_##name##_start(struct seq_file *m, loff_t *pos)	\
	__acquires(&pd->lock)						\
{									\
	struct request_queue *q = m->private;				\
	struct pd_data *pd = pd_of_queue(q);				\
									\
	spin_lock(&pd->lock);						\
	return seq_list_start(&pd->list, *pos);				\
}									\
									\
static void *pd_##name##_next(struct seq_file *m, void *v, loff_t *pos)	\
{									\
	struct request_queue *q = m->private;				\
									\
	return seq_list_next(v, &pd_of_queue(q)->list, pos);		\
}									\
									\
static const struct seq_operations pd_##name##_seq_ops = {		\
	.start	= pd_##name##_start,					\
	.next	= pd_##name##_next,					\
	.stop	= pd_requests_stop,					\
	.show	= blk_mq_debugfs_rq_show,				\
}

static void pd_requests_stop(struct seq_file *m, void *v)
	__releases(&pd->lock)
{
	struct request_queue *q = m->private;
	struct pd_data *pd = pd_of_queue(q);

	spin_unlock(&pd->lock);
}

PD_REQUESTS(dispatch, dispatch);
PD_REQUESTS(rt_read_fifo, classes[PD_RT].fifo[READ]);
PD_REQUESTS(rt_write_fifo, classes[PD_RT].fifo[WRITE]);
PD_REQUESTS(be_read_fifo, classes[PD_BE].fifo[READ]);
PD_REQUESTS(be_write_fifo, classes[PD_BE].fifo[WRITE]);
PD_REQUESTS(idle_read_fifo, classes[PD_IDLE].fifo[READ]);
PD_REQUESTS(idle_write_fifo, classes[PD_IDLE].fifo[WRITE]);

#define PD_LIST(name) { #name, 0400, .seq_ops = &pd_##name##_seq_ops }

const struct blk_mq_debugfs_attr pd_debugfs_attrs[] = {
	{ "counters", 0400, pd_counters_show },
	{ "turn", 0400, pd_turn_show },
	PD_LIST(dispatch),
	PD_LIST(rt_read_fifo),
	PD_LIST(rt_write_fifo),
	PD_LIST(be_read_fifo),
	PD_LIST(be_write_fifo),
	PD_LIST(idle_read_fifo),
	PD_LIST(idle_write_fifo),
	{},
};
#endif
