// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A translator (RFC 7915): the program on the egress of its device. It translates TCP, UDP and echoes that are whole,
 * have neither options nor extension headers, and fit the next link, and sends them there. All others go on into the
 * device, to the slow path in user space, which also says why.
 *
 * The node has taken one from the hop limit when it forwarded the packet into the device. It takes another one from
 * what comes out of the device, and so does the program. Linux 5.10.
 */
#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bytes.h"
#include "consts.h"
#include "found_route.h"
#include "mapped_addresses.h"

#define ICMPV6 58
/* RFC 792, RFC 4443 section 4. */
#define ICMP_ECHO_REPLY	    0
#define ICMP_ECHO_REQUEST   8
#define ICMPV6_ECHO_REQUEST 128
#define ICMPV6_ECHO_REPLY   129

/* What RFC 7915 section 5.1 lets be fragmented. */
#define SMALL_BYTES 1260

/* A packet that is translated here. */
struct translation {
	__u32 bytes;	     /* of the packet as it came */
	__u32 header_bytes;  /* of each of its segments */
	__u32 segment_bytes; /* of the longest packet that it will be cut into */
	__u32 checksum_at;   /* behind the IP header */
	__be32 source4, destination4;
	struct address source6, destination6;
	__be16 ports[2]; /* where a rule asks for them; of an echo, its identifier is both */
	__u8 protocol;	 /* TCP, UDP, or ICMP of the family that it comes from */
	__u8 type;	 /* of ICMP, in the other family */
	__u8 old_type;
	__u8 tos;
};

/* What a translation is routed by, and where to. */
struct way {
	struct address source, destination;
	__u32 bytes; /* of the longest packet that it will be cut into */
	__u8 tos;
	const struct found_route *found;
};

/* Echoes have an identifier in the place of ports: RFC 7597 section 8.2. */
static __always_inline void read_ports(const __be16 *header, struct translation *found)
{
	bool is_echo = found->type || found->old_type;

	found->ports[0] = header[is_echo ? 2 : 0];
	found->ports[1] = header[is_echo ? 2 : 1];
}

/* Reads what is behind the IP header. False: it is for the slow path. */
static __always_inline bool read_transport(struct __sk_buff *skb, __u32 ip_bytes, struct translation *found)
{
	/* The least that one of the protocols has. */
	const __u8 *header = bytes_at(skb, ETH_HLEN + ip_bytes, 8), *icmp = header;

	if (!header || found->bytes < ip_bytes + 8)
		return false;
	switch (found->protocol) {
	case IPPROTO_TCP:
		header = bytes_at(skb, ETH_HLEN + ip_bytes, 20);
		if (!header || found->bytes < ip_bytes + 20)
			return false;
		found->checksum_at = 16;
		found->header_bytes = ip_bytes + (header[12] >> 4) * 4;
		break;
	case IPPROTO_UDP:
		found->checksum_at = 6;
		if (skb->gso_size || !((const __be16 *)header)[3])
			return false;
		found->header_bytes = ip_bytes + 8;
		break;
	case IPPROTO_ICMP:
	case ICMPV6:
		found->checksum_at = 2;
		if (skb->gso_size || icmp[1])
			return false;
		found->old_type = icmp[0];
		if (found->protocol == IPPROTO_ICMP) {
			if (icmp[0] != ICMP_ECHO_REQUEST && icmp[0] != ICMP_ECHO_REPLY)
				return false;
			found->type = icmp[0] == ICMP_ECHO_REQUEST ? ICMPV6_ECHO_REQUEST : ICMPV6_ECHO_REPLY;
		} else {
			if (icmp[0] != ICMPV6_ECHO_REQUEST && icmp[0] != ICMPV6_ECHO_REPLY)
				return false;
			found->type = icmp[0] == ICMPV6_ECHO_REQUEST ? ICMP_ECHO_REQUEST : ICMP_ECHO_REPLY;
		}
		found->header_bytes = ip_bytes + 8;
		break;
	default:
		return false;
	}
	found->segment_bytes = skb->gso_size ? found->header_bytes + skb->gso_size : found->bytes;
	if (TRANSLATOR.has_rule)
		read_ports((const __be16 *)header, found);
	return true;
}

