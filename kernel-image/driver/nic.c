// SPDX-License-Identifier: MIT
/*
 * The hosts' NICs: Ethernet devices whose cable is the switch. What a device sends goes to the switch at once; its
 * rate is that of its queueing discipline. One timer calls the switch when something is due: its interrupt stands for
 * those of all NICs, and as with these a softirq does the work. A timer that runs in a softirq itself would make others
 * that have slack expire early, such as that of compressed SACKs.
 *
 * The machine has one processor, transmission and the softirq run with softirqs off, and so does all else that
 * calls the switch: it is never entered twice.
 */
#include <linux/etherdevice.h>
#include <linux/interrupt.h>
#include <linux/ip.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/timekeeping.h>
#include <linux/udp.h>
#include <net/dst.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include "counts.h"
#include "linux.h"
#include "nic.h"
#include "switch.h"

struct nic {
	unsigned int index;
	/* How received frames lie in memory. */
	unsigned int linear_bytes;
	unsigned int page_bytes;
};

static struct net_device **nics;
static unsigned int nic_count;

static struct hrtimer timer;
static bool running;
/* The softirq is at work, and sets the timer when it is done. */
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
		hrtimer_start(&timer, ns_to_ktime(at_ns), HRTIMER_MODE_ABS_PINNED_HARD);
}

/* Answers that the kernel gives without a whole socket have no owner. */
static unsigned int owner(const struct sk_buff *skb)
{
	return skb->sk && sk_fullsock(skb->sk) ? from_kuid(&init_user_ns, skb->sk->sk_uid) : DAYBREAK_NO_OWNER;
}

static netdev_tx_t nic_start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	const struct nic *nic = netdev_priv(dev);
	struct daybreak_packet packet = {
		.handle = (unsigned long)skb,
		.length = skb->len,
		.nic = nic->index,
		.checksum_is_partial = skb->ip_summed == CHECKSUM_PARTIAL,
		.owner = owner(skb),
	};
	unsigned long at_ns = 0, flags;

	/*
	 * It has left the NIC: its sender may send more, and may join or change what it keeps to send again, which it
	 * does not as long as a packet shares its data.
	 */
	skb_orphan(skb);
	skb_dst_drop(skb);
	if (skb_unclone(skb, GFP_ATOMIC))
		panic("no memory for a packet");
	packet.headers = skb->data;
	packet.header_bytes = skb_headlen(skb);
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

/* Room in front of a frame, and the smallest buffer of a frame's beginning. */
#define ROOM 16
#define HEAD 192

/* Bytes of a frame up to its payload. */
static unsigned int header_bytes(const struct sk_buff *skb)
{
	const struct iphdr *ip = (const void *)(skb->data + ETH_HLEN);
	const unsigned char *transport = (const unsigned char *)ip + 4 * ip->ihl;
	unsigned int bytes = ETH_HLEN + 4 * ip->ihl;

	if (ip->protocol == IPPROTO_TCP)
		return bytes + 4 * ((const struct tcphdr *)transport)->doff;
	return bytes + (ip->protocol == IPPROTO_UDP ? sizeof(struct udphdr) : 0);
}

/*
 * The packet as its receiver's NIC has written it into memory, in buffers of its own: those of the sender are none of
 * the receiver's, which counts what its own take. Small packets are in one piece, large ones in pages behind their
 * headers. Lack of memory is not a loss that a network has, so it ends the run.
 */
static struct sk_buff *received(const struct sk_buff *skb, struct net_device *dev)
{
	const struct nic *nic = netdev_priv(dev);
	bool linear = ROOM + skb->len < max_t(unsigned int, nic->linear_bytes, HEAD + 1);
	unsigned int at = linear ? skb->len : header_bytes(skb);
	struct sk_buff *copy = alloc_skb(linear ? ROOM + at : HEAD, GFP_ATOMIC);

	if (!copy)
		panic("no memory for a packet");
	skb_reserve(copy, ROOM);
	skb_copy_bits(skb, 0, skb_put(copy, at), at);
	while (at < skb->len) {
		unsigned int bytes = min_t(unsigned int, skb->len - at, nic->page_bytes);
		struct page *page = alloc_page(GFP_ATOMIC);

		if (!page)
			panic("no memory for a packet");
		skb_copy_bits(skb, at, page_address(page), bytes);
		skb_add_rx_frag(copy, skb_shinfo(copy)->nr_frags, page, 0, bytes, nic->page_bytes);
		at += bytes;
	}
	copy->ip_summed = CHECKSUM_UNNECESSARY;
	copy->protocol = eth_type_trans(copy, dev);
	return copy;
}

static void deliver(const struct daybreak_order *order)
{
	struct sk_buff *skb = (struct sk_buff *)order->handle;

	if (order->deliver)
		daybreak_receive(received(skb, nics[order->nic]));
	kfree_skb(skb);
}

static void advance(struct tasklet_struct *unused)
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
		daybreak_count_rest();
		daybreak_over = true;
		wake_up_all(&daybreak_when_over);
	}
	wanted_ns = min_t(u64, wanted_ns, orders.next_ns);
	if (wanted_ns != U64_MAX)
		hrtimer_start(&timer, ns_to_ktime(wanted_ns), HRTIMER_MODE_ABS_PINNED_HARD);
}

static DECLARE_TASKLET(arrivals, advance);

static enum hrtimer_restart interrupt(struct hrtimer *expired)
{
	tasklet_schedule(&arrivals);
	return HRTIMER_NORESTART;
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
	/* Payload stays in its pages, and no checksum is computed, since none is checked. */
	dev->features |= NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	dev->hw_features |= NETIF_F_SG | NETIF_F_HW_CSUM;
	daybreak_transmits_unlocked(dev);
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
	daybreak_timer(&timer, interrupt, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	return 0;
}

int daybreak_nic(unsigned int index, const char *name, unsigned int linear_bytes, unsigned int page_bytes)
{
	struct net_device *dev;
	struct nic *nic;
	int error;

	if (index >= nic_count || nics[index] || page_bytes > PAGE_SIZE)
		return -EINVAL;
	dev = alloc_netdev(sizeof(*nic), name, NET_NAME_USER, nic_setup);
	if (!dev)
		return -ENOMEM;
	nic = netdev_priv(dev);
	nic->index = index;
	nic->linear_bytes = linear_bytes;
	nic->page_bytes = page_bytes;
	dev_net_set(dev, current->nsproxy->net_ns);
	error = register_netdev(dev);
	if (error) {
		free_netdev(dev);
		return error;
	}
	nics[index] = dev;
	return 0;
}
