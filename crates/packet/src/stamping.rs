//! Hardware time stamps of an interface (`linux/net_tstamp.h`): its capabilities and its settings. The kernel's
//! structures are read as bytes, so that no value of a driver can break their types.

use std::io;

use crate::sys::interface_request;

/// `linux/sockios.h`.
const SIOCETHTOOL: u64 = 0x8946;
const SIOCSHWTSTAMP: u64 = 0x89b0;
/// Linux 3.14.
const SIOCGHWTSTAMP: u64 = 0x89b1;
/// `linux/ethtool.h`. Linux 3.5.
const ETHTOOL_GET_TS_INFO: u32 = 0x41;
/// Words of `struct ethtool_ts_info`: the command, what it can do, its clock, kinds of sending, 3 reserved, filters, 3
/// reserved.
const INFO_WORDS: usize = 11;
/// Words of `struct hwtstamp_config`: flags, kind of sending, filter.
const SETTING_WORDS: usize = 3;
/// `HWTSTAMP_TX_ON`: frames whose sender asks for it.
const TX_ON: u32 = 1;
/// `HWTSTAMP_FILTER_ALL`.
const FILTER_ALL: u32 = 1;

/// The abilities of an interface to stamp frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// True if it stamps frames that it sends, where they ask for it.
    pub sends: bool,
    /// True if it stamps every frame that it receives.
    pub receives: bool,
    /// The number of its hardware clock: 0 is `/dev/ptp0`. Absent: it has none.
    pub clock: Option<u32>,
}

/// Settings of an interface's time stamps (`struct hwtstamp_config`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Flags for the driver.
    pub flags: u32,
    /// The sent frames that it stamps (`HWTSTAMP_TX_*`).
    pub tx_type: u32,
    /// The received frames that it stamps (`HWTSTAMP_FILTER_*`).
    pub rx_filter: u32,
}

impl Setting {
    /// Settings that stamp all frames that come, and those that go and ask for it.
    pub const ALL: Self = Self { flags: 0, tx_type: TX_ON, rx_filter: FILTER_ALL };

    /// The words of the kernel's structure.
    pub fn words(self) -> [u32; SETTING_WORDS] {
        [self.flags, self.tx_type, self.rx_filter]
    }
}

impl From<[u32; SETTING_WORDS]> for Setting {
    fn from([flags, tx_type, rx_filter]: [u32; SETTING_WORDS]) -> Self {
        Self { flags, tx_type, rx_filter }
    }
}

/// The abilities of the interface of that name, as its driver says.
pub fn abilities(interface: &str) -> io::Result<Abilities> {
    let mut words = [0; INFO_WORDS];
    words[0] = ETHTOOL_GET_TS_INFO;
    interface_request(interface, SIOCETHTOOL, &mut words)?;
    Ok(read_abilities(&words))
}

/// The settings of its time stamps. An error where its driver has none, or does not tell.
pub fn setting(interface: &str) -> io::Result<Setting> {
    let mut words = [0; SETTING_WORDS];
    interface_request(interface, SIOCGHWTSTAMP, &mut words)?;
    Ok(words.into())
}

/// Sets its time stamps, and returns the settings that the driver chose.
pub fn set(interface: &str, setting: Setting) -> io::Result<Setting> {
    let mut words = setting.words();
    interface_request(interface, SIOCSHWTSTAMP, &mut words)?;
    Ok(words.into())
}

fn read_abilities(words: &[u32; INFO_WORDS]) -> Abilities {
    let [_, can, clock, tx_types, _, _, _, filters, ..] = *words;
    let has = |bits: u32| can & bits == bits;
    let raw = libc::SOF_TIMESTAMPING_RAW_HARDWARE;
    Abilities {
        sends: has(raw | libc::SOF_TIMESTAMPING_TX_HARDWARE) && tx_types & (1 << TX_ON) != 0,
        receives: has(raw | libc::SOF_TIMESTAMPING_RX_HARDWARE) && filters & (1 << FILTER_ALL) != 0,
        // The kernel says -1 where there is none.
        clock: i32::try_from(clock).ok().map(i32::unsigned_abs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that drivers of Linux 6.1 give.
    const VETH: [u32; INFO_WORDS] = [0x41, 0x1a, u32::MAX, 0, 0, 0, 0, 0, 0, 0, 0];
    /// 82574L.
    const E1000E: [u32; INFO_WORDS] = [0x41, 0x5f, 0, 0b11, 0, 0, 0, 0b1_0100_0111_0011, 0, 0, 0];
    /// 82576, which stamps only PTP's packets.
    const IGB: [u32; INFO_WORDS] = [0x41, 0x5f, 1, 0b11, 0, 0, 0, 0b1_0000_0011_0001, 0, 0, 0];

    #[test]
    fn an_interface_can_do_what_its_driver_says() {
        let of = |sends, receives, clock| Abilities { sends, receives, clock };
        assert_eq!(read_abilities(&VETH), of(false, false, None));
        assert_eq!(read_abilities(&E1000E), of(true, true, Some(0)));
        assert_eq!(read_abilities(&IGB), of(true, false, Some(1)));
        assert_eq!(read_abilities(&[u32::MAX; INFO_WORDS]), of(true, true, None));
    }

    #[test]
    fn who_asks_an_interface_that_is_not_there_is_told() {
        assert_eq!(abilities("sixbench-none").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert!(setting("a name that is longer than any interface's").is_err());
        assert!(set("sixbench-none", Setting::ALL).is_err());
    }
}
