//! Results as they are read back: counted before anything is built of them, because a value of two bytes can take a
//! hundred in memory.
//!
//! ```text
//! a number in a list of a `series`   32 B: these lists are most of a result that has them
//! any other value                    160 B, and its text and that of its name
//! in `config` and `vary`             which are kept as JSON: 80 B more for a member, 320 B for a list and 640 B for an
//!                                    object that is not empty
//! all of a text                      at most 8 times the limit on its length
//! the numbers of one `series`        at most 262,144: twice as many as any run writes
//! ```
//!
//! Counting keeps nothing. What is then built is of the types of the format, without a tree of JSON between.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use flashloom_files::{RESULT_LIMIT_BYTES, TEXT_LIMIT_VARIABLE, limit_of};
use serde::de::{DeserializeOwned, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, de};

use super::older;

/// Memory of a number in a list of a series, and of any other value.
const SERIES_NUMBER_BYTES: u64 = 32;
const VALUE_BYTES: u64 = 160;
/// More of it for what is kept as JSON: a member, and the room for the first four parts of a list or an object.
const MEMBER_BYTES: u64 = 80;
const LIST_BYTES: u64 = 320;
const OBJECT_BYTES: u64 = 640;
/// Memory that a text may take, as a multiple of the limit on its length.
const TIMES_ITS_LIMIT: u64 = 8;
/// Numbers of a series: 16 lists of 512, three maps of 64 rows and three histograms of 6,912 buckets are fewer.
const SERIES_NUMBERS: u64 = 1 << 18;

/// Names with a meaning here.
const SCHEMA: &str = "schema";
const SERIES: &str = "series";
const KEPT_AS_JSON: [&str; 2] = ["config", "vary"];

/// Reason why a text is not read.
#[derive(Debug)]
pub struct Unread {
    /// What is wrong, in words.
    pub found: String,
    /// Line and column, from 1; none if the text as a whole is wrong.
    pub place: Option<(usize, usize)>,
    /// True if the text is not JSON.
    pub is_syntax: bool,
}

impl From<serde_json::Error> for Unread {
    fn from(error: serde_json::Error) -> Self {
        let place = (error.line() > 0).then(|| (error.line(), error.column()));
        let message = error.to_string();
        let behind = format!(" at line {} column {}", error.line(), error.column());
        let found = without_types(message.strip_suffix(&behind).unwrap_or(&message));
        Self { found, place, is_syntax: error.is_syntax() || error.is_eof() }
    }
}

/// A message of serde in the words of JSON, without the names of types that only this program knows.
pub(crate) fn without_types(message: &str) -> String {
    let Some((found, expected)) = message.rsplit_once(", expected ") else { return message.to_owned() };
    let plain = match expected.split(' ').next().unwrap_or_default() {
        "struct" | "map" => "an object",
        "tuple" | "sequence" => "a list",
        "enum" => "one of several names",
        "f32" | "f64" => "a number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0 on",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        _ => expected,
    };
    format!("{found}, expected {plain}")
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.found)?;
        self.place.map_or(Ok(()), |(line, column)| write!(f, " at line {line} column {column}"))
    }
}

/// The `schema` of a text of JSON that takes no more memory than it may; empty if it has none.
///
/// # Errors
/// The text is not JSON, or what it holds would take more.
pub fn schema_of(text: &[u8]) -> Result<String, Unread> {
    let of_user = |value| {
        let found = format!("{TEXT_LIMIT_VARIABLE} is `{value}`, which is no number of bytes");
        Unread { found, place: None, is_syntax: false }
    };
    let limit = limit_of(TEXT_LIMIT_VARIABLE, RESULT_LIMIT_BYTES).map_err(of_user)?;
    schema_within(text, limit.saturating_mul(TIMES_ITS_LIMIT))
}

/// Reads a text of the format that [`schema_of`] found.
///
/// # Errors
/// The text lacks a field, or has another in its place.
pub fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, Unread> {
    serde_json::from_slice(text).map_err(Unread::from)
}

