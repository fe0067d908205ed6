//! Segments cut, torn, flipped, padded and mixed up, read back by the scan.

use sandhog_model::{
    codec::{FORMAT, FrameHead, HeaderVerdict, SEGMENT_HEADER_BYTES, Seal, SegmentHeader},
    recover::{Arriving, End, Ending, Expected, Found, Refusal, Scan},
};

const LOG: u128 = 0xFEED;
const FIRST: u64 = 40;

fn header() -> SegmentHeader {
    SegmentHeader {
        format: FORMAT,
        log: LOG,
        segment: 3,
        first_sequence: FIRST,
    }
}

fn expected() -> Expected {
    Expected {
        log: Some(LOG),
        segment: 3,
        first_sequence: Some(FIRST),
        last: true,
    }
}

fn body(number: u64) -> Vec<u8> {
    vec![number as u8 + 1; 3 + 7 * number as usize]
}

/// A segment of `count` frames, and where each of them begins and the last one ends. `unsynced`
/// tells each frame's place in its batch.
fn segment(count: u64, unsynced: impl Fn(u64) -> u32) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = header().encode().to_vec();
    let mut places = Vec::new();
    for number in 0..count {
        places.push(bytes.len());
        let head = FrameHead {
            sequence: FIRST + number,
            unsynced: unsynced(number),
        };
        let seal = Seal::from(&header());
        seal.encode(head, &body(number), &mut bytes)
            .expect("it fits");
    }
    places.push(bytes.len());
    (bytes, places)
}

/// Each frame synced before the next was written.
fn synced(_: u64) -> u32 {
    0
}

/// Reads all, checks that what is yielded is the beginning of what was written, and tells how many
/// frames that were and how it ended: the same when the bytes come little by little.
fn read(bytes: &[u8], expected: Expected) -> (u64, End) {
    let mut count = 0;
    let mut places = Vec::new();
    for found in Scan::new(bytes, expected) {
        assert_eq!(found.head.sequence, FIRST + count);
        assert_eq!(found.body, body(count));
        places.push(found.offset);
        count += 1;
    }
    let end = Scan::new(bytes, expected).finish();
    for piece in [11, 64] {
        for passes in [false, true] {
            let arrived = little_by_little(bytes, expected, piece, passes);
            assert_eq!(arrived, (places.clone(), end), "{piece} bytes at once");
        }
    }
    (count, end)
}

fn little_by_little(
    bytes: &[u8],
    expected: Expected,
    piece: usize,
    passes: bool,
) -> (Vec<usize>, End) {
    let mut arriving = Arriving::new(expected);
    let mut places = Vec::new();
    let mut tell = |found: Found<'_>| {
        let count = places.len() as u64;
        assert_eq!(found.head.sequence, FIRST + count);
        assert_eq!(found.body, body(count));
        places.push(found.offset);
    };
    let mut from = 0;
    for end in (piece..bytes.len()).step_by(piece) {
        arriving.more(&bytes[from..end], &mut tell);
        if passes {
            from += arriving.pass();
        }
    }
    let end = arriving.end(&bytes[from..], &mut tell);
    (places, end)
}

#[test]
fn a_frame_is_told_as_soon_as_its_last_byte_is_here() {
    let (bytes, places) = segment(5, synced);
    let mut arriving = Arriving::new(expected());
    let mut told = 0;
    for end in 0..=bytes.len() {
        arriving.more(&bytes[..end], |_| told += 1);
        let whole = places[1..].iter().filter(|place| **place <= end).count();
        assert_eq!(told, whole, "{end} bytes");
    }
}

#[test]
fn a_whole_segment_reads_to_its_end_with_and_without_zeros_behind() {
    let (mut bytes, places) = segment(5, synced);
    for zeros in [0, 1, 19, 20, 4096] {
        bytes.resize(places[5] + zeros, 0);
        for last in [true, false] {
            let (count, end) = read(&bytes, Expected { last, ..expected() });
            assert_eq!((count, end.offset), (5, places[5]));
            assert_eq!(end.ending, Ending::Clean);
            assert_eq!(end.next_sequence, FIRST + 5);
        }
    }
}

