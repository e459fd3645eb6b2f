/* One sample of one thread: its stack, its phase and its state, all at one moment.
 *
 * The state of a thread:
 * - not on a CPU, by its CPU clock before and after the copy: it waits, and the system call in which it is
 *   blocked shows for what (threadstate.c). The main thread that waits for a lock while native threads of its
 *   own process compute has handed them its work (autograd's engine does): that is native code;
 * - on a CPU, and one and the same instruction is in progress all through NATIVE_NS: it is in native code
 *   that this instruction called, an operator or a call. Otherwise the interpreter makes progress: Python.
 * The time it was ready and had no core is not estimated but read from the scheduler's own count. */

#include "sampling.h"

#define SHALLOW_DEPTH 12   /* of an import: the program's line, and what it set off */
#define NATIVE_NS 400      /* and as much again for the looks: an instruction of the interpreter takes a tenth */
#define SWITCH_NS 3000     /* a switch to another thread took 1 to 2 us on a busy machine */
#define ATTEMPTS 10        /* at a stack that changes while it is copied */
#define UNSEEN_NS 5000     /* average pause before a read, in which the thread runs undisturbed */
#define STRICT_ATTEMPTS 5  /* then frames that fit together are enough */
#define PROBE_NS 20000     /* for how long a thread gets its core back */
#define PROBES 3
#define MOST_COUNTED 16    /* Python threads whose CPU time is read in each tick */
#define ENOUGH_SEEN 6      /* samples of an instruction that tell how it runs */
#define MOST_SEEN 16

uint32_t
next_random(Sampler *self)
{
    self->random ^= self->random << 13;
    self->random ^= self->random >> 17;
    self->random ^= self->random << 5;
    return self->random;
}

/* ---- phases ---- */

/* The entry of a thread in the core's list, at which `top` is; 0 when it has entered no region. */
static uintptr_t
find_phase(Sampler *self, const Sampled *sampled)
{
    if (sampled == &self->main) {
        return (uintptr_t)self->core->main_thread;
    }
    uintptr_t at = (uintptr_t)self->core->threads;
    for (int i = 0; at != 0 && i < MOST_THREADS; i++) {
        Thread thread;
        if (!copy_memory(&self->copier, &thread, at, sizeof(thread))) {
            return 0;
        }
        if (thread.id == sampled->id) {
            return at;
        }
        at = (uintptr_t)thread.next;
    }
    return 0;
}

/* What a thread is charged to, and how often that has changed. */
typedef struct {
    uintptr_t node; /* 0: none */
    uint64_t changes;
} Charged;

/* The main thread's entry is never freed while the sampler runs. */
static Charged
read_phase(Sampler *self, const Sampled *sampled, uintptr_t at)
{
    Charged charged = {0, 0};
    if (at != 0 && sampled == &self->main) {
        charged.changes = ((Thread *)at)->changes;
        charged.node = (uintptr_t)((Thread *)at)->top;
    }
    else if (at != 0) {
        copy_memory(&self->copier, &charged, at + offsetof(Thread, top), sizeof(charged));
    }
    return charged;
}

/* Nodes are never freed, but an entry that was may hold anything. */
static Node *
check_node(Sampler *self, uintptr_t at)
{
    Node node;
    size_t head = offsetof(Node, calls);
    if (at == 0 || at % 8 != 0 || !copy_memory(&self->copier, &node, at, head) ||
        node.id >= self->core->node_count || (uintptr_t)self->core->nodes[node.id] != at) {
        return NULL;
    }
    return (Node *)at;
}

/* ---- one stack ---- */

/* Turns the frames in `self->raw` into (Code, line). The innermost frame's line, or NULL when they do not
 * fit together. */
static Line *
resolve(Sampler *self)
{
    Line *line = NULL;
    for (int i = self->raw.depth - 1; i >= 0; i--) {
        RawFrame *frame = &self->raw.frames[i];
        int instruction;
        Code *code = codes_find(&self->codes, &self->copier, &self->layout, frame, self->tick, i == 0,
                                &instruction);
        if (code == NULL) {
            return NULL;
        }
        line = codes_line(&self->codes, code, instruction);
        frame->code = (uintptr_t)code;
        frame->instruction = (uintptr_t)line->line;
    }
    return line;
}

