-- Tables of a Hitproof recording (data/recording.sqlite), format version 1.
-- Made from schema/records.def by schema::records_sql(); a test compares the two. FORMAT.md
-- explains how the tables belong together. A comment gives each column's unit and meaning.
-- Unsigned 64-bit values are stored as signed ones (two's complement); digests are blobs of 32
-- bytes, all zero where there is none; times are CLOCK_MONOTONIC nanoseconds of the machine.

-- A process that the probe was loaded into (first record of its main thread). Journal record type 1.
CREATE TABLE IF NOT EXISTS "process" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "role" TEXT NOT NULL, -- text: role announced by the program: front, rank, cache_server, or empty
  "exe" TEXT NOT NULL, -- text: file name of the executable
  "parent" INTEGER NOT NULL, -- pid: parent process id
  "mode" INTEGER NOT NULL, -- bits: probe mode: 1 ledger, 2 digests, 4 poison, 8 tails, 16 save delay, 32 compare, 64 tail effect
  "rank" INTEGER NOT NULL -- rank: tensor-parallel rank, -1 where it has none
);

-- A named fact about the process: versions, device name, driver, environment by allow-list. Journal record type 2.
CREATE TABLE IF NOT EXISTS "meta" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "name" TEXT NOT NULL, -- text: name of the fact
  "value" TEXT NOT NULL -- text: its value, cut to 80 characters
);

-- Counter of one hook or path, written when the process ends and at each flush. Journal record type 3.
CREATE TABLE IF NOT EXISTS "coverage" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "name" TEXT NOT NULL, -- text: hooked call, or path:<name> for a path that exists but cannot be observed
  "calls" INTEGER NOT NULL, -- count: calls seen
  "bytes" INTEGER NOT NULL, -- bytes: bytes moved by these calls
  "installed" INTEGER NOT NULL, -- 0/1: 1 where the hook was resolved to a real function
  "dropped" INTEGER NOT NULL -- count: observations of this kind that could not be recorded
);

-- A tuner choice of one rank: what the plan recorded and what was really used. Journal record type 4.
CREATE TABLE IF NOT EXISTS "profile" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank
  "phase" INTEGER NOT NULL, -- 0/1: 0 at start, 1 read back after the run
  "name" TEXT NOT NULL, -- text: name of the kernel choice
  "recorded" TEXT NOT NULL, -- text: value the recorded profile asks for
  "selected" TEXT NOT NULL -- text: value the kernel really used
);

-- A cache entry (one layer's pages of one kind) as registered by one process. Journal record type 10.
CREATE TABLE IF NOT EXISTS "entry" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "base" INTEGER NOT NULL, -- address: address of page 0
  "page_stride" INTEGER NOT NULL, -- bytes: distance between two pages
  "page_bytes" INTEGER NOT NULL, -- bytes: size of a page as transferred, padding included
  "content_bytes" INTEGER NOT NULL, -- bytes: size of a page without padding; content comes first
  "storage_offset" INTEGER NOT NULL, -- bytes: offset of page 0 inside its allocation
  "num_pages" INTEGER NOT NULL, -- count: pages in the region
  "tokens_per_page" INTEGER NOT NULL, -- tokens: tokens one page covers (checkpoint interval for state and tail)
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank that owns the memory
  "entry" INTEGER NOT NULL, -- index: index of the entry, 0-based, equal on all ranks
  "layer" INTEGER NOT NULL, -- index: model layer; the MTP layer is number 45
  "kind" INTEGER NOT NULL, -- enum: 0 mla, 1 indexer, 2 state, 3 tail
  "transfer_group" INTEGER NOT NULL, -- index: transfer group 0..5: mla, indexer, tail, three state groups
  "engine_group" INTEGER NOT NULL, -- index: block-table group of the engine: 0 attention, 1 tail, 2.. state
  "dtype" INTEGER NOT NULL, -- enum: 0 bytes, 1 bf16, 2 fp32, 3 e4m3 record
  "transferred" INTEGER NOT NULL, -- 0/1: declared to be saved and loaded
  "key_scope" INTEGER NOT NULL, -- enum: 0: bytes depend on the prefix alone; 1: on the prefix and the next token too (MTP layer)
  "origin" INTEGER NOT NULL, -- enum: 0 registered by the model runner (owner), 1 by the side that transfers (mapped memory)
  "device" INTEGER NOT NULL, -- index: device ordinal
  "name" TEXT NOT NULL -- text: name of the entry, for example layers.3.mla
);

