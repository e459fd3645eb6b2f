/* The table of hooked functions, by their address. */

#include "inplace.h"

HookedFunctions hooked;

static void
place(Original *original)
{
    size_t i = slot_of(original->function);
    while (hooked.slots[i] != NULL) {
        i = (i + 1) & (hooked.room - 1);
    }
    hooked.slots[i] = original;
}

int
hooked_add(Original *original)
{
    if (hooked.count * 2 >= hooked.room) {
        size_t was = hooked.room, room = was ? was * 2 : 256;
        Original **old = hooked.slots;
        Original **slots = PyMem_RawCalloc(room, sizeof(*slots));
        if (slots == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        hooked.slots = slots;
        hooked.room = room;
        for (size_t i = 0; i < was; i++) {
            if (old[i] != NULL) {
                place(old[i]);
            }
        }
        PyMem_RawFree(old);
    }
    Py_INCREF(original);
    place(original);
    hooked.count++;
    return 0;
}

void
hooked_remove(Original *original)
{
    if (hooked_find(original->function) != original) {
        return; /* another thread has done it */
    }
    size_t i = slot_of(original->function);
    while (hooked.slots[i] != original) {
        i = (i + 1) & (hooked.room - 1);
    }
    hooked.slots[i] = NULL;
    /* Entries that were displaced by it move up. */
    for (i = (i + 1) & (hooked.room - 1); hooked.slots[i] != NULL;
         i = (i + 1) & (hooked.room - 1)) {
        Original *next = hooked.slots[i];
        hooked.slots[i] = NULL;
        place(next);
    }
    hooked.count--;
    Py_DECREF(original);
}
