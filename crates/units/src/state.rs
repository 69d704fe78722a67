//! Saved states: the run-time state of a simulator as bytes, to be loaded into one built from the same configuration.
//!
//! A type with run-time state implements [`State`], by a list of its fields in [`state!`](crate::state!). Whatever
//! follows from the configuration is not saved, so a state is loaded into a value that was built with that
//! configuration. The bytes hold no names, no types and no version; the file that they are part of says what they are.
//! Values and lengths are encoded by `postcard` (a few bytes for a small number), flat arrays as their words in
//! little-endian order.
//!
//! A state may come from a stranger. Loading takes memory in proportion to the bytes, and refuses a length, an index or
//! an identifier that the configuration has no room for, by its field and place. What several fields say of one thing
//! is checked by their owner, once all of them are loaded.
//!
//! A value can also be *rolled back* to a state that it was in ([`roll_back_with`]): large arrays keep what they have
//! changed since and put themselves back ([`Tracked`](crate::Tracked)), and everything else is loaded.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Id, NO_INDEX};

/// A value whose run-time state can be saved to bytes and loaded from them.
///
/// After `load` the value continues exactly as the saved one would have: the same decisions, the same figures, and
/// saving it gives the same bytes. [`state!`](crate::state!) writes an implementation from a list of fields.
pub trait State {
    /// Appends the state to a writer.
    fn save(&self, to: &mut Writer);

    /// Replaces the state by one that was saved from a value of the same configuration.
    ///
    /// # Errors
    /// The bytes are not such a state. The value has to be dropped then: part of it may have been replaced.
    fn load(&mut self, from: &mut Reader) -> Result<(), StateError>;

    /// Called when the present state is known to be right: a check may leave out what has not changed since. With
    /// `keeps`, large arrays keep from now on what they change, so that it can be rolled back to ([`roll_back_with`]).
    /// An implementation by hand passes it on to the parts that have such arrays.
    fn settle(&mut self, _keeps: bool) {}
}

/// Returns the bytes of a state.
///
/// # Errors
/// Part of the state is a policy that cannot be saved.
pub fn save_state(state: &dyn State) -> Result<Vec<u8>, StateError> {
    save_with(|to| state.save(to))
}

/// Returns the bytes that `save` writes: a state of several parts that no struct holds together.
///
/// # Errors
/// Part of the state is a policy that cannot be saved.
pub fn save_with(save: impl FnOnce(&mut Writer)) -> Result<Vec<u8>, StateError> {
    written(Writer { bytes: Vec::new(), error: None, leaves_out: false }, save)
}

/// [`save_with`] without the arrays of [`Writer::rolled_back`]: only [`roll_back_with`] can use it.
///
/// # Errors
/// Part of the state is a policy that cannot be saved.
pub fn save_for_rollback(save: impl FnOnce(&mut Writer)) -> Result<Vec<u8>, StateError> {
    written(Writer { bytes: Vec::new(), error: None, leaves_out: true }, save)
}

fn written(mut to: Writer, save: impl FnOnce(&mut Writer)) -> Result<Vec<u8>, StateError> {
    save(&mut to);
    to.error.map_or(Ok(to.bytes), Err)
}

/// Loads a state from all of `bytes`.
///
/// # Errors
/// The bytes are not such a state, or some are left over. The value has to be dropped then.
pub fn load_state(state: &mut dyn State, bytes: &[u8]) -> Result<(), StateError> {
    load_with(bytes, |from| state.load(from))
}

