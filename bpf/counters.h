/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The one way out of every program. */
#ifndef SIXBENCH_COUNTERS_H
#define SIXBENCH_COUNTERS_H

#include <linux/pkt_cls.h>

#include "maps.h"
#include "packet.h"

enum verdict { PASS, DONE, SLOW, DROP };

static __always_inline enum verdict verdict_of(int outcome)
{
#define OUTCOME_CASE(name, reason, verdict, words)                                                                     \
	case OUTCOME_##name:                                                                                           \
		return verdict;
	switch (outcome) {
		OUTCOMES(OUTCOME_CASE)
	}
#undef OUTCOME_CASE
	return DROP;
}

/* The packet as it will be on the wire: a segment counts as what it will be cut into. */
static __always_inline struct count wire_count(struct __sk_buff *skb, const struct inner *inner)
{
	struct count count = {.packets = 1, .bytes = inner->bytes};
	__u32 size = skb->gso_size;
	__u32 header_bytes;

	if (!size)
		return count;
	header_bytes = segment_header_bytes(skb, inner);
	if (header_bytes && inner->bytes > header_bytes) {
		count.packets = (inner->bytes - header_bytes + size - 1) / size;
		count.bytes += (count.packets - 1) * header_bytes;
	}
	return count;
}

/* Counts the packet and returns what the kernel is to do with it. `redirect` is for a packet that is DONE. */
static __always_inline int finish(struct count packet, int outcome, int redirect)
{
	__u32 key = outcome;
	struct count *count;

	if (outcome == OUTCOME_NOT_OURS)
		return TC_ACT_UNSPEC;
	count = bpf_map_lookup_elem(&COUNTS, &key);
	if (count) {
		count->packets += packet.packets;
		count->bytes += packet.bytes;
	}
	switch (verdict_of(outcome)) {
	case DONE:
		return redirect;
	case PASS:
	case SLOW:
		return TC_ACT_UNSPEC;
	default:
		return TC_ACT_SHOT;
	}
}

#endif
