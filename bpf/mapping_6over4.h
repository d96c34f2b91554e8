/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * 6over4: RFC 2529. IPv4 multicast is the Ethernet of IPv6. The device's address is 00:00 and the IPv4 address, so that
 * the kernel's neighbour discovery writes the link-layer address option of section 5 (two zero octets, then the IPv4
 * address), and the Ethernet destination names the outer one.
 */
#ifndef SIXBENCH_MAPPING_6OVER4_H
#define SIXBENCH_MAPPING_6OVER4_H

#include "addresses.h"
#include "maps.h"

/* Section 6: 239.192.Y.Z, the last two octets those of the IPv6 address, and so of 33:33:... */
#define MULTICAST_6OVER4 0xefc00000

static __always_inline bool is_6over4_multicast(__be32 address)
{
	return (bpf_ntohl(address) & 0xffff0000) == MULTICAST_6OVER4;
}

static __always_inline int destination_6over4(struct __sk_buff *skb, __be32 *destination)
{
	__u8 mac[ETH_ALEN];

	if (bpf_skb_load_bytes(skb, 0, mac, sizeof(mac)))
		return OUTCOME_NO_MAPPING;
	if (mac[0] == 0x33 && mac[1] == 0x33) {
		*destination = bpf_htonl(MULTICAST_6OVER4 | mac[4] << 8 | mac[5]);
		return OUTCOME_UNDECIDED;
	}
	if (mac[0] || mac[1])
		return OUTCOME_NO_MAPPING;
	*destination = bpf_htonl((__u32)mac[2] << 24 | mac[3] << 16 | mac[4] << 8 | mac[5]);
	return is_bogus_ipv4(*destination) ? OUTCOME_DESTINATION_MARTIAN : OUTCOME_UNDECIDED;
}

static __always_inline int check_6over4(__be32 outer_source)
{
	/* What this node sent to a group may come back to it. */
	if (is_bogus_ipv4(outer_source) || outer_source == TUNNEL.local.word[0])
		return OUTCOME_OUTER_SOURCE_MARTIAN;
	return OUTCOME_UNDECIDED;
}

#endif