typedef struct {
    int found;
    int stays;  /* one instruction was in progress all the time */
    int on_cpu; /* and the thread ran all the time */
    Node *node;
    Line *leaf;
    Place place;
    uint64_t cpu;          /* the thread's CPU time; 0: not known */
    uint32_t torn;
} Look;

/* Whether the thread still runs. One that has just lost its core stays at its instruction too, and the
 * switch itself, in the kernel, counts as its CPU time: so this waits until a switch would be over. */
static int
keeps_running(const Sampled *sampled, uint64_t since)
{
    while (platform_clock_ns() < since + SWITCH_NS) {
    }
    uint64_t begin = platform_clock_ns(), cpu = thread_cpu_ns(&sampled->system);
    uint64_t ran = thread_cpu_ns(&sampled->system) - cpu;
    return ran * 4 >= platform_clock_ns() - begin;
}

static void
pause_for(uint64_t ns)
{
    uint64_t due = platform_clock_ns() + ns;
    while (platform_clock_ns() < due) {
    }
}

/* Reading memory that the thread writes delays its next writes. A second read right after the first would
 * find it where the first one held it up: too often in Python code, too rarely in native code. */
static void
run_undisturbed(Sampler *self)
{
    pause_for(UNSEEN_NS / 2 + next_random(self) % UNSEEN_NS);
}

/* Whether the thread stays where `self->raw` has found it. */
static void
look_on(Sampler *self, const Sampled *sampled, Look *look)
{
    look->place = self->raw.place;
    uint64_t begin = platform_clock_ns();
    uint64_t cpu = thread_cpu_ns(&sampled->system);
    look->stays = place_stays(&self->copier, &self->layout, sampled->state, &look->place, NATIVE_NS,
                              next_random(self));
    look->cpu = thread_cpu_ns(&sampled->system);
    uint64_t end = platform_clock_ns();
    look->on_cpu = (look->cpu - cpu) * 2 >= end - begin && (!look->stays || keeps_running(sampled, end));
}

static Look
look_at(Sampler *self, const Sampled *sampled, uintptr_t phase)
{
    Look look = {.found = STACK_TORN};
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        look.found = stack_read(&self->copier, &self->layout, sampled->state, (uintptr_t)self->root_code,
                                attempt < STRICT_ATTEMPTS, &self->raw);
        if (look.found == STACK_EMPTY) {
            return look;
        }
        run_undisturbed(self);
        Charged before = read_phase(self, sampled, phase);
        FENCE();
        if (look.found == STACK_READ) {
            look.found = stack_refresh(&self->copier, &self->layout, sampled->state, &self->raw);
        }
        FENCE();
        if (look.found == STACK_READ && read_phase(self, sampled, phase).changes == before.changes) {
            look_on(self, sampled, &look);
            look.leaf = resolve(self);
            if (look.leaf != NULL) {
                look.node = check_node(self, before.node);
                return look;
            }
        }
        look.found = STACK_TORN;
        look.torn++;
    }
    return look;
}

/* ---- modes ---- */

/* Where only one core may be used a thread is never seen on it: the sampler's thread has it. Give it back
 * for a moment, and see whether the thread gets past the instruction. */
static uint32_t
probe_mode(Sampler *self, const Sampled *sampled, const Look *look)
{
    uint64_t cpu = look->cpu;
    for (int i = 0; i < PROBES; i++) {
        platform_sleep_until(platform_clock_ns() + PROBE_NS);
        uint64_t now = thread_cpu_ns(&sampled->system);
        int moved = !place_stays(&self->copier, &self->layout, sampled->state, &look->place, 0, 0);
        if (now == cpu || (moved && now - cpu > 5 * PROBE_NS)) {
            return MODE_UNKNOWN; /* has not run, or for so long that any call may have ended */
        }
        if (moved) {
            return MODE_PYTHON;
        }
        cpu = now;
    }
    return MODE_NATIVE;
}

