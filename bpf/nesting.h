/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How deep a packet is encapsulated already: the limit of RFC 2473 section 4.1.1, by looking instead of by an option.
 */
#ifndef SIXBENCH_NESTING_H
#define SIXBENCH_NESTING_H

#include "packet.h"

/* The header after an encapsulation's, or 0 where the packet is no longer one. */
static __always_inline __u8 step_inside(struct __sk_buff *skb, __u8 protocol, __u32 *at)
{
	struct {
		__be16 flags;
		__be16 type;
	} gre;
	__u8 octets[10];

	if (protocol == IPPROTO_GRE) {
		if (bpf_skb_load_bytes(skb, *at, &gre, sizeof(gre)))
			return 0;
		*at += GRE_HEADER_BYTES;
		*at += gre.flags & bpf_htons(GRE_CHECKSUM) ? 4 : 0;
		*at += gre.flags & bpf_htons(GRE_KEY) ? 4 : 0;
		protocol = gre.type == bpf_htons(ETH_P_IPV6) ? IPPROTO_IPV6
			   : gre.type == bpf_htons(ETH_P_IP) ? IPPROTO_IPIP
							     : 0;
	}
	if ((protocol != IPPROTO_IPV6 && protocol != IPPROTO_IPIP) ||
	    bpf_skb_load_bytes(skb, *at, octets, sizeof(octets)))
		return 0;
	if (protocol == IPPROTO_IPV6) {
		*at += IPV6_HEADER_BYTES;
		return octets[6];
	}
	*at += (octets[0] & 0x0f) * 4;
	return octets[9];
}

static __always_inline bool is_encapsulation(__u8 protocol)
{
	return protocol == IPPROTO_IPV6 || protocol == IPPROTO_IPIP || protocol == IPPROTO_GRE;
}

static __always_inline bool is_nested_too_deep(struct __sk_buff *skb, const struct inner *inner)
{
	__u32 at = inner->at + inner->header_bytes;
	__u8 protocol = inner->protocol;

	if (inner->fragment & IPV4_OFFSET)
		return false;
#pragma unroll
	for (int depth = 0; depth < NESTING_LIMIT; depth++) {
		if (!is_encapsulation(protocol))
			return false;
		protocol = step_inside(skb, protocol, &at);
	}
	return is_encapsulation(protocol);
}

#endif
