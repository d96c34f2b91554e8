/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What can become of a packet: OUTCOME(name, reason, verdict), the reason as user space tells it. crates/plane reads
 * this list when it is built, so that there is no second one.
 * The first, zero, is what functions return that found nothing to decide; it is never a packet's outcome.
 *
 *   PASS  not for this tunnel: the packet goes its way, uncounted
 *   DONE  carried by the fast path
 *   SLOW  for the slow path: to the kernel's own reassembly, or out of the device's far end
 *   DROP  dropped
 *
 * Only the slow path has CARRIER_UNREACHABLE: an ICMP error, which came back, says that the carrier lost the packet.
 * It alone has INNER_TOO_LONG: what was reassembled is longer than the device's MTU, and the kernel has no way past it.
 * Only packets without a device have CARRIER_ERROR and what follows NO_ROOM, which otherwise the node's kernel decides.
 */
#ifndef SIXBENCH_OUTCOMES_H
#define SIXBENCH_OUTCOMES_H

#define OUTCOMES(OUTCOME)                                                                                              \
	OUTCOME(UNDECIDED, "undecided", DROP)                                                                          \
	OUTCOME(NOT_OURS, "not-ours", PASS)                                                                            \
	OUTCOME(ENCAPSULATED, "encapsulated", DONE)                                                                    \
	OUTCOME(DECAPSULATED, "decapsulated", DONE)                                                                    \
	OUTCOME(OUTER_FRAGMENT, "outer-fragment", SLOW)                                                                \
	OUTCOME(OUTER_OPTIONS, "outer-options", SLOW)                                                                  \
	OUTCOME(GRE_CHECKSUM_PRESENT, "gre-checksum", SLOW)                                                            \
	OUTCOME(OUTER_TOO_BIG, "outer-too-big", SLOW)                                                                  \
	OUTCOME(NEIGHBOUR_UNRESOLVED, "neighbour-unresolved", SLOW)                                                    \
	OUTCOME(KERNEL_REFUSED, "kernel-refused", SLOW)                                                                \
	OUTCOME(OUTER_TRUNCATED, "outer-truncated", DROP)                                                              \
	OUTCOME(OUTER_CHECKSUM, "outer-checksum", DROP)                                                                \
	OUTCOME(OUTER_SOURCE_MARTIAN, "outer-source-martian", DROP)                                                    \
	OUTCOME(SOURCE_NOT_PEER, "source-not-peer", DROP)                                                              \
	OUTCOME(GRE_FLAGS, "gre-flags", DROP)                                                                          \
	OUTCOME(GRE_KEY_MISMATCH, "gre-key", DROP)                                                                     \
	OUTCOME(GRE_PROTOCOL, "gre-protocol", DROP)                                                                    \
	OUTCOME(INNER_TRUNCATED, "inner-truncated", DROP)                                                              \
	OUTCOME(INNER_VERSION, "inner-version", DROP)                                                                  \
	OUTCOME(INNER_LENGTH, "inner-length", DROP)                                                                    \
	OUTCOME(INNER_TOO_LONG, "inner-too-long", DROP)                                                                \
	OUTCOME(INNER_SOURCE_BOGUS, "inner-source-bogus", DROP)                                                        \
	OUTCOME(INNER_DESTINATION_BOGUS, "inner-destination-bogus", DROP)                                              \
	OUTCOME(INNER_SOURCE_MISMATCH, "inner-source-mismatch", DROP)                                                  \
	OUTCOME(INNER_DESTINATION_MISMATCH, "inner-destination-mismatch", DROP)                                        \
	OUTCOME(INNER_SOURCE_OFF_LINK, "inner-source-off-link", DROP)                                                  \
	OUTCOME(INNER_FAMILY, "inner-family", DROP)                                                                    \
	OUTCOME(ECN_INVALID, "ecn-invalid", DROP)                                                                      \
	OUTCOME(NO_MAPPING, "no-mapping", DROP)                                                                        \
	OUTCOME(DESTINATION_MARTIAN, "destination-martian", DROP)                                                      \
	OUTCOME(NESTED_TOO_DEEP, "nested-too-deep", DROP)                                                              \
	OUTCOME(CARRIER_UNREACHABLE, "carrier-unreachable", DROP)                                                      \
	OUTCOME(CARRIER_ERROR, "carrier-error", DROP)                                                                  \
	OUTCOME(ROUTING_LOOP, "routing-loop", DROP)                                                                    \
	OUTCOME(NO_ROUTE, "no-route", DROP)                                                                            \
	OUTCOME(NO_ROOM, "no-room", DROP)                                                                              \
	OUTCOME(HOP_LIMIT, "hop-limit", DROP)                                                                          \
	OUTCOME(ICMP_REFUSED, "icmp-refused", DROP)                                                                    \
	OUTCOME(ECHO_ANSWERED, "echo-answered", DROP)

#define OUTCOME_NAME(name, reason, verdict) OUTCOME_##name,
enum outcome { OUTCOMES(OUTCOME_NAME) OUTCOME_COUNT };
#undef OUTCOME_NAME

#endif
