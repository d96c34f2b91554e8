/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The program on the ingress of the devices below the tunnel. */
#ifndef SIXBENCH_DECAPSULATE_H
#define SIXBENCH_DECAPSULATE_H

#include <linux/if_packet.h>

#include "arriving.h"
#include "counters.h"
#include "ecn.h"
#include "mapping.h"

/* Takes the outer headers off and writes the Ethernet header that the tunnel device takes the packet with. */
static __always_inline int unwrap(struct __sk_buff *skb, const struct arriving *arriving, const struct inner *inner,
				  __be16 ethertype)
{
	__u64 flags = BPF_F_ADJ_ROOM_FIXED_GSO;
	struct ethernet_addresses addresses = addresses_to(TUNNEL.near_mac);
	__u8 *octets = (__u8 *)&addresses;
	struct ethhdr *ethernet;

	if (HAS_DECAP_FLAGS)
		flags |= ethertype == bpf_htons(ETH_P_IPV6) ? ADJ_ROOM_DECAP_L3_IPV6 : ADJ_ROOM_DECAP_L3_IPV4;
	/*
	 * Without them the packet remains what it was until the device takes it by its Ethernet header, and the helper
	 * leaves no less of an IPv6 packet than an IPv6 header's length.
	 */
	if (bpf_skb_adjust_room(skb, -(__s32)arriving->header_bytes, BPF_ADJ_ROOM_MAC, flags))
		return OUTCOME_KERNEL_REFUSED;
	if (TUNNEL.mapping == MAPPING_6OVER4) {
		__builtin_memcpy(octets + ETH_ALEN + 2, &arriving->source, 4);
		if (is_ipv6_multicast(&inner->destination)) {
			octets[0] = octets[1] = 0x33;
			__builtin_memcpy(octets + 2, &inner->destination.word[3], 4);
		}
	}
	ethernet = bytes_at(skb, 0, sizeof(*ethernet));
	if (!ethernet)
		return OUTCOME_NO_ROOM;
	*(struct ethernet_addresses *)ethernet = addresses;
	ethernet->h_proto = ethertype;
	return 0;
}

static __always_inline int decapsulation(struct __sk_buff *skb, struct count *count, int *redirect)
{
	struct arriving arriving = {};
	struct inner inner = {};
	__be16 ethertype = 0;
	__u8 ecn;
	int wrong;

	if ((skb->pkt_type != PACKET_HOST &&
	     !(TUNNEL.mapping == MAPPING_6OVER4 && skb->pkt_type == PACKET_MULTICAST)) ||
	    skb->protocol != bpf_htons(TUNNEL.outer == 4 ? ETH_P_IP : ETH_P_IPV6))
		return OUTCOME_NOT_OURS;
	count->bytes = skb->len - ETH_HLEN;
	wrong = read_arriving(skb, &arriving, &ethertype);
	if (wrong)
		return unless_anothers(wrong);
	inner.at = ETH_HLEN + arriving.header_bytes;
	wrong = read_inner(skb, ethertype, &inner);
	if (wrong)
		return wrong;
	*count = wire_count(skb, &inner);
	if (inner.bytes > arriving.payload_bytes)
		return OUTCOME_INNER_LENGTH;
	wrong = check_addresses(skb, &inner, &arriving.source);
	if (wrong)
		return unless_anothers(wrong);
	ecn = decapsulated_ecn(inner.tos, arriving.tos);
	if (TUNNEL.copies_ecn && ecn == ECN_DROP)
		return OUTCOME_ECN_INVALID;
	wrong = unwrap(skb, &arriving, &inner, ethertype);
	if (wrong)
		return wrong;
	if (TUNNEL.copies_ecn && ecn != (inner.tos & ECN_MASK) && write_ecn(skb, &inner, ETH_HLEN, ecn))
		return OUTCOME_NO_ROOM;
	*redirect = bpf_redirect(TUNNEL.near_ifindex, BPF_F_INGRESS);
	return OUTCOME_DECAPSULATED;
}

SEC("classifier")
int decapsulate(struct __sk_buff *skb)
{
	struct count count = {.packets = 1};
	int redirect = TC_ACT_SHOT;
	int outcome = decapsulation(skb, &count, &redirect);

	return finish(count, outcome, redirect);
}

#endif
