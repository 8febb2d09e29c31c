/* Counts blocks, and stops the program when one is freed that is not allocated. Linux with glibc. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

#define ROOM (1 << 20)
static uintptr_t table[ROOM];
static long live;

static size_t slot(uintptr_t key) { return (key >> 4) * 2654435761u % ROOM; }

static void *enter(void *block) {
    if (!block) return block;
    size_t at = slot((uintptr_t)block);
    while (table[at] > 1) at = (at + 1) % ROOM;
    table[at] = (uintptr_t)block;
    live++;
    return block;
}

static void leave(void *block) {
    for (size_t at = slot((uintptr_t)block); table[at]; at = (at + 1) % ROOM) {
        if (table[at] == (uintptr_t)block) {
            table[at] = 1;
            live--;
            return;
        }
    }
    __builtin_trap();
}

long live_blocks(void) { return live; }

void *malloc(size_t size) { return enter(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return enter(__libc_calloc(count, size)); }
void *memalign(size_t align, size_t size) { return enter(__libc_memalign(align, size)); }
void *aligned_alloc(size_t align, size_t size) { return enter(__libc_memalign(align, size)); }

int posix_memalign(void **out, size_t align, size_t size) {
    *out = enter(__libc_memalign(align, size));
    return *out ? 0 : 12;
}

void *realloc(void *block, size_t size) {
    if (block) leave(block);
    return enter(__libc_realloc(block, size));
}

void free(void *block) {
    if (!block) return;
    leave(block);
    __libc_free(block);
}