/* Each of the two ends is mapped by the rule, or embedded in a prefix or in the table. False: it is for the slow path.
 */
static __always_inline bool ends_to_ipv6(struct translation *found)
{
	if (TRANSLATOR.has_rule && RULE.is_edge)
		return by_rule_to_ipv6(found->source4, found->ports[0], &found->source6) &&
		       to_ipv6(found->destination4, &found->destination6);
	if (!to_ipv6(found->source4, &found->source6))
		return false;
	if (TRANSLATOR.has_rule)
		return by_rule_to_ipv6(found->destination4, found->ports[1], &found->destination6);
	return to_ipv6(found->destination4, &found->destination6);
}

static __always_inline bool ends_to_ipv4(struct translation *found)
{
	if (TRANSLATOR.has_rule && !RULE.is_edge)
		return by_rule_to_ipv4(&found->source6, found->ports[0], &found->source4) &&
		       to_ipv4(&found->destination6, &found->destination4);
	if (!to_ipv4(&found->source6, &found->source4))
		return false;
	if (TRANSLATOR.has_rule)
		return by_rule_to_ipv4(&found->destination6, found->ports[1], &found->destination4);
	return to_ipv4(&found->destination6, &found->destination4);
}

/* Looks up where the translation leaves the node. False: it is for the slow path. */
static __always_inline bool look_up_way(struct __sk_buff *skb, const struct way *way, bool is_to_ipv6,
					struct bpf_fib_lookup *lookup)
{
	lookup->ifindex = TRANSLATOR.ifindex;
	lookup->tot_len = way->bytes;
	if (is_to_ipv6) {
		lookup->family = AF_INET6;
		lookup->flowinfo = bpf_htonl(way->tos << 20);
		__builtin_memcpy(lookup->ipv6_src, &way->source, 16);
		__builtin_memcpy(lookup->ipv6_dst, &way->destination, 16);
	} else {
		lookup->family = AF_INET;
		lookup->tos = way->tos;
		lookup->ipv4_src = way->source.word[0];
		lookup->ipv4_dst = way->destination.word[0];
	}
	if (bpf_fib_lookup(skb, lookup, sizeof(*lookup), 0) != BPF_FIB_LKUP_RET_SUCCESS)
		return false;
	/* A device without a link layer, which would take the Ethernet header for a part of the packet. */
	return lookup->ifindex != TRANSLATOR.ifindex && (lookup->dmac[0] | lookup->dmac[1] | lookup->dmac[2] |
							 lookup->dmac[3] | lookup->dmac[4] | lookup->dmac[5]);
}

/* Where the translation leaves the node. False: it is for the slow path. */
static __always_inline bool find_way(struct __sk_buff *skb, struct way *way, bool is_to_ipv6)
{
	const struct route_query query = {
		.source = &way->source, .destination = &way->destination, .bytes = way->bytes, .tos = way->tos};
	struct found_route *found = last_route(is_to_ipv6);
	struct bpf_fib_lookup lookup = {};

	if (!found)
		return false;
	if (!is_known_route(found, &query)) {
		if (!look_up_way(skb, way, is_to_ipv6, &lookup))
			return false;
		remember_route(found, &query, &lookup);
	}
	way->found = found;
	return true;
}

/* The pseudo header of ICMPv6 is in its checksum, and ICMP has none: RFC 7915 sections 4.2 and 5.2. */
static __always_inline __s64 icmp_difference(const struct translation *found, bool is_to_ipv6)
{
	struct {
		struct address source, destination;
		__be32 bytes, protocol;
	} pseudo = {.source = found->source6, .destination = found->destination6};
	__be32 old_type = bpf_htonl(found->old_type << 24), new_type = bpf_htonl(found->type << 24);
	__s64 sum;

	pseudo.protocol = bpf_htonl(ICMPV6);
	if (is_to_ipv6) {
		pseudo.bytes = bpf_htonl(found->bytes - IPV4_HEADER_BYTES);
		sum = bpf_csum_diff(NULL, 0, (__be32 *)&pseudo, sizeof(pseudo), 0);
	} else {
		pseudo.bytes = bpf_htonl(found->bytes - IPV6_HEADER_BYTES);
		sum = bpf_csum_diff((__be32 *)&pseudo, sizeof(pseudo), NULL, 0, 0);
	}
	return bpf_csum_diff(&old_type, 4, &new_type, 4, sum);
}

