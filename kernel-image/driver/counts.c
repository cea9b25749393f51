// SPDX-License-Identifier: MIT
/*
 * The kernel counts timeouts, loss probes, recoveries and undone reductions for a network namespace. Where programs run,
 * that is a host with any number of connections, so the counters are read whenever TCP is known to be at work on one of
 * them, and what was added belongs to it:
 *
 * - while a packet is received, its connection;
 * - when a packet is handed to the NIC, its connection: a timer or a system call has sent it, and a timeout or the
 *   beginning of a recovery is counted before the retransmission. A loss probe is counted after it was sent, so it
 *   belongs to the packet before.
 *
 * A NIC's queue comes after that moment: the Ethernet header is written before a packet is queued.
 */
#include <linux/err.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/snmp.h>
#include <linux/tcp.h>
#include <linux/xarray.h>
#include <net/ip.h>
#include <net/net_namespace.h>
#include "counts.h"
#include "switch.h"

enum kind { RTOS, TLPS, FAST_RECOVERIES, SPURIOUS, KINDS };

#define ALL (BIT(RTOS) | BIT(TLPS) | BIT(FAST_RECOVERIES) | BIT(SPURIOUS))

/* The kernel's counters that add up to each kind; unused places are 0, which is a counter of another thing. */
static const u8 counters[KINDS][4] = {
	[RTOS] = { LINUX_MIB_TCPTIMEOUTS },
	[TLPS] = { LINUX_MIB_TCPLOSSPROBES },
	[FAST_RECOVERIES] = { LINUX_MIB_TCPSACKRECOVERY, LINUX_MIB_TCPRENORECOVERY },
	[SPURIOUS] = { LINUX_MIB_TCPFULLUNDO, LINUX_MIB_TCPPARTIALUNDO, LINUX_MIB_TCPDSACKUNDO, LINUX_MIB_TCPLOSSUNDO },
};

struct socket_ends {
	u32 own_address;
	u32 peer_address;
	u16 own_port;
	u16 peer_port;
};

struct host;

/* In place of a device's header operations: its own, but for the one that writes a header, and without a cache. */
struct hook {
	struct header_ops ops;
	int (*write_header)(struct sk_buff *skb, struct net_device *dev, unsigned short type, const void *to,
			    const void *from, unsigned int length);
	struct host *host;
};

struct host {
	struct net *net;
	/* The switch knows no connection of a host with itself; what is counted for those belongs to no other. */
	struct hook nic, loopback;
	/* Reported so far. */
	unsigned int reported[KINDS];
	/* Connection of the packet that was sent or received last. */
	struct socket_ends last;
};

/* By address. */
static DEFINE_XARRAY(hosts);
/* The machine has one processor, and a packet is received in one go. */
static bool receiving;

static unsigned int count(const struct host *host, enum kind kind)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counters[kind]) && counters[kind][i]; i++)
		sum += snmp_fold_field(host->net->mib.net_statistics, counters[kind][i]);
	return sum;
}

/* What was added to these kinds belongs to a connection. */
static void report(struct host *host, const struct socket_ends *ends, unsigned long kinds)
{
	unsigned int added[KINDS] = {};
	unsigned int any = 0, kind;
	unsigned long flags;

	for (kind = 0; kind < KINDS; kind++) {
		if (!(kinds & BIT(kind)))
			continue;
		added[kind] = count(host, kind) - host->reported[kind];
		host->reported[kind] += added[kind];
		any |= added[kind];
	}
	if (any) {
		const struct daybreak_counts counts = {
			.own_address = ends->own_address,
			.peer_address = ends->peer_address,
			.own_port = ends->own_port,
			.peer_port = ends->peer_port,
			.rtos = added[RTOS],
			.tlps = added[TLPS],
			.fast_recoveries = added[FAST_RECOVERIES],
			.spurious = added[SPURIOUS],
		};

		local_irq_save(flags);
		daybreak_count(&counts);
		local_irq_restore(flags);
	}
}

/* The header of TCP, if it is a packet of TCP and not a later fragment. */
static const struct tcphdr *tcp_of(const struct iphdr *ip)
{
	if (ip->version != 4 || ip->protocol != IPPROTO_TCP || ip->frag_off & htons(IP_OFFSET))
		return NULL;
	return (const void *)((const u8 *)ip + 4 * ip->ihl);
}

static int write_header(struct sk_buff *skb, struct net_device *dev, unsigned short type, const void *to,
			const void *from, unsigned int length)
{
	const struct hook *hook = container_of(dev->header_ops, struct hook, ops);
	struct host *host = hook->host;
	const struct iphdr *ip = ip_hdr(skb);
	const struct tcphdr *tcp = type == ETH_P_IP ? tcp_of(ip) : NULL;

	if (tcp) {
		const struct socket_ends ends = {
			ntohl(ip->saddr), ntohl(ip->daddr), ntohs(tcp->source), ntohs(tcp->dest)
		};

		if (!receiving) {
			report(host, &host->last, BIT(TLPS));
			report(host, &ends, ALL);
		}
		host->last = ends;
	}
	return hook->write_header(skb, dev, type, to, from, length);
}

void daybreak_receive(struct sk_buff *skb)
{
	const struct iphdr *ip = (const void *)skb->data;
	const struct tcphdr *tcp = skb->protocol == htons(ETH_P_IP) ? tcp_of(ip) : NULL;
	struct host *host = tcp ? xa_load(&hosts, ntohl(ip->daddr)) : NULL;
	struct socket_ends ends;

	if (!host) {
		netif_receive_skb(skb);
		return;
	}
	ends = (struct socket_ends){ ntohl(ip->daddr), ntohl(ip->saddr), ntohs(tcp->dest), ntohs(tcp->source) };
	report(host, &host->last, ALL);
	receiving = true;
	netif_receive_skb(skb);
	receiving = false;
	report(host, &ends, ALL);
	host->last = ends;
}

void daybreak_count_rest(void)
{
	struct host *host;
	unsigned long address;

	xa_for_each(&hosts, address, host)
		report(host, &host->last, ALL);
}

static void attach(struct hook *hook, struct host *host, struct net_device *dev)
{
	hook->host = host;
	hook->write_header = dev->header_ops->create;
	hook->ops = *dev->header_ops;
	hook->ops.create = write_header;
	/* Headers from a cache would pass it by. */
	hook->ops.cache = NULL;
	hook->ops.cache_update = NULL;
	dev->header_ops = &hook->ops;
}

int daybreak_count_host(const char *device, u32 address)
{
	struct host *host = kzalloc(sizeof(*host), GFP_KERNEL);
	struct net_device *dev;
	int error = -ENOMEM;

	if (!host)
		return error;
	host->net = current->nsproxy->net_ns;
	rtnl_lock();
	dev = __dev_get_by_name(host->net, device);
	error = dev ? xa_insert(&hosts, address, host, GFP_KERNEL) : -ENODEV;
	if (!error) {
		attach(&host->nic, host, dev);
		attach(&host->loopback, host, host->net->loopback_dev);
	}
	rtnl_unlock();
	if (error)
		kfree(host);
	return error;
}
