// SPDX-License-Identifier: MIT
/*
 * The hosts' NICs: Ethernet devices whose cable is the switch. What a device sends goes to the switch at once; its
 * rate is that of its queueing discipline. One timer calls the switch when something is due.
 *
 * The machine has one processor, transmission and the timer run with softirqs off, and so does all else that
 * calls the switch: it is never entered twice.
 */
#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/log2.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <net/dst.h>
#include <net/net_namespace.h>
#include "nic.h"
#include "switch.h"

struct nic {
	unsigned int index;
};

static struct net_device **nics;
static unsigned int nic_count;

static struct hrtimer timer;
static bool running;
/* The timer's handler is at work, and sets the timer when it is done. */
static bool advancing;
/* When the switch wants to be called. */
static u64 wanted_ns = U64_MAX;

bool daybreak_over;
DECLARE_WAIT_QUEUE_HEAD(daybreak_when_over);

static void want(u64 at_ns)
{
	if (at_ns >= wanted_ns)
		return;
	wanted_ns = at_ns;
	if (!advancing)
		hrtimer_start(&timer, ns_to_ktime(at_ns), HRTIMER_MODE_ABS_PINNED_SOFT);
}

static netdev_tx_t nic_start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	const struct nic *nic = netdev_priv(dev);
	struct daybreak_packet packet = {
		.handle = (unsigned long)skb,
		.headers = skb->data,
		.header_bytes = skb_headlen(skb),
		.length = skb->len,
		.nic = nic->index,
		.checksum_is_partial = skb->ip_summed == CHECKSUM_PARTIAL,
	};
	unsigned long at_ns = 0, flags;

	/* It has left the NIC: its sender may send more. */
	skb_orphan(skb);
	skb_dst_drop(skb);
	if (running) {
		local_irq_save(flags);
		at_ns = daybreak_send(&packet, ktime_get_ns());
		local_irq_restore(flags);
	}
	if (at_ns)
		want(at_ns);
	else
		kfree_skb(skb);
	return NETDEV_TX_OK;
}

/*
 * What a packet's buffer takes of its receiver's memory: its own that a NIC would have filled, not that of its
 * sender. Small packets are in one piece, large ones in pages behind their headers.
 */
static unsigned int buffer_bytes(unsigned int length)
{
	const unsigned int room = 16, headers = 80;
	unsigned int linear = room + length, pages = 0;

	if (linear >= PAGE_SIZE) {
		pages = DIV_ROUND_UP(length - headers, PAGE_SIZE);
		linear = room + headers;
	}
	linear = SKB_DATA_ALIGN(linear) + SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	return roundup_pow_of_two(linear) + SKB_DATA_ALIGN(sizeof(struct sk_buff)) + pages * PAGE_SIZE;
}

static void deliver(const struct daybreak_order *order)
{
	struct sk_buff *skb = (struct sk_buff *)order->handle;

	if (!order->deliver) {
		kfree_skb(skb);
		return;
	}
	skb->truesize = buffer_bytes(skb->len);
	if (!__dev_forward_skb(nics[order->nic], skb))
		netif_receive_skb(skb);
}

static enum hrtimer_restart advance(struct hrtimer *expired)
{
	struct daybreak_orders orders;
	unsigned long i, flags;

	advancing = true;
	wanted_ns = U64_MAX;
	local_irq_save(flags);
	daybreak_advance(ktime_get_ns(), &orders);
	local_irq_restore(flags);
	for (i = 0; i < orders.count; i++)
		deliver(&orders.list[i]);
	advancing = false;
	if (orders.over && !daybreak_over) {
		daybreak_over = true;
		wake_up_all(&daybreak_when_over);
	}
	wanted_ns = min_t(u64, wanted_ns, orders.next_ns);
	if (wanted_ns == U64_MAX)
		return HRTIMER_NORESTART;
	hrtimer_set_expires(expired, ns_to_ktime(wanted_ns));
	return HRTIMER_RESTART;
}

void daybreak_run(u64 zero_ns)
{
	unsigned long flags;

	local_bh_disable();
	local_irq_save(flags);
	daybreak_start(zero_ns);
	local_irq_restore(flags);
	running = true;
	want(zero_ns);
	local_bh_enable();
}

static const struct net_device_ops nic_ops = {
	.ndo_start_xmit = nic_start_xmit,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_set_mac_address = eth_mac_addr,
};

static void nic_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &nic_ops;
	dev->needs_free_netdev = true;
	dev->max_mtu = ETH_MAX_MTU;
	dev->priv_flags |= IFF_NO_QUEUE | IFF_LIVE_ADDR_CHANGE;
	/* Payload stays in its pages, and no checksum is computed that nobody checks. */
	dev->features |= NETIF_F_LLTX | NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	dev->hw_features |= NETIF_F_SG | NETIF_F_HW_CSUM;
	eth_hw_addr_random(dev);
}

int daybreak_nics(unsigned int count)
{
	if (nics)
		return -EBUSY;
	nics = kcalloc(count, sizeof(*nics), GFP_KERNEL);
	if (!nics)
		return -ENOMEM;
	nic_count = count;
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_SOFT);
	timer.function = advance;
	return 0;
}

int daybreak_nic(unsigned int index, const char *name)
{
	struct net_device *dev;
	struct nic *nic;
	int error;

	if (index >= nic_count || nics[index])
		return -EINVAL;
	dev = alloc_netdev(sizeof(*nic), name, NET_NAME_USER, nic_setup);
	if (!dev)
		return -ENOMEM;
	nic = netdev_priv(dev);
	nic->index = index;
	dev_net_set(dev, current->nsproxy->net_ns);
	error = register_netdev(dev);
	if (error) {
		free_netdev(dev);
		return error;
	}
	nics[index] = dev;
	return 0;
}
