//! Text from files, names and arguments, as it may be shown: nothing in it moves a cursor, turns the order of letters
//! round, or cannot be seen.
//!
//! A hidden character is shown as `\u{1b}`, a byte that is no UTF-8 as `\xff`. What is shown is to be read by people
//! and is not turned back: a backslash stays one backslash. A text within a line is shown up to [`MOST_SHOWN`]
//! characters, because a file may hold one of any length; its middle is left out, and the mark in its place says so.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

/// Characters of a text that are shown within a line; nobody writes a name or a claim so long to be read.
pub const MOST_SHOWN: usize = 1_000;
/// Of a longer text, those that are shown of its end: a message often says there where the text comes from.
const SHOWN_OF_END: usize = 200;

/// Characters that the mark of what was left out has at most.
const MARK: usize = 60;

/// Characters of a line of a message; only that of a table with hundreds of columns comes near it.
const MOST_OF_LINE: usize = 10_000;

/// Characters that do something other than being seen: controls (C0, DEL, C1), separators of lines and paragraphs,
/// marks of direction, anchors of annotations, and all that Unicode 16 has no glyph for
/// (`Default_Ignorable_Code_Point`: zero-width spaces and joiners, fillers, selectors of variants, tags).
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Text with those characters that `is_shown` refuses replaced as `replace` writes them.
fn replaced(text: &str, is_shown: impl Fn(char) -> bool, replace: impl Fn(&mut String, char)) -> Cow<'_, str> {
    let Some(first) = text.find(|character| !is_shown(character)) else { return Cow::Borrowed(text) };
    let mut shown = String::with_capacity(text.len() + 16);
    shown.push_str(&text[..first]);
    for character in text[first..].chars() {
        if is_shown(character) {
            shown.push(character);
        } else {
            replace(&mut shown, character);
        }
    }
    Cow::Owned(shown)
}

/// Text of several lines as it may be shown: newlines and tabs stay, which lay it out.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_shown = |character| matches!(character, '\n' | '\t') || !is_hidden(character);
    replaced(text, is_shown, |shown, character| shown.extend(character.escape_unicode()))
}

/// Text within a line as it may be shown: a newline would begin a line that nobody wrote, and is shown as `\n`. Of a
/// text longer than [`MOST_SHOWN`] characters the middle is left out.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    match shortened(text, MOST_SHOWN) {
        Cow::Borrowed(whole) => visible_whole_line(whole),
        Cow::Owned(short) => Cow::Owned(visible_whole_line(&short).into_owned()),
    }
}

/// [`visible_line`] of a text that is shown whole, however long it is.
pub fn visible_whole_line(text: &str) -> Cow<'_, str> {
    let replace = |shown: &mut String, character| match character {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        other => shown.extend(other.escape_unicode()),
    };
    replaced(text, |character| !is_hidden(character), replace)
}

/// Text of several lines that are not the data which was asked for, but say something about it: [`visible`], and no
/// line beyond 10,000 characters, whatever was forgotten to be shortened.
pub fn visible_message(text: &str) -> Cow<'_, str> {
    if text.len() <= MOST_OF_LINE {
        return visible(text);
    }
    let mut shown = String::new();
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        shown.extend([&visible(&shortened(line, MOST_OF_LINE)), end]);
    }
    Cow::Owned(shown)
}

/// A text of at most `most` characters, or its beginning and its end with a mark between them that says how long it
/// was.
fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    // No character has less than a byte.
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let all = text.chars().count();
    if all <= most {
        return Cow::Borrowed(text);
    }
    let of_beginning = most - MARK - SHOWN_OF_END;
    let left_out = all - of_beginning - SHOWN_OF_END;
    let (beginning, _) = text.char_indices().nth(of_beginning).unwrap_or((text.len(), ' '));
    let (end, _) = text.char_indices().nth_back(SHOWN_OF_END - 1).unwrap_or((0, ' '));
    Cow::Owned(format!("{}[... {left_out} of {all} characters ...]{}", &text[..beginning], &text[end..]))
}

