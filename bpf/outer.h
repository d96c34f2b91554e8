/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writing outer headers. */
#ifndef SIXBENCH_OUTER_H
#define SIXBENCH_OUTER_H

#include "bytes.h"
#include "found_route.h"
#include "maps.h"
#include "packet.h"

/* What the outer header will say. */
struct outer {
	struct address destination;
	__u32 bytes;	  /* of the outer packet, before it is cut into segments */
	__u32 wire_bytes; /* of the longest packet that it will be on the wire */
	__u32 packets;	  /* that it will be on the wire */
	__u8 tos;
	__u8 ttl;
	__u8 dont_fragment;
};

/* Where outer packets leave the node. */
struct route {
	__u32 ifindex;
	struct bpf_redir_neigh next_hop;	   /* for the kernel to write the Ethernet header */
	const struct ethernet_addresses *ethernet; /* or that header's two addresses */
};

struct gre {
	__be16 flags;
	__be16 type;
	__be32 key;
};

static __always_inline __u8 outer_protocol(void)
{
	if (TUNNEL.payload == PAYLOAD_GRE)
		return IPPROTO_GRE;
	return TUNNEL.payload == PAYLOAD_IPV6 ? IPPROTO_IPV6 : IPPROTO_IPIP;
}

static __always_inline __u32 gre_bytes(void)
{
	if (TUNNEL.payload != PAYLOAD_GRE)
		return 0;
	return GRE_HEADER_BYTES + (TUNNEL.has_gre_key ? GRE_KEY_BYTES : 0);
}

static __always_inline void write_gre(struct gre *gre, const struct inner *inner)
{
	gre->flags = TUNNEL.has_gre_key ? bpf_htons(GRE_KEY) : 0;
	gre->type = inner->version == 6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	if (TUNNEL.has_gre_key)
		gre->key = TUNNEL.gre_key;
}

/* Every packet that may be fragmented has an identification of its own: RFC 6864 section 4.2. Segments take the
 * following ones. */
static __always_inline __be16 next_identification(const struct outer *outer)
{
	struct state *shared = state();
	__u32 identification;

	if (outer->dont_fragment || !shared)
		return 0;
#ifdef NO_FETCH_AND_ADD
	bpf_spin_lock(&shared->lock);
	identification = shared->identification;
	shared->identification += outer->packets;
	bpf_spin_unlock(&shared->lock);
#else
	identification = __sync_fetch_and_add(&shared->identification, outer->packets);
#endif
	return bpf_htons(identification);
}

/* Writes the Ethernet header where the route has its addresses. */
static __always_inline void write_ethernet(struct ethhdr *ethernet, const struct route *route)
{
	if (!route->ethernet)
		return;
	*(struct ethernet_addresses *)ethernet = *route->ethernet;
	ethernet->h_proto = bpf_htons(TUNNEL.outer == 4 ? ETH_P_IP : ETH_P_IPV6);
}

static __always_inline int write_ipv4(struct __sk_buff *skb, const struct inner *inner, const struct outer *outer,
				      const struct route *route)
{
	struct iphdr header = {
		.version = 4,
		.ihl = 5,
		.tos = outer->tos,
		/* 0 where a segment is too long to say: Linux's BIG TCP for IPv4 (6.3). */
		.tot_len = outer->bytes > 0xffff ? 0 : bpf_htons(outer->bytes),
		.id = next_identification(outer),
		.frag_off = outer->dont_fragment ? bpf_htons(IPV4_DONT_FRAGMENT) : 0,
		.ttl = outer->ttl,
		.protocol = outer_protocol(),
		.saddr = TUNNEL.local.word[0],
		.daddr = outer->destination.word[0],
	};
	void *frame = bytes_at(skb, 0, ETH_HLEN + IPV4_HEADER_BYTES + gre_bytes());

	if (!frame)
		return OUTCOME_NO_ROOM;
	header.check = ipv4_checksum(&header);
	write_ethernet(frame, route);
	*(struct iphdr *)(frame + ETH_HLEN) = header;
	if (TUNNEL.payload == PAYLOAD_GRE)
		write_gre(frame + ETH_HLEN + IPV4_HEADER_BYTES, inner);
	return 0;
}

static __always_inline int write_ipv6(struct __sk_buff *skb, const struct inner *inner, const struct outer *outer,
				      const struct route *route)
{
	void *frame = bytes_at(skb, 0, ETH_HLEN + IPV6_HEADER_BYTES + gre_bytes());
	struct ipv6hdr *header = frame + ETH_HLEN;

	if (!frame)
		return OUTCOME_NO_ROOM;
	write_ethernet(frame, route);
	/* Version and traffic class; no flow label. */
	*(__be32 *)header = bpf_htonl(6 << 28 | outer->tos << 20);
	header->payload_len = bpf_htons(outer->bytes - IPV6_HEADER_BYTES);
	header->nexthdr = outer_protocol();
	header->hop_limit = outer->ttl;
	copy_address(&header->saddr, &TUNNEL.local);
	copy_address(&header->daddr, &outer->destination);
	if (TUNNEL.payload == PAYLOAD_GRE)
		write_gre((void *)(header + 1), inner);
	return 0;
}

/* Whether the device's Ethernet header has a group as destination. */
static __always_inline bool is_for_group(const struct inner *inner)
{
	if (inner->version == 6)
		return is_ipv6_multicast(&inner->destination);
	return bpf_ntohl(inner->destination.word[0]) >= 0xe0000000;
}

/* Makes room before the inner packet and writes the outer headers there. Returns why it could not, or 0. */
static __always_inline int write_outer(struct __sk_buff *skb, const struct inner *inner, const struct outer *outer,
				       const struct route *route)
{
	/* The inner packet fits the device's MTU, so its segments have the right size already. */
	__u64 flags = BPF_F_ADJ_ROOM_FIXED_GSO;
	__u8 no_mac[ETH_ALEN] = {};

	flags |= TUNNEL.outer == 4 ? BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 : BPF_F_ADJ_ROOM_ENCAP_L3_IPV6;
	if (TUNNEL.payload == PAYLOAD_GRE)
		flags |= BPF_F_ADJ_ROOM_ENCAP_L4_GRE;
	/*
	 * Refused: a packet that is encapsulated already (the kernel has two levels of headers for segmentation, and
	 * remembers the second one after decapsulation too), or a kind of segment that the helper does not know.
	 */
	if (bpf_skb_adjust_room(skb, TUNNEL.overhead_bytes, BPF_ADJ_ROOM_MAC, flags))
		return OUTCOME_KERNEL_REFUSED;
	/* bpf_redirect_neigh takes no packet for an Ethernet group, and writes an address of its own. */
	if (!route->ethernet && (TUNNEL.mapping == MAPPING_6OVER4 || is_for_group(inner)) &&
	    bpf_skb_store_bytes(skb, 0, no_mac, sizeof(no_mac), 0))
		return OUTCOME_NO_ROOM;
	return TUNNEL.outer == 4 ? write_ipv4(skb, inner, outer, route) : write_ipv6(skb, inner, outer, route);
}

#endif
