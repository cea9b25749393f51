// What CoDel of Linux does with the loads: include/net/codel_impl.h itself decides. `make.py` compiles it.
#include "loads.h"

static u64 ktime_get_ns(void) { return now + UPTIME; }
static int skb_get_dsfield(struct sk_buff *skb) { (void)skb; return -1; }
static u32 reciprocal_scale(u32 value, u32 range) { return ((u64)value * range) >> 32; }
#include "codel.h"
#include "codel_impl.h"

static struct codel_params params = {.ce_threshold = CODEL_DISABLED_THRESHOLD, .mtu = 1500};
static struct codel_vars vars;
static struct codel_stats stats;

static struct sk_buff *take_one(struct codel_vars *v, void *ctx) { return (void)v, (void)ctx, take(); }
static void drop(struct sk_buff *skb, void *ctx) { (void)ctx, dropped(skb); }
static u32 length(const struct sk_buff *skb) { return skb->len; }
static codel_time_t came(const struct sk_buff *skb) { return (skb->came + UPTIME) >> CODEL_SHIFT; }
static void enqueue(struct sk_buff *skb) { tail - head < limit ? push(skb) : dropped(skb); }
static struct sk_buff *dequeue(void) {
  return codel_dequeue(NULL, &backlog, &params, &vars, &stats, length, came, drop, take_one);
}

static void set_up(u32 load) {
  static const u32 targets[] = {5000, 1000, 20000}, intervals[] = {100000, 20000, 40000};
  u32 target = targets[load % 3], interval = intervals[load / 3 % 3];
  params.ecn = load % 2;
  params.target = (u64)target * 1000 >> CODEL_SHIFT;
  params.interval = (u64)interval * 1000 >> CODEL_SHIFT;
  codel_vars_init(&vars);
  codel_stats_init(&stats);
  printf("load %u limit %u target_us %u interval_us %u ecn %u\n", load, limit, target, interval, params.ecn);
}
