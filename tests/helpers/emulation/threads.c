/* Threads of a GPU, run by one processor: each is a fiber with a stack of its own.
 *
 * They go in step, as those of a warp do: in a round every thread runs up to its next access to memory, or to its
 * next exchange with other threads, which ends when all who take part are there. With whom a round begins is drawn
 * by lot, so that a program in which threads do not agree on what they write gives other numbers with other lots. */
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { WARP = 32, MOST = 1024, STACK = 1 << 18 };
enum status { FINE, STUCK, NO_MEMORY };
enum what { RUNS, STEPS, WAITS, VOTES, FLIPS, PICKS, ENDED };

typedef struct {
    ucontext_t start;
    jmp_buf place_in_program; /* no signal masks: a switch is no call of the system */
    int is_begun;
    enum what what;
    uint32_t mask, value, place, bounds, found;
} thread;

typedef void program(int64_t, int64_t, int64_t);

static thread threads[MOST];
static jmp_buf dealer;
static uint32_t current, count, block, blocks;
static program *entry;
static const int64_t *words;

/* What programs know of their threads. */

uint32_t emulated_tid(void) { return current; }
uint32_t emulated_ntid(void) { return count; }
uint32_t emulated_ctaid(void) { return block; }
uint32_t emulated_nctaid(void) { return blocks; }

static void give_way(void)
{
    if (!_setjmp(threads[current].place_in_program))
        _longjmp(dealer, 1);
}

static void go_on(void)
{
    if (_setjmp(dealer))
        return;
    if (threads[current].is_begun)
        _longjmp(threads[current].place_in_program, 1);
    threads[current].is_begun = 1;
    setcontext(&threads[current].start);
}

/* What programs call before every access to memory. */
void emulated_step(void)
{
    threads[current].what = STEPS;
    give_way();
}

static uint32_t exchange(enum what what, uint32_t mask, uint32_t value, uint32_t place, uint32_t bounds)
{
    thread *mine = &threads[current];
    mine->what = what;
    mine->mask = mask;
    mine->value = value;
    mine->place = place;
    mine->bounds = bounds;
    give_way();
    return mine->found;
}

void emulated_wait(uint32_t mask) { exchange(WAITS, mask, 0, 0, 0); }
_Bool emulated_any(uint32_t mask, _Bool holds) { return exchange(VOTES, mask, holds, 0, 0) != 0; }

uint32_t emulated_flip(uint32_t mask, uint32_t value, uint32_t place, uint32_t bounds)
{
    return exchange(FLIPS, mask, value, place, bounds);
}

uint32_t emulated_pick(uint32_t mask, uint32_t value, uint32_t place, uint32_t bounds)
{
    return exchange(PICKS, mask, value, place, bounds);
}

/* Whether all threads of a mask have come to the same exchange as one of them. */
static int are_there(uint32_t first, uint32_t member)
{
    const thread *one = &threads[first + member];
    for (uint32_t k = 0; k < WARP; k++)
        if (one->mask >> k & 1) {
            const thread *other = &threads[first + k];
            if (first + k >= count || other->what != one->what || other->mask != one->mask)
                return 0;
        }
    return one->mask >> member & 1;
}

/* From which thread of its warp a thread gets its number: as PTX says of shfl.sync. */
static uint32_t source(const thread *mine, uint32_t member)
{
    uint32_t segment = mine->bounds >> 8 & 31, last = mine->bounds & 31;
    uint32_t lowest = member & segment, highest = lowest | (last & ~segment);
    uint32_t other = mine->what == FLIPS ? member ^ mine->place : lowest | (mine->place & ~segment & 31);
    return other <= highest ? other : member;
}

static void let_go(uint32_t first, uint32_t mask)
{
    uint32_t any = 0;
    for (uint32_t k = 0; k < WARP; k++)
        if (mask >> k & 1)
            any |= threads[first + k].value;
    for (uint32_t k = 0; k < WARP; k++)
        if (mask >> k & 1) {
            thread *mine = &threads[first + k];
            mine->found = mine->what == VOTES ? any : threads[first + source(mine, k)].value;
        }
    for (uint32_t k = 0; k < WARP; k++)
        if (mask >> k & 1)
            threads[first + k].what = RUNS;
}

static void begin(void)
{
    entry(words[0], words[1], words[2]);
    threads[current].what = ENDED;
    _longjmp(dealer, 1);
}

static uint64_t draw(uint64_t *lot)
{
    *lot ^= *lot << 13;
    *lot ^= *lot >> 7;
    *lot ^= *lot << 17;
    return *lot;
}

/* Let all go on that can. */
static void run_round(uint32_t shift)
{
    for (uint32_t k = 0; k < count; k++) {
        current = (shift + k) % count;
        if (threads[current].what == RUNS)
            go_on();
    }
}

static enum status run_block(uint64_t *lot)
{
    uint32_t ready = count;
    while (ready) {
        run_round((uint32_t)(draw(lot) % count));
        uint32_t left = 0;
        ready = 0;
        for (uint32_t k = 0; k < count; k++) {
            left += threads[k].what != ENDED;
            if (threads[k].what == STEPS)
                threads[k].what = RUNS;
            else if (threads[k].what > STEPS && threads[k].what < ENDED && are_there(k & ~31u, k & 31))
                let_go(k & ~31u, threads[k].mask);
            ready += threads[k].what == RUNS;
        }
        if (left && !ready)
            return STUCK;
    }
    return FINE;
}

enum status run(program *what, const int64_t *arguments, uint32_t block_count, uint32_t thread_count, uint64_t lot)
{
    size_t size = (size_t)thread_count * STACK;
    if (thread_count > MOST)
        return NO_MEMORY;
    char *stacks = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stacks == MAP_FAILED)
        return NO_MEMORY;
    enum status status = FINE;
    entry = what;
    words = arguments;
    count = thread_count;
    blocks = block_count;
    lot = lot * 2654435761u + 1;
    for (block = 0; block < blocks && status == FINE; block++) {
        for (uint32_t k = 0; k < count; k++) {
            thread *one = &threads[k];
            one->what = RUNS;
            one->is_begun = 0;
            getcontext(&one->start);
            one->start.uc_stack.ss_sp = stacks + (size_t)k * STACK;
            one->start.uc_stack.ss_size = STACK;
            makecontext(&one->start, begin, 0);
        }
        status = run_block(&lot);
    }
    munmap(stacks, size);
    return status;
}
