/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ISATAP: RFC 5214. Interface identifiers are 0:5efe:V4, or 200:5efe:V4 where V4 is globally unique (section 6.1). */
#ifndef SIXBENCH_MAPPING_ISATAP_H
#define SIXBENCH_MAPPING_ISATAP_H

#include "addresses.h"
#include "found_route.h"
#include "maps.h"

static __always_inline bool is_isatap(const struct address *address)
{
	return (bpf_ntohl(address->word[2]) & ~0x02000000) == 0x00005efe;
}

static __always_inline bool is_all_routers(const struct address *address)
{
	return address->word[0] == bpf_htonl(0xff020000) && !address->word[1] && !address->word[2] &&
	       address->word[3] == bpf_htonl(2);
}

/*
 * A program on the device does not see the next hop, so it goes by the destination: what is no ISATAP address goes to
 * the first router, and so do router solicitations (section 8.3.4).
 */
static __always_inline int destination_isatap(const struct inner *inner, __be32 *destination)
{
	if (is_ipv6_multicast(&inner->destination)) {
		if (!is_all_routers(&inner->destination))
			return OUTCOME_NO_MAPPING;
		*destination = TUNNEL.routers[0];
	} else if (is_isatap(&inner->destination)) {
		*destination = inner->destination.word[3];
	} else {
		*destination = TUNNEL.routers[0];
	}
	if (!*destination)
		return OUTCOME_NO_MAPPING;
	if (*destination == TUNNEL.local.word[0])
		return OUTCOME_ROUTING_LOOP;
	return is_bogus_ipv4(*destination) ? OUTCOME_DESTINATION_MARTIAN : 0;
}

/* Whether the node would send there by the device, and not through a gateway. Asked once a tick, as routes are. */
static __always_inline bool is_on_link(struct __sk_buff *skb, const struct address *address)
{
	/* Without a length the kernel would compare this packet's, outer header included, with the device's MTU. */
	struct bpf_fib_lookup lookup = {.family = AF_INET6, .ifindex = TUNNEL.far_ifindex, .tot_len = 1};
	const struct route_query query = {.destination = address};
	struct found_route *found = last_route(ROUTE_BACK);
	struct address next_hop;

	if (bpf_ntohl(address->word[0]) >> 22 == 0xfe80 >> 6)
		return true;
	if (found && is_known_route(found, &query))
		return true;
	__builtin_memcpy(lookup.ipv6_dst, address, sizeof(*address));
	if (bpf_fib_lookup(skb, &lookup, sizeof(lookup), BPF_FIB_LOOKUP_SKIP_NEIGH) != BPF_FIB_LKUP_RET_SUCCESS)
		return false;
	__builtin_memcpy(&next_hop, lookup.ipv6_dst, sizeof(next_hop));
	if (lookup.ifindex != TUNNEL.near_ifindex || !is_same(&next_hop, address))
		return false;
	if (found)
		remember_route(found, &query, &lookup);
	return true;
}

/* Section 7.3: from a router of the list, or from the address that the inner source embeds, which is on-link. */
static __always_inline int check_isatap(struct __sk_buff *skb, const struct inner *inner, __be32 outer_source)
{
	if (is_bogus_ipv4(outer_source))
		return OUTCOME_OUTER_SOURCE_MARTIAN;
#pragma unroll
	for (int i = 0; i < MAX_ROUTERS; i++) {
		if (i < TUNNEL.router_count && TUNNEL.routers[i] == outer_source)
			return 0;
	}
	if (!is_isatap(&inner->source))
		return OUTCOME_SOURCE_NOT_PEER;
	if (inner->source.word[3] != outer_source)
		return OUTCOME_INNER_SOURCE_MISMATCH;
	return is_on_link(skb, &inner->source) ? 0 : OUTCOME_INNER_SOURCE_OFF_LINK;
}

#endif
