/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From inner to outer addresses, and back: which mapping a tunnel has is known when the program is verified. */
#ifndef SIXBENCH_MAPPING_H
#define SIXBENCH_MAPPING_H

#include "mapping_6over4.h"
#include "mapping_6rd.h"
#include "mapping_6to4.h"
#include "mapping_isatap.h"
#include "maps.h"

/* Where a packet is to be sent. Returns why it is not, or 0. */
static __always_inline int outer_destination(struct __sk_buff *skb, const struct inner *inner,
					     struct address *destination)
{
	switch ((enum mapping)TUNNEL.mapping) {
	case MAPPING_FIXED:
		copy_address(destination, &TUNNEL.remote);
		return 0;
	case MAPPING_6TO4:
		return destination_6to4(inner, &destination->word[0]);
	case MAPPING_6RD:
		return destination_6rd(inner, &destination->word[0]);
	case MAPPING_ISATAP:
		return destination_isatap(inner, &destination->word[0]);
	case MAPPING_6OVER4:
		return destination_6over4(skb, &destination->word[0]);
	}
	return OUTCOME_NO_MAPPING;
}

/* Whether the packet may come from the peer as such: what can be told before the inner packet is read. */
static __always_inline bool is_peer(const struct address *outer_source)
{
	return TUNNEL.mapping != MAPPING_FIXED || is_same(outer_source, &TUNNEL.remote);
}

/* Whether the inner packet may come from that outer source. Returns why not, or 0. */
static __always_inline int check_addresses(struct __sk_buff *skb, const struct inner *inner,
					   const struct address *outer_source)
{
	if (is_bogus_source(inner))
		return OUTCOME_INNER_SOURCE_BOGUS;
	if (is_bogus_destination(inner))
		return OUTCOME_INNER_DESTINATION_BOGUS;
	switch ((enum mapping)TUNNEL.mapping) {
	case MAPPING_FIXED:
		return 0;
	case MAPPING_6TO4:
		return check_6to4(inner, outer_source->word[0]);
	case MAPPING_6RD:
		return check_6rd(inner, outer_source->word[0]);
	case MAPPING_ISATAP:
		return check_isatap(skb, inner, outer_source->word[0]);
	case MAPPING_6OVER4:
		return check_6over4(outer_source->word[0]);
	}
	return 0;
}

#endif
