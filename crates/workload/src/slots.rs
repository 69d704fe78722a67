//! Values by number, such as outstanding requests by their cookie.

/// Values that are taken out by the number that they were put in with.
pub(crate) struct Slots<T> {
    values: Vec<T>,
    /// Numbers of values that were taken out; the last one is given out first.
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { values: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Slots<T> {
    /// Keeps a value; returns its number.
    pub fn put(&mut self, value: T) -> u32 {
        let Some(number) = self.free.pop() else {
            self.values.push(value);
            return self.values.len() as u32 - 1;
        };
        self.values[number as usize] = value;
        number
    }

    /// Takes out the value of a number.
    pub fn take(&mut self, number: u32) -> T {
        self.free.push(number);
        self.values[number as usize]
    }
}
