/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What user space writes and reads: mirrored in crates/plane/src/abi.rs, with the same assertions. */
#ifndef SIXBENCH_STRUCTS_H
#define SIXBENCH_STRUCTS_H

#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define ASSERT_SIZE(type, bytes)	  _Static_assert(sizeof(type) == (bytes), #type)
#define ASSERT_OFFSET(type, field, bytes) _Static_assert(__builtin_offsetof(type, field) == (bytes), #type "." #field)

/* An IPv6 address, or an IPv4 address in the first word and zeros. */
struct address {
	__be32 word[4];
};
ASSERT_SIZE(struct address, 16);

static __always_inline bool is_same(const struct address *one, const volatile struct address *other)
{
	return one->word[0] == other->word[0] && one->word[1] == other->word[1] && one->word[2] == other->word[2] &&
	       one->word[3] == other->word[3];
}

/* What the outer header carries. */
enum payload {
	PAYLOAD_IPV6,
	PAYLOAD_IPV4,
	PAYLOAD_GRE,
};

/* How the outer destination follows from the inner packet, and which outer source is right. */
enum mapping {
	MAPPING_FIXED,
	MAPPING_6TO4,
	MAPPING_6RD,
	MAPPING_ISATAP,
	MAPPING_6OVER4,
};

/* The outer header's DF bit. An inner IPv6 packet counts as one that must not be fragmented. */
enum dont_fragment {
	DONT_FRAGMENT_CLEAR,
	DONT_FRAGMENT_SET,
	DONT_FRAGMENT_INHERIT,
};

#define MAX_ROUTERS 8

/* A tunnel. Constant while it exists: the verifier removes what the tunnel does not need. */
struct tunnel {
	__u32 near_ifindex;
	__u32 far_ifindex;    /* forwarding is on there: where the outer packet is routed from */
	__u32 overhead_bytes; /* of the outer headers */
	__be32 gre_key;
	struct address local;
	struct address remote;	     /* the peer; 6to4: the relay; 6rd: the border relay. All zeros: none */
	struct address prefix;	     /* 6rd */
	__be32 routers[MAX_ROUTERS]; /* ISATAP */
	__u8 near_mac[6];
	__u8 outer; /* 4 or 6 */
	__u8 payload;
	__u8 mapping;
	__u8 ttl; /* 0: the inner packet's */
	__u8 tos;
	__u8 inherits_tos;
	__u8 copies_ecn; /* RFC 6040 section 4.1, normal mode */
	__u8 dont_fragment;
	__u8 has_gre_key;
	__u8 allows_private;  /* 6to4 */
	__u8 is_border_relay; /* 6rd */
	__u8 prefix_bits;     /* 6rd */
	__u8 ipv4_mask_bits;  /* 6rd: leading bits of IPv4 addresses that are not embedded */
	__u8 router_count;
	__u8 padding[4];
};
ASSERT_OFFSET(struct tunnel, local, 16);
ASSERT_OFFSET(struct tunnel, routers, 64);
ASSERT_OFFSET(struct tunnel, near_mac, 96);
ASSERT_OFFSET(struct tunnel, router_count, 115);
ASSERT_SIZE(struct tunnel, 120);

/* Packets as on the wire: a segment that is still to be cut counts as what it will be cut into. Bytes of the inner
 * packets. */
struct count {
	__u64 packets;
	__u64 bytes;
};
ASSERT_SIZE(struct count, 16);

/* What changes while a tunnel exists. */
struct state {
	__u32 is_shared; /* other tunnels have the same local address and payload: not to be dropped by the first */
	__u32 identification;	   /* of the next outer IPv4 packet that may be fragmented */
	struct bpf_spin_lock lock; /* of the identification, where it cannot be fetched and added to in one go */
};
ASSERT_SIZE(struct state, 12);

#endif
