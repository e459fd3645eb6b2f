/* Charges the time between two samples.
 *
 * A sample shows where a thread is. The system counts exactly how long it ran and how long it waited for
 * a core, so the sums of samples are kept equal to these counts, within a few samples either way (chance).
 * Otherwise, late samples would be wrong: a sampler that must first wake an idle core finds a thread that
 * computed for half a millisecond waiting again. */

#include "sampling.h"

#define DELAY_EVERY 4 /* ticks between reads of the scheduler's count */
#define BAND 2        /* samples by which the sums may differ from the counts */
#define RECENT_NS 1000000000ull /* what a thread did longer ago is no guess at what it does now */
#define FORGET 128    /* samples in which what is owed to nothing recent is forgotten */

/* ---- CPU time ---- */

void
count_cpu(Sampled *sampled, uint64_t cpu)
{
    sampled->counts_cpu = cpu != 0 && sampled->cpu != 0;
    if (sampled->counts_cpu) {
        sampled->owed_cpu += (int64_t)(cpu - sampled->cpu);
    }
}

int
ran_unseen(const Sampled *sampled, uint64_t interval)
{
    return sampled->counts_cpu && sampled->owed_cpu > (BAND - 1) * (int64_t)interval;
}

static int
is_recent(const Sampled *sampled, const Charge *charge)
{
    return charge->at_ns != 0 && sampled->last_ns - charge->at_ns <= RECENT_NS;
}

/* How much of `ns` belongs to `other` instead, for the sums to be within the band again: never all of it.
 * `sign`: 1 for time that it ran, -1 for time that it was blocked. */
static uint64_t
owed_to(const Sampler *self, Sampled *sampled, const Charge *other, int sign, uint64_t ns)
{
    /* A busy machine makes intervals longer, which is no reason for a wider band. */
    int64_t over = sign * sampled->owed_cpu - BAND * (int64_t)self->interval;
    if (!sampled->counts_cpu || over <= 0 || ns == 0) {
        return 0;
    }
    if (!is_recent(sampled, other)) {
        sampled->owed_cpu -= sampled->owed_cpu / FORGET;
        return 0;
    }
    return (uint64_t)over < ns ? (uint64_t)over : ns - 1;
}

static void
charge(Sampler *self, const Charge *to, uint32_t count, uint64_t ns)
{
    samples_add(&self->samples, to->node, to->stack, to->mode, count, ns);
}

/* ---- waiting for a core ---- */

void
count_delay(Sampler *self, Sampled *sampled)
{
    if (sampled->mode == MODE_WAITING_CORE || self->tick % DELAY_EVERY == 0) {
        uint64_t delay = thread_delay_ns(&sampled->system);
        sampled->owed_delay += (int64_t)(delay - sampled->last_delay);
        sampled->last_delay = delay;
    }
}

/* Whether a thread that is ready and does not run waits for a core. What samples give to waiting is kept
 * equal to the scheduler's own count, because it may as well have lost its core to this thread, which looks
 * at it; or, woken where it `blocks`, wait for a core that wakes from idle, which the scheduler does not
 * count. The first is likelier: it has less credit. */
int
waits_for_core(const Sampler *self, const Sampled *sampled, int blocks)
{
    int64_t interval = (int64_t)self->interval;
    return sampled->owed_delay > (blocks ? -2 * BAND * interval : -interval / 2);
}

/* How much of `ns` a thread that runs now waited for a core unseen. */
static uint64_t
take_delay(const Sampler *self, Sampled *sampled, uint64_t ns)
{
    if (sampled->owed_delay <= BAND * (int64_t)self->interval || ns == 0) {
        return 0;
    }
    uint64_t waited = (uint64_t)sampled->owed_delay < ns ? (uint64_t)sampled->owed_delay : ns - 1;
    sampled->owed_delay -= (int64_t)waited;
    return waited;
}

/* ---- samples ---- */

/* A thread that runs, or would if nobody looked at it. What it waited for a core meanwhile is charged where
 * it was last seen without one, not to the code that runs next. */
void
charge_running(Sampler *self, Sampled *sampled, uint64_t ns)
{
    Charge ran = {sampled->node, sampled->stack, sampled->mode, sampled->last_ns};
    Charge core = {sampled->node, sampled->stack, MODE_WAITING_CORE, 0};
    uint64_t waited = take_delay(self, sampled, ns);
    uint64_t blocked = owed_to(self, sampled, &sampled->waited, -1, ns - waited);
    LOCK(self);
    charge(self, &ran, 1, ns - waited - blocked);
    charge(self, is_recent(sampled, &sampled->ready) ? &sampled->ready : &core, 0, waited);
    charge(self, &sampled->waited, 0, blocked);
    self->taken++;
    UNLOCK(self);
    sampled->owed_cpu -= (int64_t)(ns - waited - blocked);
    sampled->ran = ran;
}

/* A thread that is blocked, or waits for a core. On a busy machine it is seen without one more often than
 * the scheduler counts, and hardly ever while it runs. */
void
charge_waiting(Sampler *self, Sampled *sampled, uint64_t ns)
{
    Charge waited = {sampled->node, sampled->stack, sampled->mode, sampled->last_ns};
    int blocked = sampled->mode != MODE_WAITING_CORE;
    int pays = blocked || sampled->owed_delay < -BAND * (int64_t)self->interval;
    uint64_t ran = pays ? owed_to(self, sampled, &sampled->ran, 1, ns) : 0;
    LOCK(self);
    charge(self, &waited, 1, ns - ran);
    charge(self, &sampled->ran, 0, ran);
    self->taken++;
    UNLOCK(self);
    sampled->owed_cpu -= (int64_t)ran;
    if (blocked) {
        sampled->waited = waited;
    }
    else {
        sampled->owed_delay -= (int64_t)(ns - ran);
        sampled->ready = waited;
    }
}
