//! Text from files, names and arguments, as it may be shown: nothing in it moves a cursor, turns the order of letters
//! round, or cannot be seen.
//!
//! A hidden character is shown as `\u{1b}`, a byte that is no UTF-8 as `\xff`. What is shown is to be read by people
//! and is not turned back: a backslash stays one backslash.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

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

/// Text within a line as it may be shown: a newline would begin a line that nobody wrote, and is shown as `\n`.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    let replace = |shown: &mut String, character| match character {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        other => shown.extend(other.escape_unicode()),
    };
    replaced(text, |character| !is_hidden(character), replace)
}

/// Bytes that should be text, within a line as they may be shown.
pub fn visible_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        shown.push_str(&visible_line(chunk.valid()));
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