/// Calls `load` with a reader of `bytes`, which [`save_with`] returned, and returns what it does.
///
/// # Errors
/// `load` fails, or leaves some bytes over. The values that it loads have to be dropped then.
pub fn load_with<T>(
    bytes: &[u8],
    load: impl FnOnce(&mut Reader<'_>) -> Result<T, StateError>,
) -> Result<T, StateError> {
    read(Reader { bytes, at: 0, rolls_back: false }, load)
}

/// [`load_with`] into values that were in the state of these bytes and have kept what they changed since: arrays of
/// [`Writer::rolled_back`] are put back by their owners, and all else is loaded. `bytes` are of [`save_with`] or of
/// [`save_for_rollback`].
///
/// # Errors
/// The errors of [`load_with`].
pub fn roll_back_with<T>(
    bytes: &[u8],
    load: impl FnOnce(&mut Reader<'_>) -> Result<T, StateError>,
) -> Result<T, StateError> {
    read(Reader { bytes, at: 0, rolls_back: true }, load)
}

fn read<T>(mut from: Reader<'_>, load: impl FnOnce(&mut Reader<'_>) -> Result<T, StateError>) -> Result<T, StateError> {
    let loaded = load(&mut from)?;
    match from.bytes.len() - from.at {
        0 => Ok(loaded),
        left => Err(from.error("the end of the state", format!("{left} more bytes"))),
    }
}

/// Error of saving or loading a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateError {
    /// Path of the field, such as `nand.timed.blocks`; empty for the whole state.
    pub field: String,
    /// Offset in the bytes.
    pub at: usize,
    /// Description of what should be there.
    pub expected: String,
    /// Description of what is there.
    pub found: String,
}

impl StateError {
    /// Prefixes the path with the field that holds the value.
    #[must_use]
    pub fn within(mut self, field: &str) -> Self {
        self.field = if self.field.is_empty() { field.to_owned() } else { format!("{field}.{}", self.field) };
        self
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, at, expected, found } = self;
        let of = if field.is_empty() { String::new() } else { format!(" of `{field}`") };
        write!(f, "the state{of}, byte {at}: expected {expected}, found {found}")
    }
}

impl std::error::Error for StateError {}

/// Buffer that a state is saved to.
pub struct Writer {
    bytes: Vec<u8>,
    error: Option<StateError>,
    /// Whether arrays that their owner rolls back are left out.
    leaves_out: bool,
}

impl Writer {
    /// Appends a value of any type that serde can serialise.
    pub fn value<T: Serialize + ?Sized>(&mut self, value: &T) {
        match postcard::to_extend(value, std::mem::take(&mut self.bytes)) {
            Ok(bytes) => self.bytes = bytes,
            Err(error) => self.refuse("a value that can be written", error.to_string()),
        }
    }

    /// Appends an array whose length the configuration determines.
    pub fn array<T: Serialize>(&mut self, values: &[T]) {
        self.value(&values.len());
        values.iter().for_each(|value| self.value(value));
    }

    /// Appends an array of words whose length the configuration determines.
    pub fn words<T: Word>(&mut self, words: &[T]) {
        self.value(&words.len());
        let from = self.bytes.len();
        self.bytes.resize(from + words.len() * T::BYTES, 0);
        self.bytes[from..].chunks_exact_mut(T::BYTES).zip(words).for_each(|(bytes, word)| word.put(bytes));
    }

    /// Appends an array of words that its owner can roll back: none of them in [`save_for_rollback`].
    pub fn rolled_back<T: Word>(&mut self, words: &[T]) {
        self.words(if self.leaves_out { &[] } else { words });
    }

    /// Appends the state of a policy, in the named field. With `None`, a policy that cannot be saved, saving the whole
    /// state fails.
    pub fn policy(&mut self, field: &str, policy: Option<&dyn State>) {
        match policy {
            Some(policy) => policy.save(self),
            None => self.refuse("a policy whose state can be saved", format!("a policy that offers none in `{field}`")),
        }
    }

    fn refuse(&mut self, expected: &str, found: String) {
        let (field, at) = (String::new(), self.bytes.len());
        self.error.get_or_insert(StateError { field, at, expected: expected.to_owned(), found });
    }
}

/// Bytes that a state is loaded from, and the position in them.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    rolls_back: bool,
}

