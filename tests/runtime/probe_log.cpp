#include "tests/runtime/probe_log.h"

#include "probes/hitproof.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace hitproof::engine {
namespace {

std::mutex mutex;
std::vector<std::string> lines;

void note(const std::string& line) {
  const std::lock_guard lock(mutex);
  lines.push_back(line);
}

std::string s(uint64_t number) { return std::to_string(number); }

} // namespace

std::vector<std::string> take_probe_log() {
  const std::lock_guard lock(mutex);
  return std::exchange(lines, {});
}

std::vector<std::string> take_probe_log(const std::string& first_word) {
  std::vector<std::string> all = take_probe_log();
  std::erase_if(all, [&](const std::string& line) { return line.rfind(first_word + " ", 0) != 0; });
  return all;
}

} // namespace hitproof::engine

using hitproof::engine::note;
using hitproof::engine::s;

extern "C" {

void hitproof_transfer(const hitproof_transfer_t* t) {
  note("transfer " + s(t->transfer) + (t->direction == HITPROOF_SAVE ? " save" : " load") +
       " rank " + s(t->rank) + " [" + s(t->token_begin) + "," + s(t->token_end) + ") boundary " +
       s(t->boundary) + " next " +
       (t->next_token == HITPROOF_UNKNOWN ? "unknown" : s(t->next_token)));
}
void hitproof_transfer_page(const hitproof_transfer_page_t* p) {
  note("page " + s(p->transfer) + " entry " + s(p->entry) + " block " + s(p->block) + " held " +
       s(p->held));
}
void hitproof_transfer_ready(uint64_t transfer) { note("ready " + s(transfer)); }
void hitproof_transfer_done(uint64_t transfer, void* event) {
  note("done " + s(transfer) + (event != nullptr ? "" : " without event"));
}
void hitproof_wait(uint64_t transfer, uint64_t request, int rank, int kind, void*, uint64_t begin,
                   uint64_t end) {
  note("wait " + s(transfer) + " request " + s(request) + " kind " +
       s(static_cast<uint64_t>(kind)) + (begin <= end ? "" : " backwards"));
}
void hitproof_reuse(uint64_t transfer, uint64_t step, uint32_t block, int rank, int entry) {
  note("reuse " + s(transfer) + " step " + s(step) + " block " + s(block) + " entry " +
       s(static_cast<uint64_t>(entry)));
}
void hitproof_key_input(const uint8_t* key, int rank, const char* name, const uint8_t*) {
  note("key " + s(key[0]) + " " + name);
}
void hitproof_entry(const hitproof_entry_t* e) {
  note("entry " + s(e->entry) + " origin " + s(e->origin) + " rank " + s(e->rank));
}

} // extern "C"