/// Bytes that should be text, within a line as they may be shown.
pub fn visible_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        shown.push_str(&visible_whole_line(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// The name of a file within a line as it may be shown; one that is no UTF-8 by its bytes.
pub fn visible_path(path: &Path) -> String {
    visible_bytes(path.as_os_str().as_encoded_bytes())
}

/// JSON with hidden characters as its own escapes (`\u202e`): it parses to the same value, and a terminal shows it.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    // JSON has them in texts alone: outside of these there are newlines.
    let is_shown = |character| character == '\n' || !is_hidden(character);
    replaced(json, is_shown, |shown, character| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(shown, "\\u{unit:04x}");
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_hides_or_acts_is_shown_by_its_number_and_all_else_as_it_is() {
        let shown = [
            ("\u{1b}]0;x\u{7}", r"\u{1b}]0;x\u{7}"),
            ("a\rb\u{7f}\u{9b}31m", r"a\u{d}b\u{7f}\u{9b}31m"),
            ("\u{202e}fdp.exe \u{2066}\u{200f}\u{61c}", r"\u{202e}fdp.exe \u{2066}\u{200f}\u{61c}"),
            ("a\u{200b}b\u{2028}c\u{e0041}d\u{ad}\u{3164}", r"a\u{200b}b\u{2028}c\u{e0041}d\u{ad}\u{3164}"),
            ("C:\\x\ty\n", "C:\\x\ty\n"),
            ("± ≈ é 日本 e\u{301} 🐢", "± ≈ é 日本 e\u{301} 🐢"),
        ];
        for (text, expected) in shown {
            assert_eq!(visible(text), expected);
        }
        assert_eq!(visible_line("a\nerror:\tb\r"), r"a\nerror:\tb\r");
        assert!(matches!(visible("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_long_text_is_shown_by_its_beginning_and_its_end_with_its_length_between_them() {
        let longest = "é".repeat(MOST_SHOWN);
        assert!(matches!(visible_line(&longest), Cow::Borrowed(_)), "bytes are not characters");
        let key = format!("unknown key `{}\u{202e}{}` in [host]", "é".repeat(8_000_000), "x".repeat(8_000_000));
        let shown = visible_line(&key);
        assert!(shown.starts_with("unknown key `éé") && shown.ends_with("xx` in [host]"), "{shown}");
        assert!(shown.contains("é[... 15999085 of 16000025 characters ...]x"), "{shown}");
        assert!(shown.chars().count() <= MOST_SHOWN && visible_line(&shown) == shown);
        assert!(visible_line(&"\u{e0041}".repeat(1 << 20)).len() < 10 * MOST_SHOWN);
        assert_eq!(visible_whole_line(&key).chars().count(), key.chars().count() + 7);
    }

    #[test]
    fn a_message_has_no_line_without_end() {
        let lines = format!("short\n{}\n\nshort", "x".repeat(1 << 20));
        let shown = visible_message(&lines);
        assert!(shown.starts_with("short\nxx") && shown.ends_with("xx\n\nshort"), "{shown}");
        assert!(shown.contains(" of 1048576 characters ...]") && shown.len() <= MOST_OF_LINE + 12, "{shown}");
        let many = "a line of sixteen\n".repeat(1_000);
        assert_eq!(visible_message(&many), many);
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_one_by_one() {
        assert_eq!(visible_bytes(b"a\xff\xc3\x28\xe2\x82z\n"), r"a\xff\xc3(\xe2\x82z\n");
    }

    #[cfg(unix)]
    #[test]
    fn a_name_that_is_no_text_is_shown_by_its_bytes() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        assert_eq!(visible_path(Path::new(OsStr::from_bytes(b"d/\x1b\xfe.csv"))), r"d/\u{1b}\xfe.csv");
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left_and_what_is_visible_stays(text in any::<String>()) {
            let once = visible_line(&text);
            prop_assert!(!once.chars().any(is_hidden));
            prop_assert_eq!(visible_line(&once), once.clone());
            prop_assert!(!visible(&text).chars().any(|c| is_hidden(c) && !matches!(c, '\n' | '\t')));
            prop_assert!(!visible_json(&text).chars().any(|c| is_hidden(c) && c != '\n'));
        }
    }
}
