// SPDX-License-Identifier: MIT
/*
 * /dev/daybreak: how the init program makes the NICs, starts the switch, waits for the end of the run and reports what
 * the switch writes into its tables. Its half of this file is crates/guest/src/device.rs.
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/interrupt.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include "counts.h"
#include "linux.h"
#include "nic.h"
#include "switch.h"

/* A NIC: the plan's index of it, how it receives frames, and the name of the device. */
struct nic_request {
	__u32 index;
	__u32 linear_bytes;
	__u32 page_bytes;
	char name[16];
};

/* A host whose connections are counted one by one: its address and its device. */
struct count_request {
	__u32 address;
	char name[16];
};

/* Until when to wait; in the answer the time at which the run was over, or all ones. */
struct wait_request {
	__u64 at_ns;
};

#define DAYBREAK_OPEN _IO('d', 1)
#define DAYBREAK_NIC _IOW('d', 2, struct nic_request)
#define DAYBREAK_START _IOW('d', 3, __u64)
#define DAYBREAK_WAIT _IOWR('d', 4, struct wait_request)
#define DAYBREAK_COUNT _IOW('d', 5, struct count_request)

#define LONGEST_REPORT (1 << 20)
#define LONGEST_MESSAGE 1024

/* Nothing else may be on its way in the switch meanwhile. */
#define IN_SWITCH(call)                        \
	({                                     \
		unsigned long in_switch_flags; \
		long in_switch_result;         \
		local_bh_disable();            \
		local_irq_save(in_switch_flags); \
		in_switch_result = (call);     \
		local_irq_restore(in_switch_flags); \
		local_bh_enable();             \
		in_switch_result;              \
	})

static long open_switch(void)
{
	long count = IN_SWITCH(daybreak_load() ? -1 : daybreak_open());

	return count < 0 ? -EPROTO : daybreak_nics(count);
}

static long make_nic(void __user *from)
{
	struct nic_request request;

	if (copy_from_user(&request, from, sizeof(request)))
		return -EFAULT;
	request.name[sizeof(request.name) - 1] = '\0';
	return daybreak_nic(request.index, request.name, request.linear_bytes, request.page_bytes);
}

static long count_host(void __user *from)
{
	struct count_request request;

	if (copy_from_user(&request, from, sizeof(request)))
		return -EFAULT;
	request.name[sizeof(request.name) - 1] = '\0';
	return daybreak_count_host(request.name, request.address);
}

static long start_switch(void __user *from)
{
	__u64 zero_ns;

	if (copy_from_user(&zero_ns, from, sizeof(zero_ns)))
		return -EFAULT;
	daybreak_run(zero_ns);
	return 0;
}

static long wait_for_switch(void __user *argument)
{
	struct wait_request request;
	u64 now_ns = ktime_get_ns();
	long error = 0;

	if (copy_from_user(&request, argument, sizeof(request)))
		return -EFAULT;
	if (request.at_ns == U64_MAX)
		error = wait_event_interruptible(daybreak_when_over, daybreak_over);
	else if (request.at_ns > now_ns)
		error = wait_event_interruptible_hrtimeout(daybreak_when_over, daybreak_over,
							   ns_to_ktime(request.at_ns - now_ns));
	if (error == -ERESTARTSYS)
		return -EINTR;
	request.at_ns = daybreak_over ? IN_SWITCH(daybreak_stopped()) : U64_MAX;
	return copy_to_user(argument, &request, sizeof(request)) ? -EFAULT : 0;
}

static long control_ioctl(struct file *file, unsigned int request, unsigned long argument)
{
	void __user *at = (void __user *)argument;

	switch (request) {
	case DAYBREAK_OPEN:
		return open_switch();
	case DAYBREAK_NIC:
		return make_nic(at);
	case DAYBREAK_START:
		return start_switch(at);
	case DAYBREAK_WAIT:
		return wait_for_switch(at);
	case DAYBREAK_COUNT:
		return count_host(at);
	default:
		return -ENOTTY;
	}
}

static ssize_t control_write(struct file *file, const char __user *from, size_t bytes, loff_t *position)
{
	void *report;
	long failed;

	if (bytes > LONGEST_REPORT)
		return -EMSGSIZE;
	report = kvmalloc(bytes, GFP_KERNEL);
	if (!report)
		return -ENOMEM;
	if (copy_from_user(report, from, bytes)) {
		kvfree(report);
		return -EFAULT;
	}
	failed = IN_SWITCH(daybreak_tell(report, bytes));
	kvfree(report);
	return failed ? -EPROTO : bytes;
}

/* Why the switch failed. */
static ssize_t control_read(struct file *file, char __user *to, size_t bytes, loff_t *position)
{
	char text[LONGEST_MESSAGE];
	long length = IN_SWITCH(daybreak_message(text, min_t(size_t, bytes, sizeof(text))));

	return copy_to_user(to, text, length) ? -EFAULT : length;
}

static const struct file_operations control_operations = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = control_ioctl,
	.read = control_read,
	.write = control_write,
	.llseek = noop_llseek,
};

static struct miscdevice control = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "daybreak",
	.fops = &control_operations,
	.mode = 0600,
};

builtin_misc_device(control);
