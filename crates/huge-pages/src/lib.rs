//! Memory of large arrays in huge pages: the map of a drive is touched in one place after another, and with pages of
//! 4 KiB each of them costs a fault at first and a walk of the system's page table later.
//!
//! An allocator for programs, on the system's own. Large allocations that are to be written whole, because they are not
//! zeroed, begin at a huge page, and Linux is asked for huge pages there (`MADV_HUGEPAGE`). An array of zeros may be
//! touched in few places, and would then take a huge page for each. What Linux makes of the advice is its own affair,
//! and so are failures: memory is as good without. A large block that grows goes where the C library puts it, without
//! advice. Elsewhere than on Linux this is the system's allocator.
//!
//! Contract of the unsafe code here: whether an allocation is large follows from its layout alone, so that it goes back
//! to where it came from. Those that are not go to [`System`](std::alloc::System) with the arguments they came with,
//! and the caller's promises are those that `System` needs. Large ones come from `posix_memalign` or `calloc` and go
//! back by `free` or `realloc` of the C library, which take the memory of both. The advice names whole pages within a
//! block just given, and changes no byte of it.
#![allow(unsafe_code, reason = "An allocator is unsafe by its interface; the head says what it relies on.")]

/// The allocator: `#[global_allocator] static ALLOCATOR: HugePages = HugePages;`.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, Default)]
pub struct HugePages;

#[cfg(not(target_os = "linux"))]
pub use std::alloc::System as HugePages;

/// Size of a huge page where pages have 4 KiB, and of the smallest allocation that gets one.
pub const HUGE_PAGE: usize = 2 << 20;

#[cfg(target_os = "linux")]
mod linux {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::ptr::null_mut;

    use rustix::mm::{Advice, madvise};

    use super::{HUGE_PAGE, HugePages};

    /// Whether a block is large. What `calloc` and `realloc` give is aligned to two words, and may not be to more.
    fn is_large(bytes: usize, align: usize) -> bool {
        bytes >= HUGE_PAGE && align <= 2 * size_of::<usize>()
    }

