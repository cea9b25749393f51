/* SPDX-License-Identifier: MIT */
/*
 * What the driver and the switch say to each other. The switch is a library of the host that the kernel's own
 * process loads; its half of this file is crates/guest-switch/src/lib.rs.
 */
#ifndef DAYBREAK_SWITCH_H
#define DAYBREAK_SWITCH_H

/* Changes with everything below. */
#define DAYBREAK_ABI 3

#define DAYBREAK_NO_OWNER (~0U)

/* A packet that leaves a NIC. It belongs to the switch until an order with its handle comes back. */
struct daybreak_packet {
	unsigned long handle;
	/* First bytes of the packet: at least all its headers. They do not move or change. */
	const unsigned char *headers;
	unsigned int header_bytes;
	/* Length with the Ethernet header. */
	unsigned int length;
	unsigned int nic;
	/* The TCP checksum is only that of the pseudo header. */
	unsigned int checksum_is_partial;
	/* The user whose socket it is from, or DAYBREAK_NO_OWNER. */
	unsigned int owner;
	unsigned int reserved;
};

/* What TCP has newly counted of a connection at one of its ends. */
struct daybreak_counts {
	unsigned int own_address;
	unsigned int peer_address;
	unsigned short own_port;
	unsigned short peer_port;
	unsigned int rtos;
	unsigned int tlps;
	unsigned int fast_recoveries;
	unsigned int spurious;
};

/* What is to happen now with a packet. */
struct daybreak_order {
	unsigned long handle;
	unsigned int nic;
	/* 1: hand it to its receiver, behind nic; 0: it is lost. */
	unsigned int deliver;
};

struct daybreak_orders {
	const struct daybreak_order *list;
	unsigned long count;
	/* When the switch wants to be called again. */
	unsigned long next_ns;
	/* The run is over, or has failed. */
	unsigned long over;
};

/*
 * The switch's functions, on a stack of their own. The caller sees to it that only one runs at a time. Times are
 * nanoseconds of the monotonic clock.
 */

/* Loads the library that the environment names in DAYBREAK_SWITCH. 0, or -1. */
int daybreak_load(void);
/* Reads the plan in the directory in which the kernel was started. The number of NICs, or -1. */
long daybreak_open(void);
/* The plan's clock starts at zero_ns. */
void daybreak_start(unsigned long zero_ns);
/* Takes a packet. When the switch wants to be called then, or 0 if the packet is lost. */
unsigned long daybreak_send(const struct daybreak_packet *packet, unsigned long now_ns);
/* Adds to the counts of a connection. */
void daybreak_count(const struct daybreak_counts *counts);
/* Does what is due. The list is good until the next call of this function. */
void daybreak_advance(unsigned long now_ns, struct daybreak_orders *orders);
/* Takes a report of the init program. 0, or -1. */
long daybreak_tell(const void *report, unsigned long bytes);
/* When the run was over, in nanoseconds of the plan's clock. */
unsigned long daybreak_stopped(void);
/* Why something failed: copies at most that many bytes of the text; how many. */
long daybreak_message(void *text, unsigned long bytes);

#endif
