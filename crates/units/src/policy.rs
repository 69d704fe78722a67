//! Policies as values: their specifications, their constructors, and the slots on the path of a request that they are
//! chosen for.
//!
//! A [`Slot`] is a table of [`Policy`] values of one [`Role`]: the built-in ones and whatever a program adds. A
//! configuration, `list`, `explain`, the schemas and the checks read the slots that they are given, so a policy from
//! outside is refused, explained and reported exactly as a built-in one.

use std::fmt;
use std::sync::Arc;

use crate::{Kind, Param, Parameters, Refusal, Statistic, Value, one_of};

/// A property that a policy can need from the rest of a stack, or offer to it.
///
/// Each is a constant of the crate that it is about. A policy from outside can declare its own: where one needs it, a
/// policy that offers it has to be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {
    in_words: &'static str,
}

impl Capability {
    /// A state that can be saved and loaded: the policy implements `state` and `state_mut`.
    pub const SAVED_STATE: Self = Self::new("a policy whose state can be saved");

    /// A capability that is like no other, in words that follow "needs ...".
    pub const fn new(in_words: &'static str) -> Self {
        Self { in_words }
    }

    /// The capability in words that follow "needs ...".
    pub const fn in_words(self) -> &'static str {
        self.in_words
    }
}

/// Description of a policy: its names, its help, its parameters and statistics, and its demands on the stack.
///
/// Names and texts are static, because specifications are read everywhere and live as long as the program. One that is
/// put together while the program runs is leaked once, by [`Self::leak`].
#[derive(Clone, Debug)]
pub struct PolicySpec {
    /// The name as written in a configuration; also that of its file.
    pub name: &'static str,
    /// One line of help.
    pub summary: &'static str,
    /// The algorithm in a few lines, and where it differs from its source and why.
    pub details: &'static str,
    /// The paper and section, or the source file, that it follows.
    pub source: &'static str,
    /// Keys and values that make a working configuration together with the defaults, as `--set` takes them and
    /// separated by blanks: `host.scheduler=noop host.queue_depth=1`. A policy from outside may leave it empty.
    pub example: &'static str,
    /// Circumstances in which another policy is the better choice, and its name. A policy from outside may leave it
    /// empty.
    pub instead: &'static str,
    /// Capabilities that the rest of the stack must have; a configuration without them is refused.
    pub needs: &'static [Capability],
    /// Capabilities that other policies may need and this one has.
    pub offers: &'static [Capability],
    /// Its parameters.
    pub params: &'static [Param],
    /// Figures that it adds to a result.
    pub statistics: &'static [Statistic],
}

impl PolicySpec {
    /// An empty specification, to take the other fields from by `..PolicySpec::BLANK`.
    pub const BLANK: Self = Self {
        name: "",
        summary: "",
        details: "",
        source: "",
        example: "",
        instead: "",
        needs: &[],
        offers: &[],
        params: &[],
        statistics: &[],
    };

