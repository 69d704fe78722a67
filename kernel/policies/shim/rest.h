/* SPDX-License-Identifier: GPL-2.0-only */
/* Types of other parts of the kernel that the block layer's structures hold. */
#ifndef SHIM_REST_H
#define SHIM_REST_H

#define LIST_POISON1		NULL
#define LIST_POISON2		NULL
#define __latent_entropy

/* Waiting: a queue is a list of functions that are called when it is woken. */
struct wait_queue_entry;
typedef int (*wait_queue_func_t)(struct wait_queue_entry *entry, unsigned mode, int flags, void *key);
struct wait_queue_entry {
	unsigned int flags;
	void *private;
	wait_queue_func_t func;
	struct list_head entry;
};
typedef struct wait_queue_entry wait_queue_entry_t;
struct wait_queue_head { spinlock_t lock; struct list_head head; };
typedef struct wait_queue_head wait_queue_head_t;
#define TASK_NORMAL		3
#define TASK_UNINTERRUPTIBLE	2
#define WQ_FLAG_EXCLUSIVE	1
#define init_waitqueue_head(queue) INIT_LIST_HEAD(&(queue)->head)
#define init_waitqueue_func_entry(entry, function) \
	((entry)->flags = 0, (entry)->private = NULL, (entry)->func = (function))
#define waitqueue_active(queue)	(!list_empty(&(queue)->head))
#define wait_event(queue, what)	((void)0)
void add_wait_queue(struct wait_queue_head *queue, struct wait_queue_entry *entry);
int shim_wake(struct wait_queue_head *queue, int most);
#define wake_up_nr(queue, most)	shim_wake(queue, most)
#define wake_up(queue)		shim_wake(queue, 1)
#define wake_up_all(queue)	shim_wake(queue, INT_MAX)
bool prepare_to_wait_exclusive(struct wait_queue_head *queue, struct wait_queue_entry *entry, int state);
void finish_wait(struct wait_queue_head *queue, struct wait_queue_entry *entry);
int autoremove_wake_function(struct wait_queue_entry *entry, unsigned mode, int flags, void *key);
struct __call_single_data { int never_used; };
typedef struct __call_single_data call_single_data_t;
struct completion { int never_used; };

/* Work that runs later is never given out. */
struct work_struct;
typedef void (*work_func_t)(struct work_struct *);
struct work_struct { work_func_t func; };
struct delayed_work { struct work_struct work; };
struct workqueue_struct;
#define INIT_WORK(work, function) ((work)->func = (function))
#define queue_work(queue, work)	((void)(work))

/* Other structures, mostly without fields that are looked at. */
enum rw_hint { WRITE_LIFE_NOT_SET };
enum rpm_status { RPM_ACTIVE, RPM_SUSPENDED };
enum rq_onoff_reason { RQ_ONOFF_REASON };
struct device { struct kobject kobj; struct device *parent; void *driver_data; };
struct device_driver;
struct class;
struct percpu_ref { int never_used; };
#define percpu_ref_tryget(ref)	true
#define percpu_ref_get(ref)	((void)(ref))
#define percpu_ref_put(ref)	((void)(ref))
#define percpu_ref_is_dying(ref) false
#define percpu_ref_is_zero(ref)	true
struct srcu_struct { int never_used; };
#define srcu_read_lock(srcu)	((void)(srcu), 0)
#define srcu_read_unlock(srcu, at) ((void)(srcu), (void)(at))
/* An array whose one entry is the hardware queue. */
struct xarray { void *entry; };
#define xa_load(array, at)	((at) == 0 ? (array)->entry : NULL)
#define xa_for_each(array, at, what) for ((at) = 0, (what) = (array)->entry; (what); (what) = NULL)
struct radix_tree_root { int never_used; };
struct bdi_writeback { unsigned long dirty_sleep; };
struct backing_dev_info { struct device *dev; struct bdi_writeback wb; unsigned long last_bdp_sleep; };
struct scatterlist { unsigned int length; unsigned int offset; dma_addr_t dma_address; };
struct sg_table;
struct iov_iter;
struct kiocb;
struct inode { u8 i_blkbits; };
struct file;
#define SB_RDONLY		1
struct super_block { unsigned long s_flags; struct block_device *s_bdev; u8 s_blocksize_bits; };
struct fwnode_handle;
struct io_comp_batch_flags;
typedef struct { unsigned char bytes[16]; } uuid_t;
typedef uuid_t guid_t;
#define UUID_STRING_LEN		36
struct llist_node { struct llist_node *next; };
struct llist_head { struct llist_node *first; };
struct disk_stats { int never_used; };
struct partition_meta_info;
struct fault_attr { int never_used; };
struct blk_zone;

