// What FQ-CoDel of Linux does with the loads: the functions of net/sched/sch_fq_codel.c, which `make.py` puts into
// fq_codel-functions.h, decide, all but which sub-queue is a flow's. That is drawn as the fabric does: a key of the queue's stream,
// and a hash of it and the flow.
#include "loads.h"
#include <stddef.h>

#define NET_XMIT_SUCCESS 0
#define NET_XMIT_CN 2
#define __NET_XMIT_BYPASS 0
#define ETHERNET 14
#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

struct list_head {
  struct list_head *next, *prev;
};
#define INIT_LIST_HEAD(list) ((list)->next = (list)->prev = (list))
#define list_first_entry(list, type, member) container_of((list)->next, type, member)
static bool list_empty(const struct list_head *list) { return list->next == list; }
static void list_add_tail(struct list_head *one, struct list_head *list) {
  one->prev = list->prev, one->next = list;
  list->prev->next = one, list->prev = one;
}
static void list_del_init(struct list_head *one) {
  one->prev->next = one->next, one->next->prev = one->prev;
  INIT_LIST_HEAD(one);
}
static void list_move_tail(struct list_head *one, struct list_head *list) {
  list_del_init(one);
  list_add_tail(one, list);
}

struct tcf_proto;
struct tcf_block;
#define __rcu
struct Qdisc {
  struct {
    u32 qlen;
  } q;
  struct {
    u32 backlog, drops;
  } qstats;
  u32 limit;
  void *data;
};
struct qdisc_skb_cb {
  unsigned char data[20];
};
static struct qdisc_skb_cb *qdisc_skb_cb(const struct sk_buff *skb) { return (struct qdisc_skb_cb *)skb->cb; }
static void *qdisc_priv(struct Qdisc *sch) { return sch->data; }
static u32 qdisc_pkt_len(const struct sk_buff *skb) { return skb->len + ETHERNET; }
static void qdisc_qstats_backlog_inc(struct Qdisc *sch, const struct sk_buff *skb) { sch->qstats.backlog += qdisc_pkt_len(skb); }
#define qdisc_cb_private_validate(skb, size)
#define qdisc_qstats_drop(sch) ((sch)->qstats.drops++)
#define qdisc_bstats_update(sch, skb)
#define qdisc_tree_reduce_backlog(sch, packets, bytes)
#define skb_mark_not_on_list(skb) ((skb)->next = NULL)
#define kfree_skb(skb) dropped(skb)
#define __qdisc_drop(skb, to_free) ((void)(to_free), dropped(skb))
#define truesize number * 0

static u64 ktime_get_ns(void) { return now + UPTIME; }
static int skb_get_dsfield(struct sk_buff *skb) { (void)skb; return -1; }
static u32 reciprocal_scale(u32 value, u32 range) { return ((u64)value * range) >> 32; }
#include "codel.h"
#include "codel_impl.h"
#include "codel_qdisc.h"
#include "fq_codel-structs.h"

static u64 key;
static unsigned int fq_codel_classify(struct sk_buff *skb, struct Qdisc *sch, int *error) {
  struct fq_codel_sched_data *q = qdisc_priv(sch);
  (void)error;
  return reciprocal_scale(splitmix(key ^ splitmix(skb->flow)) >> 32, q->flows_cnt) + 1;
}
#include "fq_codel-functions.h"

enum { SUB_QUEUES = 64 };
static struct fq_codel_flow flows[SUB_QUEUES];
static u32 backlogs[SUB_QUEUES];
static struct fq_codel_sched_data data;
static struct Qdisc qdisc = {.data = &data};

static void enqueue(struct sk_buff *skb) { fq_codel_enqueue(skb, &qdisc, NULL); }
static struct sk_buff *dequeue(void) { return __fq_codel_dequeue(&qdisc); }

static void set_up(u32 load) {
  static const u32 targets[] = {5000, 1000, 20000}, intervals[] = {100000, 20000, 40000}, quanta[] = {1514, 300, 3028, 1514};
  memset(&data, 0, sizeof data);
  memset(&qdisc.q, 0, sizeof qdisc.q), memset(&qdisc.qstats, 0, sizeof qdisc.qstats);
  memset(flows, 0, sizeof flows), memset(backlogs, 0, sizeof backlogs);
  data.flows = flows, data.backlogs = backlogs, data.flows_cnt = load == 9 ? 4 : SUB_QUEUES;
  data.quantum = quanta[load % 4], data.drop_batch_size = 64, data.memory_limit = UINT32_MAX;
  INIT_LIST_HEAD(&data.new_flows), INIT_LIST_HEAD(&data.old_flows);
  for (int i = 0; i < SUB_QUEUES; i++) INIT_LIST_HEAD(&flows[i].flowchain);
  codel_params_init(&data.cparams);
  u32 target = targets[load % 3], interval = intervals[load / 3 % 3];
  data.cparams.ecn = load % 2, data.cparams.mtu = 1500 + ETHERNET;
  data.cparams.target = (u64)target * 1000 >> CODEL_SHIFT;
  data.cparams.interval = (u64)interval * 1000 >> CODEL_SHIFT;
  qdisc.limit = limit;
  start_stream(7, "queue/fq_codel");
  key = next_of_stream();
  printf("load %u limit %u target_us %u interval_us %u ecn %u flows %u quantum %u\n", load, limit, target, interval,
         data.cparams.ecn, data.flows_cnt, data.quantum);
}
