//! Memory of large arrays in huge pages: the map of a drive is touched in one place after another, and with pages of
//! 4 KiB each of them costs a fault at first and a walk of the system's page table later.
//!
//! An allocator for programs, on the system's own. It asks Linux for huge pages (`MADV_HUGEPAGE`) where memory is to be
//! written whole: for large allocations that are not zeroed. An array of zeros may be touched in few places, and would
//! then take a huge page for each. What Linux makes of the advice is its own affair, and so are failures: memory is as
//! good without. Elsewhere than on Linux this is the system's allocator.
//!
//! Contract of the unsafe code here: every call goes to [`System`] with the arguments it came with, so that the
//! caller's promises are those that `System` needs; the advice names whole pages within a block that `System` has just
//! given, and changes no byte of it.
#![allow(unsafe_code, reason = "An allocator is unsafe by its interface; the head says what it relies on.")]

use std::alloc::{GlobalAlloc, Layout, System};

/// Smallest allocation that is advised: with it a huge page of 2 MiB lies in it wherever it begins.
pub const LEAST_BYTES: usize = 4 << 20;

/// The allocator: `#[global_allocator] static ALLOCATOR: HugePages = HugePages;`.
#[derive(Clone, Copy, Debug, Default)]
pub struct HugePages;

// SAFETY: all of it is `System`, which keeps the contract of an allocator.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc(layout) };
        if layout.size() >= LEAST_BYTES {
            advise(block, layout.size());
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Asks for huge pages in a block of memory.
#[cfg(target_os = "linux")]
fn advise(block: *mut u8, bytes: usize) {
    use rustix::mm::{Advice, madvise};

    /// Advice is for whole pages of the system; none of it has larger ones.
    const PAGE: usize = 64 << 10;
    let before = block.align_offset(PAGE);
    if block.is_null() || before >= bytes {
        return;
    }
    // SAFETY: from the first page that begins in the block on, as many as lie in it; the advice changes no byte.
    let _ = unsafe { madvise(block.add(before).cast(), (bytes - before) / PAGE * PAGE, Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_block: *mut u8, _bytes: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: HugePages = HugePages;

    /// Bytes of this process in huge pages; none if the system does not say.
    #[cfg(target_os = "linux")]
    fn huge_bytes() -> Option<u64> {
        let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
        let line = rollup.lines().find_map(|line| line.strip_prefix("AnonHugePages:"))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
    }

    /// Blocks of every size hold what was written, also when they grow. Where the system gives huge pages to those who
    /// ask, a large array has them, and one of zeros has not. One test, because what others allocate counts too.
    #[test]
    fn blocks_are_as_good_as_others_and_large_ones_that_are_written_have_huge_pages() {
        for bytes in [1, 4_095, LEAST_BYTES - 1, LEAST_BYTES, LEAST_BYTES + 1, 3 * LEAST_BYTES + 12_345] {
            let mut block: Vec<u8> = (0..bytes).map(|at| at as u8).collect();
            block.resize(2 * bytes, 9);
            block.shrink_to_fit();
            assert!(block[..bytes].iter().enumerate().all(|(at, &byte)| byte == at as u8));
            assert!(block[bytes..].iter().all(|&byte| byte == 9));
        }
        #[cfg(target_os = "linux")]
        only_what_is_written_has_huge_pages();
    }

    #[cfg(target_os = "linux")]
    fn only_what_is_written_has_huge_pages() {
        const BYTES: usize = 64 << 20;
        let mode = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        let Some(before) = huge_bytes().filter(|_| mode.contains("[madvise]")) else { return };
        let zeros = vec![0_u8; BYTES];
        assert_eq!(zeros[BYTES / 2], 0);
        assert_eq!(huge_bytes(), Some(before), "zeros are not advised");
        let written = vec![7_u8; BYTES];
        assert_eq!(written[BYTES / 2], 7);
        // A system without free huge pages gives small ones.
        println!("{} bytes of {BYTES} in huge pages", huge_bytes().unwrap_or_default() - before);
    }
}