struct percpu_counter { s64 count; };
struct blkg_rwstat { int never_used; };
#define part_stat_lock()	((void)0)
#define part_stat_unlock()	((void)0)
#define part_stat_inc(part, field) ((void)(part))
#define part_stat_local_dec(part, field) ((void)(part))
#define READ			0
#define WRITE			1

/* A task: what the submitter of a request has. */
#define TASK_COMM_LEN		16
#define TASK_RUNNING		0
#define PF_BLOCK_TS		1
#define SCHED_NORMAL		0
#define SCHED_IDLE		5
#define MAX_USER_RT_PRIO	100
struct io_context;
struct blk_plug;
struct request;
struct bio;
struct task_struct {
	spinlock_t alloc_lock;
	unsigned int flags;
	int pid, tgid, prio, policy;
	char comm[TASK_COMM_LEN];
	struct io_context *io_context;
	struct blk_plug *plug;
};
#define task_nice(task)		((void)(task), 0)
#define task_nice_ioprio_of(task) 0
#define rt_task(task)		false
#define rt_or_dl_task(task)	false
#define rt_or_dl_task_policy(task) false
#define task_is_realtime(task)	false
#define get_current_state()	TASK_RUNNING
#define __set_current_state(state) ((void)(state))
#ifdef SHIM_TASKS_SLEEP
void shim_io_schedule(void);
void shim_wake_task(struct task_struct *task);
#define io_schedule()		shim_io_schedule()
#define wake_up_process(task)	shim_wake_task(task)
#define set_current_state(state) ((void)(state))
#define wq_has_sleeper(queue)	waitqueue_active(queue)
#else
#define io_schedule()		((void)0)
void wake_up_process(struct task_struct *task);
#endif
#define sysctl_hung_task_timeout_secs 0
#define max_low_pfn		0UL
#define max_pfn			0UL