    /// Makes a specification that was put together at run time static. Its memory is never freed.
    pub fn leak(self) -> &'static Self {
        Box::leak(Box::new(self))
    }

    /// Returns one value for each parameter, in order: those of `set`, by name, and the defaults of all others.
    ///
    /// # Errors
    /// A name that is not a parameter, or a value that its parameter does not take.
    pub fn values(&self, set: &[(&str, Value)]) -> Result<Vec<Value>, Refusal> {
        for (name, value) in set {
            let Some(param) = self.params.iter().find(|param| param.name == *name) else {
                let found = format!("no parameter of {} is named `{name}`", self.name);
                let names = self.params.iter().map(|param| param.name);
                return Err(Refusal::new(found, "one that it has").suggesting(name, names));
            };
            if !param.accepts(value) {
                let found = format!("`{}` as `{name}` of {}", value.show(), self.name);
                return Err(Refusal::new(found, param.expected()));
            }
        }
        let value = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        Ok(self.params.iter().map(|param| value(param.name).unwrap_or_else(|| param.default.clone())).collect())
    }

    /// The first fault that keeps the specification out of a slot: a name, parameter or statistic that a configuration
    /// or a result could not hold. None if it is sound.
    fn fault(&self, slot: &SlotSpec) -> Option<String> {
        let is_name = |name: &str| {
            let mut characters = name.chars();
            characters.next().is_some_and(|first| first.is_ascii_lowercase())
                && characters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c))
        };
        if !is_name(self.name) {
            return Some(format!("`{}` is not a name: lower-case letters, digits, `-` and `_`", self.name));
        }
        for (index, param) in self.params.iter().enumerate() {
            let fault = match param.kind {
                _ if !is_name(param.name) => "is not a name",
                _ if self.params[..index].iter().any(|other| other.name == param.name) => "is there twice",
                _ if !param.accepts(&param.default) => "has a default that it does not take",
                Kind::Policy(_) => "chooses a policy, which only a section's own keys do",
                _ => continue,
            };
            return Some(format!("`{}` of `{}` {fault}", param.name, self.name));
        }
        if slot.statistics_of(self).any(|figure| figure.name == Statistic::POLICY) {
            let (figure, policy) = (Statistic::POLICY, self.name);
            return Some(format!("the statistic `{figure}` of `{policy}` has the name of what is beside it"));
        }
        let twice = |(index, figure): (usize, &Statistic)| {
            let again = slot.statistics_of(self).take(index).any(|other| other.name == figure.name);
            again.then(|| format!("the statistic `{}` of `{}` is there twice", figure.name, self.name))
        };
        slot.statistics_of(self).enumerate().find_map(twice)
    }
}

/// Description of a slot.
#[derive(Debug, PartialEq, Eq)]
pub struct SlotSpec {
    /// The name that `flashloom list` takes, a plural.
    pub name: &'static str,
    /// The configuration key that chooses the policy, such as `host.scheduler`.
    pub key: &'static str,
    /// The field's word for a policy of the slot, which people search for: `replacement policy`.
    pub role: &'static str,
    /// One line of help: the decision that the policies make.
    pub help: &'static str,
    /// Figures that whoever calls the policies counts for each of them, those of other people included. A result has
    /// them before the policy's own.
    pub statistics: &'static [Statistic],
}

impl SlotSpec {
    /// Every statistic of a policy of the slot, in the order of its values in [`Figures`](crate::Figures).
    pub fn statistics_of(&self, policy: &PolicySpec) -> impl Iterator<Item = &'static Statistic> + use<> {
        self.statistics.iter().chain(policy.statistics)
    }
}

/// The kind of policy that a slot takes, implemented for the trait object of its policies, such as `dyn Scheduler`.
pub trait Role: 'static {
    /// Facts of the configured stack that a policy is checked against before anything is built.
    type Site<'a>;
    /// Demands of a policy with given values on the layers beside it; the default demands nothing.
    type Profile: Default;
    /// Arguments of a policy's constructor, beside its parameters.
    type Context<'a>;
}

type Build<P> = dyn for<'a> Fn(&[Value], &<P as Role>::Context<'a>) -> Result<Box<P>, Refusal> + Send + Sync;
type Profiled<P> =
    dyn for<'a> Fn(&[Value], &<P as Role>::Site<'a>) -> Result<<P as Role>::Profile, Refusal> + Send + Sync;

/// A policy as a value: its specification and its constructor.
pub struct Policy<P: Role + ?Sized> {
    /// Its description.
    pub spec: &'static PolicySpec,
    build: Arc<Build<P>>,
    profile: Arc<Profiled<P>>,
}

