//! Conversion of one written value to its parameter's type, or the refusal of it.

use std::borrow::Cow;

use flashloom_units::{
    Kind, Param, Refusal, Value, is_path, parse_energy, parse_power, parse_rate, parse_ratio, parse_size, parse_time,
};
use flashloom_workload::FORMATS;
use toml::de::DeValue;

use crate::catalog::Catalog;
use crate::missing::missing;

/// Bytes of a number or a flag; a longer text is not parsed as one, because a parsed text takes many times its length.
const LONGEST_LITERAL: usize = 1_000;

/// Checks a value of a configuration file.
pub fn check(catalog: &Catalog, param: &Param, written: &DeValue<'_>) -> Result<Value, Refusal> {
    let key = Key { catalog, param };
    let value = match (param.kind, written) {
        (Kind::CountOr { .. }, DeValue::String(_)) => Value::Name(key.name(written)?),
        (Kind::SizeOr { .. }, DeValue::String(text)) if is_word(text) => Value::Name(key.name(written)?),
        (Kind::Count { .. } | Kind::CountOr { .. }, _) => Value::Count(key.whole_number(written)?),
        (Kind::Size { .. } | Kind::SizeOr { .. }, _) => Value::Size(parse_size(&key.quantity(written)?)?),
        (Kind::Time { .. }, _) => Value::Time(parse_time(&key.quantity(written)?)?),
        (Kind::Rate { .. }, _) => Value::Rate(parse_rate(&key.quantity(written)?)?),
        (Kind::Energy { .. }, _) => Value::Energy(parse_energy(&key.quantity(written)?)?),
        (Kind::Power { .. }, _) => Value::Power(parse_power(&key.quantity(written)?)?),
        (Kind::Ratio { .. }, _) => Value::Ratio(key.ratio(written)?),
        (Kind::Flag, DeValue::Boolean(flag)) => Value::Flag(*flag),
        (Kind::Text, DeValue::String(text)) => Value::Text(Cow::Owned(text.clone().into_owned())),
        (Kind::ChoiceOrFile(_), DeValue::String(text)) if is_path(text) => {
            Value::Text(Cow::Owned(text.clone().into_owned()))
        }
        (Kind::Choice(_) | Kind::ChoiceOrFile(_) | Kind::Policy(_), _) => Value::Name(key.name(written)?),
        (Kind::Flag | Kind::Text, other) => return Err(key.mismatch(other)),
    };
    if param.accepts(&value) {
        return Ok(value);
    }
    let help = in_per_cent(param, written, &value);
    Err(Refusal { help, ..key.refusal(format!("`{}` is out of range", shown(written))) })
}

/// Help for a ratio that is too large: the value in per cent, if that may have been meant; else the maximum.
fn in_per_cent(param: &Param, written: &DeValue<'_>, value: &Value) -> Option<String> {
    let Value::Ratio(number) = *value else { return None };
    if shown(written).trim_end().ends_with('%') {
        let Kind::Ratio { max, .. } = param.kind else { return None };
        return (number > max).then(|| format!("the greatest value is {} %", max * 100.0));
    }
    let is_meant = number >= 1.0 && param.accepts(&Value::Ratio(number / 100.0));
    // Without what a division by 100 leaves at the end of most numbers.
    let share = (number * 1e12).round() / 1e14;
    is_meant.then(|| format!("{number} % is written {share} or \"{number} %\""))
}

/// Checks a value of a command line option: as in a file, but a text needs no quotes.
pub fn check_option(catalog: &Catalog, param: &Param, written: &str) -> Result<Value, Refusal> {
    let is_literal = matches!(param.kind, Kind::Count { .. } | Kind::CountOr { .. } | Kind::Ratio { .. } | Kind::Flag);
    let is_quoted = written.starts_with(['"', '\'']);
    if (is_quoted || is_literal && written.len() <= LONGEST_LITERAL)
        && let Ok(value) = DeValue::parse(written)
    {
        return check(catalog, param, value.get_ref());
    }
    check(catalog, param, &DeValue::String(Cow::Borrowed(written)))
}

