/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* 6rd: RFC 5969. The delegated prefix is the 6rd prefix and the IPv4 address without its first ipv4_mask_bits. */
#ifndef SIXBENCH_MAPPING_6RD_H
#define SIXBENCH_MAPPING_6RD_H

#include "addresses.h"
#include "maps.h"

static __always_inline __u64 upper_half(const volatile struct address *address)
{
	return (__u64)bpf_ntohl(address->word[0]) << 32 | bpf_ntohl(address->word[1]);
}

static __always_inline bool is_in_6rd_domain(const struct address *address)
{
	return !((upper_half(address) ^ upper_half(&TUNNEL.prefix)) >> (64 - TUNNEL.prefix_bits));
}

/* User space sees to it that there are 1 to 32 embedded bits, which end within the first 64. */
static __always_inline __be32 embedded_6rd(const struct address *address)
{
	__u32 embedded_bits = 32 - TUNNEL.ipv4_mask_bits;
	__u32 embedded = upper_half(address) << TUNNEL.prefix_bits >> (64 - embedded_bits);
	__u64 common = bpf_ntohl(TUNNEL.local.word[0]) >> embedded_bits;

	return bpf_htonl((__u32)(common << embedded_bits) | embedded);
}

static __always_inline int destination_6rd(const struct inner *inner, __be32 *destination)
{
	if (is_ipv6_multicast(&inner->destination))
		return OUTCOME_NO_MAPPING;
	if (!is_in_6rd_domain(&inner->destination)) {
		/* The border relay is where the domain ends: RFC 5969 section 8. */
		*destination = TUNNEL.is_border_relay ? 0 : TUNNEL.remote.word[0];
		return *destination ? 0 : OUTCOME_NO_MAPPING;
	}
	*destination = embedded_6rd(&inner->destination);
	if (*destination == TUNNEL.local.word[0])
		return OUTCOME_ROUTING_LOOP;
	return is_bogus_ipv4(*destination) ? OUTCOME_DESTINATION_MARTIAN : 0;
}

/* RFC 5969 section 12. */
static __always_inline int check_6rd(const struct inner *inner, __be32 outer_source)
{
	if (is_bogus_ipv4(outer_source))
		return OUTCOME_OUTER_SOURCE_MARTIAN;
	if (is_in_6rd_domain(&inner->source)) {
		/* A CE that sends what is for another CE by way of the relay shows the relay's address outside. */
		if (embedded_6rd(&inner->source) != outer_source &&
		    (TUNNEL.is_border_relay || outer_source != TUNNEL.remote.word[0]))
			return OUTCOME_INNER_SOURCE_MISMATCH;
	} else if (TUNNEL.is_border_relay) {
		return OUTCOME_INNER_SOURCE_MISMATCH;
	} else if (outer_source != TUNNEL.remote.word[0]) {
		return OUTCOME_SOURCE_NOT_PEER;
	}
	if (TUNNEL.is_border_relay)
		return 0;
	/* A CE takes only what is for its own delegated prefix. */
	if (!is_in_6rd_domain(&inner->destination) || embedded_6rd(&inner->destination) != TUNNEL.local.word[0])
		return OUTCOME_INNER_DESTINATION_MISMATCH;
	return 0;
}

#endif