impl Reader<'_> {
    /// Reads a value.
    pub fn value<T: DeserializeOwned>(&mut self) -> Result<T, StateError> {
        match postcard::take_from_bytes(&self.bytes[self.at..]) {
            Ok((value, rest)) => {
                self.at = self.bytes.len() - rest.len();
                Ok(value)
            }
            Err(postcard::Error::DeserializeUnexpectedEnd) => Err(self.ends(1)),
            Err(_) => Err(self.error("a value", "bytes that encode none")),
        }
    }

    /// Reads a number or an index below a bound that follows from the configuration.
    pub fn below<T: DeserializeOwned + Copy + TryInto<u64>>(&mut self, bound: u64) -> Result<T, StateError> {
        let at = self.at;
        let value: T = self.value()?;
        let number: Option<u64> = value.try_into().ok();
        if number.is_some_and(|number| number < bound) {
            return Ok(value);
        }
        let found = number.map_or("a number that is not".to_owned(), |number| number.to_string());
        Err(self.error_at(at, format!("a number below {bound}"), found))
    }

    /// Reads a collection of at most so many entries, which follows from the configuration: before anything is
    /// allocated for more.
    pub fn list<T: DeserializeOwned>(&mut self, most: u64) -> Result<T, StateError> {
        let at = self.at;
        let length: u64 = self.value()?;
        if length > most {
            return Err(self.error_at(at, format!("at most {most} entries"), length.to_string()));
        }
        self.at = at;
        self.value()
    }

    /// Reads a flat array of identifiers, each below a bound or none, of the length that the configuration determines.
    pub fn ids<T: Word + Id>(&mut self, ids: &mut [T], bound: u64) -> Result<(), StateError> {
        self.words(ids)?;
        let most = u32::try_from(bound).unwrap_or(NO_INDEX);
        let is_outside = |id: &T| id.index() >= most && id.index() != NO_INDEX;
        // As in `words`: first without a way out of the loop.
        if !ids.iter().fold(false, |found, id| found | is_outside(id)) {
            return Ok(());
        }
        let place = ids.iter().position(is_outside).expect("one is outside");
        let at = self.at - (ids.len() - place) * T::BYTES;
        let found = format!("{} in entry {place}", ids[place].index());
        Err(self.error_at(at, format!("identifiers below {bound}, or none"), found))
    }

    /// Reads an array of the length that the configuration determines.
    pub fn array<T: DeserializeOwned>(&mut self, values: &mut [T]) -> Result<(), StateError> {
        self.length(values.len())?;
        values.iter_mut().try_for_each(|value| {
            *value = self.value()?;
            Ok(())
        })
    }

    /// Reads an array of words of the length that the configuration determines.
    pub fn words<T: Word>(&mut self, words: &mut [T]) -> Result<(), StateError> {
        self.length(words.len())?;
        let length = words.len() * T::BYTES;
        let Some(bytes) = self.bytes[self.at..].get(..length) else { return Err(self.ends(length)) };
        // Without a way out of the loop, so that words that any bytes encode are copied many at a time.
        let mut are_words = true;
        for (bytes, word) in bytes.chunks_exact(T::BYTES).zip(words) {
            match T::get(bytes) {
                Some(got) => *word = got,
                None => are_words = false,
            }
        }
        let mut all = bytes.chunks_exact(T::BYTES).enumerate();
        if !are_words && let Some((index, bytes)) = all.find(|(_, bytes)| T::get(bytes).is_none()) {
            self.at += index * T::BYTES;
            return Err(self.error("a word", format!("{bytes:?}")));
        }
        self.at += length;
        Ok(())
    }

    /// Whether the value is rolled back. The state is one that it was in: what it says need not be checked again.
    pub fn rolls_back(&self) -> bool {
        self.rolls_back
    }

    /// [`Self::ids`] of an array that [`Writer::rolled_back`] has written. If the value is rolled back, its owner puts
    /// the array back, and nothing is read.
    pub fn rolled_back_ids<T: Word + Id>(&mut self, ids: &mut [T], bound: u64) -> Result<(), StateError> {
        if self.rolls_back { self.skip_rolled_back::<T>(ids.len()) } else { self.ids(ids, bound) }
    }

    /// Passes over an array of so many words that [`Writer::rolled_back`] has written, or has left out.
    pub(crate) fn skip_rolled_back<T: Word>(&mut self, words: usize) -> Result<(), StateError> {
        let saved: usize = self.value()?;
        if saved != 0 && saved != words {
            return Err(self.error(format!("{words} entries, or none"), saved.to_string()));
        }
        let length = saved * T::BYTES;
        if self.bytes.len() - self.at < length {
            return Err(self.ends(length));
        }
        self.at += length;
        Ok(())
    }

    /// Reads the state of a policy. `None`, a policy that cannot be loaded, is an error.
    pub fn policy(&mut self, policy: Option<&mut dyn State>) -> Result<(), StateError> {
        match policy {
            Some(policy) => policy.load(self),
            None => Err(self.error("a policy whose state can be loaded", "a policy that offers none")),
        }
    }

    /// Reads a length, which must be that of the array that was built from the configuration.
    pub fn length(&mut self, built: usize) -> Result<(), StateError> {
        let saved: usize = self.value()?;
        if saved == built {
            return Ok(());
        }
        Err(self.error(format!("{built} entries, as the configuration has it"), saved.to_string()))
    }

    /// Makes an error at the present position.
    pub fn error(&self, expected: impl Into<String>, found: impl Into<String>) -> StateError {
        StateError { field: String::new(), at: self.at, expected: expected.into(), found: found.into() }
    }

    fn error_at(&self, at: usize, expected: String, found: String) -> StateError {
        StateError { at, ..self.error(expected, found) }
    }

    fn ends(&self, wanted: usize) -> StateError {
        let left = self.bytes.len() - self.at;
        self.error(format!("{wanted} or more bytes"), format!("{left} bytes before the end"))
    }
}

