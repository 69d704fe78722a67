//! Waiters for flash operations, encoded as the tag that the array returns when an operation ends.

use flashloom_buffer::SlotId;
use flashloom_nand::Nand;

use super::commands::CommandId;

/// The waiter for a flash operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiter {
    /// A command that waits for a page that it reads, or writes without a buffer.
    Command(CommandId),
    /// A slot of the buffer that waits for the program of its page.
    Programmed(SlotId),
    /// A slot of the buffer that is being filled by a read.
    Filled(SlotId),
    /// A slot of the read cache that is being filled.
    Cached(SlotId),
    /// None: the array does not report the end.
    Nobody,
}

/// The two highest bits of a tag are the waiter's kind, the others its number. [`Nand::NO_TAG`] has all bits set.
const KIND_SHIFT: u32 = 30;
const NUMBERS: u32 = 1 << KIND_SHIFT;
const COMMAND: u32 = 0;
const FILLED: u32 = 1;
const PROGRAMMED: u32 = 2;
const CACHED: u32 = 3;

impl Waiter {
    /// The tag of an operation with this waiter.
    #[inline]
    pub(crate) fn tag(self) -> u32 {
        let (kind, number) = match self {
            Self::Command(id) => (COMMAND, id.0),
            Self::Filled(slot) => (FILLED, slot.0),
            Self::Programmed(slot) => (PROGRAMMED, slot.0),
            Self::Cached(slot) => (CACHED, slot.0),
            Self::Nobody => return Nand::NO_TAG,
        };
        debug_assert!(number < NUMBERS, "a number that has {KIND_SHIFT} bits");
        kind << KIND_SHIFT | number
    }

    /// The waiter for an operation of that tag.
    #[inline]
    pub fn of(tag: u32) -> Self {
        let number = tag & (NUMBERS - 1);
        match tag >> KIND_SHIFT {
            COMMAND => Self::Command(CommandId(number)),
            FILLED => Self::Filled(SlotId(number)),
            PROGRAMMED => Self::Programmed(SlotId(number)),
            _ if tag != Nand::NO_TAG => Self::Cached(SlotId(number)),
            _ => Self::Nobody,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_says_who_waits() {
        for number in [0, 1, 77, NUMBERS - 2] {
            let (command, slot) = (CommandId(number), SlotId(number));
            let of_slot = [Waiter::Programmed(slot), Waiter::Filled(slot), Waiter::Cached(slot)];
            for waiter in [Waiter::Command(command)].into_iter().chain(of_slot) {
                assert_eq!(Waiter::of(waiter.tag()), waiter);
                assert_ne!(waiter.tag(), Nand::NO_TAG, "{waiter:?} is told when it ends");
            }
        }
        assert_eq!((Waiter::Nobody.tag(), Waiter::of(Nand::NO_TAG)), (Nand::NO_TAG, Waiter::Nobody));
        assert_eq!(Waiter::Command(CommandId(5)).tag(), 5, "the tag of a command is its number");
    }
}
