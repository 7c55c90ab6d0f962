//! Objects that JavaScript knows by numbers.

use endseal_facade::Error;

use crate::module::Answer;

/// Objects of one type, in the order of their numbers. No number is used twice.
pub(crate) struct Table<T> {
    objects: Vec<(u32, Box<T>)>,
    last: u32,
}

impl<T> Table<T> {
    pub(crate) const fn new() -> Self {
        Self { objects: Vec::new(), last: 0 }
    }

    /// Returns the number of a new object, from 1 to `i32::MAX`.
    pub(crate) fn insert(&mut self, object: T) -> Answer {
        let number = i32::try_from(self.last + 1);
        let number = number.map_err(|_| Error::argument("there were too many objects"))?;
        self.last += 1;
        self.objects.push((self.last, Box::new(object)));
        Ok(number)
    }

    pub(crate) fn get(&mut self, number: u32) -> Result<&mut T, Error> {
        let found = self.find(number).ok_or_else(|| Error::argument("there is no such object"))?;
        Ok(&mut self.objects[found].1)
    }

    /// Drops an object, if it is there.
    pub(crate) fn remove(&mut self, number: u32) -> Answer {
        if let Some(found) = self.find(number) {
            self.objects.remove(found);
        }
        Ok(0)
    }

    fn find(&self, number: u32) -> Option<usize> {
        self.objects.binary_search_by_key(&number, |it| it.0).ok()
    }
}
