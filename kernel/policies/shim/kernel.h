/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel's block files take from the rest of the kernel, for
 * userspace. It is included before every file of the kernel's.
 *
 * A kernel of one processor, without preemption, interrupts, debugging, zones,
 * integrity, encryption, power management, statistics and control groups. One
 * thread runs it at a time, so that locks, barriers, RCU and atomic operations
 * are plain ones. What it knows of the world is in `shim`: each call from
 * outside sets it to the machine that is meant (machine.h).
 *
 * Types that are only declared, or have no fields, are never looked into.
 */
#ifndef SHIM_KERNEL_H
#define SHIM_KERNEL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Of the C library, and something else in the kernel. */
#undef major
#undef minor
#undef makedev
#undef dev_t

/* The configuration: everything else is off. */
#define CONFIG_BLOCK		1
#define CONFIG_BLK_ICQ		1
#define CONFIG_64BIT		1
#define BITS_PER_LONG		64
#define BITS_PER_LONG_LONG	64
#define NR_CPUS			1
#define IS_ENABLED(option)	0
#define IS_BUILTIN(option)	0
#define IS_REACHABLE(option)	0

/* Types. */
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef long long s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s8 __s8;
typedef s16 __s16;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __le16;
typedef u32 __le32;
typedef u64 __le64;
typedef u16 __be16;
typedef u32 __be32;
typedef u64 __be64;
typedef u64 sector_t;
typedef u64 shim_blkcnt_t;
#define blkcnt_t shim_blkcnt_t
typedef u64 phys_addr_t;
typedef u64 dma_addr_t;
typedef unsigned int gfp_t;
typedef unsigned int fmode_t;
typedef unsigned int slab_flags_t;
typedef u32 shim_dev_t;
#define dev_t shim_dev_t
typedef unsigned short umode_t;
typedef struct { int counter; } atomic_t;
typedef struct { long counter; } atomic_long_t;
typedef struct { s64 counter; } atomic64_t;
typedef s64 ktime_t;

struct list_head { struct list_head *next, *prev; };
struct hlist_head { struct hlist_node *first; };
struct hlist_node { struct hlist_node *next, **pprev; };
struct rcu_head { void *never_used; };
#define callback_head rcu_head

/* The compiler. */
#define __init
#define __exit
#define __initdata
#define __cold
#define __user
#define __rcu
#define __percpu
#define __iomem
#define __force
#define __bitwise
#define __must_check
#define __read_mostly
#define __ro_after_init
#define __maybe_unused		__attribute__((unused))
#define __always_unused		__attribute__((unused))
#define __used			__attribute__((used))
#define __packed		__attribute__((packed))
#define __aligned(bytes)	__attribute__((aligned(bytes)))
#define __printf(text, first)	__attribute__((format(printf, text, first)))
#define __always_inline		inline __attribute__((always_inline))
#define noinline		__attribute__((noinline))
#define fallthrough		__attribute__((fallthrough))
#define __counted_by(member)
#define __randomize_layout
#define __no_randomize_layout
#define __acquires(lock)
#define __releases(lock)
#define __acquire(lock)		((void)0)
#define __release(lock)		((void)0)
#define ____cacheline_aligned
#define ____cacheline_aligned_in_smp
#define __cacheline_group_begin(group)
#define __cacheline_group_end(group)
#define likely(what)		__builtin_expect(!!(what), 1)
#define unlikely(what)		__builtin_expect(!!(what), 0)
#define barrier()		((void)0)
#define smp_mb()		((void)0)
#define smp_rmb()		((void)0)
#define smp_wmb()		((void)0)
#define smp_mb__before_atomic()	((void)0)
#define smp_mb__after_atomic()	((void)0)
#define smp_store_release(at, what) (*(at) = (what))
#define smp_load_acquire(at)	(*(at))
#define READ_ONCE(what)		(what)
#define WRITE_ONCE(what, to)	((what) = (to))
#define data_race(what)		(what)
#define __struct_group(tag, name, attributes, members...) \
	union { struct { members } attributes; struct tag { members } attributes name; }