/* What is off; two hooks of statistics tell policy.c what was merged. */
#define trace_block_rq_insert(rq) ((void)(rq))
void shim_joined(struct request *gone);
#define trace_block_rq_merge(rq) shim_joined(rq)
#define trace_block_bio_backmerge(bio) ((void)(bio))
#define trace_block_bio_frontmerge(bio) ((void)(bio))
#define trace_block_split(bio, at) ((void)(bio))
#define trace_kyber_latency(what...) ((void)0)
#define trace_kyber_adjust(what...) ((void)0)
#define trace_kyber_throttled(what...) ((void)0)
#define blk_add_trace_msg(q, text...) ((void)(q))
#define blk_trace_note_message_enabled(q) false
#ifdef SHIM_TASKS_SLEEP
#define trace_wbt_lat(what...)	((void)0)
#define trace_wbt_stat(what...)	((void)0)
#define trace_wbt_step(what...)	((void)0)
#define trace_wbt_timer(what...) ((void)0)
#define tracepoint_string(text)	(text)
#define current_is_kswapd()	false
#define list_for_each_entry_rcu(at, list, member) list_for_each_entry(at, list, member)
#define list_add_tail_rcu(entry, list) list_add_tail(entry, list)
#define list_del_rcu(entry)	list_del(entry)
#define call_rcu(head, function) ((void)(function))
#define timer_pending(timer)	((timer)->is_pending)
#define __alloc_percpu(bytes, align) shim_allocate(bytes)
#define int_sqrt(of)		shim_root(of)
static inline unsigned long shim_root(unsigned long of)
{
	unsigned long root = 0;

	for (int bit = 31; bit >= 0; bit--) {
		unsigned long more = root | 1UL << bit;

		if (more * more <= of)
			root = more;
	}
	return root;
}
#else
#define blk_stat_enable_accounting(q) ((void)(q))
#define blk_stat_disable_accounting(q) ((void)(q))
#define wbt_enable_default(disk) ((void)(disk))
#define wbt_disable_default(disk) ((void)(disk))
void shim_merged(struct request *rq, struct bio *bio);
#define rq_qos_merge(q, rq, bio) shim_merged(rq, bio)
#endif
#define blk_cgroup_mergeable(rq, bio) true
#define bio_crypt_rq_ctx_compatible(rq, bio) true
#define bio_crypt_ctx_back_mergeable(rq, bio) true
#define bio_crypt_ctx_front_mergeable(rq, bio) true
#define bio_crypt_ctx_merge_rq(rq, next) true
#define bio_crypt_do_front_merge(rq, bio) ((void)(rq))
#define bio_crypt_free_ctx(bio)	((void)(bio))
#define blk_crypto_rq_put_keyslot(rq) ((void)(rq))
#define blkcg_bio_issue_init(bio) ((void)(bio))
#define hlist_del_init_rcu(node) hlist_del_init(node)
#define rcu_barrier()		((void)0)
#define xen_domain()		false
#define in_task()		true
#define MKDEV(major, minor)	((shim_dev_t)((major) << 20 | (minor)))

/* Pages: blk-merge.c looks at them only for devices that cannot take gaps. */
#define page_to_pfn(page)	({ BUG(); 0UL; })
#define page_to_phys(page)	({ BUG(); (phys_addr_t)0; })
#define PFN_PHYS(number)	((phys_addr_t)(number) << PAGE_SHIFT)
#define zone_device_pages_have_same_pgmap(a, b) ({ BUG(); false; })

/* What is compiled and never called: none of these functions exists. */
struct folio *page_folio(struct page *page);
struct folio *folio_next(struct folio *folio);
size_t folio_size(struct folio *folio);
size_t folio_page_idx(struct folio *folio, struct page *page);
struct page *folio_page(struct folio *folio, size_t at);
struct page *virt_to_page(const void *at);
void *kmap_local_page(struct page *page);
void *page_address(const struct page *page);
void memcpy_from_page(char *to, struct page *page, size_t offset, size_t length);
void memcpy_to_page(struct page *page, size_t offset, const char *from, size_t length);
void memzero_page(struct page *page, size_t offset, size_t length);
bool PageHighMem(const struct page *page);
bool is_pci_p2pdma_page(const struct page *page);
bool xen_biovec_phys_mergeable(const void *first, const struct page *page);
void unpin_user_page(struct page *page);
bool iov_iter_is_bvec(const struct iov_iter *iter);
int iov_iter_npages(const struct iov_iter *iter, int most);
bool iov_iter_is_aligned(const struct iov_iter *iter, unsigned addresses, unsigned lengths);
bool is_sync_kiocb(struct kiocb *iocb);
bool inode_unhashed(struct inode *inode);
bool percpu_ref_tryget_live_rcu(struct percpu_ref *ref);
void rwsem_acquire_read(struct lockdep_map *map, int subclass, int trylock, unsigned long from);
void rwsem_acquire(struct lockdep_map *map, int subclass, int trylock, unsigned long from);
void rwsem_release(struct lockdep_map *map, unsigned long from);
unsigned long wait_for_completion_io_timeout(struct completion *done, unsigned long ticks);
void wait_for_completion_io(struct completion *done);
void sg_mark_end(struct scatterlist *list);
void sg_unmark_end(struct scatterlist *list);
struct scatterlist *sg_next(struct scatterlist *list);
void sg_set_page(struct scatterlist *list, struct page *page, unsigned int length, unsigned int offset);

#endif
