//! Where the lines of a text begin, so that a place in it is found without reading what is before.

/// The beginnings of the lines of a text, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines(Vec<usize>);

impl Lines {
    /// Finds the lines of a text. They are counted first, because a text may be all line ends.
    pub fn of(text: &str) -> Self {
        let ends = || text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at);
        let mut starts = Vec::with_capacity(1 + ends().count());
        starts.push(0);
        starts.extend(ends().map(|end| end + 1));
        Self(starts)
    }

    /// The line that a byte is in, from 0; the last one for what is behind the text.
    pub fn line_of(&self, at: usize) -> usize {
        self.0.partition_point(|&start| start <= at) - 1
    }

    /// The first byte of a line; nothing for a line that there is not.
    pub fn start(&self, line: usize) -> Option<usize> {
        self.0.get(line).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_in_the_line_whose_ends_are_around_it() {
        let lines = Lines::of("ab\n\nc\n");
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 99].map(|at| lines.line_of(at)), [0, 0, 0, 1, 2, 2, 3, 3]);
        assert_eq!([0, 1, 2, 3, 4].map(|line| lines.start(line)), [Some(0), Some(3), Some(4), Some(6), None]);
        assert_eq!(Lines::of("").line_of(0), 0);
    }
}