#define struct_group(name, members...) union { struct { members }; struct { members } name; }
#define DECLARE_FLEX_ARRAY(type, name) struct { struct { } nothing_before_##name; type name[]; }
#define EXPORT_SYMBOL(symbol)
#define EXPORT_SYMBOL_GPL(symbol)
#define container_of(member_at, type, member) ((type *)((char *)(member_at) - offsetof(type, member)))
#define typeof_member(type, member) __typeof__(((type *)0)->member)
#define sizeof_field(type, member) sizeof(((type *)0)->member)
#define __same_type(a, b)	__builtin_types_compatible_p(__typeof__(a), __typeof__(b))
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define __stringify_(what)	#what
#define __stringify(what)	__stringify_(what)
#define BUILD_BUG_ON(what)	_Static_assert(!(what), #what)
#define BUILD_BUG_ON_ZERO(what)	0
#define static_assert(what, why...) _Static_assert(what, #what)
#define ACCESS_PRIVATE(of, member) ((of)->member)
#define _THIS_IP_		0UL
#define _RET_IP_		0UL
#define __ADDRESSABLE(symbol)

/*
 * What the kernel complains of ends the program: its own code would go on with
 * broken structures.
 */
__attribute__((noreturn, cold)) void shim_bug(const char *file, int line, const char *what);
#define BUG()			shim_bug(__FILE__, __LINE__, "BUG")
#define BUG_ON(what)		do { if (unlikely(what)) shim_bug(__FILE__, __LINE__, #what); } while (0)
#define WARN_ON(what)		({ bool what_ = (what); if (unlikely(what_)) shim_bug(__FILE__, __LINE__, #what); what_; })
#define WARN_ON_ONCE(what)	WARN_ON(what)
#define WARN(what, text...)	WARN_ON(what)
#define WARN_ONCE(what, text...) WARN_ON(what)
#define VM_BUG_ON(what)		BUG_ON(what)
#define lockdep_assert_held(lock) ((void)(lock))
#define lockdep_assert_held_once(lock) ((void)(lock))
#define lockdep_assert_not_held(lock) ((void)(lock))
#define lockdep_is_held(lock)	1
#define might_sleep()		((void)0)
#define might_sleep_if(what)	((void)(what))
#define dump_stack()		((void)0)
#define printk(text...)		((void)0)
#define pr_err(text...)		((void)0)
#define pr_warn(text...)	((void)0)
#define pr_warn_once(text...)	((void)0)
#define pr_warn_ratelimited(text...) ((void)0)
#define pr_info(text...)	((void)0)
#define pr_crit(text...)	((void)0)
#define pr_debug(text...)	((void)0)
#define printk_ratelimited(text...) ((void)0)
#define KERN_ERR
#define KERN_INFO
#define KERN_WARNING

