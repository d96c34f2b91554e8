/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What can become of a packet: OUTCOME(name, reason, verdict, words), the reason as user space tells it, and in words.
 * crates/plane reads this list when it is built, so that there is no second one. The first, zero, is what functions
 * return that found nothing to decide; it is never a packet's outcome.
 *
 *   PASS  not for this tunnel: the packet goes its way, uncounted
 *   DONE  carried by the fast path
 *   SLOW  for the slow path: to the kernel's own reassembly, or out of the device's far end
 *   DROP  dropped
 *
 * Only the slow path has CARRIER_UNREACHABLE: an ICMP error, which came back, says that the carrier lost the packet.
 * It alone has INNER_TOO_LONG: what was reassembled is longer than the device's MTU, and the kernel has no way past it.
 * It alone has CARRIER_ERROR: of such an error that quotes too little to say whose packet was lost.
 * Only packets without a device have what follows NO_ROOM, which otherwise the node's kernel decides.
 */
#ifndef SIXBENCH_OUTCOMES_H
#define SIXBENCH_OUTCOMES_H

#define OUTCOMES(OUTCOME)                                                                                              \
	OUTCOME(UNDECIDED, "undecided", DROP, "No rule decided.")                                                      \
	OUTCOME(NOT_OURS, "not-ours", PASS, "The packet is not an outer packet of this tunnel that is for this end.")  \
	OUTCOME(ENCAPSULATED, "encapsulated", DONE, "The outer headers are put before the packet.")                    \
	OUTCOME(DECAPSULATED, "decapsulated", DONE, "The outer headers are taken off.")                                \
	OUTCOME(OUTER_FRAGMENT, "outer-fragment", SLOW,                                                                \
		"The outer packet is a fragment, and nobody has put it together.")                                     \
	OUTCOME(OUTER_OPTIONS, "outer-options", SLOW, "The outer header has options or extension headers.")            \
	OUTCOME(GRE_CHECKSUM_PRESENT, "gre-checksum", SLOW, "The GRE header has a checksum.")                          \
	OUTCOME(OUTER_TOO_BIG, "outer-too-big", SLOW,                                                                  \
		"The packet is longer than the tunnel's MTU and must not be cut.")                                     \
	OUTCOME(NEIGHBOUR_UNRESOLVED, "neighbour-unresolved", SLOW,                                                    \
		"The next hop's link-layer address is not known yet.")                                                 \
	OUTCOME(KERNEL_REFUSED, "kernel-refused", SLOW, "The kernel does not take the packet from a program.")         \
	OUTCOME(OUTER_TRUNCATED, "outer-truncated", DROP, "The outer packet is not whole.")                            \
	OUTCOME(OUTER_CHECKSUM, "outer-checksum", DROP, "The checksum of the outer header is wrong.")                  \
	OUTCOME(OUTER_SOURCE_MARTIAN, "outer-source-martian", DROP,                                                    \
		"The outer source is an address from which no such packet may come.")                                  \
	OUTCOME(SOURCE_NOT_PEER, "source-not-peer", DROP,                                                              \
		"The outer source is none from which this end takes the packet.")                                      \
	OUTCOME(GRE_FLAGS, "gre-flags", DROP,                                                                          \
		"The GRE header has unknown flags, another version or a wrong checksum.")                              \
	OUTCOME(GRE_KEY_MISMATCH, "gre-key", DROP, "The GRE header has another key than the tunnel.")                  \
	OUTCOME(GRE_PROTOCOL, "gre-protocol", DROP, "The GRE header announces neither IPv4 nor IPv6.")                 \
	OUTCOME(INNER_TRUNCATED, "inner-truncated", DROP, "The inner header is not whole.")                            \
	OUTCOME(INNER_VERSION, "inner-version", DROP, "The inner packet has another IP version than it should have.")  \
	OUTCOME(INNER_LENGTH, "inner-length", DROP, "The length in the inner header does not fit what is there.")      \
	OUTCOME(INNER_TOO_LONG, "inner-too-long", DROP,                                                                \
		"The packet was reassembled, and the kernel cannot let one so long into the device.")                  \
	OUTCOME(INNER_SOURCE_BOGUS, "inner-source-bogus", DROP,                                                        \
		"The inner source is an address from which no packet may come.")                                       \
	OUTCOME(INNER_DESTINATION_BOGUS, "inner-destination-bogus", DROP,                                              \
		"The inner destination is an address to which no packet may go.")                                      \
	OUTCOME(INNER_SOURCE_MISMATCH, "inner-source-mismatch", DROP,                                                  \
		"The inner source does not embed the address that it must embed.")                                     \
	OUTCOME(INNER_DESTINATION_MISMATCH, "inner-destination-mismatch", DROP,                                        \
		"The inner destination does not embed the address of this end.")                                       \
	OUTCOME(INNER_SOURCE_OFF_LINK, "inner-source-off-link", DROP,                                                  \
		"The inner source is not on-link on the tunnel's device.")                                             \
	OUTCOME(INNER_FAMILY, "inner-family", DROP, "The tunnel does not carry this family.")                          \
	OUTCOME(ECN_INVALID, "ecn-invalid", DROP,                                                                      \
		"The outer packet met congestion, and the inner packet is not ECN-capable.")                           \
	OUTCOME(NO_MAPPING, "no-mapping", DROP, "Nothing says to which outer address the packet goes.")                \
	OUTCOME(DESTINATION_MARTIAN, "destination-martian", DROP,                                                      \
		"The outer destination would be an address to which no such packet may go.")                           \
	OUTCOME(NESTED_TOO_DEEP, "nested-too-deep", DROP, "The packet is encapsulated four times already.")            \
	OUTCOME(CARRIER_UNREACHABLE, "carrier-unreachable", DROP, "The carrier answered with an ICMP error.")          \
	OUTCOME(CARRIER_ERROR, "carrier-error", DROP,                                                                  \
		"The carrier's ICMP error concerns the tunnel's ends, quotes too little, or is not about this one's.") \
	OUTCOME(ROUTING_LOOP, "routing-loop", DROP, "The packet would come back to this end.")                         \
	OUTCOME(NO_ROUTE, "no-route", DROP, "There is no route to the outer destination.")                             \
	OUTCOME(NO_ROOM, "no-room", DROP, "A queue has no room for the packet.")                                       \
	OUTCOME(HOP_LIMIT, "hop-limit", DROP, "The hop limit is used up.")                                             \
	OUTCOME(ICMP_REFUSED, "icmp-refused", DROP, "The node is told to take no ICMP from there.")                    \
	OUTCOME(ECHO_ANSWERED, "echo-answered", DROP, "The packet is an echo request to the node.")                    \
	OUTCOME(INNER_CHECKSUM, "inner-checksum", DROP, "The checksum of the IPv4 header is wrong.")                   \
	OUTCOME(ICMP_CHECKSUM, "icmp-checksum", DROP,                                                                  \
		"The checksum of the ICMP message is wrong, in which the port stands that says whose it is.")

#define OUTCOME_NAME(name, reason, verdict, words) OUTCOME_##name,
enum outcome { OUTCOMES(OUTCOME_NAME) OUTCOME_COUNT };
#undef OUTCOME_NAME

#endif
