//! The bytes of a recording, from a file or from memory: decompressed by what they are, not by how the file is
//! called, and handed out through one buffer that is reused.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::sync::Arc;

use flashloom_units::Problem;

use super::fingerprint::Fingerprints;

const BUFFER_BYTES: usize = 256 << 10;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// What some programs begin a text in UTF-8 with; it is no part of the text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Something that can be opened, and opened again to find the place of a problem.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    /// As the user named it.
    pub name: String,
    /// What is read instead of the file of that name.
    memory: Option<Arc<[u8]>>,
    /// Where the hash of the file goes once it was read to its end, if anybody wants it.
    prints: Option<Fingerprints>,
}

impl Input {
    pub fn file(path: impl Into<String>) -> Self {
        Self { name: path.into(), memory: None, prints: None }
    }

    pub fn memory(name: impl Into<String>, bytes: Arc<[u8]>) -> Self {
        Self { name: name.into(), memory: Some(bytes), prints: None }
    }

    /// The same, hashed while it is read.
    pub fn hashed(self, prints: &Fingerprints) -> Self {
        Self { prints: Some(prints.clone()), ..self }
    }

    /// Another file that belongs to this recording.
    pub fn sibling(&self, path: String) -> Self {
        Self { name: path, memory: None, prints: self.prints.clone() }
    }

    /// Whether there is a file system around it to look for its neighbours in.
    pub fn is_file(&self) -> bool {
        self.memory.is_none()
    }

    /// Opens it at the start, behind a byte order mark.
    pub fn open(&self) -> Result<Chunks, Problem> {
        let refuse = |found: String| Problem::file(&self.name, found, "a trace file that can be read");
        let raw: Box<dyn Read + Send> = match &self.memory {
            Some(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
            None => {
                let file = File::open(&self.name).map_err(|error| refuse(reason(&error)))?;
                if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
                    return Err(refuse("is a directory".to_owned()));
                }
                match &self.prints {
                    Some(prints) => Box::new(prints.take(&self.name, file)),
                    None => Box::new(file),
                }
            }
        };
        let source = decompressed(raw).map_err(|error| refuse(reason(&error)))?;
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        let mut chunks = Chunks { name: self.name.clone(), source, buffer, start: 0, end: 0, offset: 0, ended: false };
        if chunks.peek(BYTE_ORDER_MARK.len())? == BYTE_ORDER_MARK {
            chunks.advance(BYTE_ORDER_MARK.len());
        }
        Ok(chunks)
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "does not exist".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

fn decompressed(mut raw: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut head = Vec::with_capacity(ZSTD_MAGIC.len());
    raw.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut head)?;
    let is_gzip = head.starts_with(&GZIP_MAGIC);
    let is_zstd = head.starts_with(&ZSTD_MAGIC);
    let whole = Cursor::new(head).chain(raw);
    Ok(if is_gzip {
        Box::new(flate2::read::MultiGzDecoder::new(whole))
    } else if is_zstd {
        Box::new(zstd::Decoder::new(whole)?)
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
    /// Bytes handed out so far, after decompression.
    offset: u64,
    ended: bool,
}

impl Chunks {
    /// Where the next byte lies in the decompressed file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Moves what is left to the front and reads more behind it; false at the end of the file or with a full buffer.
    #[cold]
    fn fill(&mut self) -> Result<bool, Problem> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while !self.ended && self.end < self.buffer.len() {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
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

    /// The next line without its end, or nothing at the end of the file. A line that is longer than the buffer comes
    /// in pieces, each of them far too long for any format.
    #[inline]
    pub fn line(&mut self) -> Result<Option<&[u8]>, Problem> {
        let mut searched = 0;
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[self.start + searched..self.end]) {
                let line = self.start..self.start + searched + length;
                return Ok(Some(self.hand_out(line, searched + length + 1)));
            }
            searched = self.end - self.start;
            if !self.fill()? {
                let line = 0..self.end;
                return Ok((searched > 0).then(|| self.hand_out(line, searched)));
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

    /// Up to `length` bytes that come next, without taking them; fewer only where the file ends.
    pub fn peek(&mut self, length: usize) -> Result<&[u8], Problem> {
        debug_assert!(length <= BUFFER_BYTES, "a record fits in the buffer");
        while self.end - self.start < length && self.fill()? {}
        Ok(&self.buffer[self.start..self.end.min(self.start + length)])
    }

    /// Takes bytes that were peeked at.
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