/// The schema of a text, and the text as it would be written today.
///
/// # Errors
/// The text is not JSON, or what it holds would take more memory than it may.
pub fn of_today(text: &[u8]) -> Result<(String, Cow<'_, [u8]>), Unread> {
    let schema = schema_of(text)?;
    let Some(converted) = older::converted(&schema, text)? else { return Ok((schema, text.into())) };
    Ok((schema_of(&converted)?, converted.into()))
}

fn schema_within(text: &[u8], limit: u64) -> Result<String, Unread> {
    let count = Count { limit, left: Cell::new(limit), schema: Cell::default() };
    let mut json = serde_json::Deserializer::from_slice(text);
    Part { count: &count, is: Is::Whole }.deserialize(&mut json)?;
    json.end()?;
    Ok(count.schema.take())
}

/// Memory that is left, and what was found on the way.
struct Count {
    limit: u64,
    left: Cell<u64>,
    schema: Cell<String>,
}

impl Count {
    fn take<E: de::Error>(&self, bytes: u64) -> Result<(), E> {
        let Some(left) = self.left.get().checked_sub(bytes) else {
            let limit = self.limit;
            return Err(E::custom(format!(
                "more values than {limit} bytes of memory are for: {TEXT_LIMIT_VARIABLE} (bytes, \
                 {TIMES_ITS_LIMIT} of these for each) raises the limit"
            )));
        };
        self.left.set(left);
        Ok(())
    }
}

/// Place of a value.
#[derive(Clone, Copy)]
enum Is<'a> {
    /// It is the whole text.
    Whole,
    /// It is the schema of the whole.
    Schema,
    /// It is in a series, which has so many numbers so far.
    InSeries(&'a Cell<u64>),
    /// It is, or is in, what is kept as JSON.
    Json,
    /// It is anywhere else.
    Elsewhere,
}

/// A value that is counted and left.
#[derive(Clone, Copy)]
struct Part<'a> {
    count: &'a Count,
    is: Is<'a>,
}

