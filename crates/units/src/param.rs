//! Parameters, described once: the configuration, `explain`, the documents and the JSON schema read the same tables.
//!
//! A struct of parameters is declared with [`params!`](crate::params), a closed set of named values with
//! [`choice!`](crate::choice); the defaults live in those declarations and nowhere else. The configuration reader turns
//! text into [`Value`]s, one for each [`Param`] in order, refusing what is out of range; only then is the struct built,
//! so the core never sees an unchecked value.

use std::borrow::Cow;

use crate::{Ns, SlotSpec, format_energy, format_power, format_rate, format_ratio, format_size, format_time};

/// Type of a parameter's value, with its inclusive range.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A plain whole number.
    Count {
        /// Least value allowed.
        min: u64,
        /// Greatest value allowed.
        max: u64,
    },
    /// A plain whole number, or a name that leaves it to the policy.
    CountOr {
        /// Least number allowed.
        min: u64,
        /// Greatest number allowed.
        max: u64,
        /// The name.
        or: Choice,
    },
    /// Bytes, written with a unit.
    Size {
        /// Least value allowed, in bytes.
        min: u64,
        /// Greatest value allowed, in bytes.
        max: u64,
    },
    /// Bytes, written with a unit, or a name that leaves it to what it is used with.
    SizeOr {
        /// Least size allowed, in bytes.
        min: u64,
        /// Greatest size allowed, in bytes.
        max: u64,
        /// The name.
        or: Choice,
    },
    /// A duration, written with a unit.
    Time {
        /// Least value allowed, in nanoseconds.
        min: Ns,
        /// Greatest value allowed, in nanoseconds.
        max: Ns,
    },
    /// Bytes a second, written with a unit.
    Rate {
        /// Least value allowed, in bytes a second.
        min: u64,
        /// Greatest value allowed, in bytes a second.
        max: u64,
    },
    /// An energy, written with a unit.
    Energy {
        /// Least value allowed, in picojoules.
        min: u64,
        /// Greatest value allowed, in picojoules.
        max: u64,
    },
    /// A power, written with a unit.
    Power {
        /// Least value allowed, in nanowatts.
        min: u64,
        /// Greatest value allowed, in nanowatts.
        max: u64,
    },
    /// A share or a factor: a number, or a text with a per cent sign.
    Ratio {
        /// Least value allowed.
        min: f64,
        /// Greatest value allowed.
        max: f64,
    },
    /// True or false.
    Flag,
    /// One of a closed set of names.
    Choice(&'static [Choice]),
    /// One of a closed set of names, or the path of a TOML file in place of one: a text that ends in `.toml` or has a
    /// slash, so that a misspelt name is no path.
    ChoiceOrFile(&'static [Choice]),
    /// The name of a policy of a slot. The valid names are those of the registry that the configuration is read with.
    Policy(&'static SlotSpec),
    /// Free text, such as a path.
    Text,
}

/// One value of a closed set.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The value as written in a configuration.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
}

/// A checked value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value: the key is not given and has no default.
    Absent,
    /// A plain whole number.
    Count(u64),
    /// Bytes.
    Size(u64),
    /// Nanoseconds.
    Time(Ns),
    /// Bytes a second.
    Rate(u64),
    /// Picojoules.
    Energy(u64),
    /// Nanowatts.
    Power(u64),
    /// A share or a factor.
    Ratio(f64),
    /// True or false.
    Flag(bool),
    /// The name of a choice or a policy.
    Name(&'static str),
    /// Free text.
    Text(Cow<'static, str>),
}

impl Value {
    /// The value as written in a configuration, without quotes; `none` for [`Self::Absent`].
    pub fn show(&self) -> String {
        match self {
            Value::Absent => "none".to_owned(),
            Value::Count(value) => value.to_string(),
            Value::Size(value) => format_size(*value),
            Value::Time(value) => format_time(*value),
            Value::Rate(value) => format_rate(*value),
            Value::Energy(value) => format_energy(*value),
            Value::Power(value) => format_power(*value),
            Value::Ratio(value) => format_ratio(*value),
            Value::Flag(value) => value.to_string(),
            Value::Name(value) => (*value).to_owned(),
            Value::Text(value) => value.clone().into_owned(),
        }
    }
}

/// Comparison of another key with the values of a [`Used`] condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Must {
    /// The key has one of the values.
    Be,
    /// The key has none of the values.
    NotBe,
    /// The key is a number of at least the one value.
    BeAtLeast,
}

/// Condition on another key without which a parameter has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// The other key: its name in the same table, or its whole path.
    pub key: &'static str,
    /// Values as [`Value::show`] writes them, so that `none` stands for a key that is not given.
    pub values: &'static [&'static str],
    /// Comparison of the key with the values.
    pub must: Must,
}