/* Whether an instruction runs native code, of which a sample of it says that it does or does not. One
 * near the end of a call does not show it: of calls of 2 us, half of the samples do not. And the
 * interpreter's own work is held up at times, by interrupts or other programs. */
static int
runs_native(const Manner *manner, int seems)
{
    if (manner->seen < ENOUGH_SEEN) {
        return seems;
    }
    return manner->native * 3 >= manner->seen || (seems && manner->native * 8 > manner->seen);
}

/* How a thread that is ready but has no core runs when it has one: as in other samples of the same
 * instruction, or else of the same function. MODE_UNKNOWN while there are too few. */
static uint32_t
mode_when_running(Sampler *self, const Sampled *sampled, const Look *look)
{
    const Manner *line = &look->leaf->manner, *code = &look->leaf->code->manner;
    if (line->seen >= ENOUGH_SEEN) {
        return runs_native(line, 0) ? MODE_NATIVE : MODE_PYTHON;
    }
    if (code->seen >= ENOUGH_SEEN) {
        return next_random(self) % code->seen < code->native ? MODE_NATIVE : MODE_PYTHON;
    }
    if (sampled == &self->main && !leave_core_of(&sampled->system, &self->left_core)) {
        return probe_mode(self, sampled, look);
    }
    return MODE_UNKNOWN;
}

static void
remember_mode(Manner *manner, int native)
{
    if (manner->seen == MOST_SEEN) {
        manner->seen /= 2;
        manner->native /= 2;
    }
    manner->seen++;
    manner->native = (uint8_t)(manner->native + (native ? 1 : 0));
}

static void
remember_blocking(Line *line, int more)
{
    int blocks = line->blocks + more;
    if (blocks <= MOST_SEEN && blocks >= -MOST_SEEN) {
        line->blocks = blocks;
    }
}

static uint32_t
find_mode(Sampled *sampled, const Look *look)
{
    if (look->cpu == 0) {
        return look->stays ? MODE_UNKNOWN : MODE_PYTHON; /* no clock of threads here */
    }
    if (look->on_cpu || !look->stays) {
        remember_mode(&look->leaf->manner, look->stays);
        int native = runs_native(&look->leaf->manner, look->stays);
        remember_mode(&look->leaf->code->manner, native);
        remember_blocking(look->leaf, -1);
        return native ? MODE_NATIVE : MODE_PYTHON;
    }
    uint32_t mode = (uint32_t)thread_waits_for(&sampled->system);
    if (mode != MODE_WAITING_CORE) {
        remember_blocking(look->leaf, 1);
    }
    return mode;
}

/* Whether native threads have computed since this was last asked, and more than Python threads other than
 * main: those may hold the lock or the GIL. An eighth of the time is enough, because on a busy machine
 * the native threads wait for a core too. */
static int
native_threads_ran(Sampler *self, uint64_t now)
{
    if (self->other_count > MOST_COUNTED) {
        return 0;
    }
    Helpers last = self->helpers;
    int64_t python = 0;
    for (uint32_t i = 0; i < self->other_count; i++) {
        if (self->others[i].runs_python) {
            python += (int64_t)thread_cpu_ns(&self->others[i].system);
        }
    }
    /* The clocks are read one after another: the difference may be slightly negative. */
    int64_t native = (int64_t)process_cpu_ns() - (int64_t)thread_cpu_ns(&self->main.system) -
                     (int64_t)thread_cpu_ns(&self->own) - python;
    self->helpers = (Helpers){now, native, python, self->threads_changed};
    /* A Python thread that began or ended since moves CPU time from one sum to the other. */
    if (last.at_ns == 0 || last.threads_changed != self->threads_changed) {
        return 0;
    }
    int64_t native_used = native - last.native_ns;
    return native_used >= (int64_t)(now - last.at_ns) / 8 && native_used > python - last.python_ns;
}