/* Numbers. */
#define min(a, b)		({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b)		({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define min_t(type, a, b)	({ type a_ = (a); type b_ = (b); a_ < b_ ? a_ : b_; })
#define max_t(type, a, b)	({ type a_ = (a); type b_ = (b); a_ > b_ ? a_ : b_; })
#define min3(a, b, c)		min(min(a, b), c)
#define max3(a, b, c)		max(max(a, b), c)
#define min_not_zero(a, b)	({ __typeof__(a) x_ = (a); __typeof__(b) y_ = (b); !x_ ? y_ : !y_ ? x_ : min(x_, y_); })
#define clamp(what, low, high)	min(max(what, low), high)
#define clamp_t(type, what, low, high) min_t(type, max_t(type, what, low), high)
#define clamp_val(what, low, high) clamp_t(__typeof__(what), what, low, high)
#define swap(a, b)		do { __typeof__(a) a_ = (a); (a) = (b); (b) = a_; } while (0)
#define DIV_ROUND_UP(of, by)	(((of) + (by) - 1) / (by))
#define DIV_ROUND_UP_ULL(of, by) (((u64)(of) + (by) - 1) / (by))
#define DIV_ROUND_UP_SECTOR_T(of, by) DIV_ROUND_UP_ULL(of, by)
#define DIV_ROUND_CLOSEST(of, by) (((of) + (by) / 2) / (by))
#define round_up(what, to)	((((what) - 1) | ((__typeof__(what))(to) - 1)) + 1)
#define round_down(what, to)	((what) & ~((__typeof__(what))(to) - 1))
#define roundup(what, to)	((((what) + (to) - 1) / (to)) * (to))
#define rounddown(what, to)	((what) - (what) % (to))
#define ALIGN(what, to)		round_up(what, to)
#define ALIGN_DOWN(what, to)	round_down(what, to)
#define IS_ALIGNED(what, to)	(((what) & ((__typeof__(what))(to) - 1)) == 0)
#define do_div(of, by)		({ u32 rest_ = (of) % (by); (of) /= (by); rest_; })
#define sector_div(of, by)	do_div(of, by)
#define U8_MAX			((u8)~0)
#define U16_MAX			((u16)~0)
#define U32_MAX			((u32)~0)
#define U64_MAX			((u64)~0ULL)
#define S64_MAX			((s64)(U64_MAX >> 1))
#define swab32(what)		__builtin_bswap32(what)

static inline u64 div_u64(u64 of, u32 by) { return of / by; }
static inline u64 div64_u64(u64 of, u64 by) { return of / by; }
static inline u64 div64_ul(u64 of, unsigned long by) { return of / by; }
static inline s64 div_s64(s64 of, s32 by) { return of / by; }
static inline s64 div64_s64(s64 of, s64 by) { return of / by; }
static inline u64 mul_u64_u32_shr(u64 a, u32 b, unsigned int shift)
{
	return (u64)(((unsigned __int128)a * b) >> shift);
}

/* Bits. */
#define BIT(bit)		(1UL << (bit))
#define BIT_ULL(bit)		(1ULL << (bit))
#define GENMASK(high, low)	((~0UL << (low)) & (~0UL >> (BITS_PER_LONG - 1 - (high))))
#define BITS_TO_LONGS(bits)	DIV_ROUND_UP(bits, BITS_PER_LONG)
#define BIT_MASK(bit)		BIT((bit) % BITS_PER_LONG)
#define BIT_WORD(bit)		((bit) / BITS_PER_LONG)
#define DECLARE_BITMAP(name, bits) unsigned long name[BITS_TO_LONGS(bits)]
#define for_each_set_bit(bit, map, size) \
	for ((bit) = find_first_bit(map, size); (bit) < (size); (bit) = find_next_bit(map, size, (bit) + 1))