-- Shape and strides of one page of an entry. Journal record type 11.
CREATE TABLE IF NOT EXISTS "entry_shape" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank
  "entry" INTEGER NOT NULL, -- index: index of the entry
  "ndim" INTEGER NOT NULL, -- count: dimensions used
  "element_bytes" INTEGER NOT NULL, -- bytes: size of an element
  "shape0" INTEGER NOT NULL, -- elements: extent of dimension 0
  "shape1" INTEGER NOT NULL, -- elements: extent of dimension 1
  "shape2" INTEGER NOT NULL, -- elements: extent of dimension 2
  "shape3" INTEGER NOT NULL, -- elements: extent of dimension 3
  "stride0" INTEGER NOT NULL, -- elements: stride of dimension 0
  "stride1" INTEGER NOT NULL, -- elements: stride of dimension 1
  "stride2" INTEGER NOT NULL, -- elements: stride of dimension 2
  "stride3" INTEGER NOT NULL, -- elements: stride of dimension 3
  "reason" TEXT NOT NULL -- text: why the entry is not transferred, where it is not
);

-- A change of the address map: allocation, registration, IPC export or import. Journal record type 12.
CREATE TABLE IF NOT EXISTS "memory" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "address" INTEGER NOT NULL, -- address: base address in this process
  "bytes" INTEGER NOT NULL, -- bytes: size
  "end_ns" INTEGER NOT NULL, -- ns: time the call returned
  "handle" BLOB NOT NULL, -- sha256: hash of the IPC handle bytes, zero where there is none
  "call" INTEGER NOT NULL, -- id: hook id, see table hook
  "op" INTEGER NOT NULL, -- enum: 0 alloc, 1 free, 2 host alloc, 3 host free, 4 host register, 5 host unregister, 6 ipc export, 7 ipc open, 8 ipc close
  "device" INTEGER NOT NULL, -- index: device ordinal
  "result" INTEGER NOT NULL -- code: what the call returned
);

-- Name of a hook id, written once per process. Journal record type 13.
CREATE TABLE IF NOT EXISTS "hook" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "id" INTEGER NOT NULL, -- id: hook id used in copy.call, order_op.call and memory.call
  "level" INTEGER NOT NULL, -- enum: 0 runtime, 1 driver, 2 loader
  "installed" INTEGER NOT NULL, -- 0/1: 1 where a real function was found at start
  "name" TEXT NOT NULL -- text: exported name of the call
);

-- A request as the front process accepted it. Journal record type 20.
CREATE TABLE IF NOT EXISTS "request" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "request" INTEGER NOT NULL, -- id: request id, unique within a recording
  "prompt" BLOB NOT NULL, -- sha256: SHA-256 of the prompt ids, each as 4 little-endian bytes
  "prompt_tokens" INTEGER NOT NULL, -- tokens: N, the prompt length
  "max_tokens" INTEGER NOT NULL, -- tokens: tokens to generate
  "tag" TEXT NOT NULL -- text: tag given by the client (header X-Request-Id), or empty
);

-- The scheduler credits a request with tokens and schedules it for the first time. Journal record type 21.
CREATE TABLE IF NOT EXISTS "admission" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "request" INTEGER NOT NULL, -- id: request id
  "lookup" INTEGER NOT NULL, -- id: external lookup that was used, 0 where none
  "local_hit" INTEGER NOT NULL, -- tokens: tokens found in the device prefix cache
  "external_hit" INTEGER NOT NULL, -- tokens: tokens that the external cache answered
  "label_boundary" INTEGER NOT NULL, -- tokens: B_label: tokens the state that will be restored covers according to its metadata, 0 where nothing is restored
  "computed" INTEGER NOT NULL, -- tokens: p: tokens credited as computed
  "scheduled" INTEGER NOT NULL, -- tokens: tokens scheduled in the first step
  "drafts" INTEGER NOT NULL, -- tokens: draft tokens scheduled in the first step
  "preemptions" INTEGER NOT NULL, -- count: times the request was preempted so far
  "source" INTEGER NOT NULL -- enum: 0 recomputed, 1 local reuse, 2 external reload, 3 both
);

