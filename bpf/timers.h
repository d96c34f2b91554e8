/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What user space writes and reads of timers: mirrored in crates/plane/src/timers.rs, with the same assertions; and
 * what of the kernel's structures is read, found by CO-RE wherever this kernel has it. */
#ifndef SIXBENCH_TIMERS_H
#define SIXBENCH_TIMERS_H

#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define MAX_DEVICES 4096

struct timer_device {
	__u32 netns_inode;
	char device[16];
};
_Static_assert(sizeof(struct timer_device) == 20, "timer_device");

struct timer_count {
	__u64 slack_ns; /* written by user space: what is no later than this loses no tokens */
	__u64 expired;
	__u64 late; /* by more than that */
	__u64 worst_ns;
	__u64 lost_ns; /* what they were late beyond that, in all */
};
_Static_assert(sizeof(struct timer_count) == 40, "timer_count");

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
	possible_net_t nd_net;
	char name[16];
};
struct netdev_queue {
	struct net_device *dev;
};
struct Qdisc {
	struct netdev_queue *dev_queue;
};
struct timerqueue_node {
	__s64 expires;
};
struct hrtimer {
	struct timerqueue_node node;
	void *function;
};
struct qdisc_watchdog {
	struct hrtimer timer;
	struct Qdisc *qdisc;
};

#pragma clang attribute pop

#endif
