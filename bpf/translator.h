/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a translator's program and user space share: mirrored in crates/plane/src/abi.rs. */
#ifndef SIXBENCH_TRANSLATOR_H
#define SIXBENCH_TRANSLATOR_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#include "structs.h"

#define MAX_PREFIXES 4
#define MAX_ROWS     1024

/* A prefix in which IPv4 addresses are embedded: RFC 6052 section 2.2. */
struct embedding {
	struct address prefix;
	__u8 place[4]; /* of the octets of the IPv4 address */
};
ASSERT_SIZE(struct embedding, 20);

/* The rule of a node of a MAP-T domain: RFC 7597 section 5. */
struct rule {
	struct address ipv6;
	__be32 ipv4;
	__be32 ipv4_mask;
	__u32 is_edge;	     /* a customer edge's own; else a border relay's */
	__u32 lowest_port;   /* of any port set */
	__u32 psid_shift;    /* within a port */
	__u32 psid_mask;     /* 0: addresses are not shared */
	__u32 own_psid;	     /* the only one that there is, or ANY_PSID */
	__u32 embedded_bits; /* of the PSID among the EA bits */
	__u32 ea_shift;	     /* of the EA bits in the upper half of an address */
};
ASSERT_SIZE(struct rule, 52);

#define ANY_PSID 0x10000

/* A translator. Constant while it exists. */
struct translator {
	__u32 ifindex; /* of its device: where the translation is routed from */
	__u32 mtu4;    /* of the next hops */
	__u32 mtu6;
	__u32 lowest_ipv6_mtu; /* to which IPv4 packets without DF are cut */
	__u32 has_rows;
	__u32 has_doubtful;
	__u32 through_node; /* IPv4 packets come in at the device, so that the node's own NAT sees them */
	__u8 mac[6];	    /* of the device */
	__u8 padding[2];
	__u32 prefix_count;
	struct embedding prefixes[MAX_PREFIXES];
	__u32 has_rule;
	struct rule rule;
	__u32 hairpin;	    /* packets from one host of the table, or one customer edge, to another come back at once */
	__u32 is_left_over; /* the slow path has all packets: the rules are more than one, or longer than ours */
};
ASSERT_OFFSET(struct translator, prefixes, 40);
ASSERT_OFFSET(struct translator, rule, 124);
ASSERT_SIZE(struct translator, 184);

/* An explicit address mapping: RFC 7757. */
struct row {
	struct address ipv6;
	__be32 ipv4;
	__u32 spare_bits; /* how much longer the suffix of the IPv6 address is */
};
ASSERT_SIZE(struct row, 24);

struct key4 {
	__u32 bits;
	__be32 address;
};
ASSERT_SIZE(struct key4, 8);

struct key6 {
	__u32 bits;
	struct address address;
};
ASSERT_SIZE(struct key6, 20);

/* What became of packets here. All others are the slow path's. */
enum translated {
	TRANSLATED_TO_IPV6,
	TRANSLATED_TO_IPV4,
	TRANSLATED_NO_ROOM, /* dropped: the kernel had no memory */
	TRANSLATED_COUNT,
};

const volatile struct translator TRANSLATOR = {};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_ROWS);
	__type(key, struct key4);
	__type(value, struct row);
} ROWS4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_ROWS);
	__type(key, struct key6);
	__type(value, struct row);
} ROWS6 SEC(".maps");

/* IPv4 addresses that not every packet may have: the slow path looks. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_ROWS);
	__type(key, struct key4);
	__type(value, __u32);
} DOUBTFUL4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TRANSLATED_COUNT);
	__type(key, __u32);
	__type(value, struct count);
} TRANSLATED SEC(".maps");

#endif
