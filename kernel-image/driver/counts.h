/* SPDX-License-Identifier: MIT */
/* Timeouts, probes, recoveries and undone reductions of the hosts' connections, one by one. */
#ifndef DAYBREAK_COUNTS_H
#define DAYBREAK_COUNTS_H

#include <linux/skbuff.h>
#include <linux/types.h>

/*
 * Counts for the connections of the caller's network namespace, whose device and address these are and which has no
 * neighbours yet. 0, or a negative error number.
 */
int daybreak_count_host(const char *device, u32 address);
/* Receives a packet whose network header is set. */
void daybreak_receive(struct sk_buff *skb);
/* The run is over: what is not yet reported is. */
void daybreak_count_rest(void);

#endif