static __always_inline __u64 sum_of(const struct address *address)
{
	return (__u64)address->word[0] + address->word[1] + address->word[2] + address->word[3];
}

/* What to add to a checksum (RFC 1624) over words whose sum was one and is the other, of at most 16 words. */
static __always_inline __u32 difference_of(__u64 before, __u64 after)
{
	__u64 sum;

	/* ones' complement: minus a number of 32 bits is its complement */
	before = (before & 0xffffffff) + (before >> 32);
	before = (before & 0xffffffff) + (before >> 32);
	sum = after + (~before & 0xffffffff);
	sum = (sum & 0xffffffff) + (sum >> 32);
	return (sum & 0xffffffff) + (sum >> 32);
}

static __always_inline bool update_transport(struct __sk_buff *skb, __u32 at, const struct translation *found,
					     bool is_to_ipv6)
{
	__u64 flags = BPF_F_PSEUDO_HDR;
	__u64 sum4, sum6;
	__s64 difference;

	if (found->type || found->old_type) {
		difference = icmp_difference(found, is_to_ipv6);
		return !bpf_l4_csum_replace(skb, at + found->checksum_at, 0, difference, 0) &&
		       !bpf_skb_store_bytes(skb, at, &found->type, 1, 0);
	}
	if (found->protocol == IPPROTO_UDP)
		flags |= BPF_F_MARK_MANGLED_0;
	sum4 = (__u64)found->source4 + found->destination4;
	sum6 = sum_of(&found->source6) + sum_of(&found->destination6);
	difference = is_to_ipv6 ? difference_of(sum4, sum6) : difference_of(sum6, sum4);
	return !bpf_l4_csum_replace(skb, at + found->checksum_at, 0, difference, flags);
}

static __always_inline void count(enum translated what, const struct translation *found, __u32 gso_size)
{
	struct count *count;
	__u32 key = what;
	__u64 packets = 1;

	count = bpf_map_lookup_elem(&TRANSLATED, &key);
	if (!count)
		return;
	if (gso_size && found->bytes > found->header_bytes)
		packets = (found->bytes - found->header_bytes + gso_size - 1) / gso_size;
	count->packets += packets;
	count->bytes += found->bytes + (packets - 1) * found->header_bytes;
}

/* Gives the packet its Ethernet header and sends it. */
static __always_inline int send(struct ethhdr *header, const struct found_route *way, __be16 ethertype)
{
	*(struct ethernet_addresses *)header = way->ethernet;
	header->h_proto = ethertype;
	return bpf_redirect(way->ifindex, 0);
}

/* Lets the IPv4 packet come in at the device. */
static __always_inline int come_in(struct ethhdr *header)
{
	*(struct ethernet_addresses *)header = addresses_to(TRANSLATOR.mac);
	header->h_proto = bpf_htons(ETH_P_IP);
	return bpf_redirect(TRANSLATOR.ifindex, BPF_F_INGRESS);
}

/*
 * Whether what was IPv6 comes back at once: its IPv4 destination stands for a host of the table, which was not named by
 * its own address, or for a customer edge of MAP. RFC 7757 section 4.2.2.
 */
static __always_inline bool comes_back(const struct translation *found)
{
	struct key6 key6 = {.bits = 128, .address = found->destination6};
	struct key4 key4 = {.bits = 32, .address = found->destination4};

	if (TRANSLATOR.has_rule)
		return TRANSLATOR.hairpin && (found->destination4 & TRANSLATOR.rule.ipv4_mask) == TRANSLATOR.rule.ipv4;
	return TRANSLATOR.hairpin && TRANSLATOR.has_rows && TRANSLATOR.prefix_count &&
	       !bpf_map_lookup_elem(&ROWS6, &key6) && bpf_map_lookup_elem(&ROWS4, &key4);
}

