/* SPDX-License-Identifier: MIT */
/* What the driver needs and Linux's versions spell differently; the oldest one that is tested is 6.1. */
#ifndef DAYBREAK_LINUX_H
#define DAYBREAK_LINUX_H

#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/version.h>

/* The device's transmission needs no lock of the core's. A feature flag until 6.11, a bit of the device since 6.12. */
static inline void daybreak_transmits_unlocked(struct net_device *dev)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	dev->lltx = true;
#else
	dev->features |= NETIF_F_LLTX;
#endif
}

/* A timer and its function. Set apart until 6.12, in one call since 6.13; the older way went in 6.15. */
static inline void daybreak_timer(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
				  clockid_t clock, enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, function, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = function;
#endif
}

#endif
