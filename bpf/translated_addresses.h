/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The addresses of one family for those of the other: RFC 6052, RFC 7757. */
#ifndef SIXBENCH_TRANSLATED_ADDRESSES_H
#define SIXBENCH_TRANSLATED_ADDRESSES_H

#include <stdbool.h>
#include <bpf/bpf_endian.h>

#include "translator.h"

/* Neither in 0/8, 127/8, 169.254/16 nor in 224/4 and all above it, nor one that the slow path has to look at. */
static __always_inline bool is_host4(__be32 address)
{
	struct key4 key = {.bits = 32, .address = address};
	__u32 host = bpf_ntohl(address);
	__u8 first = host >> 24;

	if (first == 0 || first == 127 || first >= 224 || host >> 16 == 0xa9fe)
		return false;
	return !TRANSLATOR.has_doubtful || !bpf_map_lookup_elem(&DOUBTFUL4, &key);
}

/* Neither multicast nor link-local, nor :: or ::1. */
static __always_inline bool is_host6(const struct address *address)
{
	__u32 first = bpf_ntohl(address->word[0]);

	if (first >> 24 == 0xff || first >> 22 == 0xfe80 >> 6)
		return false;
	return address->word[0] | address->word[1] | address->word[2] | (bpf_ntohl(address->word[3]) > 1);
}

static __always_inline void embed(const volatile struct embedding *embedding, __be32 ipv4, struct address *ipv6)
{
	const __u8 *octets = (const __u8 *)&ipv4;
	__u8 *into = (__u8 *)ipv6;

#pragma unroll
	for (int i = 0; i < 4; i++)
		ipv6->word[i] = embedding->prefix.word[i];
#pragma unroll
	for (int i = 0; i < 4; i++)
		into[embedding->place[i] & 15] = octets[i];
}

/* The numbers of RFC 7757 section 3.3: suffixes of either family in the host's order. */
static __always_inline void add_suffix(struct address *ipv6, __u64 suffix, __u32 spare_bits)
{
	__u64 high = 0, low = 0;

	if (spare_bits >= 64) {
		high = suffix << (spare_bits & 63);
	} else {
		low = suffix << spare_bits;
		high = spare_bits ? suffix >> (64 - spare_bits) : 0;
	}
	ipv6->word[0] |= bpf_htonl(high >> 32);
	ipv6->word[1] |= bpf_htonl(high);
	ipv6->word[2] |= bpf_htonl(low >> 32);
	ipv6->word[3] |= bpf_htonl(low);
}

static __always_inline __u32 suffix_of(const struct address *address, const struct row *row)
{
	__u64 high = (__u64)bpf_ntohl(address->word[0] ^ row->ipv6.word[0]) << 32 |
		     bpf_ntohl(address->word[1] ^ row->ipv6.word[1]);
	__u64 low = (__u64)bpf_ntohl(address->word[2] ^ row->ipv6.word[2]) << 32 |
		    bpf_ntohl(address->word[3] ^ row->ipv6.word[3]);
	__u32 bits = row->spare_bits;

	if (bits >= 64)
		return high >> (bits & 63);
	return low >> bits | (bits ? high << (64 - bits) : 0);
}

static __always_inline bool to_ipv6(__be32 ipv4, struct address *ipv6)
{
	struct key4 key = {.bits = 32, .address = ipv4};
	struct row *row;

	if (!is_host4(ipv4))
		return false;
	row = TRANSLATOR.has_rows ? bpf_map_lookup_elem(&ROWS4, &key) : NULL;
	if (!row) {
		if (!TRANSLATOR.prefix_count)
			return false;
		embed(&TRANSLATOR.prefixes[0], ipv4, ipv6);
		return true;
	}
	*ipv6 = row->ipv6;
	add_suffix(ipv6, bpf_ntohl(ipv4 ^ row->ipv4), row->spare_bits);
	return true;
}

static __always_inline bool embedded(const volatile struct embedding *embedding, const struct address *ipv6,
				     __be32 *ipv4)
{
	const __u8 *from = (const __u8 *)ipv6;
	__u8 *octets = (__u8 *)ipv4;
	struct address again;

#pragma unroll
	for (int i = 0; i < 4; i++)
		octets[i] = from[embedding->place[i] & 15];
	embed(embedding, *ipv4, &again);
	return is_same(&again, ipv6);
}

static __always_inline bool to_ipv4(const struct address *ipv6, __be32 *ipv4)
{
	struct key6 key = {.bits = 128, .address = *ipv6};
	struct row *row;

	if (!is_host6(ipv6))
		return false;
	row = TRANSLATOR.has_rows ? bpf_map_lookup_elem(&ROWS6, &key) : NULL;
	if (row) {
		*ipv4 = row->ipv4 | bpf_htonl(suffix_of(ipv6, row));
		return is_host4(*ipv4);
	}
#pragma unroll
	for (int i = 0; i < MAX_PREFIXES; i++) {
		if (i < (int)TRANSLATOR.prefix_count && embedded(&TRANSLATOR.prefixes[i], ipv6, ipv4))
			return is_host4(*ipv4);
	}
	return false;
}

#endif
