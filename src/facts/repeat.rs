//! Lookups with keys that repeat from row to row.

/// A lookup that keeps its last result: rows of one session and of one model follow each other.
pub(super) struct LastLookup<K, V>(Option<(K, V)>);

impl<K, V> Default for LastLookup<K, V> {
    fn default() -> Self {
        Self(None)
    }
}

impl<K: PartialEq, V: Copy> LastLookup<K, V> {
    /// Returns the value of the key, and calls `find` if the key before was another one.
    #[inline]
    pub(super) fn get(&mut self, key: K, find: impl FnOnce(&K) -> V) -> V {
        match &self.0 {
            Some((known, value)) if *known == key => *value,
            _ => {
                let value = find(&key);
                self.0 = Some((key, value));
                value
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_looked_up_again_only_after_another_one() {
        let (mut lookup, mut calls) = (LastLookup::default(), 0);
        let values = [2, 2, 3, 3, 2].map(|key| {
            lookup.get(key, |key| {
                calls += 1;
                key * key
            })
        });
        assert_eq!((values, calls), ([4, 4, 9, 9, 4], 3));
    }
}
