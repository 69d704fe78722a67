//! Recordings compressed by zstd: frames one behind another, some of which are to be skipped.
//!
//! A build with the feature `zst` has the library in C, which also writes and is three times as fast; without it a
//! decoder in Rust reads, for which no C compiler is needed. Either runs in a thread of its own, ahead of the reader.

use std::io::{self, Read};

/// What a compressed recording holds.
///
/// # Errors
/// It does not begin as zstd does.
pub fn decoder(source: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    #[cfg(feature = "zst")]
    let decoder = zstd::Decoder::new(source)?;
    #[cfg(not(feature = "zst"))]
    let decoder = frames::Frames::new(source)?;
    Ok(Box::new(decoder))
}

#[cfg(any(test, not(feature = "zst")))]
mod frames {
    use std::error::Error;
    use std::io::{self, BufRead, BufReader, Read};

    use ruzstd::decoding::errors::FrameDecoderError;
    use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

    /// Bytes that are decoded at a time, at least.
    const STEP_BYTES: usize = 128 << 10;
    /// Most bytes before its end that a frame may refer to: as much as the library in C keeps unless it is told to.
    const MOST_WINDOW_BYTES: u64 = 1 << 27;
    /// The end of the magic of a frame that is to be skipped, behind a byte from 0x50 to 0x5f.
    const SKIPPED: [u8; 3] = [0x2a, 0x4d, 0x18];

    /// The magic of a frame that holds data.
    const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

    /// The content of all frames.
    pub struct Frames<R: Read> {
        source: BufReader<R>,
        decoder: FrameDecoder,
    }

    impl<R: Read> Frames<R> {
        /// Begins with the first frame that holds data.
        ///
        /// # Errors
        /// It is damaged.
        pub fn new(source: R) -> io::Result<Self> {
            let mut frames =
                Self { source: BufReader::with_capacity(STEP_BYTES, source), decoder: FrameDecoder::new() };
            frames.next()?;
            Ok(frames)
        }