/* Sends the packet to the host for which its destination stands, from the address at which its source is answered. */
static __always_inline int turn_back(struct __sk_buff *skb, struct translation *found, struct ipv6hdr *ipv6)
{
	struct address before[2] = {found->source6, found->destination6}, after[2];
	struct way way = {.bytes = found->segment_bytes, .tos = found->tos};
	__u64 flags = BPF_F_PSEUDO_HDR;
	__u32 gso_size = skb->gso_size;
	__s64 difference;
	void *frame;

	embed(&TRANSLATOR.prefixes[0], found->source4, &after[0]);
	if (way.bytes > TRANSLATOR.mtu6 || !to_ipv6(found->destination4, &after[1]))
		return TC_ACT_UNSPEC;
	way.source = after[0];
	way.destination = after[1];
	if (!find_way(skb, &way, true))
		return TC_ACT_UNSPEC;
	ipv6->flow_lbl[0] &= 0xf0;
	ipv6->flow_lbl[1] = ipv6->flow_lbl[2] = 0;
	ipv6->hop_limit--;
	__builtin_memcpy(&ipv6->saddr, &after[0], 16);
	__builtin_memcpy(&ipv6->daddr, &after[1], 16);
	if (found->protocol == IPPROTO_UDP)
		flags |= BPF_F_MARK_MANGLED_0;
	difference = bpf_csum_diff((__be32 *)before, sizeof(before), (__be32 *)after, sizeof(after), 0);
	if (bpf_l4_csum_replace(skb, ETH_HLEN + IPV6_HEADER_BYTES + found->checksum_at, 0, difference, flags) ||
	    !(frame = bytes_at(skb, 0, ETH_HLEN + IPV6_HEADER_BYTES))) {
		count(TRANSLATED_NO_ROOM, found, gso_size);
		return TC_ACT_SHOT;
	}
	*(struct ipv6hdr *)(frame + ETH_HLEN) = *ipv6;
	count(TRANSLATED_TO_IPV4, found, gso_size);
	return send(frame, way.found, bpf_htons(ETH_P_IPV6));
}

static __always_inline int from_ipv6(struct __sk_buff *skb)
{
	struct translation found = {};
	struct way way = {};
	const struct ipv6hdr *header = bytes_at(skb, ETH_HLEN, sizeof(*header));
	struct ipv6hdr ipv6;
	struct iphdr ipv4 = {.version = 4, .ihl = 5};
	__u32 gso_size = skb->gso_size;
	__u32 at = ETH_HLEN;
	__u32 total;
	void *frame;

	if (!header || header->version != 6)
		return TC_ACT_UNSPEC;
	ipv6 = *header;
	found.bytes = IPV6_HEADER_BYTES + bpf_ntohs(ipv6.payload_len);
	if (found.bytes != skb->len - at || ipv6.hop_limit <= 1 || ipv6.nexthdr == IPPROTO_ICMP)
		return TC_ACT_UNSPEC;
	found.protocol = ipv6.nexthdr;
	found.tos = ipv6.priority << 4 | ipv6.flow_lbl[0] >> 4;
	__builtin_memcpy(&found.source6, &ipv6.saddr, 16);
	__builtin_memcpy(&found.destination6, &ipv6.daddr, 16);
	if (!read_transport(skb, IPV6_HEADER_BYTES, &found) || !ends_to_ipv4(&found))
		return TC_ACT_UNSPEC;
	if (comes_back(&found)) /* By a rule, the slow path has it. */
		return TRANSLATOR.has_rule ? TC_ACT_UNSPEC : turn_back(skb, &found, &ipv6);
	total = found.segment_bytes - 20;
	way.source.word[0] = found.source4;
	way.destination.word[0] = found.destination4;
	way.bytes = total;
	way.tos = found.tos;
	if (total > TRANSLATOR.mtu4 || (!TRANSLATOR.through_node && !find_way(skb, &way, false)))
		return TC_ACT_UNSPEC;
	ipv4.tos = found.tos;
	ipv4.tot_len = bpf_htons(found.bytes - 20);
	if (total > SMALL_BYTES)
		ipv4.frag_off = bpf_htons(IPV4_DONT_FRAGMENT); /* Its identification says nothing: RFC 6864. */
	else
		ipv4.id = bpf_get_prandom_u32();
	ipv4.ttl = ipv6.hop_limit - !TRANSLATOR.through_node; /* The node forwards it then. */
	ipv4.protocol = found.protocol == ICMPV6 ? IPPROTO_ICMP : found.protocol;
	ipv4.saddr = found.source4;
	ipv4.daddr = found.destination4;
	ipv4.check = ipv4_checksum(&ipv4);
	if (!update_transport(skb, at + IPV6_HEADER_BYTES, &found, false) ||
	    bpf_skb_change_proto(skb, bpf_htons(ETH_P_IP), 0) ||
	    !(frame = bytes_at(skb, 0, ETH_HLEN + IPV4_HEADER_BYTES))) {
		count(TRANSLATED_NO_ROOM, &found, gso_size);
		return TC_ACT_SHOT;
	}
	*(struct iphdr *)(frame + ETH_HLEN) = ipv4;
	count(TRANSLATED_TO_IPV4, &found, gso_size);
	return TRANSLATOR.through_node ? come_in(frame) : send(frame, way.found, bpf_htons(ETH_P_IP));
}