/// True for a text that does not begin as a number does.
fn is_word(text: &str) -> bool {
    text.trim_start().starts_with(|c: char| c.is_ascii_alphabetic())
}

/// The key that a value is written for.
struct Key<'a> {
    catalog: &'a Catalog,
    param: &'a Param,
}

impl Key<'_> {
    fn refusal(&self, found: String) -> Refusal {
        Refusal::new(found, self.catalog.expected(self.param))
    }

    fn whole_number(&self, written: &DeValue<'_>) -> Result<u64, Refusal> {
        match written {
            DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
                Ok(value) if value < 0 => Err(self.refusal(format!("`{value}` is negative"))),
                value => value
                    .ok()
                    .and_then(|value| u64::try_from(value).ok())
                    .ok_or_else(|| self.refusal(format!("`{}` does not fit in 64 bits", shown(written)))),
            },
            DeValue::Float(_) => Err(self.refusal(format!("`{}` is not a whole number", shown(written)))),
            other => Err(self.mismatch(other)),
        }
    }

    /// The text of a quantity; that of a number says that it has no unit.
    fn quantity(&self, written: &DeValue<'_>) -> Result<String, Refusal> {
        match written {
            DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) => Ok(shown(written)),
            other => Err(self.mismatch(other)),
        }
    }

    fn ratio(&self, written: &DeValue<'_>) -> Result<f64, Refusal> {
        parse_ratio(&self.quantity(written)?).map_err(|refusal| match self.param.kind {
            // What may be more than the whole is no share; its help says what it is.
            Kind::Ratio { max, .. } if max > 1.0 => {
                self.refusal(refusal.found).help(self.param.help.trim_end_matches('.'))
            }
            _ => refusal,
        })
    }

    fn name(&self, written: &DeValue<'_>) -> Result<&'static str, Refusal> {
        let DeValue::String(text) = written else { return Err(self.mismatch(written)) };
        let names = self.catalog.names(self.param);
        names.iter().copied().find(|name| name == text).ok_or_else(|| {
            let refusal = self.refusal(format!("unknown {} `{text}`", self.param.name));
            match (elsewhere(text, &names), missing(text)) {
                (Some(name), _) => refusal.help(format!("did you mean `{name}`?")),
                (None, Some(help)) => refusal.help(help),
                (None, None) => refusal.suggesting(text, names),
            }
        })
    }

    /// Refuses a value of another type than the key's.
    fn mismatch(&self, written: &DeValue<'_>) -> Refusal {
        let is_number = matches!(written, DeValue::Integer(_) | DeValue::Float(_));
        let found = match written {
            DeValue::String(text) => format!("the text \"{text}\""),
            DeValue::Integer(_) | DeValue::Float(_) => format!("the number `{}`", shown(written)),
            DeValue::Boolean(flag) => format!("the flag `{flag}`"),
            DeValue::Datetime(_) => "a date or time of day".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        };
        let as_text = || DeValue::String(Cow::Owned(shown(written)));
        let refusal = self.refusal(format!("{found} as `{}`", self.param.name));
        match written {
            DeValue::String(text) if self.is_literal(text) => refusal.help("write it without quotes"),
            _ if is_number && (matches!(self.param.kind, Kind::Text) || self.name(&as_text()).is_ok()) => {
                refusal.help("write it in quotes")
            }
            _ => refusal,
        }
    }

    /// True if a quoted value would be valid without its quotes.
    fn is_literal(&self, text: &str) -> bool {
        text.len() <= LONGEST_LITERAL
            && DeValue::parse(text).is_ok_and(|value| {
                !matches!(value.get_ref(), DeValue::String(_))
                    && check(self.catalog, self.param, value.get_ref()).is_ok()
            })
    }
}

