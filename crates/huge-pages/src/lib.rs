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
        for bytes in [1, 4_095, LEAST_BYTES - 1, LEAST_BYTES, LEAST_BYTES + 1, 3 * LEAST_BYTES + 12_345] {
            let mut block: Vec<u8> = (0..bytes).map(|at| at as u8).collect();
            block.resize(2 * bytes, 9);
            block.shrink_to_fit();
            assert!(block[..bytes].iter().enumerate().all(|(at, &byte)| byte == at as u8));
            assert!(block[bytes..].iter().all(|&byte| byte == 9));
        }
    }

    /// A kernel without huge pages refuses the advice, and has no such flag.
    #[test]
    #[cfg(target_os = "linux")]
    fn huge_pages_are_asked_for_where_a_large_array_is_written_and_not_for_zeros_or_small_ones() {
        const BYTES: usize = 64 << 20;
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            return;
        }
        let (written, zeros, small) = (vec![7_u8; BYTES], vec![0_u8; BYTES], vec![7_u8; LEAST_BYTES - 1]);
        for (block, is_large) in [(&written, true), (&zeros, false), (&small, false)] {
            assert_eq!(is_advised(&block[block.len() / 2]), Some(is_large), "{} bytes", block.len());
        }
    }
}
