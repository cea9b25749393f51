// SPDX-License-Identifier: MIT
/*
 * The virtual time that a system call of a program takes. Without it a program that looks again and again, whether
 * something has come or how late it is, would look a million times in a millisecond, and each look costs the machine
 * microseconds. What belongs to the init program takes no time.
 *
 * The process sleeps meanwhile: the others run as if each had a processor of its own, and no timer is late.
 */
#include <linux/cred.h>
#include <linux/hrtimer.h>
#include <linux/sched.h>
#include <linux/uidgid.h>
#include "pace.h"

static bool is_program(void)
{
	return from_kuid(&init_user_ns, current_uid()) >= DAYBREAK_FIRST_PROGRAM;
}

static void pass(unsigned long ns)
{
	ktime_t time = ns_to_ktime(ns);

	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout(&time, HRTIMER_MODE_REL);
}

void daybreak_system_call(void)
{
	if (is_program())
		pass(DAYBREAK_SYSTEM_CALL_NS);
}

void daybreak_failed_call(void)
{
	if (!is_program())
		pass(DAYBREAK_FAILED_CALL_NS);
}
