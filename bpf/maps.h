/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What programs and user space share. */
#ifndef SIXBENCH_MAPS_H
#define SIXBENCH_MAPS_H

#include <linux/bpf.h>
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

static __always_inline struct state *state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&STATE, &zero);
}

#endif