impl<P: Role + ?Sized> Policy<P> {
    /// Makes a policy with the constructor `build`, which is called with its parameters, checked one by one, and may
    /// refuse them. The policy goes with every stack and demands nothing of it, unless [`Self::with_profile`] says so.
    pub fn new<T: Parameters, F>(spec: &'static PolicySpec, build: F) -> Self
    where
        F: for<'a> Fn(T, &P::Context<'a>) -> Result<Box<P>, Refusal> + Send + Sync + 'static,
    {
        let build = Arc::new(move |values: &[Value], context: &P::Context<'_>| build(T::of(values), context));
        Self { spec, build, profile: Arc::new(|_, _| Ok(P::Profile::default())) }
    }

    /// Adds the function that returns the policy's demands on the layers beside it, or an error if it does not go with
    /// them. It is called for every configuration that chooses the policy, before anything is built.
    #[must_use]
    pub fn with_profile<T: Parameters, F>(self, profile: F) -> Self
    where
        F: for<'a> Fn(T, &P::Site<'a>) -> Result<P::Profile, Refusal> + Send + Sync + 'static,
    {
        let profile = Arc::new(move |values: &[Value], site: &P::Site<'_>| profile(T::of(values), site));
        Self { profile, ..self }
    }

    /// Chooses the policy with the values of `set`, by name, and the defaults of its other parameters.
    ///
    /// # Errors
    /// A name that is not a parameter, or a value that its parameter does not take.
    pub fn with(&self, set: &[(&str, Value)]) -> Result<Chosen<P>, Refusal> {
        Ok(Chosen { values: self.spec.values(set)?, policy: self.clone() })
    }

    /// Chooses the policy with one checked value for each parameter, in the order of its specification.
    pub fn with_values(&self, values: Vec<Value>) -> Chosen<P> {
        assert_eq!(values.len(), self.spec.params.len(), "one value for each parameter of {}", self.spec.name);
        Chosen { policy: self.clone(), values }
    }
}

/// Makes a [`Policy`] of a module with its `SPEC` and a type whose `new` takes the policy's parameters and the context
/// of its role: `policy!(dyn Order: page_lru::PageLru)`. With a `?` behind the type, `new` may refuse.
#[macro_export]
macro_rules! policy {
    ($role:ty: $module:ident::$name:ident $($may_refuse:tt)?) => {
        $crate::Policy::<$role>::new(&$module::SPEC, |params, context| {
            Ok(Box::new($module::$name::new(params, context)$($may_refuse)?))
        })
    };
}

impl<P: Role + ?Sized> Clone for Policy<P> {
    fn clone(&self) -> Self {
        Self { spec: self.spec, build: Arc::clone(&self.build), profile: Arc::clone(&self.profile) }
    }
}

impl<P: Role + ?Sized> fmt::Debug for Policy<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Policy({})", self.spec.name)
    }
}

/// A policy with a value for each of its parameters, ready to be built.
pub struct Chosen<P: Role + ?Sized> {
    policy: Policy<P>,
    values: Vec<Value>,
}

impl<P: Role + ?Sized> Chosen<P> {
    /// The policy's name as written in a configuration.
    pub fn name(&self) -> &'static str {
        self.policy.spec.name
    }

    /// The policy's description.
    pub fn spec(&self) -> &'static PolicySpec {
        self.policy.spec
    }

    /// One value for each parameter, in the order of the specification.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// True if the policy has the capability.
    pub fn offers(&self, capability: Capability) -> bool {
        self.policy.spec.offers.contains(&capability)
    }

    /// Returns the policy's demands on the layers beside it.
    ///
    /// # Errors
    /// The policy does not go with them; the refusal says why.
    pub fn profile(&self, site: &P::Site<'_>) -> Result<P::Profile, Refusal> {
        (self.policy.profile)(&self.values, site)
    }

    /// Builds the policy.
    ///
    /// # Errors
    /// The policy cannot be built with these values; the refusal says why.
    pub fn build(&self, context: &P::Context<'_>) -> Result<Box<P>, Refusal> {
        (self.policy.build)(&self.values, context)
    }
}

impl<P: Role + ?Sized> Clone for Chosen<P> {
    fn clone(&self) -> Self {
        Self { policy: self.policy.clone(), values: self.values.clone() }
    }
}

