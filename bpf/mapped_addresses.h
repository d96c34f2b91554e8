/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The addresses of a MAP-T domain, by its rule: RFC 7597 sections 5 and 6, RFC 7599. */
#ifndef SIXBENCH_MAPPED_ADDRESSES_H
#define SIXBENCH_MAPPED_ADDRESSES_H

#include "translated_addresses.h"

#define RULE TRANSLATOR.rule

/* The port set that has the port. False: nobody has it. */
static __always_inline bool find_psid(__u32 port, __u32 *psid)
{
	*psid = port >> (RULE.psid_shift & 15) & RULE.psid_mask;
	return port >= RULE.lowest_port && (RULE.own_psid == ANY_PSID || *psid == RULE.own_psid);
}

/* The MAP IPv6 address of a customer edge. */
static __always_inline void mapped(__be32 ipv4, __u32 psid, struct address *ipv6)
{
	__u64 ea = (__u64)bpf_ntohl(ipv4 & ~RULE.ipv4_mask) << (RULE.embedded_bits & 31);
	__u32 host = bpf_ntohl(ipv4);

	if (RULE.embedded_bits)
		ea |= psid;
	ea <<= RULE.ea_shift & 63;
	ipv6->word[0] = RULE.ipv6.word[0] | bpf_htonl(ea >> 32);
	ipv6->word[1] = RULE.ipv6.word[1] | bpf_htonl(ea);
	ipv6->word[2] = bpf_htonl(host >> 16);
	ipv6->word[3] = bpf_htonl(host << 16 | psid);
}

static __always_inline bool by_rule_to_ipv6(__be32 ipv4, __be16 port, struct address *ipv6)
{
	__u32 psid;

	if (!is_host4(ipv4) || (ipv4 & RULE.ipv4_mask) != RULE.ipv4 || !find_psid(bpf_ntohs(port), &psid))
		return false;
	mapped(ipv4, psid, ipv6);
	return true;
}

static __always_inline bool by_rule_to_ipv4(const struct address *ipv6, __be16 port, __be32 *ipv4)
{
	__u32 psid;
	struct address again;

	*ipv4 = bpf_htonl(bpf_ntohl(ipv6->word[2]) << 16 | bpf_ntohl(ipv6->word[3]) >> 16);
	if ((*ipv4 & RULE.ipv4_mask) != RULE.ipv4 || !find_psid(bpf_ntohs(port), &psid))
		return false;
	mapped(*ipv4, psid, &again);
	return is_same(&again, ipv6);
}

#endif
