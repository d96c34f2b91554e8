/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finding where outer packets leave the node. */
#ifndef SIXBENCH_ROUTE_H
#define SIXBENCH_ROUTE_H

#include "addresses.h"
#include "found_route.h"
#include "mapping_6over4.h"
#include "maps.h"
#include "outer.h"

/*
 * Looks the outer destination up in the node's routing tables. Returns why the packet cannot go there, or 0. A tick's
 * first packet goes by way of the neighbour, so that the kernel goes on asking whether that is still there; those after
 * it are sent as that one was.
 */
static __always_inline int find_route(struct __sk_buff *skb, const struct outer *outer, struct route *route)
{
	/* With a length, the path MTU that the kernel has learned is looked at too. */
	struct bpf_fib_lookup lookup = {.ifindex = TUNNEL.far_ifindex, .tot_len = outer->wire_bytes};
	/* A group has no neighbour to ask for. */
	bool is_group = TUNNEL.mapping == MAPPING_6OVER4 && is_6over4_multicast(outer->destination.word[0]);
	const struct route_query query = {
		.destination = &outer->destination, .bytes = outer->wire_bytes, .tos = outer->tos};
	struct found_route *found = last_route(ROUTE_OUT);
	int result;

	if (!is_group && found && is_known_route(found, &query)) {
		route->ifindex = found->ifindex;
		route->ethernet = &found->ethernet;
		return 0;
	}
	if (TUNNEL.outer == 4) {
		lookup.family = AF_INET;
		lookup.tos = outer->tos;
		lookup.ipv4_src = TUNNEL.local.word[0];
		lookup.ipv4_dst = outer->destination.word[0];
	} else {
		lookup.family = AF_INET6;
		lookup.flowinfo = bpf_htonl(outer->tos << 20);
		copy_address(lookup.ipv6_src, &TUNNEL.local);
		copy_address(lookup.ipv6_dst, &outer->destination);
	}
	result = bpf_fib_lookup(skb, &lookup, sizeof(lookup), is_group ? BPF_FIB_LOOKUP_SKIP_NEIGH : 0);
	if (result == BPF_FIB_LKUP_RET_FRAG_NEEDED)
		return OUTCOME_OUTER_TOO_BIG;
	/*
	 * bpf_redirect_neigh would queue the packet with an Ethernet header that has no destination, and so it would be
	 * sent. The slow path's own packets are queued well.
	 */
	if (result == BPF_FIB_LKUP_RET_NO_NEIGH)
		return OUTCOME_NEIGHBOUR_UNRESOLVED;
	if (result != BPF_FIB_LKUP_RET_SUCCESS)
		return OUTCOME_NO_ROUTE;
	if (lookup.ifindex == TUNNEL.near_ifindex)
		return OUTCOME_ROUTING_LOOP;
	route->ifindex = lookup.ifindex;
	route->next_hop.nh_family = lookup.family;
	if (is_group) {
		/* To the group itself, whatever gateway the route has. */
		route->next_hop.nh_family = AF_INET;
		route->next_hop.ipv4_nh = outer->destination.word[0];
	} else if (lookup.family == AF_INET) {
		route->next_hop.ipv4_nh = lookup.ipv4_dst;
	} else {
		__builtin_memcpy(route->next_hop.ipv6_nh, lookup.ipv6_dst, sizeof(lookup.ipv6_dst));
	}
	if (!is_group && found)
		remember_route(found, &query, &lookup);
	return 0;
}

#endif
