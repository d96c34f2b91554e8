// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How late the timers of queueing disciplines were. A token bucket whose queue waits for tokens sets a timer, and the
 * next packet leaves when that has run. What comes later than the bucket has room for is tokens that are lost, and the
 * link is slower than its rate. Programs on three tracepoints know of a packet's leaving: timer:hrtimer_expire_entry
 * when its timer was due, and then what comes first: timer:hrtimer_start that the packet behind it waits for the next
 * timer, or qdisc:qdisc_dequeue that it has left. (With the former, the latter also has the time that setting a timer
 * takes.)
 */
#include <stddef.h>

#include "timers.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Where the kernel has qdisc_watchdog(), the function of these timers. */
const volatile __u64 WATCHDOG;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_DEVICES);
	__type(key, struct timer_device);
	__type(value, struct timer_count);
} DEVICES SEC(".maps");

/* When the timer of a device was due whose packet has not left yet, by the address of the device. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_DEVICES);
	__type(key, __u64);
	__type(value, __u64);
} DUE SEC(".maps");

/* The device whose queueing discipline set this timer; NULL: it is another kind of timer. */
static __always_inline struct net_device *device_of(struct hrtimer *timer)
{
	__u64 function = 0;

	bpf_core_read(&function, sizeof(function), &timer->function);
	if (function != WATCHDOG)
		return NULL;
	struct qdisc_watchdog *watchdog = (void *)timer - bpf_core_field_offset(struct qdisc_watchdog, timer);
	return BPF_CORE_READ(watchdog, qdisc, dev_queue, dev);
}

/* The packet that waited for a timer of this device, if one did, has left. */
static __always_inline void has_left(struct net_device *device)
{
	__u64 address = (__u64)device;
	__u64 *due_ns = bpf_map_lookup_elem(&DUE, &address);

	if (!due_ns || !*due_ns)
		return;
	__u64 now_ns = bpf_ktime_get_ns();
	__u64 late_ns = now_ns > *due_ns ? now_ns - *due_ns : 0;
	*due_ns = 0;

	struct timer_device key = {.netns_inode = BPF_CORE_READ(device, nd_net.net, ns.inum)};
	bpf_core_read_str(key.device, sizeof(key.device), &device->name);
	struct timer_count *count = bpf_map_lookup_elem(&DEVICES, &key);
	if (!count)
		return;
	/* The queue of a device is emptied by one processor at a time. */
	count->expired += 1;
	if (late_ns > count->worst_ns)
		count->worst_ns = late_ns;
	if (late_ns > count->slack_ns) {
		count->late += 1;
		count->lost_ns += late_ns - count->slack_ns;
	}
}

SEC("tp_btf/hrtimer_expire_entry")
int expired(__u64 *arguments)
{
	struct hrtimer *timer = (struct hrtimer *)arguments[0];
	__u64 device = (__u64)device_of(timer), due_ns = 0;

	if (!device)
		return 0;
	bpf_core_read(&due_ns, sizeof(due_ns), &timer->node.expires);
	bpf_map_update_elem(&DUE, &device, &due_ns, BPF_ANY);
	return 0;
}

SEC("tp_btf/hrtimer_start")
int started(__u64 *arguments)
{
	struct net_device *device = device_of((struct hrtimer *)arguments[0]);

	if (device)
		has_left(device);
	return 0;
}

SEC("tp_btf/qdisc_dequeue")
int dequeued(__u64 *arguments)
{
	struct Qdisc *qdisc = (struct Qdisc *)arguments[0];

	if (arguments[3]) /* a packet, and not only the question for one */
		has_left(BPF_CORE_READ(qdisc, dev_queue, dev));
	return 0;
}
