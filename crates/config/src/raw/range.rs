//! Ranges in lists of values: `1..10` stands for 1, 2 and so on to 10, `1..9..2` for every second of them. Both ends
//! are included, as in a shell's braces.

use flashloom_units::{Kind, Param, Refusal, Value};

use crate::catalog::Catalog;

/// Maximum number of values in a range.
const MOST: u64 = 10_000;

/// Syntax of a range.
const EXPECTED: &str = "FROM..TO or FROM..TO..STEP in whole numbers, both ends included, such as `1..10` or `1..9..2`";

/// True if a text is meant as a range: only counts have ranges.
pub fn is_range(param: &Param, text: &str) -> bool {
    matches!(param.kind, Kind::Count { .. } | Kind::CountOr { .. }) && (text.contains("..") || ends(text).is_some())
}

/// The two numbers of a range as others write it: `1-31`, `1:31`, `1 to 31`, `1..=31`.
fn ends(text: &str) -> Option<(&str, &str)> {
    let is_digit = |c: char| c.is_ascii_digit();
    let (from, rest) = text.split_at(text.find(|c: char| !is_digit(c))?);
    let (between, to) = rest.split_at(rest.find(is_digit)?);
    let is_between = ["-", ":", "to", "..=", "...", "\u{2013}"].contains(&between.trim());
    (!from.is_empty() && is_between && to.chars().all(is_digit)).then_some((from, to))
}

/// A text with a range in this syntax, if it is one as others write it.
pub fn rewritten(text: &str) -> Option<String> {
    ends(text).map(|(from, to)| format!("{from}..{to}"))
}

/// Expands a range into its values; `None` if the text is not a range.
pub fn expand(catalog: &Catalog, param: &Param, text: &str) -> Option<Result<Vec<Value>, Refusal>> {
    is_range(param, text).then(|| values(catalog, param, text))
}

fn values(catalog: &Catalog, param: &Param, text: &str) -> Result<Vec<Value>, Refusal> {
    let refusal = |found: String| Refusal::new(found, EXPECTED);
    let no_range = || {
        let help = rewritten(text).map(|range| format!("did you mean `{range}`?"));
        Refusal { help, ..refusal(format!("`{text}` is not a range")) }
    };
    let number = |part: &str| {
        let digits = part.trim().replace('_', "");
        let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| digits.parse::<u64>().ok()).flatten().ok_or_else(no_range)
    };
    let mut parts = text.split("..");
    let (from, to) = (number(parts.next().unwrap_or_default())?, number(parts.next().unwrap_or_default())?);
    let step = parts.next().map_or(Ok(1), number)?;
    if parts.next().is_some() || step == 0 {
        return Err(no_range());
    }
    if to < from {
        return Err(refusal(format!("`{text}` goes down")));
    }
    let steps = (to - from) / step;
    let last = from + steps * step;
    if last != to {
        let found = format!("`{text}` does not meet its end: its last value is {last}");
        return Err(refusal(found).help(format!("write {from}..{last}..{step}, or {from}..{to}")));
    }
    if steps >= MOST {
        let found = format!("`{text}` stands for {} values", u128::from(steps) + 1);
        return Err(Refusal::new(found, format!("at most {MOST}")));
    }
    if let Some(end) = [from, to].into_iter().find(|&end| !param.accepts(&Value::Count(end))) {
        return Err(Refusal::new(format!("`{end}` is out of range"), catalog.expected(param)));
    }
    Ok((0..=steps).map(|index| Value::Count(from + index * step)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_units::Ageing;

    const COUNT: Param = Param {
        name: "key",
        kind: Kind::Count { min: 1, max: 50_000 },
        default: Value::Absent,
        help: "",
        tradeoff: "",
        used: None,
        ageing: Ageing::OfSection,
    };

    fn of(text: &str) -> Result<Vec<u64>, String> {
        let values = expand(&Catalog::builtin(), &COUNT, text).expect("it has two points");
        let number = |value: Value| match value {
            Value::Count(number) => number,
            other => panic!("{other:?}"),
        };
        values.map(|values| values.into_iter().map(number).collect()).map_err(|refusal| refusal.found)
    }

    #[test]
    fn both_ends_belong_to_a_range() {
        assert_eq!(of("1..4"), Ok(vec![1, 2, 3, 4]));
        assert_eq!(of("2 .. 8 .. 3"), Ok(vec![2, 5, 8]));
        assert_eq!(of("7..7"), Ok(vec![7]));
        assert_eq!(of("49_999..50_000"), Ok(vec![49_999, 50_000]));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["1..=4", "..4", "1..", "1...4", "1..4..0", "1..4..1..1", "a..b", "-1..4"] {
            assert_eq!(of(text), Err(format!("`{text}` is not a range")));
        }
        for text in ["1-31", "1:31", "1 to 31", "1..=31", "1...31", "1\u{2013}31"] {
            let refusal = expand(&Catalog::builtin(), &COUNT, text).expect("it is meant as a range").unwrap_err();
            assert_eq!(refusal.help.as_deref(), Some("did you mean `1..31`?"), "{text}");
        }
        assert!(["-31", "1-", "1-2-3", "1_000", "0x10"].iter().all(|text| !is_range(&COUNT, text)));
        assert_eq!(of("4..1").unwrap_err(), "`4..1` goes down");
        assert_eq!(of("1..10..4").unwrap_err(), "`1..10..4` does not meet its end: its last value is 9");
        assert_eq!(of("0..4").unwrap_err(), "`0` is out of range");
        assert_eq!(of("1..20000").unwrap_err(), "`1..20000` stands for 20000 values");
    }

    #[test]
    fn only_counts_have_ranges() {
        let text = Param { kind: Kind::Text, ..COUNT };
        assert!(expand(&Catalog::builtin(), &text, "../a").is_none());
    }
}