/// Names of other programs and of papers, each with ours.
const ELSEWHERE: [(&str, &str); 13] = [
    ("as", "anticipatory"),
    ("fcfs", "noop"),
    ("fifo", "noop"),
    ("mq", "none"),
    ("nvme", "none"),
    ("lru", "page-lru"),
    ("bplru", "block-lru"),
    ("rga", "d-choices"),
    ("cb", "cost-benefit"),
    ("dynamic", "interleave"),
    ("page-level", "page"),
    ("page-map", "page"),
    ("random", "synthetic"),
];

/// Our name for a name of another program, or for one of ours in other letters.
fn elsewhere<'a>(text: &str, names: &[&'a str]) -> Option<&'a str> {
    let plain = text.to_lowercase().replace(['_', ' '], "-");
    let ours = ELSEWHERE.iter().find(|(known, _)| *known == plain).map(|(_, ours)| *ours);
    // A recording is of a kind, whatever its format.
    let ours = ours.or_else(|| FORMATS.iter().any(|spec| spec.format.name() == plain).then_some("trace"));
    names.iter().copied().find(|name| *name == plain || ours == Some(name))
}

/// Formats a written value for a message.
pub fn shown(written: &DeValue<'_>) -> String {
    match written {
        DeValue::String(text) => text.clone().into_owned(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        other => other.type_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_units::{Ageing, Choice, KIB};

    fn param(kind: Kind) -> Param {
        Param {
            name: "key",
            kind,
            default: Value::Absent,
            help: "Help.",
            tradeoff: "",
            used: None,
            ageing: Ageing::OfSection,
        }
    }

    fn found(kind: Kind, written: &str) -> String {
        check_option(&Catalog::builtin(), &param(kind), written).unwrap_err().found
    }

    const COUNT: Kind = Kind::Count { min: 1, max: 9 };
    const SIZE: Kind = Kind::Size { min: KIB, max: 4 * KIB };
    const RATIO: Kind = Kind::Ratio { min: 0.0, max: 1.0 };
    const NAMES: Kind = Kind::Choice(&[Choice { name: "noop", help: "" }]);

    #[test]
    fn an_option_needs_no_quotes_and_accepts_them() {
        assert_eq!(check_option(&Catalog::builtin(), &param(COUNT), "8"), Ok(Value::Count(8)));
        assert_eq!(check_option(&Catalog::builtin(), &param(COUNT), "0x8"), Ok(Value::Count(8)));
        assert_eq!(check_option(&Catalog::builtin(), &param(SIZE), "2KiB"), Ok(Value::Size(2 * KIB)));
        assert_eq!(check_option(&Catalog::builtin(), &param(SIZE), "\"2KiB\""), Ok(Value::Size(2 * KIB)));
        assert_eq!(check_option(&Catalog::builtin(), &param(RATIO), "7%"), Ok(Value::Ratio(0.07)));
        assert_eq!(check_option(&Catalog::builtin(), &param(RATIO), "1"), Ok(Value::Ratio(1.0)));
        assert_eq!(check_option(&Catalog::builtin(), &param(NAMES), "noop"), Ok(Value::Name("noop")));
        assert_eq!(check_option(&Catalog::builtin(), &param(Kind::Text), "8"), Ok(Value::Text("8".into())));
        assert_eq!(check_option(&Catalog::builtin(), &param(Kind::Flag), "true"), Ok(Value::Flag(true)));
    }

    #[test]
    fn what_is_wrong_with_a_value_is_said_in_its_own_words() {
        assert_eq!(found(COUNT, "10"), "`10` is out of range");
        assert_eq!(found(COUNT, "-1"), "`-1` is negative");
        assert_eq!(found(COUNT, "1.5"), "`1.5` is not a whole number");
        assert_eq!(found(COUNT, "99999999999999999999999"), "`99999999999999999999999` does not fit in 64 bits");
        assert_eq!(found(COUNT, &"9".repeat(60)), format!("`{}` does not fit in 64 bits", "9".repeat(60)));
        assert_eq!(found(COUNT, "many"), "the text \"many\" as `key`");
        assert_eq!(found(SIZE, "2048"), "`2048` has no unit");
        assert_eq!(found(SIZE, "8KiB"), "`8KiB` is out of range");
        assert_eq!(found(RATIO, "nan"), "`nan` is not a number");
        assert_eq!(found(RATIO, "7"), "`7` is out of range");
        assert_eq!(found(NAMES, "nop"), "unknown key `nop`");
        assert_eq!(found(Kind::Flag, "yes"), "the text \"yes\" as `key`");
    }

    #[test]
    fn a_name_of_another_program_is_told_ours() {
        const SCHEDULERS: Kind = Kind::Choice(&[
            Choice { name: "noop", help: "" },
            Choice { name: "anticipatory", help: "" },
            Choice { name: "cfq", help: "" },
        ]);
        let help = |written| check_option(&Catalog::builtin(), &param(SCHEDULERS), written).unwrap_err().help;
        for (written, name) in [("as", "anticipatory"), ("FIFO", "noop"), ("CFQ", "cfq"), ("nop", "noop")] {
            assert_eq!(help(written), Some(format!("did you mean `{name}`?")), "{written}");
        }
        let bfq = help("bfq").expect("it is known to be missing");
        assert!(bfq.contains("`cfq`") && bfq.contains("kernel/policies"), "{bfq}");
        assert_eq!(help("lru"), None, "no order is a scheduler");
    }

    #[test]
    fn a_ratio_that_was_meant_in_per_cent_is_told_how_to_be_written() {
        let help = |written| check_option(&Catalog::builtin(), &param(RATIO), written).unwrap_err().help;
        assert_eq!(help("7").as_deref(), Some("7 % is written 0.07 or \"7 %\""));
        assert_eq!(help("1.1").as_deref(), Some("1.1 % is written 0.011 or \"1.1 %\""));
        assert_eq!(help("12.5").as_deref(), Some("12.5 % is written 0.125 or \"12.5 %\""));
        assert_eq!(help("700"), None);
        assert_eq!(help("150%").as_deref(), Some("the greatest value is 100 %"), "it is in per cent already");
        assert_eq!(help("150 %").as_deref(), Some("the greatest value is 100 %"));
        assert_eq!(help("-5%"), None);
        assert_eq!(check_option(&Catalog::builtin(), &param(RATIO), "7 %"), Ok(Value::Ratio(0.07)));
    }

    #[test]
    fn a_factor_is_not_called_a_share() {
        let factor = Param { help: "Factor.", ..param(Kind::Ratio { min: 0.5, max: 4.0 }) };
        for written in ["inf", "nan", "fast"] {
            let refusal = check_option(&Catalog::builtin(), &factor, written).unwrap_err();
            assert_eq!(refusal.found, format!("`{written}` is not a number"));
            assert_eq!(
                (refusal.expected.as_str(), refusal.help.as_deref()),
                ("a number from 0.5 to 4", Some("Factor"))
            );
        }
        let share = check_option(&Catalog::builtin(), &param(RATIO), "inf").unwrap_err();
        assert_eq!((share.expected.as_str(), share.help), ("a share, such as 0.07 or \"7%\"", None));
    }

    #[test]
    fn a_quoted_number_is_told_to_lose_its_quotes() {
        let refusal = check_option(&Catalog::builtin(), &param(COUNT), "\"8\"").unwrap_err();
        assert_eq!(refusal.help.as_deref(), Some("write it without quotes"));
    }
    #[test]
    fn a_name_that_is_a_number_is_told_to_be_quoted() {
        static VERSIONS: [flashloom_units::Choice; 1] = [flashloom_units::Choice { name: "6.1", help: "" }];
        let help = |written: &str| {
            let value = DeValue::parse(written).unwrap();
            check(&Catalog::builtin(), &param(Kind::Choice(&VERSIONS)), value.get_ref()).map_err(|refusal| refusal.help)
        };
        assert_eq!(help("6.1"), Err(Some("write it in quotes".to_owned())));
        assert_eq!(help("6.2"), Err(None));
        assert_eq!(help("\"6.1\""), Ok(Value::Name("6.1")));
    }
}
