//! Whether the short ways for usual segments may be taken.
//!
//! They may, always. Only the test that holds them equal to the general ways (`connection/fast_path_tests.rs`) switches
//! them off in one of two connections; outside tests the switch does not exist.

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