static inline int ffs_long(unsigned long word) { return __builtin_ctzl(word); }
#define __ffs(word)		((unsigned long)ffs_long(word))
#define ffz(word)		__ffs(~(word))
static inline int fls(unsigned int word) { return word ? 32 - __builtin_clz(word) : 0; }
static inline int fls64(u64 word) { return word ? 64 - __builtin_clzll(word) : 0; }
static inline unsigned int fls_long(unsigned long word) { return fls64(word); }
static inline unsigned int hweight_long(unsigned long word) { return __builtin_popcountl(word); }
static inline unsigned int hweight32(u32 word) { return __builtin_popcount(word); }
static inline unsigned int hweight8(u8 word) { return __builtin_popcount(word); }
static inline bool test_bit(long bit, const volatile unsigned long *map)
{
	return map[BIT_WORD(bit)] & BIT_MASK(bit);
}
static inline void __set_bit(long bit, volatile unsigned long *map) { map[BIT_WORD(bit)] |= BIT_MASK(bit); }
static inline void __clear_bit(long bit, volatile unsigned long *map) { map[BIT_WORD(bit)] &= ~BIT_MASK(bit); }
static inline bool __test_and_set_bit(long bit, volatile unsigned long *map)
{
	bool was = test_bit(bit, map);

	__set_bit(bit, map);
	return was;
}
static inline bool __test_and_clear_bit(long bit, volatile unsigned long *map)
{
	bool was = test_bit(bit, map);

	__clear_bit(bit, map);
	return was;
}
#define set_bit			__set_bit
#define clear_bit		__clear_bit
#define clear_bit_unlock	__clear_bit
#define test_and_set_bit	__test_and_set_bit
#define test_and_set_bit_lock	__test_and_set_bit
#define test_and_clear_bit	__test_and_clear_bit
static inline unsigned long find_next_bit(const unsigned long *map, unsigned long size, unsigned long from)
{
	while (from < size && !test_bit(from, map))
		from++;
	return from < size ? from : size;
}
static inline unsigned long find_next_zero_bit(const unsigned long *map, unsigned long size, unsigned long from)
{
	while (from < size && test_bit(from, map))
		from++;
	return from < size ? from : size;
}
#define find_first_bit(map, size) find_next_bit(map, size, 0)
#define find_first_zero_bit(map, size) find_next_zero_bit(map, size, 0)

static inline unsigned int bitmap_weight(const unsigned long *map, unsigned int bits)
{
	unsigned int number = 0;

	for (unsigned int bit = 0; bit < bits; bit++)
		number += test_bit(bit, map);
	return number;
}

/* Atomic operations. */
#define ATOMIC_INIT(to)		{ (to) }
#define SHIM_ATOMICS(prefix, holder, number) \
static inline number prefix##_read(const holder *at) { return at->counter; } \
static inline void prefix##_set(holder *at, number to) { at->counter = to; } \
static inline void prefix##_add(number by, holder *at) { at->counter += by; } \
static inline void prefix##_sub(number by, holder *at) { at->counter -= by; } \
static inline void prefix##_inc(holder *at) { at->counter++; } \
static inline void prefix##_dec(holder *at) { at->counter--; } \
static inline number prefix##_add_return(number by, holder *at) { return at->counter += by; } \
static inline number prefix##_sub_return(number by, holder *at) { return at->counter -= by; } \
static inline number prefix##_inc_return(holder *at) { return ++at->counter; } \
static inline number prefix##_dec_return(holder *at) { return --at->counter; } \
static inline bool prefix##_dec_and_test(holder *at) { return !--at->counter; } \
static inline bool prefix##_inc_not_zero(holder *at) { return at->counter && ++at->counter; } \
static inline void prefix##_or(number bits, holder *at) { at->counter |= bits; } \
static inline void prefix##_andnot(number bits, holder *at) { at->counter &= ~bits; } \
static inline number prefix##_xchg(holder *at, number to) \
{ \
	number was = at->counter; \
	at->counter = to; \
	return was; \
} \
static inline number prefix##_cmpxchg(holder *at, number from, number to) \
{ \
	number was = at->counter; \
	if (was == from) \
		at->counter = to; \
	return was; \
} \
static inline bool prefix##_try_cmpxchg(holder *at, number *from, number to) \
{ \
	number was = at->counter; \
	if (was == *from) { \
		at->counter = to; \
		return true; \
	} \
	*from = was; \
	return false; \
}
SHIM_ATOMICS(atomic, atomic_t, int)
SHIM_ATOMICS(atomic_long, atomic_long_t, long)
SHIM_ATOMICS(atomic64, atomic64_t, s64)
#define atomic_set_release	atomic_set
#define xchg(at, to)		({ __typeof__(*(at)) was_ = *(at); *(at) = (to); was_; })
#define cmpxchg(at, from, to) \
	({ __typeof__(*(at)) was_ = *(at); if (was_ == (from)) *(at) = (to); was_; })
#define try_cmpxchg(at, from, to) \
	({ bool is_ = *(at) == *(from); if (is_) *(at) = (to); else *(from) = *(at); is_; })
