/* How warps run: what a program that was translated from PTX ends with.
 *
 * It has tables of its BLOCKS: `block_of`, `mask_of` where threads wait for each other (else NULL), `rejoin`, where
 * threads meet again that part there (END: where their function ends), and `called`: the first block of a function
 * that is called there, or END. */

static uint32_t at_work(uint32_t first) { return threads - first >= WARP ? ~0u : (1u << (threads - first)) - 1; }

static int is_complete(int where, uint32_t mask)
{
    for (uint32_t l = 0; l < WARP; l++)
        if (mask >> l & 1 && (mask_of[where](l) & ~mask))
            return 0;
    return 1;
}

static void run_one(int where, uint32_t mask)
{
#if COUNTED
    done_times[where]++;
    done_by[where] += (uint64_t)__builtin_popcount(mask);
#endif
    block_of[where](mask);
}

/* Threads of a warp go in step; where they part, one way is done after the other. */
static enum status in_step(uint32_t all)
{
    struct { uint32_t mask; int where, until; } ways[DEPTH] = {{all, FIRST, END}};
    for (int top = 0; top >= 0;) {
        if (ways[top].where == ways[top].until) {
            top--;
            continue;
        }
        int where = ways[top].where, callee = called[where];
        uint32_t mask = ways[top].mask;
        if (mask_of[where] && !is_complete(where, mask))
            return STUCK;
        run_one(where, mask);
        int one = __builtin_ctz(mask);
        if (callee != END) {
            ways[top].where = back[one];
            ways[++top] = (typeof(ways[0])){mask, callee, back[one]};
            continue;
        }
        uint32_t left = mask;
        for (uint32_t l = 0; l < WARP; l++)
            if (mask >> l & 1 && next[l] == next[one])
                left &= ~(1u << l);
        if (!left) {
            ways[top].where = next[one];
            continue;
        }
        int meet = rejoin[where] == END && !is_kernel[where] ? back[one] : rejoin[where];
        ways[top].where = meet;
        for (left = mask; left;) {
            int goal = next[__builtin_ctz(left)];
            uint32_t same = 0;
            for (uint32_t l = 0; l < WARP; l++)
                if (left >> l & 1 && next[l] == goal)
                    same |= 1u << l;
            left &= ~same;
            if (top + 1 == DEPTH)
                return STUCK;
            if (goal != meet)
                ways[++top] = (typeof(ways[0])){same, goal, meet};
        }
    }
    return FINE;
}

/* Threads of a warp go their own ways, and meet only where they wait for each other. */
static enum status one_by_one(uint32_t all)
{
    int where[WARP];
    for (uint32_t l = 0; l < WARP; l++)
        where[l] = all >> l & 1 ? FIRST : END;
    for (;;) {
        uint32_t mask = 0, any = 0;
        for (uint32_t k = 0, l = draw() & 31; k < WARP && !mask; k++, l = (l + 1) & 31) {
            if (where[l] == END)
                continue;
            any = 1;
            if (!mask_of[where[l]]) {
                mask = 1u << l;
                continue;
            }
            uint32_t others = mask_of[where[l]](l), there = 0;
            for (uint32_t o = 0; o < WARP; o++)
                if (others >> o & 1 && where[o] == where[l] && mask_of[where[l]](o) == others)
                    there |= 1u << o;
            if (there == others)
                mask = others;
        }
        if (!mask)
            return any ? STUCK : FINE;
        run_one(where[__builtin_ctz(mask)], mask);
        for (uint32_t l = 0; l < WARP; l++)
            if (mask >> l & 1)
                where[l] = next[l];
    }
}

enum status run(
    const int64_t *words, uint32_t block_count, uint32_t thread_count, uint64_t shared, uint64_t seed, int own_ways)
{
    if (shared > sizeof near_memory)
        return OUTSIDE;
    lot = seed * 2654435761u + 1;
    threads = thread_count;
    blocks = block_count;
    near_bytes = shared;
    has_strayed = 0;
    for (block_number = 0; block_number < blocks; block_number++) {
        memset(near_memory, 0xA5, shared);
        for (first_thread = 0; first_thread < threads; first_thread += WARP) {
            uint32_t all = at_work(first_thread);
            begin(words);
            enum status status = own_ways ? one_by_one(all) : in_step(all);
            if (status != FINE || has_strayed)
                return status != FINE ? status : OUTSIDE;
        }
    }
    return FINE;
}
