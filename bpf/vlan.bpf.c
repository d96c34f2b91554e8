// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A VLAN (IEEE 802.1Q) on an interface that has no other use: one program tags what leaves it, one takes the tag off
 * what arrives. So the interface carries this VLAN alone, whether or not the kernel has VLAN devices. What arrives
 * without the tag is dropped, and the kernel tells of it as of every drop (TC_INGRESS).
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The lower bits of a tag: the number of the VLAN (IEEE 802.1Q clause 9.6). */
#define VLAN_ID_MASK 0xfff

/* Written before loading, then frozen: 1 to 4094. */
const volatile __u32 VLAN_ID;

SEC("classifier")
int tag(struct __sk_buff *skb)
{
	return bpf_skb_vlan_push(skb, bpf_htons(ETH_P_8021Q), VLAN_ID) ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

SEC("classifier")
int untag(struct __sk_buff *skb)
{
	/* The kernel has moved the outermost tag out of the packet before any program runs. */
	int is_ours = skb->vlan_present && skb->vlan_proto == bpf_htons(ETH_P_8021Q) &&
		      (skb->vlan_tci & VLAN_ID_MASK) == VLAN_ID;

	return !is_ours || bpf_skb_vlan_pop(skb) ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}
