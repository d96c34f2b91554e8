/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Congestion notification through tunnels: RFC 6040. */
#ifndef SIXBENCH_ECN_H
#define SIXBENCH_ECN_H

#include "packet.h"

#define ECN_DROP 0xff

/* The inner field after decapsulation: RFC 6040 section 4.2, figure 4. */
static __always_inline __u8 decapsulated_ecn(__u8 inner, __u8 outer)
{
	inner &= ECN_MASK;
	outer &= ECN_MASK;
	if (outer == ECN_CE)
		return inner == ECN_NOT_ECT ? ECN_DROP : ECN_CE;
	if (outer == ECN_ECT_1 && inner == ECN_ECT_0)
		return ECN_ECT_1;
	return inner;
}

/* Writes the inner packet's field. */
static __always_inline int write_ecn(struct __sk_buff *skb, const struct inner *inner, __u32 at, __u8 ecn)
{
	__u8 tos = (inner->tos & ~ECN_MASK) | ecn;

	if (inner->version == 6) {
		__u8 octet; /* the second: half of the traffic class, half of the flow label */

		if (bpf_skb_load_bytes(skb, at + 1, &octet, 1))
			return -1;
		octet = (octet & 0x0f) | tos << 4;
		return bpf_skb_store_bytes(skb, at + 1, &octet, 1, 0);
	}
	if (bpf_l3_csum_replace(skb, at + __builtin_offsetof(struct iphdr, check), bpf_htons(inner->tos),
				bpf_htons(tos), 2))
		return -1;
	return bpf_skb_store_bytes(skb, at + __builtin_offsetof(struct iphdr, tos), &tos, 1, 0);
}

#endif
