//! A hint to the processor's cache, which changes no result.

/// Asks for the cache line in which `items[index]` begins; nothing happens when there is none.
#[inline(always)]
#[allow(unsafe_code)] // There is no safe way; a prefetch has no architectural effect.
pub fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = items.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of a live value, and SSE is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}
