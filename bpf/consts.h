/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers of the protocols, and of kernels newer than the headers we compile with. */
#ifndef SIXBENCH_CONSTS_H
#define SIXBENCH_CONSTS_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>

/* bpf_skb_adjust_room: what the packet is after the outer header has gone. Linux 6.3. */
#define ADJ_ROOM_DECAP_L3_IPV4 (1ULL << 7)
#define ADJ_ROOM_DECAP_L3_IPV6 (1ULL << 8)

/* For bpf_fib_lookup and bpf_redirect_neigh; <sys/socket.h> is not for the kernel. */
#define AF_INET	 2
#define AF_INET6 10

#define IPV4_HEADER_BYTES	 20
#define IPV6_HEADER_BYTES	 40
#define GRE_HEADER_BYTES	 4
#define GRE_KEY_BYTES		 4
#define UDP_HEADER_BYTES	 8
#define DESTINATION_OPTION_BYTES 8

/* The first 16 bits of GRE's header: RFC 2784 section 2, RFC 2890 section 2. Bits 6 to 12 are to be ignored. */
#define GRE_CHECKSUM	 0x8000
#define GRE_KEY		 0x2000
#define GRE_MUST_BE_ZERO 0x5c07 /* routing, sequence number, strict source route, recursion (bit 5), version */

/* IPv4's fragment field: RFC 791 section 3.1. */
#define IPV4_DONT_FRAGMENT 0x4000
#define IPV4_MORE	   0x2000
#define IPV4_OFFSET	   0x1fff

/* RFC 3168 section 5. */
#define ECN_MASK    3
#define ECN_NOT_ECT 0
#define ECN_ECT_1   1
#define ECN_ECT_0   2
#define ECN_CE	    3

/* How many encapsulations a packet may have before ours: the default limit of RFC 2473 section 4.1.1. */
#define NESTING_LIMIT 4

#endif
