// SPDX-License-Identifier: GPL-2.0-only
/* The services of kernel.h, machine.h and rest.h that are functions. */

_Thread_local struct machine *shim;

void shim_bug(const char *file, int line, const char *what)
{
	fprintf(stderr, "the kernel's code complains: %s:%d: %s\n", file, line, what);
	abort();
}

void *shim_allocate(size_t bytes)
{
	void *at = calloc(1, bytes ? bytes : 1);

	if (!at)
		shim_bug(__FILE__, __LINE__, "there is no memory");
	return at;
}

struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align, slab_flags_t flags, void *new)
{
	struct kmem_cache *cache = shim_allocate(sizeof(*cache));

	cache->size = size;
	return cache;
}

void kmem_cache_destroy(struct kmem_cache *cache)
{
	free(cache);
}

size_t shim_strscpy(char *to, const char *from, size_t size)
{
	return snprintf(to, size, "%s", from);
}

char *strstrip(char *text)
{
	size_t length = strlen(text);

	while (length && text[length - 1] == '\n')
		text[--length] = 0;
	return text;
}

#define SHIM_NUMBER(name, type, convert, low, high) \
int name(const char *text, unsigned int base, type *number) \
{ \
	char *end; \
	__typeof__(convert(text, &end, base)) wide = convert(text, &end, base); \
\
	if (end == text || (*end && *end != '\n')) \
		return -EINVAL; \
	if (wide < (low) || wide > (high)) \
		return -ERANGE; \
	*number = wide; \
	return 0; \
}
SHIM_NUMBER(kstrtoint, int, strtoll, INT_MIN, INT_MAX)
SHIM_NUMBER(kstrtoul, unsigned long, strtoul, 0, ULONG_MAX)
SHIM_NUMBER(kstrtou64, u64, strtoull, 0, ULLONG_MAX)
SHIM_NUMBER(kstrtoull, u64, strtoull, 0, ULLONG_MAX)

void kobject_init(struct kobject *object, const struct kobj_type *type)
{
	object->ktype = type;
	object->references = 1;
}

void kobject_put(struct kobject *object)
{
	if (!--object->references)
		object->ktype->release(object);
}

/* SplitMix64, the upper half of each number. */
u32 shim_chance(void)
{
	u64 mixed;

	if (!shim->chance)
		return 0;
	mixed = shim->chance += 0x9e3779b97f4a7c15;
	mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
	mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
	return (mixed ^ (mixed >> 31)) >> 32;
}

void add_wait_queue(struct wait_queue_head *queue, struct wait_queue_entry *entry)
{
	list_add(&entry->entry, &queue->head);
}

int shim_wake(struct wait_queue_head *queue, int most)
{
	struct wait_queue_entry *entry, *next;

	list_for_each_entry_safe(entry, next, &queue->head, entry) {
		int was_woken = entry->func(entry, TASK_NORMAL, 0, NULL);

		if (was_woken < 0 || (was_woken && (entry->flags & WQ_FLAG_EXCLUSIVE) && !--most))
			break;
	}
	return most;
}

/* True for the first that waits. */
bool prepare_to_wait_exclusive(struct wait_queue_head *queue, struct wait_queue_entry *entry, int state)
{
	bool is_first = true;

	entry->flags |= WQ_FLAG_EXCLUSIVE;
	if (list_empty(&entry->entry)) {
		is_first = list_empty(&queue->head);
		list_add_tail(&entry->entry, &queue->head);
	}
	return is_first;
}

void finish_wait(struct wait_queue_head *queue, struct wait_queue_entry *entry)
{
	list_del_init(&entry->entry);
}

int autoremove_wake_function(struct wait_queue_entry *entry, unsigned mode, int flags, void *key)
{
	BUG();
}

/* Timers are unlinked when they fire or are deleted, so that few are looked through. */
void shim_del_timer(struct timer_list *timer)
{
	struct timer_list **at = &shim->timers;

	if (!timer->is_pending)
		return;
	while (*at != timer)
		at = &(*at)->next;
	*at = timer->next;
	timer->is_pending = false;
}

void shim_mod_timer(struct timer_list *timer, unsigned long expires, bool only_earlier)
{
	if (only_earlier && timer->is_pending && time_before_eq(timer->expires, expires))
		return;
	shim_del_timer(timer);
	timer->expires = expires;
	timer->is_pending = true;
	timer->next = shim->timers;
	shim->timers = timer;
}

int hrtimer_try_to_cancel(struct hrtimer *timer)
{
	struct hrtimer **at = &shim->hrtimers;

	if (!timer->is_pending)
		return 0;
	while (*at != timer)
		at = &(*at)->next;
	*at = timer->next;
	timer->is_pending = false;
	return 1;
}

void hrtimer_start(struct hrtimer *timer, ktime_t after, enum hrtimer_mode mode)
{
	hrtimer_try_to_cancel(timer);
	timer->expires_ns = after + (mode == HRTIMER_MODE_REL ? shim->now_ns : 0);
	timer->is_pending = true;
	timer->next = shim->hrtimers;
	shim->hrtimers = timer;
}

/* The first nanosecond of a tick. */
static u64 tick_begins(unsigned long tick)
{
	return tick > U64_MAX / TICK_NSEC ? U64_MAX : tick * TICK_NSEC;
}

static struct timer_list *first_timer(void)
{
	struct timer_list *first = shim->timers;

	for (struct timer_list *timer = first; timer; timer = timer->next) {
		if (time_before(timer->expires, first->expires))
			first = timer;
	}
	return first;
}

static struct hrtimer *first_hrtimer(void)
{
	struct hrtimer *first = shim->hrtimers;

	for (struct hrtimer *timer = first; timer; timer = timer->next) {
		if (timer->expires_ns < first->expires_ns)
			first = timer;
	}
	return first;
}

static void set_time(u64 now)
{
	shim->now_ns = now;
	shim->tick = now / TICK_NSEC;
}

/* Lets timers fire at their times, up to `now`, and makes that the time. */
static void advance_to(u64 now)
{
	while (1) {
		struct timer_list *timer = first_timer();
		struct hrtimer *fine = first_hrtimer();
		u64 coarse_ns = timer ? max(tick_begins(timer->expires), shim->now_ns) : U64_MAX;
		u64 fine_ns = fine ? max(fine->expires_ns, shim->now_ns) : U64_MAX;

		if (min(coarse_ns, fine_ns) > now || min(coarse_ns, fine_ns) == U64_MAX)
			break;
		if (coarse_ns <= fine_ns) {
			set_time(coarse_ns);
			shim_del_timer(timer);
			timer->function(timer);
		} else {
			set_time(fine_ns);
			hrtimer_try_to_cancel(fine);
			if (fine->function(fine) == HRTIMER_RESTART)
				BUG();
		}
	}
	set_time(now);
}
