//! `TCP_INFO` of a socket.

use std::io;
use std::os::fd::AsFd;

use crate::sys;

/// The fields of `struct tcp_info` (`include/uapi/linux/tcp.h`) that are read here. The kernel only ever appends to it,
/// and an older one gives a shorter struct: the fields that it does not have are absent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TcpInfo {
    /// True if data may still be going out by `tcpi_state`: established, or our FIN not yet acknowledged.
    pub is_sending: bool,
    /// True if segments carry timestamps by `tcpi_options` (RFC 7323); the MSS does not count these.
    pub has_timestamps: bool,
    /// `tcpi_snd_mss`.
    pub mss_bytes: Option<u64>,
    /// `tcpi_pmtu`.
    pub pmtu_bytes: Option<u64>,
    /// `tcpi_rtt`, smoothed. Absent before the first measurement.
    pub rtt_ns: Option<u64>,
    /// `tcpi_rttvar`.
    pub rttvar_ns: Option<u64>,
    /// `tcpi_min_rtt` (since Linux 4.6).
    pub min_rtt_ns: Option<u64>,
    /// `tcpi_snd_cwnd`.
    pub cwnd_packets: Option<u64>,
    /// `tcpi_reordering`, the degree the sender allows for, in packets.
    pub reordering: Option<u64>,
    /// `tcpi_total_retrans`.
    pub retransmits: Option<u64>,
    /// `tcpi_bytes_acked` (since 4.1).
    pub bytes_acked: Option<u64>,
    /// `tcpi_segs_out` (since 4.2).
    pub segments_out: Option<u64>,
    /// `tcpi_delivery_rate` (since 4.9). Absent before the first measurement.
    pub delivery_rate_bps: Option<u64>,
}

impl TcpInfo {
    /// Asks the kernel.
    pub fn of(socket: &impl AsFd) -> io::Result<Self> {
        let mut bytes = [0; 512];
        let length = sys::socket_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
        Ok(Self::parse(bytes.get(..length).unwrap_or_default()))
    }

    fn parse(bytes: &[u8]) -> Self {
        let u32_at =
            |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(|b| u64::from(u32::from_ne_bytes(b)));
        let u64_at = |at: usize| bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_ne_bytes);
        let known = |micros: &u64| *micros != 0 && *micros != u64::from(u32::MAX);
        // TCP_ESTABLISHED, TCP_FIN_WAIT1, TCP_CLOSE_WAIT.
        let is_sending = matches!(bytes.first(), Some(1 | 4 | 8));
        Self {
            is_sending,
            // TCPI_OPT_TIMESTAMPS.
            has_timestamps: bytes.get(5).is_some_and(|options| options & 1 != 0),
            pmtu_bytes: u32_at(60),
            mss_bytes: u32_at(16),
            rtt_ns: u32_at(68).filter(known).map(|us| us * 1_000),
            rttvar_ns: u32_at(68).filter(known).and(u32_at(72)).map(|us| us * 1_000),
            cwnd_packets: u32_at(80),
            reordering: u32_at(88),
            retransmits: u32_at(100),
            bytes_acked: u64_at(120),
            segments_out: u32_at(136),
            min_rtt_ns: u32_at(148).filter(known).map(|us| us * 1_000),
            delivery_rate_bps: u64_at(160).filter(|rate| *rate != 0).map(|rate| rate.saturating_mul(8)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn offsets_are_those_of_the_kernel() {
        assert_eq!(offset_of!(libc::tcp_info, tcpi_snd_mss), 16);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_options), 5);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_pmtu), 60);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_rtt), 68);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_rttvar), 72);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_snd_cwnd), 80);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_reordering), 88);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_total_retrans), 100);
    }

    #[test]
    fn a_shorter_struct_has_fewer_fields() {
        let mut bytes = [0; 232];
        bytes[68..72].copy_from_slice(&25_u32.to_ne_bytes());
        bytes[148..152].copy_from_slice(&u32::MAX.to_ne_bytes());
        bytes[160..168].copy_from_slice(&1_000_u64.to_ne_bytes());
        let whole = TcpInfo::parse(&bytes);
        assert_eq!((whole.rtt_ns, whole.rttvar_ns, whole.min_rtt_ns), (Some(25_000), Some(0), None));
        assert_eq!((whole.delivery_rate_bps, whole.segments_out), (Some(8_000), Some(0)));
        let linux_3 = TcpInfo::parse(&bytes[..104]);
        assert_eq!((linux_3.retransmits, linux_3.bytes_acked, linux_3.delivery_rate_bps), (Some(0), None, None));
        assert_eq!(TcpInfo::parse(&[]), TcpInfo::default());
    }
}