typedef struct { atomic_t refs; } refcount_t;
struct kref { refcount_t refcount; };
static inline void refcount_set(refcount_t *count, int to) { atomic_set(&count->refs, to); }
static inline void refcount_inc(refcount_t *count) { atomic_inc(&count->refs); }
static inline bool refcount_dec_and_test(refcount_t *count) { return atomic_dec_and_test(&count->refs); }
static inline int refcount_read(const refcount_t *count) { return atomic_read(&count->refs); }
static inline bool refcount_inc_not_zero(refcount_t *count) { return atomic_inc_not_zero(&count->refs); }

/* Locks: there is one thread. */
typedef struct { int never_used; } spinlock_t;
typedef spinlock_t raw_spinlock_t;
struct mutex { int never_used; };
struct rw_semaphore { int never_used; };
struct lock_class_key { };
struct lockdep_map { };
#define DEFINE_SPINLOCK(name)	spinlock_t name
#define DEFINE_MUTEX(name)	struct mutex name
#define __SPIN_LOCK_UNLOCKED(name) { 0 }
#define spin_lock_init(lock)	((void)(lock))
#define raw_spin_lock_init(lock) ((void)(lock))
#define spin_lock(lock)		((void)(lock))
#define spin_lock_nested(lock, depth) ((void)(lock))
#define spin_trylock(lock)	((void)(lock), true)
#define spin_unlock(lock)	((void)(lock))
#define spin_lock_irq(lock)	((void)(lock))
#define spin_unlock_irq(lock)	((void)(lock))
#define spin_lock_irqsave(lock, flags) ((void)(lock), (void)((flags) = 0))
#define raw_spin_lock_irqsave(lock, flags) ((void)(lock), (void)((flags) = 0))
#define raw_spin_unlock_irqrestore(lock, flags) ((void)(lock), (void)(flags))
#define spin_trylock_irqsave(lock, flags) ((void)(lock), (void)((flags) = 0), true)
#define spin_unlock_irqrestore(lock, flags) ((void)(lock), (void)(flags))
#define guard(kind)		SHIM_GUARD_##kind
#define SHIM_GUARD_raw_spinlock_irqsave(lock) ((void)(lock))
#define SHIM_GUARD_spinlock_irqsave(lock) ((void)(lock))
#define mutex_init(lock)	((void)(lock))
#define mutex_lock(lock)	((void)(lock))
#define mutex_unlock(lock)	((void)(lock))
#define rcu_read_lock()		((void)0)
#define rcu_read_unlock()	((void)0)
#define rcu_dereference(what)	(what)
#define rcu_dereference_check(what, why) (what)
#define rcu_dereference_raw(what) (what)
#define rcu_dereference_protected(what, why) (what)
#define rcu_access_pointer(what) (what)
#define rcu_assign_pointer(what, to) ((what) = (to))
#define rcu_lock_acquire(map)	((void)0)
#define local_irq_save(flags)	((void)((flags) = 0))
#define local_irq_restore(flags) ((void)(flags))
#define local_irq_disable()	((void)0)
#define local_irq_enable()	((void)0)
#define preempt_disable()	((void)0)
#define preempt_enable()	((void)0)
#define irqs_disabled()		0
#define in_interrupt()		0
#define need_resched()		0
#define cond_resched()		((void)0)
#define cpu_relax()		((void)0)
#define prefetch(at)		((void)(at))
#define prefetchw(at)		((void)(at))

