/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What programs and user space share. */
#ifndef SIXBENCH_MAPS_H
#define SIXBENCH_MAPS_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_helpers.h>

#include "outcomes.h"
#include "structs.h"

/*
 * Written before loading, then frozen. Volatile, since the compiler would otherwise take the zeros here for its values;
 * so it is never to be cast to what is not.
 */
const volatile struct tunnel TUNNEL = {};

/* Whether bpf_skb_adjust_room can be told what the packet is after the outer header has gone: Linux 6.3. */
const volatile __u32 HAS_DECAP_FLAGS = 0;

static __always_inline void copy_address(void *to, const volatile struct address *from)
{
	struct address *address = to;

#pragma unroll
	for (int i = 0; i < 4; i++)
		address->word[i] = from->word[i];
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OUTCOME_COUNT);
	__type(key, __u32);
	__type(value, struct count);
} COUNTS SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct state);
} STATE SEC(".maps");

/* Where the last packet went, on this processor: true for the tick in which that was looked up. User space has no part
 * in it. */
struct found_route {
	__u64 tick; /* of the kernel's clock (HZ); 0: none */
	struct address destination;
	__u32 wire_bytes; /* of the longest packet that was let through */
	__u32 ifindex;
	__u8 tos;
	__u8 ethernet[2 * ETH_ALEN]; /* destination and source */
	__u8 padding[3];
};
ASSERT_SIZE(struct found_route, 48);

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct found_route);
} ROUTE SEC(".maps");

static __always_inline struct found_route *last_route(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&ROUTE, &zero);
}

static __always_inline struct state *state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&STATE, &zero);
}

#endif