static uint32_t
number_stack(Sampler *self, const Node *node)
{
    int first = self->raw.depth - 1, last = 0;
    if (node != NULL && (node->flags & REGION_SHALLOW) && first >= SHALLOW_DEPTH) {
        last = first - SHALLOW_DEPTH + 1;
    }
    uint32_t stack = 0;
    for (int i = first; i >= last; i--) {
        const RawFrame *frame = &self->raw.frames[i];
        stack = stack_number(&self->samples, stack, (Code *)frame->code, (int)frame->instruction);
    }
    return stack;
}

/* Whether the thread has not run since its last sample: then it is where it was. */
static int
has_not_run(const Sampled *sampled)
{
    return sampled->stack != 0 && sampled->cpu != 0 && sampled->mode != MODE_PYTHON &&
           sampled->mode != MODE_NATIVE && sampled->mode != MODE_UNKNOWN &&
           thread_cpu_ns(&sampled->system) == sampled->cpu;
}

/* Notes where the thread was found; 0 if it was not found. */
static int
take_place(Sampler *self, Sampled *sampled, const Look *look, uint32_t root, uint64_t now)
{
    LOCK(self);
    self->torn += look->torn;
    self->dropped += look->found == STACK_TORN;
    if (look->found == STACK_READ) {
        sampled->node = look->node != NULL ? look->node->id : root;
        sampled->stack = number_stack(self, look->node);
    }
    UNLOCK(self);
    if (look->found != STACK_TORN && sampled->runs_python != (look->found == STACK_READ)) {
        sampled->runs_python = look->found == STACK_READ;
        self->threads_changed++;
    }
    if (look->found == STACK_EMPTY) {
        sampled->last_ns = now;
        sampled->stack = 0;
        sampled->owed_cpu = 0;
        sampled->counts_cpu = 0;
        sampled->cpu = 0; /* what it uses without Python is no sample's */
    }
    return look->found == STACK_READ; /* of a torn one the time goes to the next sample */
}

/* Charges the time since the last sample to where the thread was found. */
static void
charge_look(Sampler *self, Sampled *sampled, const Look *look, int helped, uint64_t ns)
{
    uint32_t mode = sampled->mode = find_mode(sampled, look);
    int runs = mode == MODE_PYTHON || mode == MODE_NATIVE, blocks = look->leaf->blocks > 0;
    count_cpu(sampled, look->cpu);
    count_delay(self, sampled);
    if (mode == MODE_WAITING_CORE && look->cpu != sampled->cpu && !waits_for_core(self, sampled, blocks)) {
        runs = !blocks || sampled->waited.at_ns == 0;
        mode = runs ? mode_when_running(self, sampled, look) : sampled->waited.mode;
    }
    else if (helped && mode == MODE_WAITING_LOCK) {
        mode = MODE_NATIVE;
    }
    sampled->mode = mode;
    sampled->cpu = look->cpu;
    if (runs) {
        charge_running(self, sampled, ns);
    }
    else {
        charge_waiting(self, sampled, ns);
    }
}

void
sample_thread(Sampler *self, Sampled *sampled, uint32_t root)
{
    uint64_t now = platform_clock_ns();
    uint64_t ns = now - sampled->last_ns;
    int helped = sampled == &self->main && native_threads_ran(self, now);
    if (has_not_run(sampled) && !(helped && sampled->mode == MODE_WAITING_LOCK)) {
        sampled->last_ns = now;
        /* What it waited for may have come: then it waits for a core. */
        if (sampled == &self->main && sampled->mode != MODE_WAITING_CORE) {
            sampled->mode = (uint32_t)thread_waits_for(&sampled->system);
        }
        charge_waiting(self, sampled, ns);
        return;
    }
    Look look = look_at(self, sampled, find_phase(self, sampled));
    if (take_place(self, sampled, &look, root, now)) {
        sampled->last_ns = now;
        charge_look(self, sampled, &look, helped, ns);
    }
}
