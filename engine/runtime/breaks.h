// Engines broken on purpose: each name is one fault that a check must find (docs/studies.md
// 5.2).
#pragma once

#include <string>
#include <vector>

namespace hitproof::engine {

enum class Break {
  none,
  save_no_wait,          // rank: does not wait for its saves
  load_skip_entry,       // cache server: one of the entries is announced and never copied
  copy_short_row,        // cache server: one page of a load is copied without its last row
  load_wrong_block,      // cache server: one page lands in the page of another block than announced
  state_wrong_boundary,  // rank: files the state that the step started from under the boundary it
                         // reached
  tail_contiguous_write, // rank: the model writes tails at base + block * content bytes
  tail_wrong_announce,   // rank: announces tails there, and reads them where they are
  rank_resumes_elsewhere, // front: one rank gets another boundary
  save_no_producer_wait,  // cache server: a save's copies do not wait for the rank's event
  load_read_early,        // rank: runs the step before it has waited for the load
  key_omits_weights,      // rank: keys without the identity of the weights
  prefill_split           // front: another split of prefills
};

// The break of that name, Break::none for the empty one. Throws std::invalid_argument that lists
// the known names.
Break find_break(const std::string& name);
std::vector<std::string> break_names();

} // namespace hitproof::engine
