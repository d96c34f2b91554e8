// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A tunnel: one program that encapsulates what leaves the tunnel device, one that decapsulates what arrives for it on
 * the devices below. The object is loaded once a tunnel; what the tunnel is (maps.h: TUNNEL) is constant from then on,
 * so that the verifier leaves of all mappings and checks only those that the tunnel has. Linux 6.3.
 */
#include <stdbool.h>
#include <stddef.h>

#include "encapsulate.h"
#include "decapsulate.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
