//! Names: RFC 1035 sections 3.1 and 4.1.4, RFC 4343.

use proptest::prelude::*;
use sixbench_wire::dns::{Flaw, Name};

use crate::held::name;

fn read(bytes: &[u8], at: usize) -> Result<(String, usize), Flaw> {
    Name::read(bytes, at).map(|(name, behind)| (name.to_string(), behind))
}

#[test]
fn names_are_read_through_pointers_to_what_came_before() {
    let bytes = b"\x03lab\x00\x02r1\xc0\x00\xc0\x05";
    assert_eq!(read(bytes, 0), Ok(("lab.".to_owned(), 5)));
    assert_eq!(read(bytes, 5), Ok(("r1.lab.".to_owned(), 10)));
    assert_eq!(read(bytes, 10), Ok(("r1.lab.".to_owned(), 12)));
    assert_eq!(read(b"\x00", 0), Ok((".".to_owned(), 1)));
}

#[test]
fn flaws_are_told_apart() {
    for (bytes, at, flaw) in [
        (&b""[..], 0, Flaw::Truncated),
        (b"\x03la", 0, Flaw::Truncated),
        (b"\x03lab", 0, Flaw::Truncated),
        (b"\xc0", 0, Flaw::Truncated),
        (b"\xc0\x00", 0, Flaw::Pointer),
        (b"\x00\xc0\x01", 1, Flaw::Pointer),
        (b"\xc0\x02\xc0\x00", 2, Flaw::Pointer),
        // A circle that goes back once, to labels that lead to where it came from.
        (b"\x01a\xc0\x00", 0, Flaw::Pointer),
        (b"\x01a\xc0\x04\xc0\x00", 4, Flaw::Pointer),
        (b"\x40a\x00", 0, Flaw::LabelType),
        (b"\x80a\x00", 0, Flaw::LabelType),
    ] {
        assert_eq!(read(bytes, at).expect_err("a flaw"), flaw, "{bytes:?}");
    }
    let long = [&[63; 64][..], &[63; 64], &[63; 64], &[63; 64], &[0]].concat();
    assert_eq!(read(&long, 0), Err(Flaw::LongName));
    let longest = [&[63; 64][..], &[63; 64], &[63; 64], &[61; 62], &[0]].concat();
    assert_eq!(read(&longest, 0).expect("255 bytes").1, 255);
}

#[test]
fn addresses_have_the_names_of_the_rfcs() {
    let reverse = |text: &str| Name::reverse(text.parse().expect("an address")).to_string();
    assert_eq!(reverse("10.2.0.52"), "52.0.2.10.in-addr.arpa."); // RFC 1035 section 3.5.
    // RFC 3596 section 2.5.
    let ipv6 = "b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.0.0.0.1.2.3.4.ip6.arpa.";
    assert_eq!(reverse("4321:0:1:2:3:4:567:89ab"), ipv6);
}

#[test]
fn texts_that_are_no_names_are_refused() {
    for text in ["", "a..b", ".a", "a b", "ä", &"a".repeat(64), &"abc.".repeat(64)] {
        assert!(text.parse::<Name>().is_err(), "{text}");
    }
    assert_eq!(name("."), Name::root());
    assert_eq!(name("r1.lab."), name("R1.LAB"));
    assert_ne!(name("r1.lab"), name("r1lab"));
}

proptest! {
    #[test]
    fn any_bytes_are_a_name_or_not(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0..310_usize) {
        if let Ok((name, behind)) = Name::read(&bytes, at) {
            prop_assert!(name.wire().len() <= 255 && behind <= bytes.len() && behind > at);
            prop_assert_eq!(Name::read(name.wire(), 0).expect("itself"), (name.clone(), name.wire().len()));
        }
    }

    #[test]
    fn the_name_of_an_ipv6_address_has_its_bits(bits in any::<u128>(), cut in 0..32_usize) {
        let mut name = Name::reverse(std::net::Ipv6Addr::from_bits(bits).into());
        prop_assert_eq!(name.reversed_ipv6(), Some((bits, 128)));
        for _ in 0..cut {
            name = name.parent().expect("a label");
        }
        let count = 128 - 4 * cut as u32;
        prop_assert_eq!(name.reversed_ipv6(), Some((bits >> (4 * cut) << (4 * cut), count)));
    }
}