impl Part<'_> {
    fn scalar<E: de::Error>(self) -> Result<(), E> {
        let Is::InSeries(numbers) = self.is else { return self.count.take(VALUE_BYTES) };
        numbers.set(numbers.get() + 1);
        if numbers.get() > SERIES_NUMBERS {
            return Err(E::custom(format!("a series of more than {SERIES_NUMBERS} numbers, which no run writes")));
        }
        self.count.take(SERIES_NUMBER_BYTES)
    }
}

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        self.scalar()
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<(), E> {
        self.scalar()
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<(), E> {
        self.scalar()
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<(), E> {
        self.scalar()
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.scalar()
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        if let Is::Schema = self.is {
            self.count.schema.set(text.to_owned());
        }
        self.count.take(VALUE_BYTES.saturating_add(text.len() as u64))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.count.take(VALUE_BYTES)?;
        let is = if let Is::InSeries(_) | Is::Json = self.is { self.is } else { Is::Elsewhere };
        let part = Part { is, ..self };
        if list.next_element_seed(part)?.is_some() {
            self.count.take(if let Is::Json = is { LIST_BYTES } else { 0 })?;
            while list.next_element_seed(part)?.is_some() {}
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        self.count.take(VALUE_BYTES)?;
        let numbers = Cell::new(0);
        let mut more = OBJECT_BYTES;
        while let Some(member) = members.next_key_seed(Name(self.count))? {
            let is = match (self.is, member) {
                (Is::Json, _) => {
                    self.count.take(MEMBER_BYTES + std::mem::take(&mut more))?;
                    Is::Json
                }
                (Is::InSeries(_), _) => self.is,
                (Is::Whole, Member::Schema) => Is::Schema,
                (_, Member::Series) => {
                    numbers.set(0);
                    Is::InSeries(&numbers)
                }
                (_, Member::Json) => Is::Json,
                _ => Is::Elsewhere,
            };
            members.next_value_seed(Part { count: self.count, is })?;
        }
        Ok(())
    }
}

/// Name of a member.
enum Member {
    Schema,
    Series,
    Json,
    Other,
}

/// A name that is counted and left.
struct Name<'a>(&'a Count);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Member;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Member, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Member;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Member, E> {
        self.0.take(name.len() as u64)?;
        Ok(match name {
            SCHEMA => Member::Schema,
            SERIES => Member::Series,
            _ if KEPT_AS_JSON.contains(&name) => Member::Json,
            _ => Member::Other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::RunResult;

    #[test]
    fn no_type_of_the_program_is_named() {
        let found = |text: &str| parse::<RunResult>(text.as_bytes()).expect_err("it is no result").found;
        assert_eq!(found("[1]"), "invalid type: integer `1`, expected a string");
        let result = |host: &str| format!(r#"{{"schema": "s", "config": {{}}, "host": {host}}}"#);
        assert_eq!(found(&result("5")), "invalid type: integer `5`, expected an object");
        assert_eq!(
            found(&result(r#"{"requests": "x"}"#)),
            "invalid type: string \"x\", expected a whole number from 0 on"
        );
        assert_eq!(found(&result(r#"{"iops": "x"}"#)), "invalid type: string \"x\", expected a number");
    }

    fn found(text: &str, limit: u64) -> String {
        schema_within(text.as_bytes(), limit).unwrap_or_else(|unread| unread.to_string())
    }

    #[test]
    fn the_schema_is_that_of_the_whole_and_the_rest_of_the_text_is_json() {
        assert_eq!(found(r#"{"a": {"schema": "x"}, "schema": "y", "b": [{"schema": "z"}]}"#, 9_999), "y");
        assert_eq!(found(r#"{"schema": 1}"#, 9_999), "");
        assert_eq!(found("[1, 2]", 9_999), "");
        assert_eq!(found(r#"{"schema": "y"} x"#, 9_999), "trailing characters at line 1 column 17");
        let unread = schema_within(b"{\n\"a\": ?}", 9_999).expect_err("it is no JSON");
        assert_eq!((unread.place, unread.is_syntax), (Some((2, 6)), true));
    }

    #[test]
    fn numbers_of_a_series_count_less_than_other_values() {
        let numbers = vec!["0"; 1_000].join(",");
        let (series, list) = (format!(r#"{{"series": {{"a": [{numbers}]}}}}"#), format!(r#"{{"a": [{numbers}]}}"#));
        let most = 3 * VALUE_BYTES + 7 + 1_000 * SERIES_NUMBER_BYTES;
        assert_eq!(found(&series, most), "");
        assert!(found(&series, most - 1).starts_with(&format!("more values than {} bytes", most - 1)));
        let refused = found(&list, 100_000);
        assert!(refused.contains("FLASHLOOM_TEXT_LIMIT (bytes, 8 of these for each)"), "{refused}");
        assert_eq!(found(&list, 2 * VALUE_BYTES + 1 + 1_000 * VALUE_BYTES), "");
    }

    #[test]
    fn what_is_kept_as_json_counts_more() {
        let text = r#"{"config": {"a": [1, 2]}, "else": {"a": [1, 2]}}"#;
        let of_json = OBJECT_BYTES + MEMBER_BYTES + LIST_BYTES;
        let most = 9 * VALUE_BYTES + 12 + of_json;
        assert_eq!(found(text, most), "");
        assert!(found(text, most - 1).starts_with("more values than"));
    }

    #[test]
    fn a_series_is_as_long_as_one_that_a_run_writes() {
        let of = |numbers: u64| {
            let lists = format!(r#"{{"a": [{}], "b": [[1], [null]]}}"#, vec!["0"; numbers as usize - 2].join(","));
            found(&format!(r#"{{"runs": [{{"series": {lists}}}, {{"series": {lists}}}]}}"#), 1 << 30)
        };
        assert_eq!(of(SERIES_NUMBERS), "", "each series by itself");
        assert!(of(SERIES_NUMBERS + 1).starts_with("a series of more than 262144 numbers"));
    }
}
