/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which addresses mean what. IPv4 addresses are in the host's order where their name says so. */
#ifndef SIXBENCH_ADDRESSES_H
#define SIXBENCH_ADDRESSES_H

#include <linux/types.h>
#include <bpf/bpf_endian.h>

#include "packet.h"
#include "structs.h"

static __always_inline bool is_ipv6_multicast(const struct address *address)
{
	return (bpf_ntohl(address->word[0]) >> 24) == 0xff;
}

static __always_inline bool is_unspecified(const struct address *address)
{
	return !(address->word[0] | address->word[1] | address->word[2] | address->word[3]);
}

/* ::1, IPv4-compatible ::/96 without ::, IPv4-mapped ::ffff:0:0/96: never on a link. RFC 4213 section 3.6, RFC 6890. */
static __always_inline bool is_bogus_ipv6(const struct address *address)
{
	return !(address->word[0] | address->word[1]) &&
	       ((!address->word[2] && address->word[3]) || address->word[2] == bpf_htonl(0xffff));
}

/* 0/8, 127/8, and 224/4 with all above it, which holds the broadcast address: never the source of a packet from a link.
 */
static __always_inline bool is_bogus_ipv4(__be32 address)
{
	__u8 first = bpf_ntohl(address) >> 24;

	return first == 0 || first == 127 || first >= 224;
}

/* RFC 1918. */
static __always_inline bool is_private_ipv4(__be32 address)
{
	__u32 host = bpf_ntohl(address);

	return host >> 24 == 10 || host >> 20 == 0xac1 || host >> 16 == 0xc0a8;
}

/* Addresses that 6to4 must not have to do with: RFC 3056 section 9, RFC 3964 section 4.1. */
static __always_inline bool is_martian_for_6to4(__be32 address)
{
	if (is_bogus_ipv4(address) || bpf_ntohl(address) >> 16 == 0xa9fe)
		return true;
	return !TUNNEL.allows_private && is_private_ipv4(address);
}

/*
 * An inner source that no packet may have: RFC 4213 section 3.6. The unspecified address is for duplicate address
 * detection, whose packets go to multicast addresses.
 */
static __always_inline bool is_bogus_source(const struct inner *inner)
{
	if (inner->version == 4)
		return is_bogus_ipv4(inner->source.word[0]);
	if (is_unspecified(&inner->source))
		return !is_ipv6_multicast(&inner->destination);
	return is_ipv6_multicast(&inner->source) || is_bogus_ipv6(&inner->source);
}

/* An inner destination that no packet from a link may have: this node's own loopback, or no address at all. */
static __always_inline bool is_bogus_destination(const struct inner *inner)
{
	if (inner->version == 4) {
		__u8 first = bpf_ntohl(inner->destination.word[0]) >> 24;

		return first == 0 || first == 127;
	}
	return is_unspecified(&inner->destination) || is_bogus_ipv6(&inner->destination);
}

#endif
