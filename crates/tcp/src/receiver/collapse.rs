//! Copies what is queued into fewer buffers, to save the room that segments leave in theirs (Linux 6.1, `tcp_collapse`).

use super::buffers::{PAGE_ROOM, Piece};
use super::window::ReceiveWindow;

/// What copying does to a run of pieces.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Indices of the pieces that are gone, in order.
    pub gone: Vec<usize>,
    /// What takes the place of the last of them.
    pub made: Vec<Piece>,
}

impl Copies {
    /// Of `pieces`, which follow each other or overlap, `start..end` is wanted. All before the first that has more room
    /// than its payload needs, or the first overlap, stay as they are; a piece with a FIN does, and all that follow it.
    pub(super) fn of(
        pieces: &[Piece],
        (mut start, end): (u64, u64),
        window: &ReceiveWindow,
        has_fin: impl Fn(&Piece) -> bool,
    ) -> Self {
        let mut copies = Self::default();
        let mut at = 0;
        loop {
            let Some(piece) = pieces.get(at) else { return copies };
            let is_first = !has_fin(piece) && (window.wastes(&piece.buffer) || piece.start < start);
            let overlaps = pieces.get(at + 1).is_some_and(|next| next.start != piece.end);
            if piece.end <= start {
                copies.gone.push(at);
            } else if is_first || overlaps {
                break;
            } else {
                start = piece.end;
            }
            at += 1;
        }
        if has_fin(&pieces[at]) {
            return copies;
        }
        while start < end {
            let (from, until) = (start, end.min(start + PAGE_ROOM));
            let mut is_last = false;
            while start < until && !is_last {
                start = until.min(pieces[at].end.max(start));
                if start >= pieces[at].end {
                    copies.gone.push(at);
                    at += 1;
                    is_last = at == pieces.len() || has_fin(&pieces[at]);
                }
            }
            let buffer = window.buffers().copy((until - from) as u32, (start - from) as u32);
            copies.made.push(Piece { start: from, end: start, buffer });
            if is_last {
                break;
            }
        }
        copies
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    /// Indices that are gone, and (start, end, memory, payload) of what is made.
    type Outcome = (Vec<usize>, Vec<(u64, u64, u64, u32)>);

    fn of(ranges: &[(u64, u64)], wanted: (u64, u64), fin: u64) -> Outcome {
        // Half of the memory is reckoned to be payload.
        let window = ReceiveWindow::new(&Config::default());
        let piece = |&(start, end): &(u64, u64)| {
            let buffer = window.buffers().of((end - start) as u32);
            Piece { start, end, buffer }
        };
        let pieces: Vec<Piece> = ranges.iter().map(piece).collect();
        let copies = Copies::of(&pieces, wanted, &window, |piece| piece.end > fin);
        let made = copies.made.iter().map(|one| (one.start, one.end, one.buffer.memory, one.buffer.len)).collect();
        (copies.gone, made)
    }

    #[test]
    fn all_behind_the_first_that_wastes_room_are_copied() {
        // 1448 of 2304 bytes are payload, then 500 of 1280.
        let ranges = [(0, 1_448), (1_448, 1_948), (1_948, 3_396), (3_396, 6_292)];
        assert_eq!(
            of(&ranges, (0, 6_292), u64::MAX),
            (vec![1, 2, 3], vec![(1_448, 5_224, 4_352, 3_776), (5_224, 6_292, 2_304, 1_068)])
        );
        assert_eq!(of(&ranges[..1], (0, 1_448), u64::MAX), (vec![], vec![]));
    }

    #[test]
    fn what_overlaps_is_copied_once() {
        let ranges = [(0, 1_448), (1_000, 2_448), (2_448, 3_896)];
        let (gone, made) = of(&ranges, (0, 3_896), u64::MAX);
        assert_eq!((gone, made), (vec![0, 1, 2], vec![(0, 3_776, 4_352, 3_776), (3_776, 3_896, 768, 120)]));
        // The second has nothing new: it goes, and the others, which do not touch, are copied from there on.
        let ranges = [(0, 1_448), (500, 1_000), (1_448, 2_896)];
        assert_eq!(of(&ranges, (0, 2_896), u64::MAX), (vec![0, 1, 2], vec![(0, 2_896, 4_352, 2_896)]));
    }

    #[test]
    fn what_was_read_of_the_first_is_not_copied() {
        let ranges = [(0, 1_448), (1_448, 2_896)];
        assert_eq!(of(&ranges, (1_000, 2_896), u64::MAX), (vec![0, 1], vec![(1_000, 2_896, 4_352, 1_896)]));
        assert_eq!(of(&ranges, (1_448, 2_896), u64::MAX), (vec![0], vec![]));
    }

    #[test]
    fn a_fin_ends_it_and_its_piece_stays() {
        // The buffer was made for all of the 1501 bytes.
        let ranges = [(0, 500), (500, 1_000), (1_000, 1_501)];
        assert_eq!(of(&ranges, (0, 1_501), 1_500), (vec![0, 1], vec![(0, 1_000, 2_304, 1_000)]));
        assert_eq!(of(&ranges[2..], (1_000, 1_501), 1_500), (vec![], vec![]));
    }
}