impl Used {
    /// Used only where the key has one of these values.
    pub const fn with(key: &'static str, values: &'static [&'static str]) -> Option<Self> {
        Some(Self { key, values, must: Must::Be })
    }

    /// Used only where the key has none of these values.
    pub const fn without(key: &'static str, values: &'static [&'static str]) -> Option<Self> {
        Some(Self { key, values, must: Must::NotBe })
    }

    /// Used only where the key is a number that is not below this one.
    pub const fn from(key: &'static str, least: &'static [&'static str; 1]) -> Option<Self> {
        Some(Self { key, values: least, must: Must::BeAtLeast })
    }
}

/// What ageing a drive has to do with a parameter: drives whose parameters differ only in what ageing does not depend
/// on are one after it. Drives are aged in counting mode, so that times count only where a policy weighs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ageing {
    /// What its section has to do with it: everything if it describes the drive, and otherwise nothing.
    OfSection,
    /// Ageing depends on it.
    Always,
    /// A time, or what decides it: only policies that are not built in may depend on it.
    Timed,
    /// A time by which log-block mappings and placements weigh merges, too.
    Merges,
    /// As [`Self::Merges`], and blocks that are used in another cell mode depend on it.
    MergesAndModes,
    /// It counts from the first request on.
    Never,
}

/// Description of one parameter, from which help, checks and documents are made.
#[derive(Clone, Debug)]
pub struct Param {
    /// The key in a configuration.
    pub name: &'static str,
    /// Type and range of its values.
    pub kind: Kind,
    /// Value of a configuration that does not set it.
    pub default: Value,
    /// One line of help.
    pub help: &'static str,
    /// One sentence: what a larger or smaller value costs and brings.
    pub tradeoff: &'static str,
    /// Condition on another key without which it has no effect; none if the choice of its policy is the only one.
    pub used: Option<Used>,
    /// What ageing a drive has to do with it.
    pub ageing: Ageing,
}

impl Param {
    /// Type and range in words, for errors and help: `a time from 1ms to 1h`, `one of a, b, c`.
    pub fn expected(&self) -> String {
        let range = |what: &str, min: String, max: String| format!("{what} from {min} to {max}");
        match self.kind {
            Kind::Count { min, max } if max == u64::MAX => format!("a whole number of at least {min}"),
            Kind::Count { min, max } => range("a whole number", min.to_string(), max.to_string()),
            Kind::CountOr { min, max, or } => {
                range("a whole number", min.to_string(), max.to_string()) + " or " + or.name
            }
            Kind::Size { min, max } => range("a size", format_size(min), format_size(max)),
            Kind::SizeOr { min, max, or } => range("a size", format_size(min), format_size(max)) + " or " + or.name,
            Kind::Time { min, max } => range("a time", format_time(min), format_time(max)),
            Kind::Rate { min, max } => range("a rate", format_rate(min), format_rate(max)),
            Kind::Energy { min, max } => range("an energy", format_energy(min), format_energy(max)),
            Kind::Power { min, max } => range("a power", format_power(min), format_power(max)),
            Kind::Ratio { min, max } => range("a number", min.to_string(), max.to_string()),
            Kind::Flag => "true or false".to_owned(),
            Kind::Choice(_) => one_of(self.names().into_iter()),
            Kind::ChoiceOrFile(_) => {
                one_of(self.names().into_iter()) + ", or the path of a TOML file, such as ./mine.toml"
            }
            Kind::Policy(slot) => format!("one of `flashloom list {}`", slot.name),
            Kind::Text => "a text".to_owned(),
        }
    }

    /// The valid names of a parameter of a closed set; empty for all others.
    pub fn names(&self) -> Vec<&'static str> {
        match self.kind {
            Kind::Choice(choices) | Kind::ChoiceOrFile(choices) => choices.iter().map(|choice| choice.name).collect(),
            Kind::CountOr { or, .. } | Kind::SizeOr { or, .. } => vec![or.name],
            _ => Vec::new(),
        }
    }

    /// True if a value has the parameter's type and is within its range.
    pub fn accepts(&self, value: &Value) -> bool {
        match (&self.kind, value) {
            (_, Value::Absent) => self.default == Value::Absent,
            (Kind::Count { min, max } | Kind::CountOr { min, max, .. }, Value::Count(value))
            | (Kind::Size { min, max } | Kind::SizeOr { min, max, .. }, Value::Size(value))
            | (Kind::Time { min, max }, Value::Time(value))
            | (Kind::Rate { min, max }, Value::Rate(value))
            | (Kind::Energy { min, max }, Value::Energy(value))
            | (Kind::Power { min, max }, Value::Power(value)) => (min..=max).contains(&value),
            (Kind::Ratio { min, max }, Value::Ratio(value)) => (min..=max).contains(&value),
            (Kind::ChoiceOrFile(_), Value::Text(path)) => is_path(path),
            (Kind::Policy(_), Value::Name(_)) | (Kind::Flag, Value::Flag(_)) | (Kind::Text, Value::Text(_)) => true,
            (_, Value::Name(name)) => self.names().contains(name),
            _ => false,
        }
    }
}

/// True if a text in the place of a name is meant as the path of a TOML file.
pub fn is_path(text: &str) -> bool {
    text.ends_with(".toml") || text.contains(['/', '\\'])
}

/// A closed set in words: `one of a, b, c`.
pub fn one_of(names: impl Iterator<Item = &'static str>) -> String {
    format!("one of {}", names.collect::<Vec<_>>().join(", "))
}

/// A struct of parameters that is built from checked values: one that [`params!`](crate::params) declares, or several
/// of them side by side, each declared where its parameters are used.
pub trait ParamSet: Sized {
    /// Description of each parameter, in the order of the values.
    fn params() -> &'static [Param];

