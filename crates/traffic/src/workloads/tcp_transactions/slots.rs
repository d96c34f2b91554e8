//! A store whose places keep their number while they are taken. An epoll set uses these numbers. Pure.

/// Values by number.
#[derive(Debug)]
pub struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Puts a value in. Returns its number.
    pub fn insert(&mut self, value: T) -> usize {
        if let Some(index) = self.free.pop() {
            self.slots[index] = Some(value);
            return index;
        }
        self.slots.push(Some(value));
        self.slots.len() - 1
    }

    /// The one of that number, where it is taken.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        self.slots.get_mut(index)?.as_mut()
    }

    /// Takes it out.
    pub fn remove(&mut self, index: usize) -> Option<T> {
        let value = self.slots.get_mut(index)?.take()?;
        self.free.push(index);
        Some(value)
    }

    /// All values by number.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| Some((index, slot.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_and_are_used_again() {
        let mut slots = Slots::default();
        assert_eq!([slots.insert('a'), slots.insert('b'), slots.insert('c')], [0, 1, 2]);
        assert_eq!((slots.remove(1), slots.remove(1), slots.remove(9)), (Some('b'), None, None));
        assert_eq!((slots.len(), slots.get_mut(1)), (2, None));
        assert_eq!(slots.iter().collect::<Vec<_>>(), [(0, &'a'), (2, &'c')]);
        assert_eq!((slots.insert('d'), slots.len()), (1, 3));
    }
}