/* Data of each of the one processor. */
#define alloc_percpu(type)	((type *)calloc(1, sizeof(type)))
#define alloc_percpu_gfp(type, flags) alloc_percpu(type)
#define free_percpu(at)		free(at)
#define per_cpu_ptr(at, cpu)	((void)(cpu), (at))
#define raw_cpu_ptr(at)		(at)
#define this_cpu_ptr(at)	(at)
#define get_cpu_ptr(at)		(at)
#define put_cpu_ptr(at)		((void)(at))
#define this_cpu_read(what)	(what)
#define raw_cpu_read(what)	(what)
#define this_cpu_write(what, to) ((what) = (to))
#define this_cpu_inc(what)	((what)++)
#define this_cpu_dec(what)	((what)--)
#define this_cpu_add(what, by)	((what) += (by))
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < 1; (cpu)++)
#define for_each_online_cpu(cpu) for_each_possible_cpu(cpu)
#define DEFINE_PER_CPU(type, name) type name
#define DECLARE_PER_CPU(type, name) extern type name
#define get_cpu()		0
#define put_cpu()		((void)0)
#define smp_processor_id()	0
#define raw_smp_processor_id()	0
#define nr_cpu_ids		1U
#define num_possible_cpus()	1U
#define num_online_cpus()	1U
#define cpu_to_node(cpu)	((void)(cpu), 0)
#define numa_node_id()		0
#define NUMA_NO_NODE		(-1)
#define cpus_share_cache(a, b)	true
#define cpumask_test_cpu(cpu, mask) true
#define cache_line_size()	64
#define L1_CACHE_BYTES		64
struct cpumask { unsigned long never_used; };
typedef struct cpumask *cpumask_var_t;

/* Memory. Nothing fails but with the program. */
#define GFP_KERNEL		1U
#define GFP_ATOMIC		2U
#define GFP_NOIO		3U
#define GFP_NOFS		4U
#define GFP_NOWAIT		5U
#define __GFP_ZERO		0x100U
#define __GFP_NOWARN		0x200U
#define __GFP_NORETRY		0x400U
#define __GFP_DIRECT_RECLAIM	0x800U
#define __GFP_NOMEMALLOC	0x1000U
#define gfpflags_allow_blocking(flags) false
#define SLAB_HWCACHE_ALIGN	0
#define PAGE_SHIFT		12
#define PAGE_SIZE		(1UL << PAGE_SHIFT)
#define PAGE_MASK		(~(PAGE_SIZE - 1))
#define offset_in_page(at)	((unsigned long)(at) & ~PAGE_MASK)
#define KB			* 1024
struct page { int never_used; };
struct folio;
struct kmem_cache { size_t size; };
void *shim_allocate(size_t bytes);
#define kzalloc(bytes, flags)	shim_allocate(bytes)
#define kmalloc(bytes, flags)	shim_allocate(bytes)
#define kzalloc_node(bytes, flags, node) ((void)(node), shim_allocate(bytes))
#define kmalloc_node(bytes, flags, node) ((void)(node), shim_allocate(bytes))
#define kcalloc(number, bytes, flags) shim_allocate((size_t)(number) * (bytes))
#define kcalloc_node(number, bytes, flags, node) ((void)(node), shim_allocate((size_t)(number) * (bytes)))
#define kmalloc_array(number, bytes, flags) shim_allocate((size_t)(number) * (bytes))
#define kmalloc_array_node(number, bytes, flags, node) ((void)(node), shim_allocate((size_t)(number) * (bytes)))
#define kvzalloc_node		kzalloc_node
#define kvmalloc_array_node	kmalloc_array_node
#define kvcalloc_node		kcalloc_node
#define kfree(at)		free((void *)(at))
#define kvfree(at)		free((void *)(at))
#define kfree_rcu(at, head)	free(at)
struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align, slab_flags_t flags, void *new);
void kmem_cache_destroy(struct kmem_cache *cache);
#define KMEM_CACHE(type, flags)	kmem_cache_create(#type, sizeof(struct type), 0, flags, NULL)
#define kmem_cache_alloc_node(cache, flags, node) ((void)(node), shim_allocate((cache)->size))
#define kmem_cache_alloc(cache, flags) shim_allocate((cache)->size)
#define kmem_cache_zalloc(cache, flags) shim_allocate((cache)->size)
#define kmem_cache_free(cache, at) free(at)
typedef struct { int never_used; } mempool_t;
static inline bool mempool_initialized(mempool_t *pool) { (void)pool; return false; }

