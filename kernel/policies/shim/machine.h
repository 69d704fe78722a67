/* SPDX-License-Identifier: GPL-2.0-only */
/* Time, timers, chance and the current task of the machine that runs. */
#ifndef SHIM_MACHINE_H
#define SHIM_MACHINE_H

/* Debian's kernels tick so often; a constant, as the kernel's files make tables of it. */
#define HZ			250
#define USER_HZ			100
#define NSEC_PER_SEC		1000000000L
#define NSEC_PER_MSEC		1000000L
#define NSEC_PER_USEC		1000L
#define USEC_PER_SEC		1000000L
#define USEC_PER_MSEC		1000L
#define MSEC_PER_SEC		1000L
#define TICK_NSEC		(NSEC_PER_SEC / HZ)
#define MAX_JIFFY_OFFSET	((LONG_MAX >> 1) - 1)

struct task_struct;
struct request;

struct timer_list {
	struct timer_list *next;
	unsigned long expires;
	void (*function)(struct timer_list *);
	bool is_pending;
};

enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
enum hrtimer_mode { HRTIMER_MODE_ABS, HRTIMER_MODE_REL };

struct hrtimer {
	struct hrtimer *next;
	u64 expires_ns;
	enum hrtimer_restart (*function)(struct hrtimer *);
	bool is_pending;
};

/* What the kernel's code sees of one machine. */
struct machine {
	u64 now_ns;
	/* The tick; during a timer's function the one at which it was to run. */
	unsigned long tick;
	struct timer_list *timers;
	struct hrtimer *hrtimers;
	u64 chance;
	struct task_struct *task;
};

extern _Thread_local struct machine *shim;

#define jiffies			(shim->tick)
#define current			(shim->task)
#define ktime_get_ns()		(shim->now_ns)
#define ktime_get_boottime_ns()	(shim->now_ns)
#define ktime_get()		((ktime_t)shim->now_ns)
#define ktime_to_ns(time)	((u64)(time))
#define ktime_to_us(time)	((s64)(time) / NSEC_PER_USEC)
#define ktime_sub(a, b)		((a) - (b))
#define ktime_add(a, b)		((a) + (b))
#define ktime_us_delta(a, b)	(((a) - (b)) / NSEC_PER_USEC)
#define ktime_before(a, b)	((a) < (b))
#define ktime_after(a, b)	((a) > (b))
#define ktime_compare(a, b)	((a) < (b) ? -1 : (a) > (b))
#define ns_to_ktime(ns)		((ktime_t)(ns))
#define ms_to_ktime(ms)		((ktime_t)(ms) * NSEC_PER_MSEC)
#define us_to_ktime(us)		((ktime_t)(us) * NSEC_PER_USEC)
#define time_after(a, b)	((long)((b) - (a)) < 0)
#define time_before(a, b)	time_after(b, a)
#define time_after_eq(a, b)	((long)((a) - (b)) >= 0)
#define time_before_eq(a, b)	time_after_eq(b, a)
#define time_is_before_jiffies(a) time_after(jiffies, a)
#define time_is_after_jiffies(a) time_before(jiffies, a)
#define time_is_before_eq_jiffies(a) time_after_eq(jiffies, a)
#define time_is_after_eq_jiffies(a) time_before_eq(jiffies, a)

static inline unsigned long shim_msecs_to_jiffies(int ms)
{
	return ms < 0 ? (unsigned long)MAX_JIFFY_OFFSET : ((unsigned long)ms * HZ + MSEC_PER_SEC - 1) / MSEC_PER_SEC;
}
#define msecs_to_jiffies(ms)	shim_msecs_to_jiffies(ms)
#define usecs_to_jiffies(us)	(((unsigned long)(us) * HZ + USEC_PER_SEC - 1) / USEC_PER_SEC)
#define nsecs_to_jiffies(ns)	((unsigned long)((u64)(ns) / TICK_NSEC))
#define nsecs_to_jiffies64(ns)	((u64)(ns) / TICK_NSEC)
#define jiffies_to_msecs(ticks)	((unsigned int)((ticks) * (MSEC_PER_SEC / HZ)))
#define jiffies_to_usecs(ticks)	((unsigned int)((ticks) * (USEC_PER_SEC / HZ)))
#define jiffies_to_nsecs(ticks)	((u64)(ticks) * TICK_NSEC)
#define jiffies_to_clock_t(ticks) ((ticks) * USER_HZ / HZ)

#define from_timer(var, timer, member) container_of(timer, __typeof__(*var), member)
#define timer_setup(timer, function_, flags) ((timer)->function = (function_), (timer)->is_pending = false)
void shim_mod_timer(struct timer_list *timer, unsigned long expires, bool only_earlier);
void shim_del_timer(struct timer_list *timer);
#define mod_timer(timer, expires) shim_mod_timer(timer, expires, false)
#define timer_reduce(timer, expires) shim_mod_timer(timer, expires, true)
#define del_timer_sync(timer)	shim_del_timer(timer)
#define timer_delete_sync(timer) shim_del_timer(timer)
#define timer_shutdown_sync(timer) shim_del_timer(timer)

#define CLOCK_MONOTONIC		1
#define hrtimer_init(timer, clock, mode) ((timer)->is_pending = false)
void hrtimer_start(struct hrtimer *timer, ktime_t after, enum hrtimer_mode mode);
int hrtimer_try_to_cancel(struct hrtimer *timer);
#define hrtimer_cancel(timer)	hrtimer_try_to_cancel(timer)

u32 shim_chance(void);
#define get_random_u32()	shim_chance()
#define prandom_u32()		shim_chance()
#define get_random_u32_below(below) ((u32)(((u64)shim_chance() * (below)) >> 32))
#define prandom_u32_max(below)	get_random_u32_below(below)

#endif
