//! What every policy has, whatever its slot.

use crate::{Figure, State, Violation};

/// A policy that was built, as the rest of the program sees it whatever its slot. All methods have a body: a policy
/// without figures, checks and a state writes `impl Component for Name {}`.
pub trait Component: Send {
    /// Values of the policy's `statistics`, in the order of its specification. Asked for at the end of a run.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    /// Checks the policy's own accounts: at the end of a checked run, and after its state was loaded. What it knows of
    /// its surroundings is checked by a method of its slot.
    ///
    /// # Errors
    /// The first account that does not add up.
    fn check(&self) -> Result<(), Violation> {
        Ok(())
    }

    /// The policy's state, for saving. With none, the default, a drive or block layer that uses the policy cannot be
    /// saved. [`stateful!`](crate::stateful!) writes this and the next method, [`component!`](crate::component!) the
    /// whole implementation of a policy that only counts.
    fn state(&self) -> Option<&dyn State> {
        None
    }

    /// The policy's state, for loading.
    fn state_mut(&mut self) -> Option<&mut dyn State> {
        None
    }
}

/// Implements the methods `state` and `state_mut` of a policy whose struct implements [`State`].
#[macro_export]
macro_rules! stateful {
    () => {
        fn state(&self) -> Option<&dyn $crate::State> {
            Some(self)
        }

        fn state_mut(&mut self) -> Option<&mut dyn $crate::State> {
            Some(self)
        }
    };
}

/// Implements [`Component`] for a policy whose struct implements [`State`], and whose figures, if it
/// has any, are counts in these fields: `component! { Noop }`, `component! { Cfq: slices, preemptions }`.
#[macro_export]
macro_rules! component {
    ($name:ty $(: $($count:ident),+)?) => {
        impl $crate::Component for $name {
            $(fn figures(&self) -> Vec<$crate::Figure> {
                vec![$($crate::Figure::Count(self.$count.into())),+]
            })?

            $crate::stateful!();
        }
    };
}
