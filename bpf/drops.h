/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What user space writes and reads of dropped packets: mirrored in crates/plane/src/drops.rs, with the same assertions;
 * and what of the kernel's structures is read, found by CO-RE wherever this kernel has it. */
#ifndef SIXBENCH_DROPS_H
#define SIXBENCH_DROPS_H

#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_core_read.h>

#define MAX_WATCHED   1024
#define MAX_PLACES    1024
#define RECORDS_BYTES (4 << 20)

enum drop_side {
	SIDE_UNKNOWN,
	SIDE_INGRESS, /* behind the device that received it: also in the node's IP layer */
	SIDE_EGRESS,  /* on its way out of the device */
	SIDE_SOCKET,
};

struct drop_place {
	__u32 netns_inode;
	__u32 ifindex;
	__u32 reason; /* enum skb_drop_reason of this kernel */
	__u8 side;
	__u8 version;  /* of the outermost IP header */
	__u8 protocol; /* what that says follows */
	__u8 padding;
	char device[16];
};
_Static_assert(sizeof(struct drop_place) == 32, "drop_place");

/* Packets as on the wire; those of the trial's datagrams apart; of the measured ones, those that there was no room to
 * tell. */
struct drop_count {
	__u64 packets;
	__u64 warmup;
	__u64 measured;
	__u64 untold;
};
_Static_assert(sizeof(struct drop_count) == 32, "drop_count");

struct drop_record {
	struct drop_place place;
	__u64 sequence;
	__u32 segments; /* datagrams from that one on */
	__u32 padding;
};
_Static_assert(sizeof(struct drop_record) == 48, "drop_record");

/* docs/protocol.md: how each datagram starts. */
#define DATAGRAM_HEADER_BYTES 32
struct datagram_header {
	__be64 token;
	__be64 sequence;
	__be64 sent_realtime_ns;
	__u8 phase; /* 0: warm-up */
	__u8 zero[7];
};
_Static_assert(sizeof(struct datagram_header) == DATAGRAM_HEADER_BYTES, "datagram_header");

/* docs/protocol.md, `frames`: what a frame carries instead. */
#define FRAME_MARK_BYTES 18
struct frame_mark {
	__be64 inverted_token;
	__be32 sequence;
	__u8 time[6]; /* the first bit: warm-up */
} __attribute__((packed));
_Static_assert(sizeof(struct frame_mark) == FRAME_MARK_BYTES, "frame_mark");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	char name[16];
	int ifindex;
	possible_net_t nd_net;
};

struct sock_common {
	possible_net_t skc_net;
};

struct sock {
	struct sock_common __sk_common;
};

struct sk_buff {
	struct net_device *dev;
	int skb_iif;
	__u16 network_header;
	unsigned int tail;
	unsigned int end;
	unsigned char *head;
};

struct skb_shared_info {
	unsigned short gso_segs;
};

#pragma clang attribute pop

#endif
