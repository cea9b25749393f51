// What CoDel of Linux does with ten drawn loads: a link of 10 Mbit/s, served by include/net/codel_impl.h itself. Prints a
// line a load, then a line a packet that is dropped (D) or marked (M): its number and the time in ns. `make.py` compiles it;
// crates/fabric/tests/codel.rs draws the same loads.
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L
#define unlikely(x) (x)
#define typecheck(type, x) 1
#define BITS_PER_BYTE 8
#define do_div(n, base) ((n) /= (base))

struct sk_buff {
  u32 number, bytes;
  bool is_ect;
  s64 came;
  char cb[48];
};
static u64 now;
static u64 ktime_get_ns(void) { return now; }
static int skb_get_dsfield(struct sk_buff *skb) { (void)skb; return -1; }
static u32 reciprocal_scale(u32 value, u32 range) { return ((u64)value * range) >> 32; }
static bool INET_ECN_set_ce(struct sk_buff *skb) {
  if (skb->is_ect) printf("M %u %llu\n", skb->number, (unsigned long long)now);
  return skb->is_ect;
}
#include "codel.h"
#include "codel_impl.h"

enum { PACKETS = 4000, NS_PER_BYTE = 800 };
static struct sk_buff queue[PACKETS];
static u32 head, tail, backlog;

static struct sk_buff *take(struct codel_vars *vars, void *ctx) {
  (void)vars, (void)ctx;
  if (head == tail) return NULL;
  backlog -= queue[head].bytes;
  return &queue[head++];
}
static void drop(struct sk_buff *skb, void *ctx) {
  (void)ctx;
  printf("D %u %llu\n", skb->number, (unsigned long long)now);
}
static u32 length(const struct sk_buff *skb) { return skb->bytes; }
static codel_time_t came(const struct sk_buff *skb) { return skb->came >> CODEL_SHIFT; }

static u64 state;
static u32 draw(u32 below) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (state >> 33) % below;
}

int main(void) {
  static const u32 targets[] = {5000, 1000, 20000}, intervals[] = {100000, 20000, 40000};
  for (u32 load = 0; load < 10; load++) {
    u32 target = targets[load % 3], interval = intervals[load / 3 % 3];
    bool ecn = load % 2;
    struct codel_params params = {.ce_threshold = CODEL_DISABLED_THRESHOLD, .mtu = 1500, .ecn = ecn};
    params.target = (u64)target * 1000 >> CODEL_SHIFT;
    params.interval = (u64)interval * 1000 >> CODEL_SHIFT;
    struct codel_vars vars;
    struct codel_stats stats;
    codel_vars_init(&vars);
    codel_stats_init(&stats);
    printf("load %u target_us %u interval_us %u ecn %u\n", load, target, interval, ecn);
    state = load + 1, head = tail = backlog = 0;
    u64 arrival = 1000000, phase_end = 0, free_at = 0;
    u32 percent = 0, sent = 0;
    bool busy = false;
    while (sent < PACKETS || busy) {
      if (busy && (sent == PACKETS || free_at <= arrival)) {
        now = free_at, busy = false;
      } else {
        now = arrival;
        struct sk_buff *skb = &queue[tail++];
        skb->number = sent++, skb->came = now;
        skb->bytes = skb->number == 0 || draw(10) < 7 ? 1500 : 64 + draw(1437);
        skb->is_ect = draw(2);
        backlog += skb->bytes;
        if (now >= phase_end) percent = 30 + draw(221), phase_end = now + 20000000ULL + draw(580) * 1000000ULL;
        arrival += (u64)skb->bytes * NS_PER_BYTE * (50 + draw(101)) / percent;
      }
      if (busy) continue;
      struct sk_buff *skb = codel_dequeue(NULL, &backlog, &params, &vars, &stats, length, came, drop, take);
      if (skb) busy = true, free_at = now + (u64)skb->bytes * NS_PER_BYTE;
    }
    printf("end %llu\n", (unsigned long long)now);
  }
}
