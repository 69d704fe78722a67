//! A log as CSV.

use std::io::{self, Write};

use flashloom_workload::LOG_COLUMNS;

use super::column::{Content, Row, content};

/// Writes a header, and a line per row.
pub struct CsvRows<W> {
    output: W,
    /// Content of each column.
    contents: Vec<Content>,
    line: Vec<u8>,
}

impl<W: Write> CsvRows<W> {
    pub fn new(mut output: W) -> io::Result<Self> {
        writeln!(output, "{}", LOG_COLUMNS.join(","))?;
        Ok(Self { output, contents: LOG_COLUMNS.map(content).into(), line: Vec::new() })
    }

    pub fn add(&mut self, row: &Row) -> io::Result<()> {
        self.line.clear();
        for (&number, content) in row.iter().zip(&self.contents) {
            match content {
                Content::Word(words) => self.line.extend_from_slice(words[number as usize].as_bytes()),
                Content::Wide | Content::Small | Content::Flag => {
                    self.line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
                }
            }
            self.line.push(b',');
        }
        *self.line.last_mut().expect("a row has cells") = b'\n';
        self.output.write_all(&self.line)
    }

    pub fn finish(self) -> W {
        self.output
    }
}
