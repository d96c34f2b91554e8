//! The objects of a page, and which of them wait for another. Pure.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sixbench_traffic::leb128;

/// The most objects of a page.
pub const MAX_OBJECTS: usize = 2_000;
/// The most hosts of a page.
const MAX_HOSTS: u64 = 200;
/// The largest object.
pub const MAX_OBJECT_BYTES: u64 = 1 << 30;
/// The longest text of a page: three numbers of at most 10 bytes for each object, and a third more for Base64.
const MAX_TEXT_BYTES: usize = MAX_OBJECTS * 40 + 4;

/// Objects of a page, in the order in which they are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    objects: Vec<Object>,
}

/// An object of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object {
    /// Number of its host; hosts are numbered from 0.
    pub host: usize,
    /// Length of its body.
    pub bytes: u64,
    /// Index of the earlier object that has to be there before this one is asked for.
    pub after: Option<usize>,
}

impl Page {
    /// A page of equal objects of one host, which wait for nothing.
    pub fn uniform(count: usize, bytes: u64) -> Self {
        Self { objects: vec![Object { host: 0, bytes, after: None }; count] }
    }

    /// Reads Base64 (RFC 4648 section 4) of LEB128 numbers, three for each object: its host, its bytes, and 0 where it
    /// waits for none, else how many objects before it the one is that it waits for. Fails in words.
    pub fn decode(text: &str) -> Result<Self, String> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(format!("is too long: at most {MAX_OBJECTS} objects"));
        }
        let bytes = STANDARD.decode(text).map_err(|e| format!("is not Base64: {e}"))?;
        let mut rest = &bytes[..];
        let mut objects = Vec::new();
        while !rest.is_empty() {
            objects.push(object(&mut rest, objects.len())?);
        }
        match objects.len() {
            0 => Err("has no object".to_owned()),
            1..=MAX_OBJECTS => Ok(Self { objects }),
            count => Err(format!("has {count} objects: at most {MAX_OBJECTS}")),
        }
    }

    /// The objects, in the order in which they are asked for.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// Number of hosts, some of which may have no object.
    pub fn hosts(&self) -> usize {
        self.objects.iter().map(|object| object.host + 1).max().unwrap_or(0)
    }

    /// Number of connections where a host has so many at most, and no more than objects.
    pub fn connections(&self, at_once: usize) -> usize {
        let mut objects = vec![0; self.hosts()];
        self.objects.iter().for_each(|object| objects[object.host] += 1);
        objects.into_iter().map(|count: usize| count.min(at_once)).sum()
    }

    /// The length of all objects together: at most 2^41.
    pub fn bytes(&self) -> u64 {
        self.objects.iter().map(|object| object.bytes).sum()
    }

    /// The lengths of the objects.
    pub fn sizes(&self) -> BTreeSet<u64> {
        self.objects.iter().map(|object| object.bytes).collect()
    }

    /// For each object, those that wait for it.
    pub fn waiting(&self) -> Vec<Vec<usize>> {
        let mut waiting = vec![Vec::new(); self.objects.len()];
        for (index, object) in self.objects.iter().enumerate() {
            if let Some(after) = object.after {
                waiting[after].push(index);
            }
        }
        waiting
    }
}

fn object(rest: &mut &[u8], index: usize) -> Result<Object, String> {
    let (host, bytes, distance) = (leb128::take(rest)?, leb128::take(rest)?, leb128::take(rest)?);
    if host >= MAX_HOSTS {
        return Err(format!("has a host of number {host}: below {MAX_HOSTS}"));
    }
    if bytes > MAX_OBJECT_BYTES {
        return Err(format!("has an object of {bytes} bytes: at most {MAX_OBJECT_BYTES}"));
    }
    let after = match usize::try_from(distance) {
        Ok(0) => None,
        Ok(distance) if distance <= index => Some(index - distance),
        _ => return Err(format!("has object {index}, which waits for one that is {distance} before it")),
    };
    Ok(Object { host: host as usize, bytes, after })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_page_is_read_and_knows_what_waits_for_what() {
        let page = Page::decode(&STANDARD.encode([0, 100, 0, 1, 50, 1, 0, 0xac, 2, 2])).unwrap();
        let expected = [
            Object { host: 0, bytes: 100, after: None },
            Object { host: 1, bytes: 50, after: Some(0) },
            Object { host: 0, bytes: 300, after: Some(0) },
        ];
        assert_eq!(page.objects(), expected);
        assert_eq!((page.hosts(), page.waiting()), (2, vec![vec![1, 2], vec![], vec![]]));
        assert_eq!(page.sizes(), BTreeSet::from([50, 100, 300]));
        assert_eq!([1, 2, 6].map(|at_once| page.connections(at_once)), [2, 3, 3]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let reason = |numbers: &[u8]| Page::decode(&STANDARD.encode(numbers)).unwrap_err();
        assert_eq!(reason(&[]), "has no object");
        assert_eq!(reason(&[0, 1]), "ends in the middle of a number");
        assert_eq!(reason(&[0, 1, 1]), "has object 0, which waits for one that is 1 before it");
        assert_eq!(reason(&[0xc8, 1, 1, 0]), "has a host of number 200: below 200");
        assert!(reason(&[0, 0xff, 0xff, 0xff, 0xff, 0x7f, 0]).starts_with("has an object of 34359738367 bytes"));
        assert!(reason(&[0; 3 * (MAX_OBJECTS + 1)]).starts_with("has 2001 objects"));
        assert!(Page::decode(&"A".repeat(MAX_TEXT_BYTES + 1)).unwrap_err().starts_with("is too long"));
        assert!(Page::decode("?").unwrap_err().starts_with("is not Base64"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,200}", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Page::decode(&text);
            if let Ok(page) = Page::decode(&STANDARD.encode(bytes)) {
                prop_assert_eq!(page.waiting().len(), page.objects().len());
                prop_assert!(page.connections(1) <= page.hosts());
            }
        }
    }
}
