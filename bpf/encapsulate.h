/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The program on the tunnel device's egress. */
#ifndef SIXBENCH_ENCAPSULATE_H
#define SIXBENCH_ENCAPSULATE_H

#include "counters.h"
#include "mapping.h"
#include "nesting.h"
#include "outer.h"
#include "route.h"

static __always_inline bool is_carried(__be16 ethertype)
{
	if (TUNNEL.payload != PAYLOAD_IPV4 && ethertype == bpf_htons(ETH_P_IPV6))
		return true;
	return TUNNEL.payload != PAYLOAD_IPV6 && ethertype == bpf_htons(ETH_P_IP);
}

static __always_inline void describe_outer(struct __sk_buff *skb, const struct inner *inner, struct outer *outer)
{
	__u32 inner_bytes = skb->len - inner->at;
	__u32 header_bytes;

	outer->bytes = TUNNEL.overhead_bytes + inner_bytes;
	outer->wire_bytes = outer->bytes;
	if (skb->gso_size) {
		header_bytes = segment_header_bytes(skb, inner);
		outer->wire_bytes = TUNNEL.overhead_bytes + (header_bytes ? header_bytes + skb->gso_size : inner_bytes);
	}
	outer->ttl = TUNNEL.ttl ? TUNNEL.ttl : inner->hop_limit;
	outer->tos = TUNNEL.inherits_tos ? inner->tos : TUNNEL.tos;
	outer->tos = (outer->tos & ~ECN_MASK) | (TUNNEL.copies_ecn ? inner->tos & ECN_MASK : ECN_NOT_ECT);
	outer->dont_fragment = TUNNEL.dont_fragment == DONT_FRAGMENT_SET ||
			       (TUNNEL.dont_fragment == DONT_FRAGMENT_INHERIT && inner->fragment & IPV4_DONT_FRAGMENT);
}

static __always_inline int encapsulation(struct __sk_buff *skb, struct count *count, int *redirect)
{
	struct inner inner = {.at = ETH_HLEN};
	struct outer outer = {};
	struct route route = {};
	int wrong;

	count->bytes = skb->len - ETH_HLEN;
	if (!is_carried(skb->protocol))
		return OUTCOME_INNER_FAMILY;
	wrong = read_inner(skb, skb->protocol, &inner);
	if (wrong)
		return wrong;
	*count = wire_count(skb, &inner);
	wrong = outer_destination(skb, &inner, &outer.destination);
	if (wrong)
		return wrong;
	if (is_nested_too_deep(skb, &inner))
		return OUTCOME_NESTED_TOO_DEEP;
	describe_outer(skb, &inner, &outer);
	outer.packets = count->packets;
	/* Neither the field nor the kernel can say so long a payload of an IPv6 packet. The slow path gets it in
	 * pieces. */
	if (TUNNEL.outer == 6 && outer.bytes > IPV6_HEADER_BYTES + 0xffff)
		return OUTCOME_OUTER_TOO_BIG;
	wrong = find_route(skb, &outer, &route);
	if (wrong)
		return wrong;
	wrong = write_outer(skb, &inner, &outer, &route);
	if (wrong)
		return wrong;
	if (route.ethernet)
		*redirect = bpf_redirect(route.ifindex, 0);
	else
		*redirect = bpf_redirect_neigh(route.ifindex, &route.next_hop, sizeof(route.next_hop), 0);
	return OUTCOME_ENCAPSULATED;
}

SEC("classifier")
int encapsulate(struct __sk_buff *skb)
{
	struct count count = {.packets = 1};
	int redirect = TC_ACT_SHOT;
	int outcome = encapsulation(skb, &count, &redirect);

	return finish(count, outcome, redirect);
}

#endif
