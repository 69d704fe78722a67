//! The bytes of a recording, from a file or from memory: decompressed as their content shows, not the file name, and
//! handed out through one reused buffer. A compressed one is decompressed by a thread of its own ([`read_ahead`]).

use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use flashloom_files::{BYTE_ORDER_MARK, NoInput, open_input};
use flashloom_units::Problem;

use super::ahead::read_ahead;
use super::fingerprint::{Fingerprints, Pending};
use super::zst;

const BUFFER_BYTES: usize = 256 << 10;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The end of the magic of a frame that zstd skips, behind a byte from 0x50 to 0x5f: some programs put one in front.
const ZSTD_SKIPPED: [u8; 3] = [0x2a, 0x4d, 0x18];

/// Other compressions and archives, by their first four bytes, at which no format of a recording begins.
const NOT_READ: [(&str, [u8; 4]); 7] = [
    ("xz", [0xfd, b'7', b'z', b'X']),
    ("snappy", [0xff, 0x06, 0x00, 0x00]),
    ("lz4", [0x04, 0x22, 0x4d, 0x18]),
    ("7z", [b'7', b'z', 0xbc, 0xaf]),
    ("zip", *b"PK\x03\x04"),
    ("rar", *b"Rar!"),
    ("bzip2", *b"BZh9"),
];

/// An input that can be opened, and opened again to find the place of a problem.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    /// Name given by the user.
    pub name: String,
    /// Content in memory, read instead of a file.
    memory: Option<Arc<[u8]>>,
    /// Collector of the file's hash once it has been read to its end, if wanted.
    prints: Option<Fingerprints>,
}

impl Input {
    pub fn file(path: impl Into<String>) -> Self {
        Self { name: path.into(), memory: None, prints: None }
    }

    pub fn memory(name: impl Into<String>, bytes: Arc<[u8]>) -> Self {
        Self { name: name.into(), memory: Some(bytes), prints: None }
    }

    /// Hashes the file while it is read.
    pub fn hashed(self, prints: &Fingerprints) -> Self {
        Self { prints: Some(prints.clone()), ..self }
    }

    /// Another file of the same recording.
    pub fn sibling(&self, path: String) -> Self {
        Self { name: path, memory: None, prints: self.prints.clone() }
    }

    /// True for a file, which may have neighbours in its folder; false for content in memory.
    pub fn is_file(&self) -> bool {
        self.memory.is_none()
    }

    /// Opens it at the start, after a byte order mark.
    pub fn open(&self) -> Result<Chunks, Problem> {
        let refuse = |found: String| Problem::file(&self.name, found, "a trace file that can be read");
        let mut print = None;
        let raw: Box<dyn Read + Send> = match &self.memory {
            Some(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
            None => {
                let file = open_input(Path::new(&self.name)).map_err(|reason| refuse(no_input(reason)))?;
                match &self.prints {
                    Some(prints) => {
                        let (file, pending) = prints.take(&self.name, file);
                        print = Some(pending);
                        Box::new(file)
                    }
                    None => Box::new(file),
                }
            }
        };
        let source = decompressed(raw).map_err(|error| refuse(no_input(error.into())))?;
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        let name = self.name.clone();
        let mut chunks =
            Chunks { name, source, buffer, start: 0, end: 0, offset: 0, ended: false, is_amid_line: false, print };
        if chunks.peek(BYTE_ORDER_MARK.len())? == BYTE_ORDER_MARK {
            chunks.advance(BYTE_ORDER_MARK.len());
        }
        Ok(chunks)
    }
}

fn no_input(reason: NoInput) -> String {
    match reason {
        NoInput::Missing => "does not exist".to_owned(),
        NoInput::Folder => "is a directory".to_owned(),
        NoInput::Refused(error) => format!("cannot be read: {error}"),
        other => other.to_string(),
    }
}

fn decompressed(mut raw: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut head = Vec::with_capacity(ZSTD_MAGIC.len());
    raw.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut head)?;
    let is_gzip = head.starts_with(&GZIP_MAGIC);
    let is_skipped = head.first().is_some_and(|first| first >> 4 == 5) && head[1..] == ZSTD_SKIPPED;
    let is_zstd = head.starts_with(&ZSTD_MAGIC) || is_skipped;
    if let Some((name, _)) = NOT_READ.iter().find(|(_, magic)| head == magic) {
        let found = format!("it is compressed by {name}; gzip and zstd are read, so compress it anew");
        return Err(io::Error::new(io::ErrorKind::Unsupported, found));
    }
    let whole = Cursor::new(head).chain(raw);
    Ok(if is_gzip {
        read_ahead(Box::new(flate2::read::MultiGzDecoder::new(whole)))
    } else if is_zstd {
        read_ahead(zst::decoder(whole)?)
    } else {
        Box::new(whole)
    })
}