        /// Begins the next frame that holds data. Returns false at the end of the source.
        fn next(&mut self) -> io::Result<bool> {
            while !self.source.fill_buf()?.is_empty() {
                let mut magic = Vec::with_capacity(FRAME.len());
                self.source.by_ref().take(FRAME.len() as u64).read_to_end(&mut magic)?;
                if FRAME.starts_with(&magic) && magic.len() < FRAME.len() {
                    return Err(cut_off());
                }
                let is_skipped = magic.len() == FRAME.len() && magic[0] >> 4 == 5 && magic[1..] == SKIPPED;
                if is_skipped {
                    let length = number(&self.take(4)?);
                    if io::copy(&mut self.source.by_ref().take(length), &mut io::sink())? < length {
                        return Err(cut_off());
                    }
                    continue;
                }
                if magic != FRAME {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "what follows its frames is not compressed",
                    ));
                }
                let header = self.header(magic)?;
                self.decoder = FrameDecoder::new();
                self.decoder.init(&header[..]).map_err(|error| damaged(&error))?;
                return Ok(true);
            }
            Ok(false)
        }

        /// The header of a frame that begins with this magic, once its window is known to be small enough: the decoder
        /// would keep whatever the header says.
        fn header(&mut self, magic: Vec<u8>) -> io::Result<Vec<u8>> {
            let flags = self.take(1)?[0];
            let is_whole = flags & 0x20 != 0;
            let dictionary = [0, 1, 2, 4][usize::from(flags & 3)];
            let size = [usize::from(is_whole), 2, 4, 8][usize::from(flags >> 6)];
            let rest = self.take(usize::from(!is_whole) + dictionary + size)?;
            let window_bytes = match is_whole {
                true => number(&rest[dictionary..]),
                false => (8 + u64::from(rest[0] & 7)) << (7 + (rest[0] >> 3)),
            };
            if window_bytes > MOST_WINDOW_BYTES {
                let found = format!("it refers to {} MB before, more than is kept", window_bytes / 1_000_000);
                return Err(io::Error::new(io::ErrorKind::Unsupported, found));
            }
            Ok([&magic[..], &[flags], &rest].concat())
        }

        /// The next bytes of the source.
        fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
            let mut bytes = vec![0; count];
            self.source
                .read_exact(&mut bytes)
                .map_err(|error| if error.kind() == CUT_OFF { cut_off() } else { error })?;
            Ok(bytes)
        }

        /// Fails if the content is not what was compressed.
        fn check(&self) -> io::Result<()> {
            let stored = self.decoder.get_checksum_from_data();
            match stored == self.decoder.get_calculated_checksum() || stored.is_none() {
                true => Ok(()),
                false => Err(io::Error::new(io::ErrorKind::InvalidData, "its checksum is of other data")),
            }
        }
    }

    impl<R: Read> Read for Frames<R> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            loop {
                let read = self.decoder.read(buffer)?;
                if read > 0 || buffer.is_empty() {
                    return Ok(read);
                }
                if !self.decoder.is_finished() {
                    let step = BlockDecodingStrategy::UptoBytes(STEP_BYTES);
                    self.decoder.decode_blocks(&mut self.source, step).map_err(|error| damaged(&error))?;
                    continue;
                }
                if self.decoder.can_collect() > 0 {
                    continue;
                }
                self.check()?;
                if !self.next()? {
                    return Ok(0);
                }
            }
        }
    }

    /// The number that bytes hold, the lowest first.
    fn number(bytes: &[u8]) -> u64 {
        bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    /// What the decoder says is of its own making.
    fn damaged(error: &FrameDecoderError) -> io::Error {
        if matches!(error, FrameDecoderError::DictNotProvided { .. }) {
            return io::Error::new(io::ErrorKind::Unsupported, "it was compressed with a dictionary, which it lacks");
        }
        let causes = std::iter::successors(Some(error as &dyn Error), |&error| error.source());
        let is_cut = causes.filter_map(|error| error.downcast_ref::<io::Error>()).any(|error| error.kind() == CUT_OFF);
        if is_cut { cut_off() } else { io::Error::new(io::ErrorKind::InvalidData, "its compressed content is damaged") }
    }

    const CUT_OFF: io::ErrorKind = io::ErrorKind::UnexpectedEof;

    fn cut_off() -> io::Error {
        io::Error::new(CUT_OFF, "it is cut off")
    }

    #[cfg(test)]
    mod tests {
        use std::io::Write;

        use super::*;

        fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
            let mut content = Vec::new();
            Frames::new(bytes)?.read_to_end(&mut content)?;
            Ok(content)
        }

        fn compressed(bytes: &[u8], with_checksum: bool) -> Vec<u8> {
            let mut encoder = zstd::Encoder::new(Vec::new(), 3).expect("there is memory");
            encoder.include_checksum(with_checksum).expect("it can be had");
            encoder.write_all(bytes).expect("memory takes everything");
            encoder.finish().expect("memory takes everything")
        }

        /// Text that repeats itself near and far.
        fn text() -> Vec<u8> {
            (0..60_000_u64).flat_map(|line| format!("{},{}\n", line * line % 9_973, line % 77).into_bytes()).collect()
        }

        #[test]
        fn frames_that_follow_one_another_are_read_and_those_to_be_skipped_are_skipped() {
            let skipped = [&[0x53, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"skip!"].concat();
            let frames = [&skipped[..], &compressed(&text(), true), &compressed(b"", false), &skipped].concat();
            let all = [frames, compressed(b"the end", true)].concat();
            assert!(read(&all).expect("it is sound") == [text(), b"the end".to_vec()].concat());
        }

        #[test]
        fn what_is_damaged_or_cut_off_is_an_error() {
            let whole = compressed(&text(), true);
            for at in [whole.len() / 3, whole.len() / 2, whole.len() - 2] {
                let mut damaged = whole.clone();
                damaged[at] ^= 0x10;
                assert!(read(&damaged).is_err(), "byte {at}");
                assert!(read(&whole[..at]).is_err(), "cut at {at}");
            }
            assert!(read(b"no zstd").is_err());
            let said = |bytes: &[u8]| read(bytes).expect_err("it is no whole file").to_string();
            assert_eq!(said(&whole[..whole.len() / 2]), "it is cut off");
            for more in [&b"and more"[..], b"\n"] {
                assert_eq!(said(&[&whole[..], more].concat()), "what follows its frames is not compressed");
            }
            assert_eq!(said(&[&whole[..], &whole[..3]].concat()), "it is cut off");
            assert!(read(&[0x50, 0x2a, 0x4d, 0x18, 9, 0, 0, 0, 1]).is_err(), "a frame to be skipped is cut off");
        }

        /// Headers without a length: of windows of 128 MiB, which `zstd --long` has, and of 144 MiB.
        #[test]
        fn a_window_that_is_too_large_is_named() {
            let frame = |window: u8| [0x28, 0xb5, 0x2f, 0xfd, 0, window, 1, 0, 0];
            assert_eq!(read(&frame(17 << 3)).expect("it is empty"), b"");
            let error = read(&frame(17 << 3 | 1)).expect_err("it is refused");
            assert!(error.to_string().contains("it refers to 150 MB before"), "{error}");
        }

        /// One whose length is known is its own window.
        #[test]
        fn frames_of_any_kind_of_header_are_read() {
            for (length, level) in [(0, 1), (1, 1), (255, 3), (256, 3), (65_791, 1), (65_792, 19), (300_000, 5)] {
                let content = text()[..length].to_vec();
                let bytes = zstd::bulk::compress(&content, level).expect("there is memory");
                assert!(read(&bytes).expect("it is sound") == content, "{length}");
            }
        }
    }
}
