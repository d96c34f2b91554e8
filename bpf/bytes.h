/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A packet's bytes where they are, and IPv4's sum over them. */
#ifndef SIXBENCH_BYTES_H
#define SIXBENCH_BYTES_H

#include <stddef.h>
#include <linux/bpf.h>
#include <linux/ip.h>
#include <bpf/bpf_helpers.h>

#include "consts.h"

/* Has the compiler keep a pointer in a register. It might compute it anew, in a way that the verifier does not follow.
 */
#define KEEP(pointer) asm volatile("" : "+r"(pointer))

/*
 * Where so many bytes from `at` on are, one after the other. NULL: the packet is shorter. The pointer is good until a
 * helper changes the packet. Helpers that copy bytes take longer.
 */
static __always_inline void *bytes_at(struct __sk_buff *skb, __u32 at, __u32 bytes)
{
	void *found = (void *)(long)skb->data + at;

	KEEP(found);
	if (found + bytes <= (void *)(long)skb->data_end)
		return found;
	if (bpf_skb_pull_data(skb, at + bytes))
		return NULL;
	found = (void *)(long)skb->data + at;
	KEEP(found);
	return found + bytes <= (void *)(long)skb->data_end ? found : NULL;
}

/* RFC 791 section 3.1, for a header without options whose checksum is zero. */
static __always_inline __sum16 ipv4_checksum(const struct iphdr *header)
{
	const __u16 *words = (const void *)header;
	__u32 sum = 0;

#pragma unroll
	for (int i = 0; i < IPV4_HEADER_BYTES / 2; i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

#endif