-- A lookup in the external cache and its answer for all ranks. Journal record type 22.
CREATE TABLE IF NOT EXISTS "lookup" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "lookup" INTEGER NOT NULL, -- id: lookup id
  "request" INTEGER NOT NULL, -- id: request id
  "query_tokens" INTEGER NOT NULL, -- tokens: length that was asked for
  "answer_tokens" INTEGER NOT NULL, -- tokens: length that was answered
  "mode" INTEGER NOT NULL -- enum: 0 strict, 1 full
);

-- What one rank and transfer group hold for a lookup. Journal record type 23.
CREATE TABLE IF NOT EXISTS "lookup_answer" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "lookup" INTEGER NOT NULL, -- id: lookup id
  "key" BLOB NOT NULL, -- sha256: key of the last checkpoint found, zero where none
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank
  "transfer_group" INTEGER NOT NULL, -- index: transfer group
  "answer_tokens" INTEGER NOT NULL -- tokens: tokens this rank and group can restore
);

-- One input of a cache key. Journal record type 24.
CREATE TABLE IF NOT EXISTS "key_input" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "key" BLOB NOT NULL, -- sha256: the key
  "value" BLOB NOT NULL, -- sha256: SHA-256 of the input's bytes
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank the key is for
  "name" TEXT NOT NULL -- text: name of the input: weights, geometry, rank, tp, prefix, numerics, ...
);

-- Something the bytes of this process's cache really depend on, declared by the model runner. Journal record type 25.
CREATE TABLE IF NOT EXISTS "content_input" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "value" BLOB NOT NULL, -- sha256: SHA-256 of the input's bytes
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank
  "name" TEXT NOT NULL -- text: name of the input; each must be among the key inputs of every key this rank saves under
);

-- One step of the engine as one rank executed it: begin. Journal record type 26.
CREATE TABLE IF NOT EXISTS "step" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "step" INTEGER NOT NULL, -- id: step number, equal on all ranks
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank
  "requests" INTEGER NOT NULL, -- count: requests in the batch
  "tokens" INTEGER NOT NULL, -- tokens: rows of the batch
  "end_ns" INTEGER NOT NULL -- ns: time the step's device work had ended
);

-- One request's share of a step: its positions are start .. start + tokens - 1. Journal record type 27.
CREATE TABLE IF NOT EXISTS "step_request" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "step" INTEGER NOT NULL, -- id: step number
  "request" INTEGER NOT NULL, -- id: request id
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank
  "index" INTEGER NOT NULL, -- index: place in the batch
  "start" INTEGER NOT NULL, -- position: first position computed (tokens computed before)
  "tokens" INTEGER NOT NULL, -- tokens: positions computed, drafts included
  "drafts" INTEGER NOT NULL, -- tokens: draft tokens among them
  "accepted" INTEGER NOT NULL, -- tokens: positions whose tokens were accepted
  "prompt_tokens" INTEGER NOT NULL, -- tokens: N of the request
  "transfer" INTEGER NOT NULL -- id: load whose pages this step reads for the first time, 0 where none
);

-- The block manager gave out, freed, cached or evicted a block id. Journal record type 28.
CREATE TABLE IF NOT EXISTS "block" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "request" INTEGER NOT NULL, -- id: owner, 0 where none
  "block" INTEGER NOT NULL, -- index: block id
  "generation" INTEGER NOT NULL, -- count: generation of the block id, raised each time it is given out
  "engine_group" INTEGER NOT NULL, -- index: block-table group
  "op" INTEGER NOT NULL, -- enum: 0 given out, 1 freed, 2 cached under a prefix hash, 3 evicted, 4 reused by a local hit
  "token_begin" INTEGER NOT NULL, -- tokens: first token it is for
  "token_end" INTEGER NOT NULL -- tokens: end of the tokens it is for
);

-- The model runner computed a recurrent state page: the tokens it has folded in, and its digest. Journal record type 29.
CREATE TABLE IF NOT EXISTS "state" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "request" INTEGER NOT NULL, -- id: request id
  "address" INTEGER NOT NULL, -- address: address of the page in the rank's process
  "content" BLOB NOT NULL, -- sha256 tree: page digest of the content, zero where digests are off
  "block" INTEGER NOT NULL, -- index: block id
  "generation" INTEGER NOT NULL, -- count: generation of the block
  "tokens" INTEGER NOT NULL, -- tokens: tokens the recurrence has folded into the page
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank
  "entry" INTEGER NOT NULL, -- index: index of the entry
  "step" INTEGER NOT NULL -- id: step that wrote it
);