static __always_inline int from_ipv4(struct __sk_buff *skb)
{
	struct translation found = {};
	struct way way = {};
	struct ipv6hdr ipv6 = {.version = 6};
	const struct iphdr *header = bytes_at(skb, ETH_HLEN, sizeof(*header));
	struct iphdr ipv4;
	__u32 gso_size = skb->gso_size;
	__u32 at = ETH_HLEN;
	__u32 fragment, most;
	void *frame;

	if (!header || header->version != 4 || header->ihl != 5 || ipv4_checksum(header))
		return TC_ACT_UNSPEC;
	ipv4 = *header;
	fragment = bpf_ntohs(ipv4.frag_off);
	found.bytes = bpf_ntohs(ipv4.tot_len);
	if (fragment & (IPV4_MORE | IPV4_OFFSET) || found.bytes != skb->len - at || ipv4.ttl <= 1 ||
	    ipv4.protocol == ICMPV6)
		return TC_ACT_UNSPEC;
	found.protocol = ipv4.protocol;
	found.tos = ipv4.tos;
	found.source4 = ipv4.saddr;
	found.destination4 = ipv4.daddr;
	if (!read_transport(skb, IPV4_HEADER_BYTES, &found) || !ends_to_ipv6(&found))
		return TC_ACT_UNSPEC;
	most = TRANSLATOR.mtu6;
	if (!(fragment & IPV4_DONT_FRAGMENT) && TRANSLATOR.lowest_ipv6_mtu < most)
		most = TRANSLATOR.lowest_ipv6_mtu;
	way.source = found.source6;
	way.destination = found.destination6;
	way.bytes = found.segment_bytes + 20;
	way.tos = found.tos;
	if (way.bytes > most || !find_way(skb, &way, true))
		return TC_ACT_UNSPEC;
	ipv6.priority = found.tos >> 4;
	ipv6.flow_lbl[0] = found.tos << 4;
	ipv6.payload_len = bpf_htons(found.bytes - IPV4_HEADER_BYTES);
	ipv6.nexthdr = found.protocol == IPPROTO_ICMP ? ICMPV6 : found.protocol;
	ipv6.hop_limit = ipv4.ttl - 1;
	__builtin_memcpy(&ipv6.saddr, &found.source6, 16);
	__builtin_memcpy(&ipv6.daddr, &found.destination6, 16);
	if (!update_transport(skb, at + IPV4_HEADER_BYTES, &found, true) ||
	    bpf_skb_change_proto(skb, bpf_htons(ETH_P_IPV6), 0) ||
	    !(frame = bytes_at(skb, 0, ETH_HLEN + IPV6_HEADER_BYTES))) {
		count(TRANSLATED_NO_ROOM, &found, gso_size);
		return TC_ACT_SHOT;
	}
	*(struct ipv6hdr *)(frame + ETH_HLEN) = ipv6;
	count(TRANSLATED_TO_IPV6, &found, gso_size);
	return send(frame, way.found, bpf_htons(ETH_P_IPV6));
}

SEC("classifier")
int translate(struct __sk_buff *skb)
{
	if (TRANSLATOR.is_left_over)
		return TC_ACT_UNSPEC;
	if (skb->protocol == bpf_htons(ETH_P_IPV6))
		return from_ipv6(skb);
	if (skb->protocol == bpf_htons(ETH_P_IP))
		return from_ipv4(skb);
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