    /// Builds the struct from one checked value for each parameter, in order.
    fn from_values(values: &[Value]) -> Self;

    /// The struct with the default of every parameter.
    fn defaults() -> Self {
        Self::from_values(&Self::params().iter().map(|param| param.default.clone()).collect::<Vec<_>>())
    }

    /// Takes the values of this set from the front of those of a struct that it is a part of, and builds it.
    fn take_from(values: &mut &[Value]) -> Self {
        let (own, others) = values.split_at(Self::params().len());
        *values = others;
        Self::from_values(own)
    }
}

/// What a policy takes its parameters as: a [`ParamSet`], the checked values in order, or nothing.
pub trait Parameters: 'static {
    /// Makes it of one checked value for each parameter, in order.
    fn of(values: &[Value]) -> Self;
}

impl<P: ParamSet + 'static> Parameters for P {
    fn of(values: &[Value]) -> Self {
        Self::from_values(values)
    }
}

/// No parameters.
impl ParamSet for () {
    fn params() -> &'static [Param] {
        &[]
    }

    fn from_values(_values: &[Value]) -> Self {}
}

impl Parameters for Vec<Value> {
    fn of(values: &[Value]) -> Self {
        values.to_vec()
    }
}

/// A Rust type that a field of a struct of parameters can have.
pub trait FieldType: Sized {
    /// Converts a checked value. Panics on a value of another kind, which the parameter's declaration rules out.
    fn from_value(value: &Value) -> Self;
}

/// Implements [`FieldType`]: the values of a parameter with a field of that type, and what they are.
macro_rules! field_types {
    ($($type:ty: $value:pat => $field:expr, $what:literal;)+) => {$(
        impl FieldType for $type {
            fn from_value(value: &Value) -> Self {
                match value {
                    $value => $field,
                    other => unreachable!(concat!($what, " was declared, not {:?}"), other),
                }
            }
        }
    )+};
}

field_types! {
    u64: Value::Count(number) | Value::Size(number) | Value::Time(number) | Value::Rate(number) | Value::Energy(number)
        | Value::Power(number) => *number, "a number";
    f64: Value::Ratio(ratio) => *ratio, "a ratio";
    bool: Value::Flag(flag) => *flag, "a flag";
    &'static str: Value::Name(name) => name, "a name";
}

