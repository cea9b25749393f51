// What PIE of Linux does with the loads: the functions of net/sched/sch_pie.c, which `make.py` puts into pie-functions.h,
// decide; pie_qdisc_enqueue is done here. Updates are at multiples of tupdate.
#include "loads.h"

typedef u64 psched_time_t;
#define PSCHED_NS2TICKS(ns) ((u64)(ns) >> 6)
#define PSCHED_TICKS_PER_SEC PSCHED_NS2TICKS(NSEC_PER_SEC)
#define usecs_to_jiffies(us) ((us) / 1000)
#define qdisc_cb_private_validate(skb, size)
#define psched_mtu(device) 1500
#define qdisc_dev(sch) (sch)
struct Qdisc;
struct qdisc_skb_cb {
  unsigned char data[20];
};
static struct qdisc_skb_cb *qdisc_skb_cb(const struct sk_buff *skb) { return (struct qdisc_skb_cb *)skb->cb; }
static psched_time_t psched_get_time(void) { return PSCHED_NS2TICKS(now); }

static void get_random_bytes(u64 *into, int bytes) { (void)bytes, *into = next_of_stream(); }
#include "pie.h"
#include "pie-functions.h"

static struct pie_params params;
static struct pie_vars vars;
static u64 next_update;

static void update(void) {
  for (; next_update <= now; next_update += (u64)params.tupdate * NSEC_PER_MSEC)
    pie_calculate_probability(&params, &vars, backlog);
}
static void enqueue(struct sk_buff *skb) {
  update();
  if (tail - head < limit && (!pie_drop_early(NULL, &params, &vars, backlog, skb->len) ||
                             (params.ecn && vars.prob <= MAX_PROB / 10 && INET_ECN_set_ce(skb)))) {
    pie_set_enqueue_time(skb);
    push(skb);
    return;
  }
  vars.accu_prob = 0;
  dropped(skb);
}
static struct sk_buff *dequeue(void) {
  update();
  struct sk_buff *skb = take();
  if (skb) pie_process_dequeue(skb, &params, &vars, backlog);
  return skb;
}

static void set_up(u32 load) {
  static const u32 targets[] = {15000, 5000, 20000}, tupdates[] = {15, 30, 5};
  memset(&vars, 0, sizeof vars);
  pie_params_init(&params);
  pie_vars_init(&vars);
  params.target = PSCHED_NS2TICKS(targets[load % 3] * NSEC_PER_USEC);
  params.tupdate = tupdates[load / 3 % 3];
  params.ecn = load % 2;
  next_update = (u64)params.tupdate * NSEC_PER_MSEC;
  start_stream(7, "queue/pie");
  printf("load %u limit %u target_us %u tupdate_us %u ecn %u\n", load, limit, targets[load % 3], params.tupdate * 1000,
         params.ecn);
}
