/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* 6to4: RFC 3056, with the checks of RFC 3964. The site of IPv4 address V4 is 2002:V4::/48. */
#ifndef SIXBENCH_MAPPING_6TO4_H
#define SIXBENCH_MAPPING_6TO4_H

#include "addresses.h"
#include "maps.h"

static __always_inline bool is_6to4(const struct address *address)
{
	return bpf_ntohl(address->word[0]) >> 16 == 0x2002;
}

static __always_inline __be32 embedded_6to4(const struct address *address)
{
	return bpf_htonl(bpf_ntohl(address->word[0]) << 16 | bpf_ntohl(address->word[1]) >> 16);
}

static __always_inline int destination_6to4(const struct inner *inner, __be32 *destination)
{
	/* What is not from a 6to4 site may only be sent to one, by a relay: RFC 3964 section 5.2. */
	if (is_6to4(&inner->source)) {
		if (embedded_6to4(&inner->source) != TUNNEL.local.word[0])
			return OUTCOME_INNER_SOURCE_MISMATCH;
	} else if (!is_6to4(&inner->destination)) {
		return OUTCOME_NO_MAPPING;
	}
	if (is_ipv6_multicast(&inner->destination) || is_bogus_source(inner))
		return OUTCOME_NO_MAPPING;
	if (!is_6to4(&inner->destination)) {
		*destination = TUNNEL.remote.word[0];
		return *destination ? 0 : OUTCOME_NO_MAPPING;
	}
	*destination = embedded_6to4(&inner->destination);
	if (*destination == TUNNEL.local.word[0])
		return OUTCOME_ROUTING_LOOP;
	return is_martian_for_6to4(*destination) ? OUTCOME_DESTINATION_MARTIAN : 0;
}

/* RFC 3964 section 5.1. */
static __always_inline int check_6to4(const struct inner *inner, __be32 outer_source)
{
	if (is_martian_for_6to4(outer_source))
		return OUTCOME_OUTER_SOURCE_MARTIAN;
	if (is_6to4(&inner->source) && embedded_6to4(&inner->source) != outer_source)
		return OUTCOME_INNER_SOURCE_MISMATCH;
	if (is_6to4(&inner->destination))
		return embedded_6to4(&inner->destination) == TUNNEL.local.word[0] ? 0
										  : OUTCOME_INNER_DESTINATION_MISMATCH;
	/* Neither a packet to this site nor one from a site to the world behind a relay. */
	return is_6to4(&inner->source) ? 0 : OUTCOME_INNER_SOURCE_MISMATCH;
}

#endif