impl FieldType for u32 {
    fn from_value(value: &Value) -> Self {
        u32::try_from(u64::from_value(value)).expect("the declared range of a 32-bit parameter fits in 32 bits")
    }
}

impl FieldType for String {
    fn from_value(value: &Value) -> Self {
        match value {
            Value::Name(name) => (*name).to_owned(),
            Value::Text(text) => text.clone().into_owned(),
            other => unreachable!("a text was declared, not {other:?}"),
        }
    }
}

/// A number, or the name in its place that [`Kind::CountOr`] and [`Kind::SizeOr`] have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrName<T> {
    /// The name.
    Name,
    /// A number.
    Number(T),
}

impl<T> OrName<T> {
    /// The number, or what stands behind the name.
    pub fn number_or(self, named: T) -> T {
        match self {
            Self::Name => named,
            Self::Number(number) => number,
        }
    }
}

impl<T: FieldType> FieldType for OrName<T> {
    fn from_value(value: &Value) -> Self {
        if let Value::Name(_) = value { Self::Name } else { Self::Number(T::from_value(value)) }
    }
}

impl<T: FieldType> FieldType for Option<T> {
    fn from_value(value: &Value) -> Self {
        (*value != Value::Absent).then(|| T::from_value(value))
    }
}

/// Declares a struct of parameters and the table that describes them.
///
/// A field reads `help comment, field: type => "key", kind, default, "trade-off";`, where the key is the field's name
/// without its unit, because a configuration carries units in the values. A parameter that has an effect only with
/// certain values of another key says so after the trade-off: `"trade-off", Used::with("pattern", &["hot-cold"]);`. One
/// that ageing depends on otherwise than on its section ends with that: `"trade-off" => Never;`, see [`Ageing`].
#[macro_export]
macro_rules! params {
    (@used) => { None };
    (@used $used:expr) => { $used };
    (@ageing) => { $crate::Ageing::OfSection };
    (@ageing $ageing:ident) => { $crate::Ageing::$ageing };
    (
        $(#[doc = $doc:literal])+
        pub struct $name:ident {
            $($(#[doc = $help:literal])+ $field:ident: $type:ty => $key:literal, $kind:expr, $default:expr,
                $tradeoff:literal $(, $used:expr)? $(=> $ageing:ident)?;)*
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $help])+ pub $field: $type,)*
        }

        impl $name {
            /// The parameters, in the order of the fields.
            pub const PARAMS: &'static [$crate::Param] = &[
                $($crate::Param {
                    name: $key,
                    kind: $kind,
                    default: $default,
                    help: concat!($($help),+).trim_ascii_start(),
                    tradeoff: $tradeoff,
                    used: $crate::params!(@used $($used)?),
                    ageing: $crate::params!(@ageing $($ageing)?),
                },)*
            ];
        }

        impl $crate::ParamSet for $name {
            fn params() -> &'static [$crate::Param] {
                Self::PARAMS
            }

            fn from_values(values: &[$crate::Value]) -> Self {
                assert_eq!(values.len(), Self::PARAMS.len(), "one value for each parameter");
                #[allow(unused_mut, unused_variables)]
                let mut values = values.iter();
                Self { $($field: $crate::FieldType::from_value(values.next().expect("counted above")),)* }
            }
        }
    };
}

