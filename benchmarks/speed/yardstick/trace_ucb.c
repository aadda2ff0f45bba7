/* Trace-UCB (Algorithm 1) on white Gaussian contexts, as a plain C program.
 *
 * A yardstick for the package's compiled trials: the same draws and the same decisions, written the
 * way one would write them by hand for this one policy, with nothing else to serve. S is inverted
 * once an arm and then updated by Sherman-Morrison, so it keeps fewer digits than the package does.
 *
 *     trace_ucb m d n trials seed noise_1 ... noise_m [key_1 ... key_m]
 *
 * noise_i is the variance of arm i; key_i stands for its name, i - 1 if left out: every trial draws an
 * order of the keys, which decides where everything else ties. True coefficients are drawn from N(0, I)
 * anew in every trial. One line a result: name, values.
 */

#define _POSIX_C_SOURCE 199309L

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- random numbers: Philox 4x64 (Salmon et al. 2011) ---------------------------------------- */

enum { CONTEXT = 0, NOISE = 1, TRUTH = 2, TIE = 6 };
enum { BLOCK = 4 }; /* words that one counter gives */

__extension__ typedef unsigned __int128 uint128_t;

/* What a draw is for. */
typedef struct {
    uint64_t seed, trial, purpose, first, second;
} Address;

static inline void draw_words(int rounds, Address at, uint64_t block, uint64_t *words)
{
    uint64_t c0 = block + 1, c1 = at.first, c2 = at.second, c3 = at.trial;
    uint64_t k0 = at.seed, k1 = at.purpose;
    for (int round = 0; round < rounds; round++) {
        uint128_t product0 = (uint128_t)0xD2E7470EE14C6C93u * c0;
        uint128_t product1 = (uint128_t)0xCA5A826395121157u * c2;
        c0 = (uint64_t)(product1 >> 64) ^ c1 ^ k0;
        c1 = (uint64_t)product1;
        c2 = (uint64_t)(product0 >> 64) ^ c3 ^ k1;
        c3 = (uint64_t)product0;
        k0 += 0x9E3779B97F4A7C15u;
        k1 += 0xBB67AE8584CAA73Bu;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

/* The word of an arm in the order of ties. */
static uint64_t draw_order_word(Address at)
{
    uint64_t words[BLOCK];
    draw_words(10, at, 0, words);
    return words[0];
}

/* ---- normals: the inverse distribution function, as src/equipoise/core/draws/normal.py has it --- */

#include "normal_table.h" /* static const double normal_table[512][8], written when the program is built */

static inline double normal(uint64_t word)
{
    int64_t lower = word >> 63 ? 0 : -1;
    uint64_t tail = ((word ^ ~(uint64_t)lower) << 1) | 1;
    int octave = __builtin_clzll(tail);
    tail <<= octave;
    const double *terms = normal_table[octave << 3 | (int)(tail >> 60 & 7)];
    double t = (double)(int64_t)(tail << 4 ^ (uint64_t)1 << 63);
    double quantile = terms[7];
    for (int k = 6; k >= 0; k--)
        quantile = fma(quantile, t, terms[k]);
    return lower ? -quantile : quantile;
}

static void fill_normals(Address at, uint64_t block, int count, double *target)
{
    for (int c = 0; c < count; c += BLOCK, block++) {
        uint64_t words[BLOCK];
        draw_words(7, at, block, words);
        for (int k = 0; k < BLOCK && c + k < count; k++)
            target[c + k] = normal(words[k]);
    }
}

/* ---- least squares --------------------------------------------------------------------------- */

typedef struct {
    int64_t count;    /* k */
    uint64_t key;     /* of its name */
    uint64_t order;   /* word of the trial: who goes first where everything else ties */
    double deviation; /* sigma, known to the simulation only */
    double variance;  /* RSS / (k - d) */
    double root_dof;  /* sqrt(k - d) */
    double rss;
    double trace;     /* of the inverse */
    double *inverse;  /* [d][d], S^-1 */
    double *coef;     /* [d] */
    double *truth;    /* [d], known to the simulation only */
    double shocks[BLOCK]; /* noise of this pull and its neighbours */
    double *design;   /* [d + 1][d], the start's contexts */
    double *outcomes; /* [d + 1] */
} Arm;

/* Replace a positive definite matrix by its inverse (Gauss-Jordan, which then needs no pivoting). */
static void invert(int d, double *restrict a)
{
    for (int pivot = 0; pivot < d; pivot++) {
        double scale = 1.0 / a[pivot * d + pivot];
        a[pivot * d + pivot] = 1.0;
        for (int c = 0; c < d; c++)
            a[pivot * d + c] *= scale;
        for (int r = 0; r < d; r++) {
            if (r == pivot)
                continue;
            double lead = a[r * d + pivot];
            a[r * d + pivot] = 0.0;
            for (int c = 0; c < d; c++)
                a[r * d + c] -= lead * a[pivot * d + c];
        }
    }
}

/* Solve a x = b in place of b for a positive definite matrix, which is used up (Gauss). */
static void solve(int d, double *restrict a, double *restrict b)
{
    for (int pivot = 0; pivot < d; pivot++) {
        for (int r = pivot + 1; r < d; r++) {
            double lead = a[r * d + pivot] / a[pivot * d + pivot];
            for (int c = pivot + 1; c < d; c++)
                a[r * d + c] -= lead * a[pivot * d + c];
            b[r] -= lead * b[pivot];
        }
    }
    for (int r = d - 1; r >= 0; r--) {
        for (int c = r + 1; c < d; c++)
            b[r] -= a[r * d + c] * b[c];
        b[r] /= a[r * d + r];
    }
}

/* The first d + 1 rows of an arm, all at once. */
static void fit(Arm *arm, int d)
{
    memset(arm->inverse, 0, sizeof(double) * (size_t)d * (size_t)d);
    memset(arm->coef, 0, sizeof(double) * (size_t)d);
    for (int k = 0; k <= d; k++) {
        const double *x = arm->design + k * d;
        for (int r = 0; r < d; r++)
            for (int c = 0; c < d; c++)
                arm->inverse[r * d + c] += x[r] * x[c];
    }
    invert(d, arm->inverse);
    for (int k = 0; k <= d; k++) {
        const double *x = arm->design + k * d;
        for (int r = 0; r < d; r++) {
            double gain = 0.0;
            for (int c = 0; c < d; c++)
                gain += arm->inverse[r * d + c] * x[c];
            arm->coef[r] += gain * arm->outcomes[k];
        }
    }
    arm->rss = 0.0;
    for (int k = 0; k <= d; k++) {
        double residual = arm->outcomes[k];
        for (int c = 0; c < d; c++)
            residual -= arm->design[k * d + c] * arm->coef[c];
        arm->rss += residual * residual;
    }
    arm->trace = 0.0;
    for (int r = 0; r < d; r++)
        arm->trace += arm->inverse[r * d + r];
    arm->variance = arm->rss;
    arm->root_dof = 1.0;
}

/* One more row: g = S^-1 x, h = 1 + x'g, e = y - x'beta; S^-1 -= gg'/h, beta += ge/h, RSS += ee/h. */
static void update(Arm *arm, int d, const double *restrict x, double y, double *restrict gain)
{
    double *restrict inverse = arm->inverse;
    double *restrict coef = arm->coef;
    for (int c = 0; c < d; c++)
        gain[c] = 0.0;
    for (int r = 0; r < d; r++) /* S^-1 is symmetric: sums of rows are sums of columns, and vectorise */
        for (int c = 0; c < d; c++)
            gain[c] += inverse[r * d + c] * x[r];
    double h = 1.0, residual = y, drop = 0.0;
    for (int c = 0; c < d; c++) {
        h += gain[c] * x[c];
        residual -= coef[c] * x[c];
        drop += gain[c] * gain[c];
    }
    double scale = 1.0 / h;
    for (int r = 0; r < d; r++) {
        double lead = gain[r] * scale;
        for (int c = 0; c < d; c++)
            inverse[r * d + c] -= lead * gain[c];
    }
    double step = residual * scale;
    for (int c = 0; c < d; c++)
        coef[c] += gain[c] * step;
    arm->trace -= drop * scale;
    arm->rss += residual * step;
    double dof = (double)(arm->count - d);
    arm->variance = arm->rss / dof;
    arm->root_dof = sqrt(dof);
}

/* Squared error of the ridge estimate (S + lambda)^-1 S beta = (1 + lambda S^-1)^-1 beta. */
static double ridge_error(const Arm *arm, int d, double lambda, double *matrix, double *estimate)
{
    for (int r = 0; r < d; r++) {
        for (int c = 0; c < d; c++)
            matrix[r * d + c] = lambda * arm->inverse[r * d + c];
        matrix[r * d + r] += 1.0;
        estimate[r] = arm->coef[r];
    }
    solve(d, matrix, estimate);
    double total = 0.0;
    for (int c = 0; c < d; c++)
        total += (estimate[c] - arm->truth[c]) * (estimate[c] - arm->truth[c]);
    return total;
}

/* ---- one trial ------------------------------------------------------------------------------- */

typedef struct {
    int m, d;
    int64_t n;
    uint64_t seed;
    Arm *arms;
    double *x, *gain, *matrix; /* scratch: [d], [d], [d][d] */
} Trial;

static int goes_first(const Arm *a, double a_score, const Arm *b, double b_score)
{
    if (a_score != b_score)
        return a_score > b_score;
    return a->count != b->count ? a->count < b->count : a->order < b->order;
}

static int choose(const Trial *trial)
{
    const Arm *arms = trial->arms;
    double total = 0.0;
    for (int i = 0; i < trial->m; i++)
        total += arms[i].variance;
    double mean = total / trial->m;
    int best = 0;
    double best_score = -INFINITY;
    for (int i = 0; i < trial->m; i++) {
        double score = (arms[i].variance + mean / arms[i].root_dof) * arms[i].trace;
        if (i == 0 || goes_first(&arms[i], score, &arms[best], best_score)) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

static void draw_order(const Trial *trial, uint64_t number, int *start_order)
{
    for (int i = 0; i < trial->m; i++) {
        trial->arms[i].order = draw_order_word((Address){trial->seed, number, TIE, trial->arms[i].key, 0});
        int turn = i;
        for (; turn > 0 && trial->arms[start_order[turn - 1]].order > trial->arms[i].order; turn--)
            start_order[turn] = start_order[turn - 1];
        start_order[turn] = i;
    }
}

static void run(const Trial *trial, uint64_t number, int *start_order)
{
    int m = trial->m, d = trial->d;
    draw_order(trial, number, start_order);
    for (int i = 0; i < m; i++) {
        trial->arms[i].count = 0;
        fill_normals((Address){trial->seed, number, TRUTH, (uint64_t)i, 0}, 0, d, trial->arms[i].truth);
    }
    for (int64_t step = 0; step < trial->n; step++) {
        int starting = step < (int64_t)m * (d + 1);
        Arm *arm = &trial->arms[starting ? start_order[step % m] : choose(trial)];
        double *x = starting ? arm->design + arm->count * d : trial->x;
        fill_normals((Address){trial->seed, number, CONTEXT, (uint64_t)step, 0}, 0, d, x);
        if (arm->count % BLOCK == 0) {
            Address noise = {trial->seed, number, NOISE, (uint64_t)(arm - trial->arms), 0};
            fill_normals(noise, (uint64_t)(arm->count / BLOCK), BLOCK, arm->shocks);
        }
        double y = arm->deviation * arm->shocks[arm->count % BLOCK];
        for (int c = 0; c < d; c++)
            y += arm->truth[c] * x[c];
        arm->count++;
        if (!starting) {
            update(arm, d, x, y, trial->gain);
        } else {
            arm->outcomes[arm->count - 1] = y;
            if (arm->count == d + 1)
                fit(arm, d);
        }
    }
}

/* ---- the command line ------------------------------------------------------------------------ */

static void fail(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fputs("trace_ucb: ", stderr);
    vfprintf(stderr, format, values);
    fputs("\nusage: trace_ucb m d n trials seed noise_1 ... noise_m [key_1 ... key_m]\n", stderr);
    va_end(values);
    exit(2);
}

static int64_t whole(const char *text, const char *name, int64_t low, int64_t high)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < low || value > high)
        fail("%s is '%s', not a whole number from %" PRId64 " to %" PRId64, name, text, low, high);
    return value;
}

static uint64_t key(const char *text)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || *text == '-')
        fail("key is '%s', not a whole number below 2^64", text);
    return value;
}

