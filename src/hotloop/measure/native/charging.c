/* What the time between two samples is charged to.
 *
 * A sample says where a thread is; how long it ran, and how long it waited for a core, the system counts
 * exactly. So the sums of samples are kept equal to these counts, within a few samples either way, which
 * is chance. Without that, what is sampled late is sampled wrong: a sampler that has to wake an idle core
 * finds a thread that computes for a millisecond already waiting. */

#include "sampling.h"

#define DELAY_EVERY 4 /* ticks between reads of the scheduler's count */
#define BAND 2        /* samples by which the sums may differ from the counts */
#define MOST_OWED 8   /* samples; what is owed longer is of other code than what is sampled next */
#define RECENT_NS 1000000000ull

/* ---- CPU time ---- */

static int64_t
clamp(int64_t value, int64_t most)
{
    return value > most ? most : value < -most ? -most : value;
}

void
count_cpu(Sampled *sampled, uint64_t cpu, uint64_t ns)
{
    sampled->counts_cpu = cpu != 0 && sampled->cpu != 0;
    if (sampled->counts_cpu) {
        int64_t owed = sampled->owed_cpu + (int64_t)(cpu - sampled->cpu);
        sampled->owed_cpu = clamp(owed, MOST_OWED * (int64_t)ns);
    }
}

/* How much of `ns` belongs to `other` instead, for the sums to be within the band again: never all of it. */
static uint64_t
owed_to(const Sampled *sampled, const Charge *other, int64_t owed, uint64_t ns)
{
    int64_t over = owed - BAND * (int64_t)ns;
    if (!sampled->counts_cpu || over <= 0 || other->at_ns == 0 ||
        sampled->last_ns - other->at_ns > RECENT_NS) {
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

/* How much of `ns` the thread waited for a core. Who is woken on a core sees the thread that it has just
 * taken it from as waiting: so what samples give to waiting is kept equal to the scheduler's own count,
 * which knows of a wait when it has ended. Within two samples either way that is chance: a wait is charged
 * where it was seen, not to the code that runs next. `ready`: it was seen waiting; `still`: and has not run. */
uint64_t
find_delay(Sampler *self, Sampled *sampled, int ready, int still, uint64_t ns)
{
    int64_t band = BAND * (int64_t)self->interval;
    uint64_t waited = 0;
    if (ready || self->tick % DELAY_EVERY == 0) {
        uint64_t delay = thread_delay_ns(&sampled->system);
        sampled->owed_delay += (int64_t)(delay - sampled->last_delay);
        sampled->last_delay = delay;
    }
    if (ready && (still || sampled->owed_delay > -band)) {
        waited = ns;
    }
    else if (sampled->owed_delay > band) {
        waited = (uint64_t)sampled->owed_delay < ns ? (uint64_t)sampled->owed_delay : ns;
    }
    sampled->owed_delay -= (int64_t)waited;
    return waited;
}

/* ---- samples ---- */

/* A thread that runs, or would if it had a core: `waited` of `ns` it had none. */
void
charge_running(Sampler *self, Sampled *sampled, uint32_t mode, uint64_t ns, uint64_t waited)
{
    Charge ran = {sampled->node, sampled->stack, mode, sampled->last_ns};
    Charge core = {sampled->node, sampled->stack, MODE_WAITING_CORE, 0};
    uint64_t blocked = owed_to(sampled, &sampled->waited, -sampled->owed_cpu, ns - waited);
    LOCK(self);
    charge(self, &ran, 1, ns - waited - blocked);
    charge(self, &core, waited == ns, waited);
    charge(self, &sampled->waited, 0, blocked);
    self->taken++;
    UNLOCK(self);
    sampled->owed_cpu -= (int64_t)(ns - waited - blocked);
    if (waited < ns) {
        sampled->ran = ran;
    }
}

/* A thread that is blocked, or has no core and has not run. */
void
charge_waiting(Sampler *self, Sampled *sampled, uint64_t ns)
{
    Charge waited = {sampled->node, sampled->stack, sampled->mode, sampled->last_ns};
    int blocked = sampled->mode != MODE_WAITING_CORE;
    uint64_t ran = blocked ? owed_to(sampled, &sampled->ran, sampled->owed_cpu, ns) : 0;
    LOCK(self);
    charge(self, &waited, 1, ns - ran);
    charge(self, &sampled->ran, 0, ran);
    self->taken++;
    UNLOCK(self);
    sampled->owed_cpu -= (int64_t)ran;
    if (blocked) {
        sampled->waited = waited;
    }
}
