/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reading inner packets. */
#ifndef SIXBENCH_PACKET_H
#define SIXBENCH_PACKET_H

#include <linux/bpf.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#include "bytes.h"
#include "consts.h"
#include "outcomes.h"
#include "structs.h"

/* An inner packet's header. */
struct inner {
	__u32 at;    /* where it begins in the packet */
	__u32 bytes; /* the whole packet, by its own length field */
	__u32 header_bytes;
	struct address source;
	struct address destination;
	__u16 fragment; /* IPv4's field, in the host's order */
	__u8 version;
	__u8 tos; /* or traffic class: DSCP and ECN */
	__u8 hop_limit;
	__u8 protocol; /* of what follows the header */
};

/* The traffic class is the second and third half octet: RFC 8200 section 3. */
static __always_inline __u8 ipv6_traffic_class(const struct ipv6hdr *header)
{
	return header->priority << 4 | header->flow_lbl[0] >> 4;
}

static __always_inline int read_ipv6(struct __sk_buff *skb, struct inner *inner)
{
	const struct ipv6hdr *header = bytes_at(skb, inner->at, sizeof(*header));

	if (!header)
		return OUTCOME_INNER_TRUNCATED;
	if (header->version != 6)
		return OUTCOME_INNER_VERSION;
	inner->version = 6;
	inner->header_bytes = IPV6_HEADER_BYTES;
	inner->bytes = IPV6_HEADER_BYTES + bpf_ntohs(header->payload_len);
	/* A segment longer than the field (Linux 5.19). */
	if (!header->payload_len && skb->gso_size)
		inner->bytes = skb->len - inner->at;
	__builtin_memcpy(&inner->source, &header->saddr, sizeof(inner->source));
	__builtin_memcpy(&inner->destination, &header->daddr, sizeof(inner->destination));
	inner->tos = ipv6_traffic_class(header);
	inner->hop_limit = header->hop_limit;
	inner->protocol = header->nexthdr;
	inner->fragment = IPV4_DONT_FRAGMENT;
	return 0;
}

static __always_inline int read_ipv4(struct __sk_buff *skb, struct inner *inner)
{
	const struct iphdr *header = bytes_at(skb, inner->at, sizeof(*header));

	if (!header)
		return OUTCOME_INNER_TRUNCATED;
	if (header->version != 4 || header->ihl < 5)
		return OUTCOME_INNER_VERSION;
	inner->version = 4;
	inner->header_bytes = header->ihl * 4;
	inner->bytes = bpf_ntohs(header->tot_len);
	/* A segment longer than the field (Linux 6.3). */
	if (!header->tot_len && skb->gso_size)
		inner->bytes = skb->len - inner->at;
	if (inner->bytes < inner->header_bytes)
		return OUTCOME_INNER_LENGTH;
	inner->source.word[0] = header->saddr;
	inner->destination.word[0] = header->daddr;
	inner->tos = header->tos;
	inner->hop_limit = header->ttl;
	inner->protocol = header->protocol;
	inner->fragment = bpf_ntohs(header->frag_off);
	return 0;
}

/* Reads the packet of that EtherType at inner->at. Returns what is wrong with it, or 0. */
static __always_inline int read_inner(struct __sk_buff *skb, __be16 ethertype, struct inner *inner)
{
	int wrong = ethertype == bpf_htons(ETH_P_IPV6) ? read_ipv6(skb, inner) : read_ipv4(skb, inner);

	/* What is longer than its length field says is padding: RFC 4213 section 3.6. The kernel trims it. */
	if (!wrong && inner->bytes > skb->len - inner->at)
		return OUTCOME_INNER_LENGTH;
	return wrong;
}

/* The headers that every segment of the packet begins with; 0 where the protocol is not one that is segmented. */
static __always_inline __u32 segment_header_bytes(struct __sk_buff *skb, const struct inner *inner)
{
	__u8 offset;

	if (inner->protocol == IPPROTO_UDP)
		return inner->header_bytes + UDP_HEADER_BYTES;
	if (inner->protocol != IPPROTO_TCP || bpf_skb_load_bytes(skb, inner->at + inner->header_bytes + 12, &offset, 1))
		return 0;
	return inner->header_bytes + (offset >> 4) * 4;
}

#endif
