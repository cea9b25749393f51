//! Test-only switch that disables the fast paths, so that they can be compared with the general ones.
//!
//! `connection/fast_path_tests.rs` sets it in one of two connections; outside tests the fast paths are always on.

/// The switch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FastPath {
    #[cfg(test)]
    is_off: bool,
}

impl FastPath {
    #[cfg(test)]
    pub fn off() -> Self {
        Self { is_off: true }
    }

    #[inline(always)]
    pub fn is_on(self) -> bool {
        #[cfg(test)]
        return !self.is_off;
        #[cfg(not(test))]
        true
    }
}
