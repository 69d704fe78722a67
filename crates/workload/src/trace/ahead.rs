//! A thread that decompresses ahead of the parser.
//!
//! Blocks of a fixed size go round between two channels: the thread fills an empty one, and the reader gives it back
//! once its bytes are taken. So memory is bounded, the bytes are those of the source in their order, and an error comes
//! after all bytes before it.
//!
//! The thread ends with its source; if the reader is dropped before, it ends when it has filled the block it is at.
//! Where no thread can be started, the reader decompresses by itself, with the same result.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SendError, SyncSender, sync_channel};
use std::thread;

/// Size and number of the blocks: so large that a wake-up of either side is rare, so few that they stay in cache.
const BLOCK_BYTES: usize = 128 << 10;
const BLOCKS: usize = 4;

struct Block {
    bytes: Box<[u8]>,
    length: usize,
}

/// A filled block; `None` is the end of the source.
type Filled = io::Result<Option<Block>>;

/// Reads `source` in a thread, ahead of the caller.
pub(crate) fn read_ahead(source: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
    let (give_source, source_given) = sync_channel(1);
    let (give_back, empty) = sync_channel(BLOCKS);
    let (give, filled) = sync_channel(BLOCKS);
    let work = move || {
        if let Ok(source) = source_given.recv() {
            fill_blocks(source, &empty, &give);
        }
    };
    // A thread that cannot be started leaves nobody to give the source to: it comes back.
    let _ = thread::Builder::new().name("decompression".to_owned()).spawn(work);
    if let Err(SendError(source)) = give_source.send(source) {
        return source;
    }
    for _ in 0..BLOCKS {
        let bytes = vec![0; BLOCK_BYTES].into_boxed_slice();
        // This fails only if the thread is gone, which the first read reports.
        let _ = give_back.send(Block { bytes, length: 0 });
    }
    Box::new(Ahead { filled, give_back, block: None, taken: 0, ended: false })
}

/// Fills blocks to the end of the source, an error, or the end of the reader.
fn fill_blocks(mut source: Box<dyn Read + Send>, empty: &Receiver<Block>, give: &SyncSender<Filled>) {
    while let Ok(mut block) = empty.recv() {
        let end = fill(&mut source, &mut block);
        if block.length > 0 && give.send(Ok(Some(block))).is_err() {
            return;
        }
        if let Some(end) = end {
            let _ = give.send(end.map(|()| None));
            return;
        }
    }
}

/// Fills a block; the end of the source or an error if that comes first.
fn fill(source: &mut dyn Read, block: &mut Block) -> Option<io::Result<()>> {
    block.length = 0;
    while block.length < block.bytes.len() {
        match source.read(&mut block.bytes[block.length..]) {
            Ok(0) => return Some(Ok(())),
            Ok(bytes) => block.length += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Some(Err(error)),
        }
    }
    None
}

/// The reader's side.
struct Ahead {
    filled: Receiver<Filled>,
    give_back: SyncSender<Block>,
    /// The block that is being read, and the bytes taken of it.
    block: Option<Block>,
    taken: usize,
    ended: bool,
}

impl Ahead {
    /// Gives the block that was read back and takes the next.
    fn next_block(&mut self) -> io::Result<()> {
        if let Some(block) = self.block.take() {
            // It is not wanted any more if the thread has come to the end of its source.
            let _ = self.give_back.send(block);
        }
        self.taken = 0;
        let lost = |_| Err(io::Error::other("the thread that decompresses has ended early"));
        self.block = self.filled.recv().unwrap_or_else(lost)?;
        self.ended = self.block.is_none();
        Ok(())
    }
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let is_taken = |block: &Option<Block>, taken| block.as_ref().is_none_or(|block| block.length == taken);
        if !buffer.is_empty() && !self.ended && is_taken(&self.block, self.taken) {
            self.next_block()?;
        }
        let Some(block) = &self.block else { return Ok(0) };
        let rest = &block.bytes[self.taken..block.length];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.taken += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::{Arc, Weak};
    use std::time::Duration;

    /// A source of zeros that fails after some bytes, or panics; it gives at most `step` at once.
    struct Zeros {
        left: usize,
        step: usize,
        at_end: fn() -> io::Result<usize>,
        _alive: Arc<()>,
    }

    impl Read for Zeros {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.left.min(self.step).min(buffer.len());
            buffer[..length].fill(0);
            self.left -= length;
            if length == 0 { (self.at_end)() } else { Ok(length) }
        }
    }

    /// A reader of zeros, and a pointer that lives as long as their source.
    fn zeros(left: usize, step: usize, at_end: fn() -> io::Result<usize>) -> (Box<dyn Read + Send>, Weak<()>) {
        let alive = Arc::new(());
        let weak = Arc::downgrade(&alive);
        (read_ahead(Box::new(Zeros { left, step, at_end, _alive: alive })), weak)
    }

    fn is_dropped_soon(source: &Weak<()>) -> bool {
        (0..10_000).any(|_| {
            thread::sleep(Duration::from_millis(1));
            source.strong_count() == 0
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn the_bytes_are_those_of_the_source(length in 0usize..3 * BLOCKS * BLOCK_BYTES, part in 1usize..400_000) {
            let bytes: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
            let mut ahead = read_ahead(Box::new(io::Cursor::new(bytes.clone())));
            let (mut read, mut buffer) = (Vec::new(), vec![0; part]);
            loop {
                match ahead.read(&mut buffer).unwrap() {
                    0 => break,
                    bytes => read.extend_from_slice(&buffer[..bytes]),
                }
            }
            prop_assert!(read == bytes);
            prop_assert_eq!(ahead.read(&mut buffer).unwrap(), 0, "the end stays the end");
        }
    }

    #[test]
    fn an_error_comes_after_the_bytes_before_it() {
        for length in [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, 9 * BLOCK_BYTES + 7] {
            let (mut ahead, source) = zeros(length, 1_000_000, || Err(io::Error::other("torn")));
            let mut read = Vec::new();
            let error = ahead.read_to_end(&mut read).unwrap_err();
            assert_eq!((read.len(), error.to_string().as_str()), (length, "torn"));
            assert!(is_dropped_soon(&source));
        }
    }

    #[test]
    fn a_reader_that_is_dropped_early_ends_the_thread() {
        for read in [0, 1, BLOCK_BYTES, 7 * BLOCK_BYTES] {
            let (mut ahead, source) = zeros(usize::MAX, 777, || Ok(0));
            ahead.read_exact(&mut vec![0; read]).unwrap();
            assert!(source.strong_count() > 0);
            drop(ahead);
            assert!(is_dropped_soon(&source), "after {read} bytes");
        }
    }

    #[test]
    fn a_thread_that_panics_is_an_error_and_not_the_end() {
        let (mut ahead, _) = zeros(10, 10, || panic!("on purpose"));
        let error = ahead.read_to_end(&mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("ended early"));
    }
}