/// Declares a closed set of named values as an enum for a field of [`params!`](crate::params), with its table
/// `CHOICES`.
#[macro_export]
macro_rules! choice {
    (
        $(#[doc = $doc:literal])+
        pub enum $name:ident { $($(#[doc = $help:literal])+ $variant:ident = $text:literal,)+ }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[doc = $help])+ $variant,)+ }

        impl $name {
            /// All values, with their help.
            pub const CHOICES: &'static [$crate::Choice] =
                &[$($crate::Choice { name: $text, help: concat!($($help),+).trim_ascii_start() },)+];

            /// The value as written in a configuration.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The value of that name; none if the set has no such name.
            pub fn named(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }

        impl $crate::FieldType for $name {
            fn from_value(value: &$crate::Value) -> Self {
                let name = <&'static str as $crate::FieldType>::from_value(value);
                Self::named(name).expect("a checked value is one of the declared choices")
            }
        }
    };
}

/// The valid name that was probably meant: one that differs by hyphens alone, or else by a typing error, or else the
/// shortest that begins with what was written or that what was written begins with.
pub fn nearest<'a>(written: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |name: &str| name.trim().to_lowercase().replace(['_', ' '], "-");
    let written = plain(written);
    let joined = written.replace('-', "");
    let length = |name: &str| name.chars().count();
    let written_length = length(&written);
    let (mut slip, mut beginning): (Option<(usize, &str)>, Option<&str>) = (None, None);
    for name in valid {
        let known = plain(name);
        if known.replace('-', "") == joined {
            return Some(name);
        }
        let (known_length, most) = (length(&known), 1 + name.len() / 4);
        // A distance is at least that of the lengths, and takes their product to find: a name may be as long as a file.
        if written_length.abs_diff(known_length) <= most {
            let distance = strsim::damerau_levenshtein(&written, &known);
            // Names that have nothing in common are no slip of each other, however short they are.
            let has_common = distance < written_length.max(known_length);
            if has_common && distance <= most && slip.is_none_or(|(least, _)| distance < least) {
                slip = Some((distance, name));
            }
        }
        let is_shorter = beginning.is_none_or(|shortest| name.len() < shortest.len());
        let begins =
            written_length >= 3 && known.starts_with(&written) || known_length >= 3 && written.starts_with(&known);
        if is_shorter && begins {
            beginning = Some(name);
        }
    }
    slip.map(|(_, name)| name).or(beginning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MS, S};

    choice! {
        /// A choice.
        pub enum Colour {
            /// The first.
            Red = "red",
            /// The second.
            DarkBlue = "dark-blue",
        }
    }

    params! {
        /// Parameters for the test.
        pub struct Sample {
            /// A duration.
            wait_ns: u64 => "wait", Kind::Time { min: MS, max: S }, Value::Time(5 * MS), "Longer waits wait longer."
                => Never;
            /// A number.
            count: Option<u32> => "count", Kind::Count { min: 1, max: 9 }, Value::Absent, "More is more.",
                Used::with("colour", &["red"]) => Timed;
            /// One of the choices.
            colour: Colour => "colour", Kind::Choice(Colour::CHOICES), Value::Name("dark-blue"), "Red is faster.";
        }
    }

    #[test]
    fn a_parameter_struct_and_its_table_are_one_declaration() {
        let sample = Sample::defaults();
        assert_eq!(sample, Sample { wait_ns: 5 * MS, count: None, colour: Colour::DarkBlue });
        assert_eq!(sample.colour.name(), "dark-blue");
        assert_eq!(Sample::PARAMS[0].help, "A duration.");
        assert_eq!(Sample::PARAMS[0].expected(), "a time from 1ms to 1s");
        assert_eq!(Sample::PARAMS[2].expected(), "one of red, dark-blue");
        assert_eq!(Sample::PARAMS[0].used, None);
        let ageing: Vec<_> = Sample::PARAMS.iter().map(|param| param.ageing).collect();
        assert_eq!(ageing, [Ageing::Never, Ageing::Timed, Ageing::OfSection]);
        assert_eq!(Sample::PARAMS[1].used, Some(Used { key: "colour", values: &["red"], must: Must::Be }));
        assert!(Sample::PARAMS.iter().all(|param| param.accepts(&param.default)));
        assert!(!Sample::PARAMS[0].accepts(&Value::Time(S + 1)));
        assert!(!Sample::PARAMS[0].accepts(&Value::Count(5)));
    }

    #[test]
    fn the_nearest_name_is_suggested_only_when_it_is_near() {
        assert_eq!(nearest("schedular", ["scheduler", "queue_depth"]), Some("scheduler"));
        assert_eq!(nearest("queue-depth", ["scheduler", "queue_depth"]), Some("queue_depth"));
        assert_eq!(nearest("banana", ["scheduler", "queue_depth"]), None);
        assert_eq!(nearest("uftl", ["dftl", "u-ftl"]), Some("u-ftl"));
        assert_eq!(nearest("nvme-tlc", ["mlc-16g", "nvme-tlc-512g", "nvme-qlc-1t"]), Some("nvme-tlc-512g"));
        assert_eq!(nearest("par", ["cfq", "pardispatcher"]), Some("pardispatcher"));
        for odd in ["±", "", " ", "*", "é"] {
            assert_eq!(nearest(odd, ["n", "d", "noop"]), None, "{odd}");
        }
    }
}
