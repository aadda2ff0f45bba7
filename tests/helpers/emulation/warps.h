/* Warps of a GPU, run by one processor: what a program that was translated from PTX begins with.
 *
 * A register is an array of 32 numbers, one for every thread of a warp. A block of instructions is a function of
 * a mask: every instruction is done for all threads of it before the next one. */
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { WARP = 32, END = -1, DEPTH = 256 };
enum status { FINE, STUCK, OUTSIDE };

typedef void block(uint32_t mask);
typedef uint32_t masks(uint32_t l);

static uint32_t first_thread, threads, block_number, blocks; /* of this warp */
static int next[WARP], back[WARP]; /* blocks: where threads go, and where those go on that have called */
static uint64_t lot;
static int has_strayed;

/* For every thread of the mask, beginning with another one each time, as a lot decides. */
#define EACH for (uint32_t k_ = 0, l = draw() & 31; k_ < WARP; k_++, l = (l + 1) & 31) if (mask >> l & 1)

/* The same where no thread sees what another does. */
#define EACH_ALONE for (uint32_t l = 0; l < WARP; l++) if (mask >> l & 1)

static uint32_t draw(void)
{
    lot ^= lot << 13;
    lot ^= lot >> 7;
    lot ^= lot << 17;
    return (uint32_t)(lot >> 32);
}

static inline double number(uint64_t bits) { double x; memcpy(&x, &bits, 8); return x; }
static inline uint64_t bits(double x) { uint64_t b; memcpy(&b, &x, 8); return b; }
static inline uint64_t shifted_left(uint64_t x, uint32_t by) { return by > 63 ? 0 : x << by; }
static inline uint64_t shifted_right(uint64_t x, uint32_t by) { return by > 63 ? 0 : x >> by; }
static inline int64_t shifted_down(int64_t x, uint32_t by) { return x >> (by > 63 ? 63 : by); }

static inline int64_t whole(double x)
{
    if (x >= 9223372036854775808.0)
        return INT64_MAX;
    return x >= -9223372036854775808.0 ? (int64_t)x : INT64_MIN; /* and where it is none */
}

static inline uint64_t natural(double x)
{
    if (!(x == x))
        return (uint64_t)1 << 63;
    if (x >= 18446744073709551616.0)
        return UINT64_MAX;
    return x > -1.0 ? (uint64_t)x : 0;
}

/* The memory beside a processor, of which a program has asked for some. */
static _Alignas(128) unsigned char near_memory[1 << 18];
static uint64_t near_bytes;

static inline void *at(uint64_t address, uint32_t size)
{
    static uint64_t nowhere[2];
    uint64_t place = address - (uint64_t)near_memory;
    if (place < sizeof near_memory && place + size > near_bytes) {
        has_strayed = 1;
        return nowhere;
    }
    return (void *)address;
}

/* From which thread of its warp a thread gets its number: as PTX says of shfl.sync. */
static inline uint32_t giver(uint32_t l, int flips, uint32_t place, uint32_t bounds)
{
    uint32_t segment = bounds >> 8 & 31, last = bounds & 31;
    uint32_t lowest = l & segment, highest = lowest | (last & ~segment);
    uint32_t other = flips ? l ^ place : lowest | (place & ~segment & 31);
    return other <= highest ? other : l;
}

/* What was done: how often each block, and by how many threads; bytes of memory that were read or written. */
#if COUNTED
uint64_t done_times[BLOCKS], done_by[BLOCKS];
uint64_t sectors, lines, near_turns, near_accesses;

static inline uint32_t pieces(uint32_t mask, const uint64_t *where, uint32_t bytes)
{
    uint32_t count = 0;
    for (uint32_t l = 0; l < WARP; l++) {
        int is_first = mask >> l & 1;
        for (uint32_t k = 0; k < l && is_first; k++)
            is_first = !(mask >> k & 1 && where[k] / bytes == where[l] / bytes);
        count += is_first;
    }
    return count;
}

static inline void note_far(uint32_t mask, const uint64_t *where)
{
    sectors += pieces(mask, where, 32);
    lines += pieces(mask, where, 128); /* the first cache looks for one of them at a time */
}

static inline void note_near(uint32_t mask, const uint64_t *where, uint32_t size)
{
    /* 32 banks of four bytes; a bank gives one line of 128 bytes at a time. Half a warp of words is one turn. */
    uint32_t lanes = size > 4 ? 16 : 32;
    for (uint32_t from = 0; from < WARP; from += lanes) {
        uint32_t most = 0;
        for (uint32_t bank = 0; bank < 32; bank++) {
            uint64_t seen[32];
            uint32_t count = 0;
            for (uint32_t l = from; l < from + lanes; l++) {
                if (!(mask >> l & 1) || (where[l] >> 2 & 31) != bank)
                    continue;
                uint32_t k = 0;
                while (k < count && seen[k] != where[l] >> 7)
                    k++;
                if (k == count)
                    seen[count++] = where[l] >> 7;
            }
            most = count > most ? count : most;
        }
        near_turns += most;
    }
    near_accesses++;
}
#endif
