//! Objects that JavaScript knows by numbers.

use endseal_facade::Error;

use crate::buffers::Answer;

/// Objects of one type, in the order of their numbers. No number is used twice.
pub struct Table<T> {
    objects: Vec<(u32, Box<T>)>,
    last: u32,
}

impl<T> Table<T> {
    /// Makes an empty table.
    #[allow(clippy::new_without_default, reason = "a static needs a constant")]
    pub const fn new() -> Self {
        Self { objects: Vec::new(), last: 0 }
    }

    /// Returns the number of a new object, from 1 to `i32::MAX`.
    ///
    /// # Errors
    /// `argument` if all numbers were used.
    pub fn insert(&mut self, object: T) -> Answer {
        let number = i32::try_from(self.last + 1);
        let number = number.map_err(|_| Error::argument("there were too many objects"))?;
        self.last += 1;
        self.objects.push((self.last, Box::new(object)));
        Ok(number)
    }

    /// Returns an object.
    ///
    /// # Errors
    /// `argument` if there is none of this number.
    pub fn get(&mut self, number: u32) -> Result<&mut T, Error> {
        let found = self.find(number).ok_or_else(|| Error::argument("there is no such object"))?;
        Ok(&mut self.objects[found].1)
    }

    /// Drops an object, if it is there.
    ///
    /// # Errors
    /// None.
    pub fn remove(&mut self, number: u32) -> Answer {
        if let Some(found) = self.find(number) {
            self.objects.remove(found);
        }
        Ok(0)
    }

    fn find(&self, number: u32) -> Option<usize> {
        self.objects.binary_search_by_key(&number, |it| it.0).ok()
    }
}
