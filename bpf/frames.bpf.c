// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Picks the frames of a trial from all that an interface receives, notes the time before each, and hands them to an
 * AF_XDP socket. All others go on to the kernel.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Headers before the signature that frames of a trial may have: those of either family. */
#define MAX_PLACES 2

/* Written before loading, then frozen. The halves of the signature, as they are read from a frame. */
const volatile __u32 SIGNATURE[2];
/* The EtherType of each place, as in a frame, and where the signature begins; 0: there is no such place. */
const volatile __u16 ETHERTYPES[MAX_PLACES];
const volatile __u16 SIGNATURES_AT[MAX_PLACES];

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} SOCKETS SEC(".maps");

static __always_inline int has_signature(void *frame, void *end, int place)
{
	struct ethhdr *ethernet = frame;
	__u16 at = SIGNATURES_AT[place];
	__u32 *signature = frame + at;

	return at && (void *)(ethernet + 1) <= end && (void *)(signature + 2) <= end &&
	       ethernet->h_proto == ETHERTYPES[place] && signature[0] == SIGNATURE[0] && signature[1] == SIGNATURE[1];
}

/* Puts the time of CLOCK_MONOTONIC before the frame. False: the driver leaves no room for it. */
static __always_inline int note_time(struct xdp_md *context)
{
	__u64 now_ns = bpf_ktime_get_ns();

	if (bpf_xdp_adjust_meta(context, -(int)sizeof(now_ns)))
		return 0;
	__u64 *before = (void *)(long)context->data_meta;
	if ((void *)(before + 1) > (void *)(long)context->data)
		return 0;
	*before = now_ns;
	return 1;
}

SEC("xdp")
int pick(struct xdp_md *context)
{
	void *frame = (void *)(long)context->data, *end = (void *)(long)context->data_end;
	int action = XDP_PASS;

	if ((has_signature(frame, end, 0) || has_signature(frame, end, 1)) && note_time(context))
		action = bpf_redirect_map(&SOCKETS, context->rx_queue_index, XDP_PASS);
	return action;
}