    // SAFETY: a block comes from where the head says, of the size and alignment that its layout asks for, or is null.
    unsafe impl GlobalAlloc for HugePages {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if is_large(layout.size(), layout.align()) {
                in_huge_pages(layout.size())
            } else {
                // SAFETY: the caller's promise.
                unsafe { System.alloc(layout) }
            }
        }

        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            if is_large(layout.size(), layout.align()) {
                // SAFETY: `calloc` takes any size.
                unsafe { libc::calloc(1, layout.size()).cast() }
            } else {
                // SAFETY: the caller's promise.
                unsafe { System.alloc_zeroed(layout) }
            }
        }

        unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
            let is_new_large = is_large(new_size, layout.align());
            match (is_large(layout.size(), layout.align()), is_new_large) {
                // SAFETY: the caller's promise.
                (false, false) => unsafe { System.realloc(block, layout, new_size) },
                // SAFETY: a large block is the C library's.
                (true, true) => unsafe { libc::realloc(block.cast(), new_size).cast() },
                // SAFETY: the caller promises that the new layout is one; the blocks do not overlap, each has as many
                // bytes as are copied, and the old one is given back once and only where there is a new one.
                _ => unsafe {
                    let new = self.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
                    if !new.is_null() {
                        new.copy_from_nonoverlapping(block, layout.size().min(new_size));
                        self.dealloc(block, layout);
                    }
                    new
                },
            }
        }

        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            if is_large(layout.size(), layout.align()) {
                // SAFETY: a large block is the C library's.
                unsafe { libc::free(block.cast()) }
            } else {
                // SAFETY: the caller's promise.
                unsafe { System.dealloc(block, layout) }
            }
        }
    }

    /// A block of so many bytes that begins at a huge page. Linux is asked for huge pages in it, and for a whole one at
    /// its end if at least half of that is used. Null without memory.
    fn in_huge_pages(bytes: usize) -> *mut u8 {
        let whole = bytes.saturating_add(HUGE_PAGE / 2) / HUGE_PAGE * HUGE_PAGE;
        let mut block = null_mut();
        // SAFETY: the alignment is a power of two and a multiple of a pointer's; `block` is a place for the answer.
        if unsafe { libc::posix_memalign(&raw mut block, HUGE_PAGE, bytes.max(whole)) } != 0 {
            return null_mut();
        }
        // SAFETY: whole pages, all of them within the block; the advice changes no byte.
        let _ = unsafe { madvise(block, whole, Advice::LinuxHugepage) };
        block.cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: HugePages = HugePages;

    /// Whether huge pages were asked for where this byte is; none if the system does not say.
    #[cfg(target_os = "linux")]
    fn is_advised(byte: &u8) -> Option<bool> {
        let at = std::ptr::from_ref(byte).addr();
        let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let mut lines = maps.lines();
        lines.find(|line| {
            let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
            let ends = range.map(|(from, to)| [from, to].map(|end| usize::from_str_radix(end, 16)));
            matches!(ends, Some([Ok(from), Ok(to)]) if (from..to).contains(&at))
        })?;
        let flags = lines.find_map(|line| line.strip_prefix("VmFlags:"))?;
        Some(flags.split_whitespace().any(|flag| flag == "hg"))
    }

    #[test]
    fn blocks_of_every_size_hold_what_was_written_and_grow() {
        for bytes in [1, 4_095, HUGE_PAGE / 2, HUGE_PAGE - 1, HUGE_PAGE, HUGE_PAGE + 1, 3 * HUGE_PAGE + 12_345] {
            let mut block: Vec<u8> = (0..bytes).map(|at| at as u8).collect();
            block.resize(2 * bytes, 9);
            assert!(block[..bytes].iter().enumerate().all(|(at, &byte)| byte == at as u8));
            assert!(block[bytes..].iter().all(|&byte| byte == 9));
            block.truncate(bytes.div_ceil(2));
            block.shrink_to_fit();
            assert!(block.iter().enumerate().all(|(at, &byte)| byte == at as u8));
        }
    }

    #[test]
    fn zeros_are_zeros_grow_and_shrink() {
        for bytes in [100, HUGE_PAGE / 2, HUGE_PAGE, 2 * HUGE_PAGE + 5] {
            let mut block = vec![0_u8; bytes];
            assert!(block.iter().all(|&byte| byte == 0));
            block.resize(3 * bytes, 1);
            assert!(block[..bytes].iter().all(|&byte| byte == 0) && block[bytes..].iter().all(|&byte| byte == 1));
            block.truncate(7);
            block.shrink_to_fit();
            assert_eq!(block, [0; 7]);
        }
    }

    #[test]
    fn alignment_is_kept() {
        /// Of a cache line.
        #[derive(Clone)]
        #[repr(align(64))]
        struct Line([u8; 64]);

        for lines in [1, HUGE_PAGE / 64, HUGE_PAGE / 64 + 1] {
            let mut block = vec![Line([3; 64]); lines];
            block.resize(2 * lines, Line([4; 64]));
            assert_eq!(block.as_ptr().addr() % 64, 0);
            assert!(block[..lines].iter().all(|line| line.0 == [3; 64]));
            assert_eq!(block[2 * lines - 1].0, [4; 64]);
        }
    }

    /// A kernel without huge pages refuses the advice, and has no such flag.
    #[test]
    #[cfg(target_os = "linux")]
    fn huge_pages_are_asked_for_where_a_large_array_is_written_and_not_for_zeros() {
        const BYTES: usize = 64 << 20;
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            return;
        }
        let (written, zeros) = (vec![7_u8; BYTES], vec![0_u8; BYTES]);
        for (block, is_written) in [(&written, true), (&zeros, false)] {
            assert_eq!(is_advised(&block[block.len() / 2]), Some(is_written), "{} bytes", block.len());
        }
        assert_eq!(written.as_ptr().addr() % HUGE_PAGE, 0);
    }
}
