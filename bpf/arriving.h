/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reading outer headers. */
#ifndef SIXBENCH_ARRIVING_H
#define SIXBENCH_ARRIVING_H

#include "addresses.h"
#include "mapping.h"
#include "maps.h"
#include "outer.h"

/* What the outer header says. */
struct arriving {
	struct address source;
	__u32 header_bytes;  /* all of the outer headers */
	__u32 payload_bytes; /* after them */
	__u8 tos;
};

/* What to do with a packet for this node's tunnel address that the tunnel has a reason to drop. */
static __always_inline int unless_anothers(int reason)
{
	struct state *shared;

	switch (reason) {
	case OUTCOME_SOURCE_NOT_PEER:
	case OUTCOME_GRE_KEY_MISMATCH:
	case OUTCOME_INNER_SOURCE_MISMATCH:
	case OUTCOME_INNER_SOURCE_OFF_LINK:
	case OUTCOME_INNER_DESTINATION_MISMATCH:
		shared = state();
		return shared && shared->is_shared ? OUTCOME_NOT_OURS : reason;
	}
	return reason;
}

static __always_inline bool is_for_us(__be32 destination)
{
	if (TUNNEL.mapping == MAPPING_6OVER4 && is_6over4_multicast(destination))
		return true;
	return destination == TUNNEL.local.word[0];
}

static __always_inline int read_outer_ipv4(struct __sk_buff *skb, struct arriving *arriving)
{
	__u32 available = skb->len - ETH_HLEN;
	const struct iphdr *header = bytes_at(skb, ETH_HLEN, sizeof(*header));
	__u32 bytes;

	if (!header)
		return OUTCOME_NOT_OURS;
	if (!is_for_us(header->daddr) || header->protocol != outer_protocol() || header->version != 4)
		return OUTCOME_NOT_OURS;
	arriving->source.word[0] = header->saddr;
	if (!is_peer(&arriving->source))
		return OUTCOME_SOURCE_NOT_PEER;
	if (header->frag_off & bpf_htons(IPV4_MORE | IPV4_OFFSET))
		return OUTCOME_OUTER_FRAGMENT;
	if (header->ihl != 5)
		return OUTCOME_OUTER_OPTIONS;
	bytes = !header->tot_len && skb->gso_size ? available : bpf_ntohs(header->tot_len);
	if (bytes > available || bytes < IPV4_HEADER_BYTES)
		return OUTCOME_OUTER_TRUNCATED;
	/* Over a header with its checksum, the sum's complement is zero. */
	if (ipv4_checksum(header))
		return OUTCOME_OUTER_CHECKSUM;
	arriving->tos = header->tos;
	arriving->header_bytes = IPV4_HEADER_BYTES;
	arriving->payload_bytes = bytes - IPV4_HEADER_BYTES;
	return 0;
}

static __always_inline int read_outer_ipv6(struct __sk_buff *skb, struct arriving *arriving)
{
	__u32 available = skb->len - ETH_HLEN;
	const struct ipv6hdr *header = bytes_at(skb, ETH_HLEN, sizeof(*header));
	__u32 bytes;
	__u8 next, extension[2];

	if (!header)
		return OUTCOME_NOT_OURS;
	if (!is_same((const struct address *)&header->daddr, &TUNNEL.local) || header->version != 6)
		return OUTCOME_NOT_OURS;
	next = header->nexthdr;
	arriving->header_bytes = IPV6_HEADER_BYTES;
	if (next == IPPROTO_DSTOPTS || next == IPPROTO_FRAGMENT) {
		if (bpf_skb_load_bytes(skb, ETH_HLEN + IPV6_HEADER_BYTES, extension, sizeof(extension)))
			return OUTCOME_NOT_OURS;
		if (extension[0] != outer_protocol())
			return OUTCOME_NOT_OURS;
		/* The tunnel encapsulation limit of RFC 2473 section 4.1.1 comes in a header of eight bytes. */
		if (next == IPPROTO_DSTOPTS)
			arriving->header_bytes += DESTINATION_OPTION_BYTES;
	} else if (next != outer_protocol()) {
		return OUTCOME_NOT_OURS;
	}
	__builtin_memcpy(&arriving->source, &header->saddr, sizeof(arriving->source));
	if (!is_peer(&arriving->source))
		return OUTCOME_SOURCE_NOT_PEER;
	if (next == IPPROTO_FRAGMENT)
		return OUTCOME_OUTER_FRAGMENT;
	if (next == IPPROTO_DSTOPTS && extension[1])
		return OUTCOME_OUTER_OPTIONS;
	bytes = IPV6_HEADER_BYTES + bpf_ntohs(header->payload_len);
	if (bytes > available || bytes < arriving->header_bytes)
		return OUTCOME_OUTER_TRUNCATED;
	arriving->tos = ipv6_traffic_class(header);
	arriving->payload_bytes = bytes - arriving->header_bytes;
	return 0;
}

/* RFC 2784 section 2, RFC 2890 section 2, RFC 7676. */
static __always_inline int read_gre(struct __sk_buff *skb, struct arriving *arriving, __be16 *ethertype)
{
	__u32 bytes = GRE_HEADER_BYTES + (TUNNEL.has_gre_key ? GRE_KEY_BYTES : 0);
	struct gre gre = {};
	__u16 flags;

	if (bytes > arriving->payload_bytes || bpf_skb_load_bytes(skb, ETH_HLEN + arriving->header_bytes, &gre, bytes))
		return OUTCOME_INNER_TRUNCATED;
	flags = bpf_ntohs(gre.flags);
	if (flags & GRE_MUST_BE_ZERO)
		return OUTCOME_GRE_FLAGS;
	if (flags & GRE_CHECKSUM)
		return OUTCOME_GRE_CHECKSUM_PRESENT;
	if (!(flags & GRE_KEY) != !TUNNEL.has_gre_key || (TUNNEL.has_gre_key && gre.key != TUNNEL.gre_key))
		return OUTCOME_GRE_KEY_MISMATCH;
	if (gre.type != bpf_htons(ETH_P_IPV6) && gre.type != bpf_htons(ETH_P_IP))
		return OUTCOME_GRE_PROTOCOL;
	*ethertype = gre.type;
	arriving->header_bytes += bytes;
	arriving->payload_bytes -= bytes;
	return 0;
}

/* Reads all outer headers. Returns why the packet is not to be decapsulated, or 0. */
static __always_inline int read_arriving(struct __sk_buff *skb, struct arriving *arriving, __be16 *ethertype)
{
	int wrong = TUNNEL.outer == 4 ? read_outer_ipv4(skb, arriving) : read_outer_ipv6(skb, arriving);

	if (wrong)
		return wrong;
	if (TUNNEL.payload == PAYLOAD_GRE)
		return read_gre(skb, arriving, ethertype);
	*ethertype = TUNNEL.payload == PAYLOAD_IPV6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	return 0;
}

#endif
