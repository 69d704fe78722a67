//! What a text is before TOML is parsed: its words are counted, and lines that say nothing are blanked, because the
//! parser keeps hundreds of bytes for every word, comment and line end, and for every error among them.

use std::ops::Range;

use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// Words of a text, marks and line ends among them, for each of so many bytes that a text may have.
const BYTES_PER_WORD: u64 = 32;

/// Words that a text may have where one of `limit_bytes` is read: the parser takes up to 500 bytes for each.
pub fn words_within(limit_bytes: u64) -> u64 {
    limit_bytes / BYTES_PER_WORD
}

/// The text with blanks in place of lines that hold a comment or nothing, as far as the parser accepts them. Everything
/// else is where it was, to the byte.
///
/// # Errors
/// The place of the first word beyond `most`.
pub fn blanked(text: &str, most: u64) -> Result<String, Range<usize>> {
    let mut bytes = text.as_bytes().to_vec();
    let (mut is_line_empty, mut words) = (true, 0);
    // The lexer knows comments and line ends from those in texts, and keeps no token.
    for token in Source::new(text).lex() {
        let span = token.span().start()..token.span().end();
        let is_blank = match token.kind() {
            TokenKind::Whitespace => continue,
            TokenKind::Comment => is_line_empty && is_comment(&bytes[span.clone()]),
            TokenKind::Newline => is_line_empty && matches!(&bytes[span.clone()], b"\n" | b"\r\n"),
            _ => false,
        };
        is_line_empty = is_blank || token.kind() == TokenKind::Newline;
        if is_blank {
            bytes[span].fill(b' ');
            continue;
        }
        words += 1;
        if words > most {
            return Err(span);
        }
    }
    Ok(String::from_utf8(bytes).expect("tokens end between characters"))
}

/// True if a comment holds no character that TOML forbids there.
fn is_comment(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| !byte.is_ascii_control() || *byte == b'\t')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toml::de::DeTable;

    use super::*;

    #[test]
    fn only_lines_without_content_become_blank() {
        let text =
            "\u{feff}# a\n\n[x] # b\r\n\r\n  # ü\ny = \"\"\"# c\n\n# d\"\"\"\n# \u{7}\n# e\nz = [ # f\n# g\n\n1]\n#";
        let blanks = "\u{feff}     [x] # b\r\n         y = \"\"\"# c\n\n# d\"\"\"\n# \u{7}\n    z = [ # f\n     1]\n ";
        assert_eq!(
            blanked(text, 99).as_deref(),
            Ok(blanks),
            "the bell is no comment, and a text keeps what looks like one"
        );
    }

    #[test]
    fn words_are_counted_without_blanks_and_what_is_blanked() {
        let text = "# a\n\n  a = [1, 2] # b\n";
        assert_eq!(blanked(text, 8).map_err(|span| &text[span]), Err("\n"));
        assert!(blanked(text, 10).is_ok());
        assert_eq!(blanked(&"=".repeat(9), 3), Err(3..4));
    }

    proptest! {
        /// Whatever the text, its tables, the places of keys and values, and the errors stay as they are.
        #[test]
        fn the_parser_finds_the_same(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "#", "# c", "\n", "\r\n", "\r", " ", "\t", "\"", "\"\"\"", "'", "'''", "a", "b = 1", "c = [",
                    "]", "{", "}", "[t]", "[[e]]", ",", "=", ".", "é", "\u{7}", "\u{feff}", "d = \"#\"",
                    "e = '''\n#\n'''",
                ]),
                0..24,
            )
        ) {
            let text = parts.concat();
            let of = |text: &str| {
                let (root, errors) = DeTable::parse_recoverable(text);
                let errors: Vec<_> = errors.iter().map(|error| (error.message().to_owned(), error.span())).collect();
                (format!("{:?}", root.get_ref()), errors)
            };
            prop_assert_eq!(of(&blanked(&text, 999).unwrap()), of(&text));
        }
    }
}