#[test]
fn a_segment_cut_at_any_byte_gives_its_whole_frames() {
    let (bytes, places) = segment(5, synced);
    for cut in 0..bytes.len() {
        let whole = places[1..].iter().filter(|end| **end <= cut).count();
        let (count, end) = read(&bytes[..cut], expected());
        assert_eq!(count, whole as u64, "cut at {cut}");
        let clean = places.contains(&cut);
        assert_eq!(matches!(end.ending, Ending::Clean), clean, "cut at {cut}");
        assert!(!matches!(end.ending, Ending::Refused(_)), "cut at {cut}");
        let kept = if cut < SEGMENT_HEADER_BYTES {
            0
        } else {
            places[whole]
        };
        assert_eq!(end.offset, kept, "cut at {cut}");
        let closed = Expected {
            last: false,
            ..expected()
        };
        let refused = matches!(read(&bytes[..cut], closed).1.ending, Ending::Refused(_));
        assert_eq!(refused, !clean, "closed segment, cut at {cut}");
    }
}

#[test]
fn no_flipped_bit_changes_a_record_or_drops_later_ones_silently() {
    let (bytes, places) = segment(5, synced);
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let (count, end) = read(&flipped, expected());
        let hit = places.iter().filter(|start| **start <= bit / 8).count() as u64;
        if hit == 0 {
            assert!(
                matches!(end.ending, Ending::Refused(_)),
                "header, bit {bit}"
            );
            assert_eq!(count, 0);
        } else if hit == 5 {
            assert!(
                matches!(end.ending, Ending::Cut { .. }),
                "last frame, bit {bit}"
            );
            assert_eq!(count, 4);
        } else {
            let refused = Ending::Refused(Refusal::DamagedMiddle);
            assert_eq!(end.ending, refused, "frame {hit}, bit {bit}");
            assert_eq!((count, end.offset), (hit - 1, places[hit as usize - 1]));
        }
    }
}

#[test]
fn a_torn_batch_is_cut_where_it_tore_and_acknowledged_frames_never_are() {
    // Frames 0 and 1 were synced one by one; 2, 3 and 4 were one batch.
    let (bytes, places) = segment(5, |number| u32::try_from(number.saturating_sub(2)).unwrap());
    for torn in 0..5 {
        let mut bytes = bytes.clone();
        bytes[places[torn]..places[torn + 1]].fill(0);
        let (count, end) = read(&bytes, expected());
        assert_eq!((count, end.offset), (torn as u64, places[torn]));
        let cut = matches!(end.ending, Ending::Cut { .. } | Ending::Clean);
        assert_eq!(cut, torn >= 2, "frame {torn}: {:?}", end.ending);
    }
}

/// The first frame after it proves nothing, being of the same batch; the one behind that does.
#[test]
fn a_torn_batch_is_refused_when_something_was_written_after_it_was_synced() {
    let (mut bytes, places) = segment(3, |number| u32::from(number == 1));
    bytes[places[0] + 2] ^= 1;
    let (count, end) = read(&bytes, expected());
    assert_eq!((count, end.offset), (0, places[0]));
    assert_eq!(end.ending, Ending::Refused(Refusal::DamagedMiddle));
    let (count, end) = read(&bytes[..places[2]], expected());
    assert_eq!((count, end.offset), (0, places[0]));
    assert!(matches!(end.ending, Ending::Cut { .. }), "{:?}", end.ending);
}

#[test]
fn junk_behind_the_last_frame_is_cut_whatever_it_is() {
    let (bytes, places) = segment(5, synced);
    let frame = |at: usize| bytes[places[at]..places[at + 1]].to_vec();
    let mut other = Vec::new();
    let head = FrameHead {
        sequence: FIRST + 5,
        unsynced: 0,
    };
    Seal::new(LOG, 2)
        .encode(head, b"of another segment", &mut other)
        .unwrap();
    let wild = |length: u32| [&length.to_le_bytes()[..], &[7; 60]].concat();
    // A sound frame whose place nothing can have reached that was written into these few bytes.
    let mut far = vec![0xFF];
    let head = FrameHead {
        sequence: FIRST + 100,
        unsynced: 0,
    };
    let seal = Seal::from(&header());
    seal.encode(head, b"of nowhere", &mut far).unwrap();
    // What looks like the next frame but one, and cannot be here to its end.
    let long = [
        &[0xFF; 40][..],
        &(8_u32 << 20).to_le_bytes(),
        &(FIRST + 6).to_le_bytes(),
        &[0; 8],
    ];
    for junk in [
        vec![0xFF; 1],
        vec![0xFF; 4096],
        vec![0, 0, 0, 1],
        frame(0),
        frame(4),
        other,
        far,
        long.concat(),
        bytes.clone(),
        wild(1),
        wild((16 << 20) + 1),
        wild(u32::MAX),
    ] {
        let tail = [&bytes[..], &junk[..]].concat();
        let (count, end) = read(&tail, expected());
        assert_eq!((count, end.offset), (5, places[5]));
        assert!(matches!(end.ending, Ending::Cut { .. }), "{:?}", end.ending);
    }
}