-- A save or load of one checkpoint (save) or one prefix (load) for one rank, announced by the side that transfers. Journal record type 40.
CREATE TABLE IF NOT EXISTS "transfer" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "transfer" INTEGER NOT NULL, -- id: transfer id, unique within a recording
  "request" INTEGER NOT NULL, -- id: request id
  "stream" INTEGER NOT NULL, -- address: stream it runs on, in this process
  "key" BLOB NOT NULL, -- sha256: key it is filed under (load: key of the last checkpoint)
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank
  "direction" INTEGER NOT NULL, -- enum: 0 save (device to host), 1 load (host to device)
  "token_begin" INTEGER NOT NULL, -- tokens: first token covered
  "token_end" INTEGER NOT NULL, -- tokens: end of the tokens covered
  "boundary" INTEGER NOT NULL, -- tokens: B_label: tokens its state pages represent according to the metadata
  "next_token" INTEGER NOT NULL, -- token id: token that follows the boundary, 4294967295 where unknown
  "pages" INTEGER NOT NULL -- count: pages announced for it
);

-- A page that a transfer announced (destination of a load, source of a save), before its copies. Journal record type 41.
CREATE TABLE IF NOT EXISTS "transfer_page" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "transfer" INTEGER NOT NULL, -- id: transfer id
  "device_address" INTEGER NOT NULL, -- address: page address in this process
  "host_address" INTEGER NOT NULL, -- address: address of the host side
  "host_object" INTEGER NOT NULL, -- id: host object
  "host_offset" INTEGER NOT NULL, -- bytes: offset inside the host object
  "bytes" INTEGER NOT NULL, -- bytes: page bytes
  "block" INTEGER NOT NULL, -- index: block id
  "generation" INTEGER NOT NULL, -- count: generation of the block
  "token_begin" INTEGER NOT NULL, -- tokens: first token the page covers
  "token_end" INTEGER NOT NULL, -- tokens: end of the tokens the page covers
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank
  "entry" INTEGER NOT NULL, -- index: index of the entry
  "held" INTEGER NOT NULL -- 0/1: 1 where the external cache held it already: a save that copies nothing
);

-- A moment in a transfer's life, stamped when it happened on its stream (or in the call, for kinds 0 and 5). Journal record type 42.
CREATE TABLE IF NOT EXISTS "transfer_mark" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "transfer" INTEGER NOT NULL, -- id: transfer id
  "event" INTEGER NOT NULL, -- address: completion event announced for it (kinds 3, 5), else 0
  "value" INTEGER NOT NULL, -- ns: kind 1: delay asked for
  "kind" INTEGER NOT NULL -- enum: 0 announced, 1 delay begins, 2 delay ended, 3 copies complete (reached on the stream), 5 announcement closed
);

-- A copy call, batches unfolded: one row per entry. Journal record type 43.
CREATE TABLE IF NOT EXISTS "copy" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "src" INTEGER NOT NULL, -- address: source address in this process
  "dst" INTEGER NOT NULL, -- address: destination address in this process
  "bytes" INTEGER NOT NULL, -- bytes: bytes asked for
  "stream" INTEGER NOT NULL, -- address: stream handle (special handles kept as they are)
  "end_ns" INTEGER NOT NULL, -- ns: time the call returned
  "transfer" INTEGER NOT NULL, -- id: open announcement on this thread whose page it touches, else 0
  "call_seq" INTEGER NOT NULL, -- count: number of the call in this thread; rows of one batch share it
  "call" INTEGER NOT NULL, -- id: hook id
  "version" INTEGER NOT NULL, -- version: version the entry point was asked for with (12080, 13000), 0 where linked by name
  "batch_index" INTEGER NOT NULL, -- index: place in the batch
  "batch_count" INTEGER NOT NULL, -- count: entries of the batch, 1 for a single copy
  "result" INTEGER NOT NULL, -- code: what the call returned
  "block" INTEGER NOT NULL, -- index: block id of the page it touches, 4294967295 where none
  "entry" INTEGER NOT NULL, -- index: entry whose page it touches, 65535 where none
  "direction" INTEGER NOT NULL, -- enum: by address: 0 D2H, 1 H2D, 2 D2D, 3 H2H, 4 unknown
  "access_order" INTEGER NOT NULL -- enum: source access order: 0 not given, 1 stream, 2 during call, 3 any
);