/// A number of fixed size, which flat arrays are made of.
pub trait Word: Copy {
    /// Size in bytes.
    const BYTES: usize;

    /// Writes the number to [`Self::BYTES`] bytes.
    fn put(self, to: &mut [u8]);

    /// Reads the number from [`Self::BYTES`] bytes; none if they do not encode one.
    fn get(from: &[u8]) -> Option<Self>;
}

macro_rules! words {
    ($($number:ty),+) => {$(
        impl Word for $number {
            const BYTES: usize = size_of::<Self>();

            #[inline]
            fn put(self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn get(from: &[u8]) -> Option<Self> {
                from.try_into().ok().map(Self::from_le_bytes)
            }
        }
    )+};
}

words!(u8, u16, u32, u64, i64);

impl Word for bool {
    const BYTES: usize = 1;

    fn put(self, to: &mut [u8]) {
        u8::from(self).put(to);
    }

    fn get(from: &[u8]) -> Option<Self> {
        u8::get(from).filter(|&byte| byte <= 1).map(|byte| byte == 1)
    }
}

/// Implements [`Word`] for structs around one `u32`: `word!(TaskSlot);`.
#[macro_export]
macro_rules! word {
    ($($name:ident),+) => {$(
        impl $crate::Word for $name {
            const BYTES: usize = <u32 as $crate::Word>::BYTES;

            #[inline]
            fn put(self, to: &mut [u8]) {
                $crate::Word::put(self.0, to);
            }

            #[inline]
            fn get(from: &[u8]) -> Option<Self> {
                $crate::Word::get(from).map(Self)
            }
        }
    )+};
}

/// A flat array whose length the configuration determines.
impl<T: Word> State for Vec<T> {
    fn save(&self, to: &mut Writer) {
        to.words(self);
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        from.words(self)
    }
}

/// A part that the configuration switches on or off.
impl<T: State> State for Option<T> {
    fn save(&self, to: &mut Writer) {
        to.value(&self.is_some());
        self.iter().for_each(|part| part.save(to));
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        let is_saved: bool = from.value()?;
        if is_saved != self.is_some() {
            let say = |there| if there { "a part that is switched on" } else { "nothing: the part is switched off" };
            return Err(from.error(say(self.is_some()), say(is_saved)));
        }
        self.iter_mut().try_for_each(|part| part.load(from))
    }

    fn settle(&mut self, keeps: bool) {
        self.iter_mut().for_each(|part| part.settle(keeps));
    }
}

impl<T: State> State for Box<T> {
    fn save(&self, to: &mut Writer) {
        self.as_ref().save(to);
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        self.as_mut().load(from)
    }

    fn settle(&mut self, keeps: bool) {
        self.as_mut().settle(keeps);
    }
}

/// Implements [`State`] for a struct from a list of all of its fields, each after the word for its treatment.
///
/// ```text
/// value    any type that serde knows; a collection may have any length
/// below    a number below a bound: `below next [stripe.len()];`
/// list     a collection with a bound on its length: `list free [blocks];`
/// ids      a Vec of identifiers, each below a bound or none: `ids map [geometry.total_pages()];`
/// array    a Vec or an array of such values whose length the configuration determines
/// nested   a type that implements State, such as a Vec of words whose length the configuration determines
/// each     a Vec or an array of types that implement State
/// policy   a box of a policy, saved by way of its method `state`
/// scratch  a collection that is empty between two calls of the struct's methods: not saved
/// fixed    given by the configuration, or overwritten before it is read: not saved
/// ```
///
/// A bound is an expression over the fields, of any integer type.
///
/// A struct with a field that is not listed does not compile. The fields are saved and loaded in the order of the
/// list.
///
/// ```
/// use flashloom_units::{load_state, save_state, state};
///
/// struct Counter { limit: u32, counts: Vec<u32>, total: u64 }
/// state! { Counter { value total; nested counts; fixed limit; } }
///
/// let old = Counter { limit: 9, counts: vec![4, 5], total: 9 };
/// let mut new = Counter { limit: 9, counts: vec![0, 0], total: 0 };
/// load_state(&mut new, &save_state(&old)?)?;
/// assert_eq!((new.counts, new.total), (vec![4, 5], 9));
/// # Ok::<(), flashloom_units::StateError>(())
/// ```
#[macro_export]
macro_rules! state {
    (@save value $to:ident $($field:ident [])+) => { $($to.value($field);)+ };
    (@save below $to:ident $($field:ident [$bound:expr])+) => { $($to.value($field);)+ };
    (@save list $to:ident $($field:ident [$bound:expr])+) => { $($to.value($field);)+ };
    (@save ids $to:ident $($field:ident [$bound:expr])+) => { $($to.words(&$field[..]);)+ };
    (@save array $to:ident $($field:ident [])+) => { $($to.array(&$field[..]);)+ };
    (@save nested $to:ident $($field:ident [])+) => { $($crate::State::save($field, $to);)+ };
    (@save each $to:ident $($field:ident [])+) => {
        $($to.value(&$field.len()); $field.iter().for_each(|part| $crate::State::save(part, $to));)+
    };
    (@save policy $to:ident $($field:ident [])+) => { $($to.policy(stringify!($field), $field.state());)+ };
    (@save scratch $to:ident $($field:ident [])+) => {
        $(debug_assert!($field.is_empty(), concat!("`", stringify!($field), "` is empty between calls"));)+
    };
    (@save fixed $to:ident $($field:ident [])+) => { let _ = ($($field,)+); };

    (@load value $from:ident $($field:ident [])+) => { $(*$field = $crate::state!(@in $field, $from.value());)+ };
    (@load below $from:ident $($field:ident [$bound:expr])+) => {
        $(*$field = $crate::state!(@in $field, $from.below($bound as u64));)+
    };
    (@load list $from:ident $($field:ident [$bound:expr])+) => {
        $(*$field = $crate::state!(@in $field, $from.list($bound as u64));)+
    };
    (@load ids $from:ident $($field:ident [$bound:expr])+) => {
        $($crate::state!(@in $field, $from.ids(&mut $field[..], $bound as u64));)+
    };
    (@load array $from:ident $($field:ident [])+) => { $($crate::state!(@in $field, $from.array(&mut $field[..]));)+ };
    (@load nested $from:ident $($field:ident [])+) => {
        $($crate::state!(@in $field, $crate::State::load($field, $from));)+
    };
    (@load each $from:ident $($field:ident [])+) => {
        $($crate::state!(@in $field, $from.length($field.len()));
        for part in $field.iter_mut() {
            $crate::state!(@in $field, $crate::State::load(part, $from));
        })+
    };
    (@load policy $from:ident $($field:ident [])+) => {
        $($crate::state!(@in $field, $from.policy($field.state_mut()));)+
    };
    (@load scratch $from:ident $($field:ident [])+) => { let _ = ($($field,)+); };
    (@load fixed $from:ident $($field:ident [])+) => { let _ = ($($field,)+); };

    (@settle nested $keeps:ident $($field:ident)+) => { $($crate::State::settle($field, $keeps);)+ };
    (@settle each $keeps:ident $($field:ident)+) => {
        $($field.iter_mut().for_each(|part| $crate::State::settle(part, $keeps));)+
    };
    (@settle policy $keeps:ident $($field:ident)+) => {
        $($field.state_mut().into_iter().for_each(|state| state.settle($keeps));)+
    };
    (@settle $other:ident $keeps:ident $($field:ident)+) => { let _ = ($($field,)+); };

    (@in $field:ident, $result:expr) => { $result.map_err(|error| error.within(stringify!($field)))? };

    (for<$generic:ident: $bound:path> $name:ty { $($fields:tt)* }) => {
        $crate::state!(@impl [$generic: $bound] $name { $($fields)* });
    };
    (for<$generic:ident> $name:ty { $($fields:tt)* }) => {
        $crate::state!(@impl [$generic] $name { $($fields)* });
    };
    (@impl [$($generics:tt)*] $name:ty { $($kind:ident $($field:ident $([$most:expr])?),+ $(,)?;)* }) => {
        impl<$($generics)*> $crate::State for $name {
            fn save(&self, to: &mut $crate::Writer) {
                let Self { $($($field,)+)* } = self;
                $($crate::state!(@save $kind to $($field [$($most)?])+);)*
                let _ = to;
            }

            #[allow(clippy::unnecessary_cast)] // Of a bound that is a `u64` already.
            fn load(&mut self, from: &mut $crate::Reader) -> Result<(), $crate::StateError> {
                let Self { $($($field,)+)* } = self;
                $($crate::state!(@load $kind from $($field [$($most)?])+);)*
                let _ = from;
                Ok(())
            }

            fn settle(&mut self, keeps: bool) {
                let Self { $($($field,)+)* } = self;
                $($crate::state!(@settle $kind keeps $($field)+);)*
                let _ = keeps;
            }
        }
    };
    ($name:ty { $($fields:tt)* }) => {
        $crate::state!(@impl [] $name { $($fields)* });
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Part {
        words: Vec<u32>,
        flags: Vec<bool>,
    }

    state! { Part { nested words, flags; } }

    #[derive(Debug, PartialEq)]
    struct Whole {
        length: u64,
        names: Vec<String>,
        pairs: Vec<(u8, i64)>,
        parts: [Part; 2],
        part: Option<Box<Part>>,
        scratch: Vec<u32>,
    }

    state! {
        Whole {
            value names;
            array pairs;
            each parts;
            nested part;
            scratch scratch;
            fixed length;
        }
    }

    fn part(word: u32) -> Part {
        Part { words: vec![word, u32::MAX], flags: vec![word > 0; 3] }
    }

    fn empty() -> Whole {
        Whole {
            length: 7,
            names: Vec::new(),
            pairs: vec![(0, 0); 2],
            parts: [part(0), part(0)],
            part: Some(Box::new(part(0))),
            scratch: Vec::new(),
        }
    }

    fn full() -> Whole {
        Whole {
            names: vec!["gc".to_owned(), String::new()],
            pairs: vec![(1, -1), (255, i64::MIN)],
            parts: [part(1), part(2)],
            part: Some(Box::new(part(3))),
            ..empty()
        }
    }

    #[test]
    fn what_is_loaded_is_what_was_saved() {
        let bytes = save_state(&full()).unwrap();
        let mut loaded = empty();
        assert_eq!(load_state(&mut loaded, &bytes), Ok(()));
        assert_eq!(loaded, full());
        assert_eq!(save_state(&loaded).unwrap(), bytes);
    }

    #[test]
    fn another_configuration_is_refused_by_the_name_of_the_field() {
        let bytes = save_state(&full()).unwrap();
        let is_refused = |change: fn(&mut Whole), field: &str, found: &str| {
            let mut whole = empty();
            change(&mut whole);
            let message = load_state(&mut whole, &bytes).unwrap_err().to_string();
            assert_eq!(message, format!("the state of `{field}`, {found}"));
        };
        let length = |built, at| format!("byte {at}: expected {built} entries, as the configuration has it, found 2");
        let switched = "byte 47: expected nothing: the part is switched off, found a part that is switched on";
        is_refused(|whole| whole.pairs.push((0, 0)), "pairs", &length(3, 6));
        is_refused(|whole| whole.parts[1].words = vec![0], "parts.words", &length(1, 34));
        is_refused(|whole| whole.part = None, "part", switched);
    }

    #[test]
    fn bytes_that_end_early_go_on_or_are_of_nothing_are_refused() {
        let bytes = save_state(&full()).unwrap();
        for length in 0..bytes.len() {
            assert!(load_state(&mut empty(), &bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
        }
        let longer = [&bytes[..], &[0]].concat();
        let message = load_state(&mut empty(), &longer).unwrap_err().to_string();
        assert!(message.ends_with("expected the end of the state, found 1 more bytes"), "{message}");
        let mut flags = bytes.clone();
        *flags.last_mut().unwrap() = 2;
        let message = load_state(&mut empty(), &flags).unwrap_err().to_string();
        assert!(message.contains("`part.flags`") && message.ends_with("expected a word, found [2]"), "{message}");
        let mut huge = bytes;
        huge.splice(0..1, [255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
        assert!(load_state(&mut empty(), &huge).is_err(), "2^64 - 1 names");
    }

    #[test]
    fn what_the_configuration_has_no_room_for_is_refused_where_it_is() {
        #[derive(Debug)]
        struct Bounded {
            turn: usize,
            free: Vec<u32>,
            map: Vec<u32>,
            pages: u64,
        }
        state! { Bounded { below turn [map.len()]; list free [2]; ids map [*pages]; fixed pages; } }
        let saved = |turn, free: &[u32], map: &[u32]| {
            save_state(&Bounded { turn, free: free.to_vec(), map: map.to_vec(), pages: 9 }).unwrap()
        };
        let mut loaded = Bounded { turn: 0, free: Vec::new(), map: vec![0; 3], pages: 9 };
        assert_eq!(load_state(&mut loaded, &saved(2, &[7, 7], &[8, NO_INDEX, 0])), Ok(()));
        assert_eq!((loaded.turn, &loaded.free[..], &loaded.map[..]), (2, &[7, 7][..], &[8, NO_INDEX, 0][..]));
        let mut refused = |bytes: Vec<u8>| load_state(&mut loaded, &bytes).unwrap_err().to_string();
        for (bytes, found) in [
            (saved(3, &[], &[0; 3]), "`turn`, byte 0: expected a number below 3, found 3"),
            (saved(0, &[1, 2, 3], &[0; 3]), "`free`, byte 1: expected at most 2 entries, found 3"),
            (saved(0, &[], &[0, 9, 0]), "`map`, byte 7: expected identifiers below 9, or none, found 9 in entry 1"),
        ] {
            assert_eq!(refused(bytes), format!("the state of {found}"));
        }
        let mut endless = saved(0, &[], &[0; 3]);
        endless.splice(1..2, [255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
        assert!(refused(endless).contains("expected at most 2 entries, found 18446744073709551615"));
    }

    #[test]
    fn a_policy_without_a_state_is_named() {
        struct Foreign;
        impl Foreign {
            fn state(&self) -> Option<&dyn State> {
                None
            }

            fn state_mut(&mut self) -> Option<&mut dyn State> {
                None
            }
        }
        struct Holder {
            order: Foreign,
        }
        state! { Holder { policy order; } }
        let mut holder = Holder { order: Foreign };
        assert!(save_state(&holder).unwrap_err().found.contains("`order`"));
        assert_eq!(load_state(&mut holder, &[]).unwrap_err().field, "order");
    }
}
