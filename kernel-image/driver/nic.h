/* SPDX-License-Identifier: MIT */
/* The NICs, as the control device uses them. */
#ifndef DAYBREAK_NIC_H
#define DAYBREAK_NIC_H

#include <linux/types.h>
#include <linux/wait.h>

/* Makes room for `count` NICs. 0, or a negative error number. */
int daybreak_nics(unsigned int count);
/*
 * Makes one in the caller's network namespace. Frames that take less than linear_bytes with their headroom are received
 * into one buffer, larger ones into pages of page_bytes behind their headers. 0, or a negative error number.
 */
int daybreak_nic(unsigned int index, const char *name, unsigned int linear_bytes, unsigned int page_bytes);
/* From now on packets go to the switch. */
void daybreak_run(u64 zero_ns);
/* The run is over, or has failed. */
extern bool daybreak_over;
extern wait_queue_head_t daybreak_when_over;

#endif
