// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * reTCP: Reno that multiplies its window when a circuit comes up and divides it when the circuit goes.
 *
 * A switch sets the ECE flag on a flow's ACKs from some time before the flow's circuit is there until it is gone.
 * What the flag of the last ACK says is heard in in_ack_event, also where ECN was not negotiated (recipe.toml has the
 * edit for that), and has its effect after Reno's own increase: so only on ACKs that may grow the window, whether it
 * is the limit or not. Losses do not change that a flow has jumped, and jumps do not change its threshold.
 *
 * Mukerjee et al., "Adapting TCP for reconfigurable datacenter networks", NSDI 2020. crates/tcp/src/congestion/retcp.rs
 * is the same rule for the simulator.
 */
#include <linux/module.h>
#include <net/tcp.h>

static unsigned int alpha_up = 2;
module_param(alpha_up, uint, 0644);
MODULE_PARM_DESC(alpha_up, "factor of the window when the circuit comes up");

static unsigned int alpha_down = 2;
module_param(alpha_down, uint, 0644);
MODULE_PARM_DESC(alpha_down, "divisor of the window when the circuit goes");

struct retcp {
	/* The last ACK was marked. */
	bool has_circuit;
	/* The window has been multiplied for a circuit. */
	bool jumped;
};

static struct retcp *retcp_of(struct sock *sk)
{
	return inet_csk_ca(sk);
}

static void retcp_init(struct sock *sk)
{
	*retcp_of(sk) = (struct retcp){};
}

static void retcp_hear_ack(struct sock *sk, u32 flags)
{
	retcp_of(sk)->has_circuit = flags & CA_ACK_ECE;
}

static void retcp_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct retcp *rule = retcp_of(sk);
	u64 window;

	tcp_reno_cong_avoid(sk, ack, acked);
	if (rule->has_circuit == rule->jumped)
		return;
	window = tcp_snd_cwnd(tp);
	if (rule->has_circuit)
		window = min_t(u64, window * max(alpha_up, 1U), tp->snd_cwnd_clamp);
	else
		window = max_t(u32, (u32)window / max(alpha_down, 1U), 1);
	tcp_snd_cwnd_set(tp, window);
	rule->jumped = rule->has_circuit;
}

static struct tcp_congestion_ops retcp = {
	.name = "retcp",
	.owner = THIS_MODULE,
	.init = retcp_init,
	.in_ack_event = retcp_hear_ack,
	.cong_avoid = retcp_avoid,
	.ssthresh = tcp_reno_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init retcp_register(void)
{
	BUILD_BUG_ON(sizeof(struct retcp) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&retcp);
}

module_init(retcp_register);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("reTCP");
