//! Fetching memory ahead of its use.

/// Tells the processor that an element will be used soon; nothing happens for an index out of range.
///
/// A random access to a mapping table of a drive misses every cache. Whoever knows the address some work earlier hides
/// that miss behind the work.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = slice.get(index) {
        // A prefetch has no effect but on timing, whatever the address; the intrinsic is unsafe only by its signature.
        #[allow(unsafe_code)]
        unsafe {
            core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(std::ptr::from_ref(element).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}