#[test]
fn a_frame_taken_out_of_the_middle_is_missed() {
    let (bytes, places) = segment(5, synced);
    let gap = [&bytes[..places[2]], &bytes[places[3]..]].concat();
    let (count, end) = read(&gap, expected());
    assert_eq!(count, 2);
    assert_eq!(end.ending, Ending::Refused(Refusal::Gap));
}

#[test]
fn a_segment_whose_creation_was_not_finished_is_cut_only_as_the_last() {
    let whole = header().encode();
    let torn = [&whole[..30], &[0; 200]].concat();
    for bytes in [&[][..], &[0; 10], &[0; 4096], &whole[..30], &torn] {
        let (count, end) = read(bytes, expected());
        assert_eq!((count, end.offset), (0, 0));
        assert!(matches!(end.ending, Ending::Cut { .. }), "{:?}", end.ending);
        assert_eq!(end.next_sequence, FIRST);
        let closed = Expected {
            last: false,
            ..expected()
        };
        assert!(matches!(read(bytes, closed).1.ending, Ending::Refused(_)));
    }
    // More than a header was written behind none: it was in use.
    for header in [&[0; 48][..], &[9; 48]] {
        let used = [header, &[7; 100]].concat();
        let end = read(&used, expected()).1;
        assert!(matches!(end.ending, Ending::Refused(_)), "{:?}", end.ending);
    }
}

#[test]
fn a_header_that_was_begun_is_told_from_one_that_is_none() {
    let whole = header().encode();
    for bytes in [
        &[][..],
        &[0; 10],
        &[0; 48],
        &whole[..1],
        &whole[..8],
        &whole[..47],
    ] {
        let verdict = SegmentHeader::decode(bytes);
        assert_eq!(verdict, HeaderVerdict::Unfinished, "{bytes:?}");
    }
    for bytes in [&[9][..], &[9; 47], &[9; 48], &[0, 0, 1]] {
        let verdict = SegmentHeader::decode(bytes);
        assert!(
            matches!(verdict, HeaderVerdict::Damaged { .. }),
            "{bytes:?}"
        );
    }
    assert_eq!(SegmentHeader::decode(&whole), HeaderVerdict::Good(header()));
}

#[test]
fn segments_of_another_log_place_order_or_format_are_refused() {
    let (bytes, _) = segment(5, synced);
    let ending = |expected| read(&bytes, expected).1.ending;
    let foreign = Ending::Refused(Refusal::Foreign);
    assert_eq!(
        ending(Expected {
            log: Some(1),
            ..expected()
        }),
        foreign
    );
    assert_eq!(
        ending(Expected {
            segment: 4,
            ..expected()
        }),
        foreign
    );
    for first in [FIRST - 1, FIRST + 1] {
        let first_sequence = Some(first);
        let out_of_order = Ending::Refused(Refusal::OutOfOrder);
        assert_eq!(
            ending(Expected {
                first_sequence,
                ..expected()
            }),
            out_of_order
        );
    }
    let believing = Expected {
        log: None,
        first_sequence: None,
        ..expected()
    };
    assert_eq!(read(&bytes, believing).0, 5);
    let mut newer = bytes.clone();
    let (found, known) = (FORMAT + 1, FORMAT);
    newer[8..12].copy_from_slice(&found.to_le_bytes());
    let refusal = Refusal::NewerFormat { found, known };
    assert_eq!(read(&newer, expected()).1.ending, Ending::Refused(refusal));
}

/// Bytes made to look like the beginnings of many long frames do not hold the open up.
#[test]
fn a_tail_full_of_false_frames_ends_in_bounded_time() {
    let (mut bytes, places) = segment(5, synced);
    let length = 8_u32 << 20;
    while bytes.len() < 16 << 20 {
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&(FIRST + 6).to_le_bytes());
        bytes.extend_from_slice(&[0; 8]);
    }
    let end = Scan::new(&bytes, expected()).finish();
    assert_eq!(end.offset, places[5]);
    assert_eq!(end.ending, Ending::Refused(Refusal::DamagedMiddle));
}