impl<P: Role + ?Sized> fmt::Debug for Chosen<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.name(), self.values)
    }
}

/// A place on the path of a request where a policy is chosen, and the policies to choose from.
pub struct Slot<P: Role + ?Sized> {
    /// Description of the slot.
    pub spec: &'static SlotSpec,
    policies: Vec<Policy<P>>,
}

impl<P: Role + ?Sized> Slot<P> {
    /// Makes a slot with these policies, in the order in which they are listed. Panics where [`Self::add`] fails.
    pub fn new(spec: &'static SlotSpec, policies: impl IntoIterator<Item = Policy<P>>) -> Self {
        let mut slot = Self { spec, policies: Vec::new() };
        for policy in policies {
            slot.add(policy).unwrap_or_else(|refusal| panic!("a table of policies is in order: {refusal}"));
        }
        slot
    }

    /// Adds a policy at the end of the list.
    ///
    /// # Errors
    /// The slot has a policy of that name already, or the specification is unsound: a malformed name, a parameter or
    /// statistic that is there twice, a default outside its range.
    pub fn add(&mut self, policy: Policy<P>) -> Result<(), Refusal> {
        let name = policy.spec.name;
        let refuse = |found: String| Refusal::new(found, format!("another policy of {}", self.spec.name));
        if let Some(fault) = policy.spec.fault(self.spec) {
            return Err(refuse(fault));
        }
        if self.find(name).is_some() {
            return Err(refuse(format!("a second policy named `{name}`")));
        }
        self.policies.push(policy);
        Ok(())
    }

    /// Removes the policies that `has`, called with the slot and each of them, is false of.
    pub fn retain(&mut self, has: impl Fn(&SlotSpec, &PolicySpec) -> bool) {
        self.policies.retain(|policy| has(self.spec, policy.spec));
    }

    /// All policies, in the order in which they are listed.
    pub fn policies(&self) -> &[Policy<P>] {
        &self.policies
    }

    /// The specifications of all policies, in the same order.
    pub fn specs(&self) -> impl Iterator<Item = &'static PolicySpec> {
        self.policies.iter().map(|policy| policy.spec)
    }

    /// The policy of that name; none if the slot has no such policy.
    pub fn find(&self, name: &str) -> Option<&Policy<P>> {
        self.policies.iter().find(|policy| policy.spec.name == name)
    }

    /// The policy of that name, with values for some of its parameters, by name, and the defaults of the others.
    ///
    /// # Errors
    /// No policy or parameter has that name, or the parameter does not take that value.
    pub fn choose(&self, name: &str, set: &[(&str, Value)]) -> Result<Chosen<P>, Refusal> {
        let names = || self.specs().map(|spec| spec.name);
        let unknown = || {
            let refusal = Refusal::new(format!("nothing in {} is named `{name}`", self.spec.name), one_of(names()));
            refusal.at([self.spec.key]).suggesting(name, names())
        };
        self.find(name).ok_or_else(unknown)?.with(set)
    }
}

impl<P: Role + ?Sized> Clone for Slot<P> {
    fn clone(&self) -> Self {
        Self { spec: self.spec, policies: self.policies.clone() }
    }
}

