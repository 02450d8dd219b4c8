/* hitproof.h: what a program can tell the probe about itself.
 *
 * The probe (libhitproof.so, loaded with LD_PRELOAD) sees calls and addresses; only the program
 * knows what they mean. Every function here is a weak symbol: a program built against this header
 * runs without the probe, and the HITPROOF_* macros then do nothing. No function throws, blocks
 * (except as documented: hitproof_save_delay is enqueued on the stream, it does not block the
 * caller) or changes a result. Strings are copied. Structs may be stack objects. `stream` and
 * `event` are CUstream / CUevent values.
 *
 * Call order of a transfer, on the thread that issues its copies:
 *     hitproof_transfer(&t);            what it is
 *     hitproof_transfer_page(&p) ...    every page it reads (save) or must overwrite (load), also
 * pages held already hitproof_transfer_ready(id);      load: every destination is poisoned on the
 * stream and verified; save: the delay is put on the stream, the sources are digested
 *     ... the program enqueues its copies on t.stream ...
 *     hitproof_transfer_done(id, ev);   digests and comparison are put on the stream behind the
 * copies; call it before the completion event is recorded, so that the event covers them; `ev` is
 * the event that the program will record next
 */
#ifndef HITPROOF_H
#define HITPROOF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HITPROOF_WEAK __attribute__((weak, visibility("default")))

enum {
  HITPROOF_ENTRY_MLA = 0,
  HITPROOF_ENTRY_INDEXER = 1,
  HITPROOF_ENTRY_STATE = 2,
  HITPROOF_ENTRY_TAIL = 3
};
enum { HITPROOF_SAVE = 0, HITPROOF_LOAD = 1 };
enum { HITPROOF_ORIGIN_MODEL = 0, HITPROOF_ORIGIN_TRANSFER = 1 };
enum { HITPROOF_UNKNOWN = 0xffffffffu };

/* Bits of hitproof_mode(). */
enum {
  HITPROOF_MODE_LEDGER = 1,
  HITPROOF_MODE_DIGESTS = 2,
  HITPROOF_MODE_POISON = 4,
  HITPROOF_MODE_TAILS = 8,
  HITPROOF_MODE_DELAY = 16,
  HITPROOF_MODE_COMPARE = 32,
  HITPROOF_MODE_TAIL_EFFECT = 64
};

typedef struct {
  const char* name;        /* for example "layers.3.mla" */
  void* base;              /* address of page 0 in this process */
  uint64_t page_stride;    /* bytes between pages */
  uint64_t page_bytes;     /* bytes transferred, padding included */
  uint64_t content_bytes;  /* bytes without padding */
  uint64_t storage_offset; /* bytes from the start of the allocation */
  uint32_t num_pages, tokens_per_page;
  uint16_t rank, entry;
  int32_t layer;
  uint8_t kind, transfer_group, engine_group,
      dtype; /* dtype: 0 bytes, 1 bf16, 2 fp32, 3 e4m3 record */
  uint8_t transferred, key_scope, origin, device;
  uint16_t ndim, element_bytes;
  uint32_t shape[4];
  int64_t stride[4];  /* elements */
  const char* reason; /* why not transferred, or NULL */
} hitproof_entry_t;

typedef struct {
  uint64_t request;
  const uint8_t* prompt_sha256; /* 32 bytes */
  uint32_t prompt_tokens, max_tokens;
  const char* tag;
} hitproof_request_t;

typedef struct {
  uint64_t request, lookup;
  uint32_t local_hit, external_hit, label_boundary, computed, scheduled, drafts, preemptions,
      source;
} hitproof_admission_t;

typedef struct {
  uint64_t step, request;
  uint16_t rank, index;
  uint32_t start, tokens, drafts, accepted, prompt_tokens;
  uint64_t transfer;
} hitproof_step_request_t;

typedef struct {
  uint64_t request;
  uint32_t block, generation;
  uint16_t engine_group, op;
  uint32_t token_begin, token_end;
} hitproof_block_t;

typedef struct {
  uint64_t request, step;
  void* address;
  void* stream; /* the page is digested on this stream, after what is already there */
  uint32_t block, generation, tokens;
  uint16_t rank, entry;
} hitproof_state_t;

typedef struct {
  uint64_t transfer, request;
  void* stream;
  const uint8_t* key; /* 32 bytes */
  uint16_t rank, direction;
  uint32_t token_begin, token_end, boundary, next_token;
} hitproof_transfer_t;

