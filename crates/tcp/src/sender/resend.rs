//! What a sender looks at when it may send.

/// What may be sent again after an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Resend {
    /// What is marked lost, then new data.
    #[default]
    Lost,
    /// What is marked lost: a timer does not look at new data, nor at whether the window is the limit. Until
    /// an ACK arrives, the application writes, or room that was waited for is there.
    OnlyLost,
    /// The first segment, once: all that a retransmission timeout sends, however large a window the rule has then. Until the
    /// same events.
    OnlyFirst,
    /// Nothing: the ACK shows that what is marked lost may only be late. New data is clocked out.
    Nothing,
    /// New data: F-RTO looks whether it is acknowledged (RFC 5682, section 3.1 step 2b).
    NewFirst,
}

impl Resend {
    /// A timer fired, after which new data is not looked at.
    pub fn is_of_a_timer(self) -> bool {
        matches!(self, Self::OnlyLost | Self::OnlyFirst)
    }
}