-- Digest of one page at one place and moment of a transfer. Journal record type 44.
CREATE TABLE IF NOT EXISTS "page_digest" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "transfer" INTEGER NOT NULL, -- id: transfer id
  "content" BLOB NOT NULL, -- sha256 tree: page digest of the content bytes
  "page" BLOB NOT NULL, -- sha256 tree: page digest of the whole page
  "nonzero" INTEGER NOT NULL, -- bytes: content bytes that are not zero
  "block" INTEGER NOT NULL, -- index: block id
  "bytes" INTEGER NOT NULL, -- bytes: page bytes digested
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank
  "entry" INTEGER NOT NULL, -- index: index of the entry
  "place" INTEGER NOT NULL, -- enum: 0 device page, 1 host object
  "moment" INTEGER NOT NULL, -- enum: 0 where the bytes leave (before the copies), 1 where they land (after the copies)
  "token_end" INTEGER NOT NULL -- tokens: end of the tokens the page covers
);

-- Full comparison of one page with its other side after the copies. Journal record type 45.
CREATE TABLE IF NOT EXISTS "page_compare" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "transfer" INTEGER NOT NULL, -- id: transfer id
  "content_bytes" INTEGER NOT NULL, -- bytes: content bytes compared
  "content_differ" INTEGER NOT NULL, -- bytes: content bytes that differ
  "padding_bytes" INTEGER NOT NULL, -- bytes: padding bytes compared
  "padding_differ" INTEGER NOT NULL, -- bytes: padding bytes that differ
  "first_differ" INTEGER NOT NULL, -- offset: first byte that differs, -1 where none
  "block" INTEGER NOT NULL, -- index: block id
  "token_end" INTEGER NOT NULL, -- tokens: end of the tokens the page covers
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank
  "entry" INTEGER NOT NULL, -- index: index of the entry
  "direction" INTEGER NOT NULL -- enum: 0 save, 1 load
);

-- Poison of one load destination: proof that it was there, and what was left of it. Journal record type 46.
CREATE TABLE IF NOT EXISTS "page_poison" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "transfer" INTEGER NOT NULL, -- id: transfer id
  "page_bytes" INTEGER NOT NULL, -- bytes: bytes poisoned
  "verified_bytes" INTEGER NOT NULL, -- bytes: bytes found poisoned before the copies
  "residue_bytes" INTEGER NOT NULL, -- bytes: content and padding bytes still poisoned after the copies, as whole 8-byte words
  "residue_content" INTEGER NOT NULL, -- bytes: of these, bytes of the content
  "first_residue" INTEGER NOT NULL, -- offset: first byte still poisoned, -1 where none
  "poison_ns" INTEGER NOT NULL, -- ns: time the poison was on the page
  "block" INTEGER NOT NULL, -- index: block id
  "generation" INTEGER NOT NULL, -- count: generation of the block
  "token_end" INTEGER NOT NULL, -- tokens: end of the tokens the page covers
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank
  "entry" INTEGER NOT NULL -- index: index of the entry
);

-- A tail read at the address and strides that the next computation uses, and at the naive contiguous address. Journal record type 47.
CREATE TABLE IF NOT EXISTS "tail_read" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "effective_digest" BLOB NOT NULL, -- sha256: SHA-256 of the elements gathered at the effective address
  "request" INTEGER NOT NULL, -- id: request id
  "transfer" INTEGER NOT NULL, -- id: load that restored it, 0 where none
  "effective" INTEGER NOT NULL, -- address: address announced by the computation
  "naive" INTEGER NOT NULL, -- address: base + block * content_bytes, the address of a contiguous layout
  "block" INTEGER NOT NULL, -- index: block id
  "elements" INTEGER NOT NULL, -- elements: elements read at each address
  "nonzero" INTEGER NOT NULL, -- elements: of the effective ones, not zero
  "naive_nonzero" INTEGER NOT NULL, -- elements: of the naive ones, not zero
  "naive_equal" INTEGER NOT NULL, -- elements: elements equal at both addresses
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank
  "entry" INTEGER NOT NULL, -- index: index of the entry
  "stride0" INTEGER NOT NULL, -- elements: stride of the half (key, gate)
  "stride1" INTEGER NOT NULL, -- elements: stride of the ring slot
  "stride2" INTEGER NOT NULL, -- elements: stride of the channel
  "ring" INTEGER NOT NULL -- count: ring slots
);