typedef struct {
  uint64_t transfer;
  void* device_address;
  void* host_address;
  uint64_t host_object, host_offset, bytes;
  uint32_t block, generation, token_begin, token_end;
  uint16_t rank, entry, held;
} hitproof_transfer_page_t;

typedef struct {
  uint64_t request, transfer;
  void* stream;    /* the read is put on this stream, before the computation that will read */
  void* effective; /* address the computation will read: element (0,0,0) */
  void* naive;     /* base + block * content bytes */
  uint32_t block;
  uint16_t rank, entry, ring, channels, element_bytes;
  uint16_t stride[3]; /* elements: half, slot, channel */
} hitproof_tail_read_t;

typedef struct {
  uint64_t request;
  void* stream;
  void* key;   /* address of the pooled key */
  void* scale; /* address of its fp32 scale, or NULL */
  uint32_t key_bytes, position, block;
  uint16_t rank, entry;
} hitproof_pooled_key_t;

/* Numbers of requests, steps, lookups and transfers are unique in a recording: over all of its
 * processes, and over programs that replace one another in a process. */
HITPROOF_WEAK uint32_t hitproof_mode(void);
HITPROOF_WEAK void hitproof_process(const char* role, int rank);
HITPROOF_WEAK void hitproof_meta(const char* name, const char* value);
HITPROOF_WEAK void hitproof_profile(int rank, int phase, const char* name, const char* recorded,
                                    const char* selected);
HITPROOF_WEAK void hitproof_entry(const hitproof_entry_t* e);
HITPROOF_WEAK void hitproof_request(const hitproof_request_t* r);
HITPROOF_WEAK void hitproof_admission(const hitproof_admission_t* a);
HITPROOF_WEAK void hitproof_lookup(uint64_t lookup, uint64_t request, uint32_t query,
                                   uint32_t answer, uint32_t mode);
HITPROOF_WEAK void hitproof_lookup_answer(uint64_t lookup, const uint8_t* key, int rank, int group,
                                          uint32_t answer);
HITPROOF_WEAK void hitproof_key_input(const uint8_t* key, int rank, const char* name,
                                      const uint8_t* value_sha256);
HITPROOF_WEAK void hitproof_content_input(int rank, const char* name, const uint8_t* value_sha256);
HITPROOF_WEAK void hitproof_step(uint64_t step, int rank, int requests, uint32_t tokens,
                                 uint64_t begin_ns, uint64_t end_ns);
HITPROOF_WEAK void hitproof_step_request(const hitproof_step_request_t* s);
HITPROOF_WEAK void hitproof_block(const hitproof_block_t* b);
HITPROOF_WEAK void hitproof_state(const hitproof_state_t* s);
HITPROOF_WEAK void hitproof_transfer(const hitproof_transfer_t* t);
HITPROOF_WEAK void hitproof_transfer_page(const hitproof_transfer_page_t* p);
HITPROOF_WEAK void hitproof_transfer_ready(uint64_t transfer);
HITPROOF_WEAK void hitproof_transfer_done(uint64_t transfer, void* completion_event);
HITPROOF_WEAK void hitproof_tail_read(const hitproof_tail_read_t* t);
HITPROOF_WEAK void hitproof_pooled_key(const hitproof_pooled_key_t* k);
/* Diagnostic run only: a decode step at `position` is about to read this tail; the probe may flip
 * one byte. */
HITPROOF_WEAK void hitproof_tail_step(const hitproof_tail_read_t* t, uint32_t position);
HITPROOF_WEAK void hitproof_wait(uint64_t transfer, uint64_t request, int rank, int kind,
                                 void* event, uint64_t begin_ns, uint64_t end_ns);
HITPROOF_WEAK void hitproof_reuse(uint64_t transfer, uint64_t step, uint32_t block, int rank,
                                  int entry);
/* The event orders work inside the program's own computation and no transfer: records of it and
 * waits for it are counted and leave no row, until it is destroyed. A program with hundreds of sums
 * a step would otherwise bury the rest. */
HITPROOF_WEAK void hitproof_internal_event(void* event);
/* Writes the coverage counters and flushes; called by the probe itself at exit, by a program before
 * _exit. */
HITPROOF_WEAK void hitproof_flush(void);

/* HITPROOF_CALL(step, (id, rank, n, tokens, t0, t1)) calls hitproof_step where the probe is loaded.
 */
#define HITPROOF_CALL(fn, args)                                                                    \
  do {                                                                                             \
    if (hitproof_##fn) hitproof_##fn args;                                                         \
  } while (0)
#define HITPROOF_MODE() (hitproof_mode ? hitproof_mode() : 0u)

#ifdef __cplusplus
}
#endif
#endif
