// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where the kernel drops packets, and which datagrams of a trial they were: a program on the tracepoint skb:kfree_skb,
 * which costs nothing while nothing is dropped. It counts the drops in the namespaces that are watched by place and
 * reason, and tells the sequence numbers of the trial's own datagrams, which it knows by their token, whatever is
 * around them. Linux 5.17 has reasons; 6.11 tells whose socket refused a datagram.
 */
#include <stdbool.h>
#include <stddef.h>

#include "drops.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define READ_BYTES 192
/* The shortest headers before a payload: IPv4 and UDP. */
#define FIRST_PAYLOAD 28
/* Headers have an even number of bytes (Ethernet in VXLAN has 14). */
#define PAYLOAD_STEP 2
#define LAST_PAYLOAD (READ_BYTES - DATAGRAM_HEADER_BYTES)

/* Whether the tracepoint has a fourth argument, the receiving socket. */
const volatile __u8 HAS_SOCKET;

struct bytes {
	__u8 byte[READ_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_WATCHED);
	__type(key, __u32);
	__type(value, __u8);
} WATCHED SEC(".maps");

/* The first eight bytes of the trial's token, as datagrams carry them; 0: no trial. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} SOUGHT SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PLACES);
	__type(key, struct drop_place);
	__type(value, struct drop_count);
} PLACES SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RECORDS_BYTES);
} RECORDS SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bytes);
} SCRATCH SEC(".maps");

/* The namespace, and the device where the kernel knows it. */
static __always_inline void find_place(struct sk_buff *skb, struct sock *socket, struct drop_place *place)
{
	if (socket) {
		place->netns_inode = socket->__sk_common.skc_net.net->ns.inum;
		place->side = SIDE_SOCKET;
		return;
	}
	struct net_device *device = skb->dev;
	if (!device)
		return;
	place->netns_inode = device->nd_net.net->ns.inum;
	place->ifindex = device->ifindex;
	/* Set where a packet is received, and cleared where it enters another namespace. */
	place->side = skb->skb_iif == device->ifindex ? SIDE_INGRESS : SIDE_EGRESS;
	bpf_probe_read_kernel_str(place->device, sizeof(place->device), device->name);
}

/* Offset of the trial's header, or of a frame's mark, in what was read; 0: there is none. */
static __always_inline __u32 find_token(const struct bytes *read, __u32 length, __u64 token)
{
	for (__u32 offset = FIRST_PAYLOAD; offset <= LAST_PAYLOAD; offset += PAYLOAD_STEP) {
		if (offset + FRAME_MARK_BYTES > length)
			return 0;
		__u64 found = *(const __u64 *)&read->byte[offset];
		if (found == ~token)
			return offset;
		if (found == token)
			return offset + DATAGRAM_HEADER_BYTES > length ? 0 : offset;
	}
	return 0;
}

static __always_inline void tell(const struct drop_place *place, struct drop_count *count, const struct bytes *read,
				 __u32 offset, __u64 token, __u32 segments)
{
	if (offset > LAST_PAYLOAD)
		return;
	const struct datagram_header *header = (const struct datagram_header *)&read->byte[offset];
	const struct frame_mark *mark = (const struct frame_mark *)&read->byte[offset];
	__u32 is_frame = header->token != token;
	__u32 is_warmup = is_frame ? mark->time[0] >> 7 : header->phase == 0;
	__sync_fetch_and_add(is_warmup ? &count->warmup : &count->measured, segments);
	/* Of a frame, a socket refuses only the copy: there would be no room for the numbers of all. */
	if (is_warmup || (is_frame && place->side == SIDE_SOCKET))
		return;
	struct drop_record *record = bpf_ringbuf_reserve(&RECORDS, sizeof(*record), 0);
	if (!record) {
		__sync_fetch_and_add(&count->untold, segments);
		return;
	}
	record->place = *place;
	record->sequence = is_frame ? bpf_ntohl(mark->sequence) : bpf_be64_to_cpu(header->sequence);
	record->segments = segments;
	record->padding = 0;
	bpf_ringbuf_submit(record, 0);
}

static __always_inline int dropped(struct sk_buff *skb, __u32 reason, struct sock *socket)
{
	struct drop_place place = {.reason = reason};
	find_place(skb, socket, &place);
	if (!bpf_map_lookup_elem(&WATCHED, &place.netns_inode))
		return 0;
	__u32 zero = 0;
	struct bytes *read = bpf_map_lookup_elem(&SCRATCH, &zero);
	__u64 *token = bpf_map_lookup_elem(&SOUGHT, &zero);
	if (!read || !token)
		return 0;
	/* What is not linear is not read; there are headers at least. */
	__u32 start = skb->network_header, length = skb->tail - start;
	if (skb->tail < start)
		length = 0;
	barrier_var(length); /* or Linux 6.1 forgets the bound, which the compiler checks in another register */
	if (length > READ_BYTES)
		length = READ_BYTES;
	if (length && bpf_probe_read_kernel(read->byte, length, skb->head + start))
		length = 0;
	__u32 version = length >= FIRST_PAYLOAD ? read->byte[0] >> 4 : 0;
	place.protocol = version == 4 ? read->byte[9] : version == 6 ? read->byte[6] : 0;
	place.version = version;

	__u16 segments = 0;
	const struct skb_shared_info *shared = (const void *)(skb->head + skb->end);
	bpf_core_read(&segments, sizeof(segments), &shared->gso_segs);
	__u32 packets = segments > 1 ? segments : 1;

	struct drop_count *count = bpf_map_lookup_elem(&PLACES, &place);
	if (!count) {
		struct drop_count none = {};
		bpf_map_update_elem(&PLACES, &place, &none, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&PLACES, &place);
		if (!count)
			return 0;
	}
	__sync_fetch_and_add(&count->packets, packets);
	__u32 offset = *token && version ? find_token(read, length, *token) : 0;
	if (offset)
		tell(&place, count, read, offset, *token, packets);
	return 0;
}

SEC("tp_btf/kfree_skb")
int drops(__u64 *arguments)
{
	struct sk_buff *skb = (struct sk_buff *)arguments[0];
	struct sock *socket = HAS_SOCKET ? (struct sock *)arguments[3] : NULL;
	return dropped(skb, (__u32)arguments[2], socket);
}