static double variance(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0.0) || isinf(value))
        fail("noise is '%s', not a finite variance", text);
    return value;
}

static double *doubles(size_t count)
{
    double *array = calloc(count, sizeof(double));
    if (array == NULL)
        fail("out of memory");
    return array;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    double begin = seconds();
    if (argc < 7)
        fail("too few arguments");
    int m = (int)whole(argv[1], "m", 1, 100000);
    int d = (int)whole(argv[2], "d", 1, 1000);
    int64_t n = whole(argv[3], "n", (int64_t)m * (d + 1), INT32_MAX);
    int64_t trials = whole(argv[4], "trials", 1, INT32_MAX);
    uint64_t seed = (uint64_t)whole(argv[5], "seed", 0, INT64_MAX);
    if (argc != 6 + m && argc != 6 + 2 * m)
        fail("%d numbers follow the seed, expected %d or %d", argc - 6, m, 2 * m);

    size_t size = (size_t)d;
    Trial trial = {m, d, n, seed, NULL, doubles(size), doubles(size), doubles(size * size)};
    trial.arms = calloc((size_t)m, sizeof(Arm));
    int *start_order = calloc((size_t)m, sizeof(int));
    if (trial.arms == NULL || start_order == NULL)
        fail("out of memory");
    for (int i = 0; i < m; i++) {
        Arm *arm = &trial.arms[i];
        arm->deviation = sqrt(variance(argv[6 + i]));
        arm->key = argc > 6 + m ? key(argv[6 + m + i]) : (uint64_t)i;
        arm->inverse = doubles(size * size);
        arm->coef = doubles(size);
        arm->truth = doubles(size);
        arm->design = doubles((size + 1) * size);
        arm->outcomes = doubles(size + 1);
    }

    double *pulls = doubles((size_t)m), *errors = doubles((size_t)m);
    for (int64_t number = 0; number < trials; number++) {
        run(&trial, (uint64_t)number, start_order);
        for (int i = 0; i < m; i++) {
            pulls[i] += (double)trial.arms[i].count;
            errors[i] += ridge_error(&trial.arms[i], d, 1.0 / (double)n, trial.matrix, trial.x);
        }
    }
    double expected_max = 0.0;
    for (int i = 0; i < m; i++)
        expected_max = fmax(expected_max, errors[i] / (double)trials);
    double elapsed = seconds() - begin;

    printf("trials %" PRId64 "\ndecisions %" PRId64 "\nseconds %.6f\n", trials, trials * n, elapsed);
    printf("decisions_per_second %.0f\npulls", (double)(trials * n) / elapsed);
    for (int i = 0; i < m; i++)
        printf(" %.10g", pulls[i] / (double)trials);
    printf("\nexpected_max %.10g\n", expected_max);
    return 0;
}