-- Diagnostic: a pooled key as it was written, for the tail-effect run. Journal record type 48.
CREATE TABLE IF NOT EXISTS "pooled_key" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "digest" BLOB NOT NULL, -- sha256: SHA-256 of the pooled key's bytes and scale
  "request" INTEGER NOT NULL, -- id: request id
  "position" INTEGER NOT NULL, -- position: position of the token that completed the pool
  "block" INTEGER NOT NULL, -- index: block id
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank
  "entry" INTEGER NOT NULL -- index: index of the indexer entry
);

-- Diagnostic: the probe flipped one byte of a tail (the only case in which it changes a result). Journal record type 49.
CREATE TABLE IF NOT EXISTS "tail_flip" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "request" INTEGER NOT NULL, -- id: request id
  "address" INTEGER NOT NULL, -- address: byte that was flipped
  "position" INTEGER NOT NULL, -- position: position of the decode step
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank
  "entry" INTEGER NOT NULL, -- index: index of the tail entry
  "where" INTEGER NOT NULL -- enum: 0 effective address, 1 naive address
);

-- A call that orders work: events, waits, queries, synchronisation, host functions, stream memory operations. Journal record type 60.
CREATE TABLE IF NOT EXISTS "order_op" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "stream" INTEGER NOT NULL, -- address: stream handle, 0 where none
  "event" INTEGER NOT NULL, -- address: event handle in this process, 0 where none
  "end_ns" INTEGER NOT NULL, -- ns: time the call returned
  "value" INTEGER NOT NULL, -- value: value of a stream memory operation, or its address where it has none
  "handle" BLOB NOT NULL, -- sha256: hash of the IPC event handle's bytes (export and open), zero otherwise
  "result" INTEGER NOT NULL, -- code: what the call returned (a query: 0 ready, 600 not ready)
  "call" INTEGER NOT NULL, -- id: hook id
  "op" INTEGER NOT NULL, -- enum: 0 event create, 1 event destroy, 2 event record, 3 event query, 4 event synchronise, 5 stream waits event, 6 stream synchronise, 7 stream query, 8 device synchronise, 9 host function, 10 write value, 11 wait value, 12 event export, 13 event open, 14 stream create, 15 stream destroy, 16 kernel launch (only where a process opened another one's memory and announces nothing; value: its number in the facts kernel.<number>, long names going on in kernel.<number>.2)
  "device" INTEGER NOT NULL -- index: device ordinal
);

-- The engine waited for a transfer: begin and end of the wait as announced around it. Journal record type 61.
CREATE TABLE IF NOT EXISTS "wait" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "transfer" INTEGER NOT NULL, -- id: transfer id
  "request" INTEGER NOT NULL, -- id: request id
  "end_ns" INTEGER NOT NULL, -- ns: time the wait had ended
  "event" INTEGER NOT NULL, -- address: event that was waited on, in this process
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank
  "kind" INTEGER NOT NULL -- enum: 0 for a save, 1 for a load
);

-- First write into a page after a save named it as its source, as announced by the model runner. Journal record type 62.
CREATE TABLE IF NOT EXISTS "reuse" (
  "process" INTEGER NOT NULL, -- pid: operating-system process id
  "thread" INTEGER NOT NULL, -- tid: thread id
  "seq" INTEGER NOT NULL, -- count: per-thread sequence number, from 1
  "t_ns" INTEGER NOT NULL, -- ns: time of the call or fact
  "transfer" INTEGER NOT NULL, -- id: save that named the page
  "step" INTEGER NOT NULL, -- id: step that writes
  "block" INTEGER NOT NULL, -- index: block id
  "rank" INTEGER NOT NULL, -- rank: tensor-parallel rank
  "entry" INTEGER NOT NULL -- index: index of the entry
);

