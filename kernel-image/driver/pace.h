/* SPDX-License-Identifier: MIT */
#ifndef DAYBREAK_PACE_H
#define DAYBREAK_PACE_H

/* The users from which on programs run; as in crates/guest/src/discover.rs. */
#define DAYBREAK_FIRST_PROGRAM 100000
/* About what a short system call takes on a processor of today. */
#define DAYBREAK_SYSTEM_CALL_NS 200
/* As in User-Mode Linux: what the init program tries again and again must let time pass. */
#define DAYBREAK_FAILED_CALL_NS 1000

/* Called before each system call of any process. */
void daybreak_system_call(void);
/* Called after one that has failed. */
void daybreak_failed_call(void);

#endif