/* Strings and attributes. */
#define KBUILD_MODNAME		"shim"
#define scnprintf(text, size, format...) snprintf(text, size, format)
#define sysfs_emit(text, format...) sprintf(text, format)
#define seq_printf(file, text...) ((void)(file))
#define seq_puts(file, text)	((void)(file))
#define seq_putc(file, letter)	((void)(file))
#define simple_strtoul(text, end, base) strtoul(text, end, base)
size_t shim_strscpy(char *to, const char *from, size_t size);
#define strscpy(to, from, size) shim_strscpy(to, from, size)
#define strlcpy(to, from, size) shim_strscpy(to, from, size)
char *strstrip(char *text);
#define strim(text) strstrip(text)
int kstrtoint(const char *text, unsigned int base, int *number);
int kstrtoul(const char *text, unsigned int base, unsigned long *number);
int kstrtou64(const char *text, unsigned int base, u64 *number);
int kstrtoull(const char *text, unsigned int base, u64 *number);
struct attribute { const char *name; umode_t mode; };
struct attribute_group { int never_used; };
struct kobject;
struct sysfs_ops {
	ssize_t (*show)(struct kobject *, struct attribute *, char *);
	ssize_t (*store)(struct kobject *, struct attribute *, const char *, size_t);
};
struct kobj_type {
	void (*release)(struct kobject *);
	const struct sysfs_ops *sysfs_ops;
	const struct attribute_group **default_groups;
};
struct kobject { const struct kobj_type *ktype; struct kobject *parent; int references; };
#define __ATTR(name_, mode_, show_, store_) { { #name_, mode_ }, show_, store_ }
#define __ATTR_NULL		{ { NULL, 0 }, NULL, NULL }
void kobject_init(struct kobject *object, const struct kobj_type *type);
void kobject_put(struct kobject *object);
#define kobject_add(object, parent, text...) ((void)(object), (void)(parent), 0)
#define kobject_del(object)	((void)(object))
#define kobject_uevent(object, what) ((void)(object))
#define sysfs_create_file(object, attribute) ((void)(object), (void)(attribute), 0)
#define KOBJ_ADD		0
#define KOBJ_REMOVE		1
struct seq_file { void *private; };
struct seq_operations { int never_used; };

/* Modules. */
struct module { int never_used; };
#define THIS_MODULE		((struct module *)NULL)
#define module_init(function)
#define module_exit(function)
#define MODULE_AUTHOR(text)
#define MODULE_LICENSE(text)
#define MODULE_DESCRIPTION(text)
#define MODULE_ALIAS(text)
#define subsys_initcall(function)
#define request_module(text...)	((void)0)
#define __setup(text, function)
#define module_param(name, type, mode)
#define try_module_get(module)	((void)(module), true)
#define __module_get(module)	((void)(module))
#define module_put(module)	((void)(module))

/* Errors as pointers, and the errors. */
#define ENOENT			2
#define EIO			5
#define EAGAIN			11
#define ENOMEM			12
#define EBUSY			16
#define EEXIST			17
#define ENODEV			19
#define EINVAL			22
#define ENOTTY			25
#define EROFS			30
#define ERANGE			34
#define EOPNOTSUPP		95
#define ENOTSUPP		524
#define EIOCBQUEUED		529
#define MAX_ERRNO		4095
static inline void *ERR_PTR(long error) { return (void *)error; }
static inline long PTR_ERR(const void *at) { return (long)at; }
static inline bool IS_ERR(const void *at) { return (unsigned long)at >= (unsigned long)-MAX_ERRNO; }
static inline bool IS_ERR_OR_NULL(const void *at) { return !at || IS_ERR(at); }

#include "machine.h"
#include "rest.h"
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/ioprio.h>
#include <linux/blk-mq.h>

#endif
