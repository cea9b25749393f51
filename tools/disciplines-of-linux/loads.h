// What the programs share: types of the kernel, ten drawn loads, and a link of 10 Mbit/s that serves them. Each packet is sent (S), marked and
// sent (M) or dropped (D); a line says how many of the packets up to a number are marked and dropped, and a digest of what became of
// each and when (in ns; a packet is sent when the link takes it). With a load as argument, the fate of each of its packets is printed
// instead. crates/fabric/tests/of_linux.rs draws the same loads.
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
#define U64_MAX UINT64_MAX
#define USEC_PER_MSEC 1000L
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L
#define BITS_PER_BYTE 8
#define unlikely(x) (x)
#define typecheck(type, x) 1
#define do_div(n, base) ((n) /= (base))
#define div_u64(n, by) ((u64)(n) / (by))
#define clamp_t(type, x, least, most) ((type)(x) < (least) ? (type)(least) : (type)(x) > (most) ? (type)(most) : (type)(x))
#define WRITE_ONCE(x, value) ((x) = (value))
#define EXPORT_SYMBOL_GPL(name) extern int exported_##name

struct sk_buff {
  u32 number, len, flow;
  bool is_ect, is_marked;
  u64 came;
  struct sk_buff *next;
  char cb[48];
};
static u64 now;
// A number of CoDel's ticks. The kernel compares with a `drop_next` of 0 while there was no drop: this is longer ago than 16 intervals.
#define UPTIME (10000000ULL << 10)
static bool INET_ECN_set_ce(struct sk_buff *skb) { return skb->is_marked = skb->is_ect; }

enum { PACKETS = 4000, NS_PER_BYTE = 800, EVERY = 200, FLOWS = 12 };
static struct sk_buff packets[PACKETS], *queue[PACKETS];
static u64 fated[PACKETS];
static char fate[PACKETS];
static u32 head, tail, backlog, limit;

static void has_fate(const struct sk_buff *skb, char what) { fate[skb->number] = what, fated[skb->number] = now; }
static void dropped(const struct sk_buff *skb) { has_fate(skb, 'D'); }
static void push(struct sk_buff *skb) {
  queue[tail++] = skb;
  backlog += skb->len;
}
static struct sk_buff *take(void) {
  if (head == tail) return NULL;
  backlog -= queue[head]->len;
  return queue[head++];
}

static u64 state;
static u32 draw(u32 below) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (state >> 33) % below;
}

static void print(bool each) {
  u64 digest = 0xcbf29ce484222325, marks = 0, drops = 0;
  for (u32 number = 0; number < PACKETS; number++) {
    marks += fate[number] == 'M', drops += fate[number] == 'D';
    digest = (digest ^ fate[number]) * 0x100000001b3;
    digest = (digest ^ fated[number]) * 0x100000001b3;
    if (each) printf("%u %c %llu\n", number, fate[number], (unsigned long long)fated[number]);
    else if ((number + 1) % EVERY == 0)
      printf("%u %llu %llu %016llx\n", number, (unsigned long long)marks, (unsigned long long)drops, (unsigned long long)digest);
  }
}

// Offers a load to a discipline until the last packet has left.
static void serve(u32 load, void enqueue(struct sk_buff *), struct sk_buff *dequeue(void)) {
  state = load + 1, head = tail = backlog = 0;
  u64 arrival = 1000000, phase_end = 0, free_at = 0;
  u32 percent = 0, sent = 0;
  bool busy = false;
  while (sent < PACKETS || busy) {
    if (busy && (sent == PACKETS || free_at <= arrival)) {
      now = free_at, busy = false;
    } else {
      now = arrival;
      struct sk_buff *skb = &packets[sent];
      *skb = (struct sk_buff){.number = sent++, .came = now};
      skb->len = skb->number == 0 || draw(10) < 7 ? 1500 : 64 + draw(1437);
      skb->is_ect = draw(2);
      skb->flow = draw(2) ? 0 : draw(FLOWS);
      if (now >= phase_end) percent = 30 + draw(221), phase_end = now + 20000000ULL + draw(580) * 1000000ULL;
      arrival += (u64)skb->len * NS_PER_BYTE * (50 + draw(101)) / percent;
      enqueue(skb);
    }
    if (busy) continue;
    struct sk_buff *skb = dequeue();
    if (!skb) continue;
    has_fate(skb, skb->is_marked ? 'M' : 'S');
    busy = true, free_at = now + (u64)skb->len * NS_PER_BYTE;
  }
}

// Random numbers of the streams that the fabric gives the queue of the test: crates/units/src/random.rs.
static u64 splitmix(u64 x) {
  u64 z = x + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
static u64 stream[4];
static void start_stream(u64 seed, const char *path) {
  u64 name = 0xcbf29ce484222325;
  for (; *path; path++) name = (name ^ (u8)*path) * 0x100000001b3;
  u64 fill = splitmix(seed) ^ name;
  for (int i = 0; i < 4; i++, fill += 0x9e3779b97f4a7c15) stream[i] = splitmix(fill);
}
static u64 next_of_stream(void) {
  u64 a = stream[0], b = stream[1], c = stream[2], d = stream[3], sum = a + d, drawn = (sum << 23 | sum >> 41) + a;
  c ^= a, d ^= b;
  stream[0] = a ^ d, stream[1] = b ^ c, stream[2] = c ^ (b << 17), stream[3] = d << 45 | d >> 19;
  return drawn;
}

// What each program does with a load: sets it up, and prints the line that says how.
static void set_up(u32 load);
static void enqueue(struct sk_buff *skb);
static struct sk_buff *dequeue(void);

int main(int arguments, char **argument) {
  for (u32 load = 0; load < 10; load++) {
    bool each = arguments > 1 && (u32)atoi(argument[1]) == load;
    limit = load % 4 == 3 ? 60 : PACKETS;
    if (arguments > 1 && !each) continue;
    set_up(load);
    serve(load, enqueue, dequeue);
    print(each);
  }
}