-- Facts about the recording: format_version, hitproof_version, started_ns, started_unix_ns,
-- ended_ns, closed (0/1), closed_reason, records, dropped, gaps, damaged_slots, live_writers,
-- plan_sha256, device, arm, lookup, tail_effect and others.
CREATE TABLE IF NOT EXISTS "recording" (
  "key" TEXT PRIMARY KEY,      -- text: name of the fact
  "value" TEXT NOT NULL        -- text: its value
) WITHOUT ROWID;

-- Operations of the study in the order of running.
CREATE TABLE IF NOT EXISTS "study_operation" (
  "op" INTEGER PRIMARY KEY,    -- index: number of the operation, from 0
  "arm" TEXT NOT NULL,         -- text: control, candidate
  "case_index" INTEGER NOT NULL, -- index: case of the plan, from 0
  "prompt_tokens" INTEGER NOT NULL, -- tokens: N
  "kind" TEXT NOT NULL,        -- text: cold, interpose, repeat, reset, reload
  "which" TEXT NOT NULL,       -- text: prompt A, X or Y; empty for a reset
  "request" INTEGER NOT NULL,  -- id: row of table request, 0 where none
  "prompt" BLOB NOT NULL,      -- sha256: of the prompt ids, each as 4 little-endian bytes
  "tag" TEXT NOT NULL,         -- text: tag sent with the request
  "status" TEXT NOT NULL,      -- text: running, ok, failed
  "error" TEXT NOT NULL,       -- text: what went wrong, or empty
  "begin_ns" INTEGER NOT NULL, -- ns: when the operation began
  "end_ns" INTEGER NOT NULL,   -- ns: when it ended, 0 while running
  "template" TEXT NOT NULL DEFAULT '', -- text: what the prompt is: tagged, ledger, rules, code
  "trial" INTEGER NOT NULL DEFAULT 0, -- index: trial of a performance study, 0 where there is none
  "warmup" INTEGER NOT NULL DEFAULT 0 -- 0/1: 1 where the trial is a warm-up, set aside
);

-- Generated tokens.
CREATE TABLE IF NOT EXISTS "study_token" (
  "op" INTEGER NOT NULL,       -- index: operation
  "position" INTEGER NOT NULL, -- index: among the generated tokens, from 0
  "token" INTEGER NOT NULL,    -- token id
  "logits" BLOB NOT NULL,      -- sha256: of the logits' bytes
  "margin" REAL NOT NULL,      -- logits: top-1 minus top-2
  "t_ns" INTEGER NOT NULL,     -- ns: when the token's event arrived
  PRIMARY KEY ("op", "position")
) WITHOUT ROWID;

-- What was left out of the evidence, and why. Nothing is pooled.
CREATE TABLE IF NOT EXISTS "exclusion" (
  "id" TEXT PRIMARY KEY,       -- text: name of what is excluded
  "what" TEXT NOT NULL,        -- text: what it was
  "reason" TEXT NOT NULL       -- text: why it does not count
) WITHOUT ROWID;

-- How far each journal segment was drained into the record tables.
CREATE TABLE IF NOT EXISTS "journal_file" (
  "pid" INTEGER NOT NULL,      -- process id
  "tid" INTEGER NOT NULL,      -- thread id
  "segment" INTEGER NOT NULL,  -- index: number of the segment in its thread, from 0
  "start_ns" INTEGER NOT NULL, -- ns: when the thread's journal began
  "slots" INTEGER NOT NULL,    -- count: slots read so far
  "records" INTEGER NOT NULL,  -- count: records moved
  "gaps" INTEGER NOT NULL,     -- count: sequence numbers missing
  "damaged" INTEGER NOT NULL,  -- count: slots that could not be read
  "last_seq" INTEGER NOT NULL, -- count: last sequence number seen
  "dropped" INTEGER NOT NULL,  -- count: losses the thread had counted when this was written
  PRIMARY KEY ("pid", "tid", "segment", "start_ns")
) WITHOUT ROWID;

-- Processes of the run as they ended.
CREATE TABLE IF NOT EXISTS "process_exit" (
  "pid" INTEGER PRIMARY KEY,   -- process id
  "role" TEXT NOT NULL,        -- text: front, rank, cache_server, command
  "status" INTEGER NOT NULL,   -- code: exit status, -1 where it was ended by a signal
  "signal" INTEGER NOT NULL    -- number: the signal, 0 where it exited
);
