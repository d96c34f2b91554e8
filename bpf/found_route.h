/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the last packet went, on this processor: true for the tick of the kernel's clock in which that was looked up (1
 * to 10 ms). As long, a packet may take a route that has changed meanwhile, as one in a queue does. User space has no
 * part in it.
 */
#ifndef SIXBENCH_FOUND_ROUTE_H
#define SIXBENCH_FOUND_ROUTE_H

#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_helpers.h>

#include "structs.h"

/* What a route is looked up by. */
struct route_query {
	const struct address *source; /* NULL: all packets of the program have the same one */
	const struct address *destination;
	__u32 bytes; /* of the longest packet */
	__u8 tos;
};

/* An Ethernet header's two addresses, in pieces that may be read and written as they are. */
struct ethernet_addresses {
	__u32 to;
	__u16 to_rest, from;
	__u32 from_rest;
};
ASSERT_SIZE(struct ethernet_addresses, 2 * ETH_ALEN);

/* Those of a frame to the address, from none. It is that of a device, and begins at a multiple of 4. */
static __always_inline struct ethernet_addresses addresses_to(const volatile __u8 *mac)
{
	return (struct ethernet_addresses){.to = *(const volatile __u32 *)mac,
					   .to_rest = *(const volatile __u16 *)(mac + 4)};
}

struct found_route {
	__u64 tick; /* 0: none */
	struct address source, destination;
	__u32 bytes; /* of the longest packet that was let through */
	__u32 ifindex;
	struct ethernet_addresses ethernet; /* destination and source */
	__u8 tos;
	__u8 padding[3];
};
ASSERT_SIZE(struct found_route, 64);

/* A translator has one for each family that it sends. A tunnel has one for what it sends, and one for what it asks of
 * a source. */
enum { ROUTE_OUT, ROUTE_BACK };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct found_route);
} ROUTES SEC(".maps");

static __always_inline struct found_route *last_route(__u32 key)
{
	return bpf_map_lookup_elem(&ROUTES, &key);
}

static __always_inline bool is_known_route(const struct found_route *found, const struct route_query *query)
{
	return found->tick == bpf_jiffies64() && query->bytes <= found->bytes && query->tos == found->tos &&
	       (!query->source || is_same(query->source, &found->source)) &&
	       is_same(query->destination, &found->destination);
}

static __always_inline void remember_route(struct found_route *found, const struct route_query *query,
					   const struct bpf_fib_lookup *lookup)
{
	found->tick = bpf_jiffies64();
	if (query->source)
		found->source = *query->source;
	found->destination = *query->destination;
	found->bytes = query->bytes;
	found->tos = query->tos;
	found->ifindex = lookup->ifindex;
	__builtin_memcpy(&found->ethernet, lookup->dmac, ETH_ALEN);
	__builtin_memcpy((__u8 *)&found->ethernet + ETH_ALEN, lookup->smac, ETH_ALEN);
}

#endif
