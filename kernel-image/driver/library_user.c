// SPDX-License-Identifier: MIT
/*
 * Loads the switch into the kernel's process, and calls it. Compiled for the host's C library.
 *
 * The library expects an ordinary stack, and a kernel stack has 16 KiB; so it runs on one of its own, which has
 * a page below it that faults. It never calls back.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "switch.h"

#define STACK_BYTES (8UL << 20)
#define GUARD_BYTES 4096UL

static void *stack_top;
static char failure[512];

static struct {
	unsigned int (*abi)(void);
	long (*open)(void);
	void (*start)(unsigned long zero_ns);
	unsigned long (*send)(const struct daybreak_packet *packet, unsigned long now_ns);
	void (*count)(const struct daybreak_counts *counts);
	void (*advance)(unsigned long now_ns, struct daybreak_orders *orders);
	long (*tell)(const void *report, unsigned long bytes);
	unsigned long (*stopped)(void);
	long (*message)(void *text, unsigned long bytes);
} library;

/* Calls a function of the System V ABI with up to two arguments on the library's stack. */
static unsigned long on_own_stack(void *function, unsigned long first, unsigned long second)
{
	unsigned long result;

	asm volatile("movq %%rsp, %%rbx\n\t"
		     "movq %[top], %%rsp\n\t"
		     "call *%[function]\n\t"
		     "movq %%rbx, %%rsp"
		     : "=a"(result), "+D"(first), "+S"(second)
		     : [top] "r"(stack_top), [function] "r"(function)
		     : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
	return result;
}

static void *open_library(const char *path)
{
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int find(void *handle, const char *name, void *function)
{
	void *found = dlsym(handle, name);

	memcpy(function, &found, sizeof(found));
	if (!found)
		snprintf(failure, sizeof(failure), "the switch has no function %s", name);
	return found ? 0 : -1;
}

int daybreak_load(void)
{
	const char *path = getenv("DAYBREAK_SWITCH");
	char *stack;
	void *handle;

	if (library.open)
		return 0;
	if (!path) {
		snprintf(failure, sizeof(failure), "DAYBREAK_SWITCH does not name the switch");
		return -1;
	}
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stack == MAP_FAILED || mprotect(stack, GUARD_BYTES, PROT_NONE)) {
		snprintf(failure, sizeof(failure), "no memory for the switch's stack");
		return -1;
	}
	stack_top = stack + STACK_BYTES;
	handle = (void *)on_own_stack(open_library, (unsigned long)path, 0);
	if (!handle) {
		snprintf(failure, sizeof(failure), "the switch cannot be loaded: %s", dlerror());
		return -1;
	}
	if (find(handle, "daybreak_switch_abi", &library.abi))
		return -1;
	if (library.abi() != DAYBREAK_ABI) {
		snprintf(failure, sizeof(failure), "%s is version %u of the switch and the kernel image wants %u",
			 path, library.abi(), DAYBREAK_ABI);
		return -1;
	}
	if (find(handle, "daybreak_switch_start", &library.start) || find(handle, "daybreak_switch_send", &library.send) ||
	    find(handle, "daybreak_switch_count", &library.count) ||
	    find(handle, "daybreak_switch_advance", &library.advance) ||
	    find(handle, "daybreak_switch_tell", &library.tell) ||
	    find(handle, "daybreak_switch_stopped", &library.stopped) ||
	    find(handle, "daybreak_switch_message", &library.message) ||
	    find(handle, "daybreak_switch_open", &library.open))
		return -1;
	return 0;
}

long daybreak_open(void)
{
	return (long)on_own_stack(library.open, 0, 0);
}

void daybreak_start(unsigned long zero_ns)
{
	on_own_stack(library.start, zero_ns, 0);
}

unsigned long daybreak_send(const struct daybreak_packet *packet, unsigned long now_ns)
{
	return on_own_stack(library.send, (unsigned long)packet, now_ns);
}

void daybreak_count(const struct daybreak_counts *counts)
{
	on_own_stack(library.count, (unsigned long)counts, 0);
}

void daybreak_advance(unsigned long now_ns, struct daybreak_orders *orders)
{
	on_own_stack(library.advance, now_ns, (unsigned long)orders);
}

long daybreak_tell(const void *report, unsigned long bytes)
{
	return (long)on_own_stack(library.tell, (unsigned long)report, bytes);
}

unsigned long daybreak_stopped(void)
{
	return on_own_stack(library.stopped, 0, 0);
}

long daybreak_message(void *text, unsigned long bytes)
{
	unsigned long length = strlen(failure);

	if (!length && library.message)
		return (long)on_own_stack(library.message, (unsigned long)text, bytes);
	if (length > bytes)
		length = bytes;
	memcpy(text, failure, length);
	return (long)length;
}