/// A reader that hands out lines or records as slices of its buffer.
pub(crate) struct Chunks {
    name: String,
    source: Box<dyn Read + Send>,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Bytes handed out so far, counted after decompression.
    offset: u64,
    ended: bool,
    /// The beginning of a line that is longer than the buffer was handed out; the rest of it is no line.
    is_amid_line: bool,
    /// Fingerprint of the file, stored at its end, if wanted.
    print: Option<Pending>,
}

impl Chunks {
    /// Offset of the next byte in the decompressed content.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Moves the rest of the buffer to the front and reads more behind it; false at the end of the file or with a full
    /// buffer.
    #[cold]
    fn fill(&mut self) -> Result<bool, Problem> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while !self.ended && self.end < self.buffer.len() {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.ended = true;
                    self.print.take().into_iter().for_each(Pending::store);
                }
                Ok(bytes) => {
                    self.end += bytes;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let what = "a file that is whole and can be read to its end";
                    return Err(Problem::file(&self.name, format!("breaks off while being read: {error}"), what));
                }
            }
        }
        Ok(false)
    }

    /// The next line without its end, or `None` at the end of the file. Of a line longer than the buffer the beginning
    /// is returned, which is far too long for any format.
    #[inline]
    pub fn line(&mut self) -> Result<Option<&[u8]>, Problem> {
        if self.is_amid_line {
            self.skip_line()?;
        }
        let mut searched = 0;
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[self.start + searched..self.end]) {
                let line = self.start..self.start + searched + length;
                return Ok(Some(self.hand_out(line, searched + length + 1)));
            }
            searched = self.end - self.start;
            if !self.fill()? {
                let line = 0..self.end;
                self.is_amid_line = !self.ended;
                return Ok((searched > 0).then(|| self.hand_out(line, searched)));
            }
        }
    }

    /// Skips what is left of a line, to its end or that of the file.
    #[cold]
    fn skip_line(&mut self) -> Result<(), Problem> {
        self.is_amid_line = false;
        loop {
            let rest = &self.buffer[self.start..self.end];
            let end = memchr::memchr(b'\n', rest);
            let skipped = end.map_or(rest.len(), |end| end + 1);
            self.start += skipped;
            self.offset += skipped as u64;
            if end.is_some() || !self.fill()? {
                return Ok(());
            }
        }
    }

    #[inline]
    fn hand_out(&mut self, line: std::ops::Range<usize>, consumed: usize) -> &[u8] {
        self.start += consumed;
        self.offset += consumed as u64;
        let line = &self.buffer[line];
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// Returns up to `length` of the next bytes without consuming them; fewer only at the end of the file.
    pub fn peek(&mut self, length: usize) -> Result<&[u8], Problem> {
        debug_assert!(length <= BUFFER_BYTES, "a record fits in the buffer");
        while self.end - self.start < length && self.fill()? {}
        Ok(&self.buffer[self.start..self.end.min(self.start + length)])
    }

    /// Consumes bytes that were peeked at.
    pub fn advance(&mut self, length: usize) {
        self.start += length;
        self.offset += length as u64;
        debug_assert!(self.start <= self.end, "only what was peeked at can be taken");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let mut chunks = Input::memory("memory", bytes.into()).open().unwrap();
        let mut lines = Vec::new();
        while let Some(line) = chunks.line().unwrap() {
            lines.push(String::from_utf8_lossy(line).into_owned());
        }
        assert_eq!(chunks.line().unwrap(), None);
        lines
    }

    #[test]
    fn lines_end_with_or_without_a_carriage_return_and_the_last_may_lack_an_end() {
        assert_eq!(lines(b"a\r\nb\n\nc"), ["a", "b", "", "c"]);
        assert_eq!(lines(b""), [""; 0]);
        assert_eq!(lines(b"a\n"), ["a"]);
    }

    #[test]
    fn what_is_left_of_a_line_longer_than_the_buffer_is_no_line() {
        for length in [BUFFER_BYTES - 1, BUFFER_BYTES, BUFFER_BYTES + 1, 3 * BUFFER_BYTES] {
            let long = "x".repeat(length);
            for end in ["5,W,0,8", "5,W,0,8\n", ""] {
                let read = lines(format!("a\n{long}{end}").as_bytes());
                assert_eq!((read.len(), &*read[0]), (2, "a"), "{length} {end:?}");
                let read = lines(format!("a\n{long}{end}\nb\nc").as_bytes());
                let last = [read[read.len() - 2].as_str(), &read[read.len() - 1]];
                let ends = if end.ends_with('\n') { 5 } else { 4 };
                assert_eq!((read.len(), last), (ends, ["b", "c"]), "{length} {end:?}");
            }
        }
    }

    #[test]
    fn a_line_across_the_ends_of_the_buffer_is_whole() {
        let text: String = (0..100_000).map(|line| format!("line {line}\n")).collect();
        let lines = lines(text.as_bytes());
        assert_eq!(lines.len(), 100_000);
        assert!(lines.iter().enumerate().all(|(number, line)| *line == format!("line {number}")));
    }

    #[test]
    fn compression_is_told_from_the_content_and_parts_that_follow_one_another_are_read() {
        let gzip = |bytes: &[u8]| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        };
        let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
        assert_eq!(lines(&[gzip(b"a\n"), gzip(b"b\n")].concat()), ["a", "b"]);
        assert_eq!(lines(&[zstd(b"a\n"), zstd(b"b\n")].concat()), ["a", "b"]);
    }

    #[test]
    fn a_compression_that_is_not_read_is_named() {
        let snappy = b"\xff\x06\x00\x00sNaPpY\x00\x01";
        let problem = Input::memory("trace.sz", snappy[..].into()).open().err().expect("it is refused");
        assert!(problem.refusal.found.contains("compressed by snappy; gzip and zstd are read"), "{problem}");
        assert_eq!(lines(b"BZh\n"), ["BZh"]);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        assert_eq!(lines(b"\xef\xbb\xbfa\nb\n"), ["a", "b"]);
        assert_eq!(lines(&zstd::encode_all(&b"\xef\xbb\xbfa\n"[..], 1).unwrap()), ["a"]);
        assert_eq!(lines(b"\xef\xbb\xbf"), [""; 0]);
        let bytes = b"\xef\xbb\xbftimestamp_ns,op,lba,sectors\n0,R,0,8\n";
        let trace = crate::read_trace("marked.csv", bytes[..].into(), &crate::TraceOptions::default());
        assert_eq!(trace.map(|trace| trace.format()).ok(), Some(crate::Format::Flashloom));
    }

    #[test]
    fn a_compressed_file_that_breaks_off_is_an_error() {
        let whole = zstd::encode_all(&vec![7u8; 100_000][..], 1).unwrap();
        let input = Input::memory("cut.zst", whole[..whole.len() - 4].into());
        let read = || {
            let mut chunks = input.open()?;
            while chunks.line()?.is_some() {}
            Ok::<(), Problem>(())
        };
        let problem = read().expect_err("the end is missed");
        assert!(problem.refusal.found.starts_with("breaks off while being read"), "{problem}");
    }
}
