//! Errors about settings.

use super::*;

#[test]
fn what_is_wrong_with_settings_is_said() {
    let wrong = |change: &dyn Fn(&mut Settings)| {
        let mut settings = settings(96);
        change(&mut settings);
        settings.check().expect_err("wrong")
    };
    let nothing = |settings: &mut Settings| {
        settings.prefixes.clear();
        settings.explicit.clear();
    };
    assert!(wrong(&nothing).contains("there is no prefix"));
    assert!(wrong(&|settings| settings.prefixes[0].bits = 80).contains("none of the lengths"));
    assert!(wrong(&|settings| settings.prefixes[0].bits = 32).contains("bits beyond its length"));
    let octet8 = Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0x100, 0, 0, 0);
    assert!(wrong(&|settings| settings.prefixes[0].address = octet8).contains("in octet 8"));
    assert!(wrong(&|settings| settings.explicit[0].0.bits = 24).contains("map one to one"));
    assert!(wrong(&|settings| settings.explicit[0].1.bits = 129).contains("map one to one"));
    assert!(wrong(&|settings| settings.mtu6 = 1279).contains("must be 1280 to 65535"));
    assert!(wrong(&|settings| settings.mtu4 = 67).contains("must be 68 to 65535"));
}

#[test]
fn what_is_wrong_with_lists_is_said() {
    let wrong = |change: &dyn Fn(&mut Settings)| {
        let mut settings = settings(96);
        change(&mut settings);
        settings.check().expect_err("wrong")
    };
    let (four, six) = (Ipv4Addr::new(10, 0, 0, 0), host6());
    let of = |bits: u128| Ipv6Addr::from_bits(six.to_bits() & !0xffff | bits);
    let table = [(net(four, 24), net(of(0x100), 120)), (net(Ipv4Addr::new(10, 0, 0, 5), 32), net(of(0x7777), 128))];
    let found = wrong(&|settings| settings.explicit.extend(table));
    assert_eq!(
        found,
        "10.0.0.0/24 and 10.0.0.5/32 of the table overlap, so their addresses do not map one to one (RFC 7757 section 5)"
    );
    let other = (net(Ipv4Addr::new(10, 9, 0, 5), 32), net(of(0x1aa), 128));
    let found = wrong(&|settings| settings.explicit.extend([table[0], other]));
    assert!(found.starts_with("2001:db8::100/120 and 2001:db8::1aa/128 of the table overlap"), "{found}");
    let twice = wrong(&|settings| {
        settings.overlapping = true;
        settings.explicit.extend([table[1], table[1]]);
    });
    assert!(twice.contains("10.0.0.5/32 is twice in the table"), "{twice}");
    assert!(wrong(&|settings| settings.denied = vec![net(four, 4)]).contains("denied IPv4 prefix 10.0.0.0/4 has bits"));
    assert!(wrong(&|settings| settings.denied = vec![net(four, 33)]).contains("a length that is not possible"));
    assert!(wrong(&|settings| settings.pool6 = vec![net(six, 64)]).contains("pool of IPv6 addresses 2001:db8::1/64"));
    let narrow = (net(four, 8), net(of(0x100), 120));
    assert!(wrong(&|settings| settings.explicit.push(narrow)).contains("10.0.0.0/8 and 2001:db8::100/120 are no"));
    let groups = net(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0), 64);
    assert!(wrong(&|settings| settings.pool6 = vec![groups]).contains("addresses that no host may have"));
    let loopback = net(Ipv4Addr::LOCALHOST, 32);
    assert!(wrong(&|settings| settings.pool4 = vec![loopback]).contains("addresses that no host may have"));
    let group: Ipv6Addr = "ff02::1".parse().expect("an address");
    assert!(wrong(&|settings| settings.own6 = group).contains("own address ff02::1 is not one that a host may have"));
    assert!(
        wrong(&|settings| settings.own4 = Ipv4Addr::UNSPECIFIED)
            .contains("own address 0.0.0.0 is not one that a host may have")
    );
    assert_eq!(
        wrong(&|settings| settings.answered = vec![Clause::Malformed]),
        "no source is informed by malformed; sources can be informed of header-after-fragment, no-mapping, port-set, no-port, denied, \
         non-global, other-family, zero-checksum, no-port-left, table-full"
    );
}

#[test]
fn clauses_have_a_name_a_place_and_a_sentence() {
    let mut names: Vec<_> = Clause::ALL.iter().map(|clause| clause.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Clause::ALL.len());
    for clause in Clause::ALL {
        assert!(clause.clause().starts_with("RFC "), "{clause:?}");
        assert!(clause.words().ends_with('.') && clause.words().len() > 20, "{clause:?}");
    }
}