impl<P: Role + ?Sized> fmt::Debug for Slot<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.policies).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ageing, params};

    trait Greeter: Send {
        fn greet(&self) -> String;
    }

    impl Role for dyn Greeter {
        type Site<'a> = u32;
        type Profile = u32;
        type Context<'a> = &'a str;
    }

    params! {
        /// Parameters for the test.
        pub struct Params {
            /// A number.
            count: u32 => "count", Kind::Count { min: 1, max: 9 }, Value::Count(2), "More is more.";
        }
    }

    struct Polite(u32, String);

    impl Greeter for Polite {
        fn greet(&self) -> String {
            self.1.repeat(self.0 as usize)
        }
    }

    static SPEC: PolicySpec = PolicySpec { name: "polite", params: Params::PARAMS, ..PolicySpec::BLANK };
    static SLOT: SlotSpec = SlotSpec {
        name: "greeters",
        key: "hall.greeter",
        role: "greeting",
        help: "Who greets.",
        statistics: &[Statistic::count("guests", "Guests.")],
    };

    fn polite(spec: &'static PolicySpec) -> Policy<dyn Greeter> {
        let policy = Policy::<dyn Greeter>::new(spec, |params: Params, name: &&str| {
            Ok(Box::new(Polite(params.count, (*name).to_owned())))
        });
        policy.with_profile(|Params { count }, most| {
            if count > *most {
                Err(Refusal::new(format!("{count} greetings"), format!("at most {most}")))
            } else {
                Ok(count)
            }
        })
    }

    #[test]
    fn a_policy_is_chosen_by_name_checked_on_its_site_and_built_from_its_context() {
        let slot = Slot::new(&SLOT, [polite(&SPEC)]);
        let chosen = slot.choose("polite", &[("count", Value::Count(3))]).unwrap();
        assert_eq!((chosen.profile(&3), chosen.profile(&2).unwrap_err().found), (Ok(3), "3 greetings".to_owned()));
        assert_eq!(chosen.build(&"ho").unwrap().greet(), "hohoho");
        assert_eq!(slot.choose("polite", &[]).unwrap().values(), [Value::Count(2)]);
    }

    #[test]
    fn a_wrong_choice_says_what_would_be_right() {
        let slot = Slot::new(&SLOT, [polite(&SPEC)]);
        let refused = |name: &str, set: &[(&str, Value)]| slot.choose(name, set).unwrap_err().to_string();
        assert_eq!(
            refused("polit", &[]),
            "nothing in greeters is named `polit`; expected one of polite (did you mean `polite`?)"
        );
        assert!(refused("polite", &[("counts", Value::Count(1))]).ends_with("(did you mean `count`?)"));
        let range = refused("polite", &[("count", Value::Count(10))]);
        assert_eq!(range, "`10` as `count` of polite; expected a whole number from 1 to 9");
    }

    #[test]
    fn a_slot_refuses_what_a_configuration_could_not_hold() {
        static BAD_NAME: PolicySpec = PolicySpec { name: "Po lite", ..PolicySpec::BLANK };
        const COUNT: Param = Param {
            name: "n",
            kind: Kind::Flag,
            default: Value::Count(1),
            help: "",
            tradeoff: "",
            used: None,
            ageing: Ageing::OfSection,
        };
        static BAD_DEFAULT: PolicySpec = PolicySpec { name: "bad", params: &[COUNT], ..PolicySpec::BLANK };
        const FLAG: Param = Param {
            name: "n",
            kind: Kind::Flag,
            default: Value::Flag(true),
            help: "",
            tradeoff: "",
            used: None,
            ageing: Ageing::OfSection,
        };
        static TWICE: PolicySpec = PolicySpec { name: "bad", params: &[FLAG, FLAG], ..PolicySpec::BLANK };
        const GUESTS: Statistic = Statistic::count("guests", "The same guests again.");
        static COUNTED: PolicySpec = PolicySpec { name: "bad", statistics: &[GUESTS], ..PolicySpec::BLANK };
        let mut slot = Slot::new(&SLOT, [polite(&SPEC)]);
        for (spec, found) in [
            (&SPEC, "a second policy named `polite`"),
            (&BAD_NAME, "`Po lite` is not a name"),
            (&BAD_DEFAULT, "`n` of `bad` has a default that it does not take"),
            (&TWICE, "`n` of `bad` is there twice"),
            (&COUNTED, "the statistic `guests` of `bad` is there twice"),
        ] {
            let refusal = slot.add(polite(spec)).unwrap_err();
            assert!(refusal.found.starts_with(found), "{refusal}");
        }
        assert_eq!(slot.policies().len(), 1);
    }
}
