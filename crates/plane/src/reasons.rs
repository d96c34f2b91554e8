//! The kernel's names of the reasons for which it drops packets: `enum skb_drop_reason`, whose numbers change from one
//! version to the next, out of the kernel's description of its own types.

use std::collections::HashMap;
use std::fs;
use std::io;

const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";
const ENUM: &str = "skb_drop_reason";
const PREFIX: &str = "SKB_DROP_REASON_";

/// `struct btf_header`.
const MAGIC: u16 = 0xeb9f;
/// `struct btf_type`, and what follows it by kind (`BTF_KIND_*`).
const TYPE_BYTES: usize = 12;
const KIND_ENUM: u32 = 6;

/// Names by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reasons(HashMap<u32, String>);

impl Reasons {
    /// The reasons of the kernel that runs. Fails where it does not describe its types, or not this one (before Linux
    /// 5.17).
    pub fn of_this_kernel() -> io::Result<Self> {
        let types = fs::read(KERNEL_TYPES)
            .map_err(|error| io::Error::new(error.kind(), format!("reading {KERNEL_TYPES}: {error}")))?;
        Self::parse(&types).ok_or_else(|| io::Error::other(format!("{KERNEL_TYPES} has no enum {ENUM}")))
    }

    #[cfg(test)]
    pub(crate) fn from_names<const N: usize>(names: [(u32, &str); N]) -> Self {
        Self(names.into_iter().map(|(number, name)| (number, name.to_owned())).collect())
    }

    /// The name of a reason, such as `NETFILTER_DROP`; `reason N` for a number without a name.
    pub fn name(&self, number: u32) -> String {
        self.0.get(&number).cloned().unwrap_or_else(|| format!("reason {number}"))
    }

    /// Reads the description (Documentation/bpf/btf.rst). `None` where it is of another form or lacks the enum.
    fn parse(data: &[u8]) -> Option<Self> {
        if u16::from_ne_bytes(*data.first_chunk()?) != MAGIC {
            return None;
        }
        let header = word(data, 4)? as usize;
        let section = |at: usize| -> Option<&[u8]> {
            let start = header.checked_add(word(data, at)? as usize)?;
            data.get(start..start.checked_add(word(data, at + 4)? as usize)?)
        };
        let (types, strings) = (section(8)?, section(16)?);
        let mut at = 0;
        loop {
            let (name, info) = (word(types, at)?, word(types, at + 4)?);
            let (kind, count) = ((info >> 24) & 0x1f, info as usize & 0xffff);
            at += TYPE_BYTES;
            if kind == KIND_ENUM && text(strings, name)? == ENUM {
                let names = (0..count).map(|index| {
                    let name = text(strings, word(types, at + index * 8)?)?;
                    Some((word(types, at + index * 8 + 4)?, name.strip_prefix(PREFIX).unwrap_or(name).to_owned()))
                });
                return names.collect::<Option<_>>().map(Self);
            }
            at += following_bytes(kind, count)?;
        }
    }
}

/// Number of bytes that follow a type, by its kind and the number of its members.
fn following_bytes(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        // Pointer, forward, typedef, volatile, const, restrict, function, float, type tag.
        2 | 7..=12 | 16 | 18 => 0,
        // Integer, variable, declaration tag.
        1 | 14 | 17 => 4,
        // Array.
        3 => 12,
        // Structure, union, section of data, enumeration of 64 bits.
        4 | 5 | 15 | 19 => count * 12,
        // Enumeration, function's prototype.
        6 | 13 => count * 8,
        _ => return None,
    })
}

fn word(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

fn text(strings: &[u8], at: u32) -> Option<&str> {
    std::str::from_utf8(strings.get(at as usize..)?.split(|&byte| byte == 0).next()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A description of an integer, a structure and the enum.
    fn description() -> Vec<u8> {
        let strings = b"\0int\0skb_drop_reason\0SKB_DROP_REASON_NO_SOCKET\0OTHER\0";
        let at = |text: &str| {
            strings.windows(text.len()).position(|window| window == text.as_bytes()).expect("there") as u32
        };
        let types = [
            [at("int"), 1 << 24, 4, 32].as_slice(),
            &[0, (4 << 24) | 1, 4, 0, 1, 0],
            &[at(ENUM), (6 << 24) | 2, 4, at("SKB_DROP_REASON_NO_SOCKET"), 3, at("OTHER"), 0x10000],
        ]
        .concat();
        let (types_bytes, strings_bytes) = (types.len() as u32 * 4, strings.len() as u32);
        let mut data = MAGIC.to_ne_bytes().to_vec();
        data.extend([1, 0]);
        for word in [24, 0, types_bytes, types_bytes, strings_bytes].iter().chain(&types) {
            data.extend(word.to_ne_bytes());
        }
        data.extend(strings);
        data
    }

    #[test]
    fn names_are_found_behind_other_types() {
        let expected = Reasons::from_names([(3, "NO_SOCKET"), (0x10000, "OTHER")]);
        assert_eq!(Reasons::parse(&description()), Some(expected));
    }

    proptest! {
        #[test]
        fn what_is_cut_off_or_damaged_is_no_panic(length in 0_usize..140, at in 0_usize..140, byte: u8) {
            let mut data = description();
            data.truncate(length.min(data.len()));
            if let Some(damaged) = data.get_mut(at) {
                *damaged = byte;
            }
            let _ = Reasons::parse(&data);
        }
    }
}
