#include "audit/screen/keys.h"

#include <algorithm>
#include <optional>

namespace hitproof::audit::screen {
namespace {

using Inputs = std::vector<std::uint32_t>; // numbers of (name, value), ascending

// Inputs by small numbers.
class Numbering {
 public:
  std::uint32_t of(std::string name, std::string value) {
    return numbers_
        .try_emplace({std::move(name), std::move(value)},
                     static_cast<std::uint32_t>(numbers_.size()))
        .first->second;
  }

 private:
  std::map<std::pair<std::string, std::string>, std::uint32_t> numbers_;
};

void tidy(Inputs& inputs) {
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
}

// What the contents of each rank depend on, as each of its processes says.
using Contents = std::map<std::int64_t, std::map<std::int64_t, Inputs>>; // by rank, process

std::optional<Contents> read_contents(Context& context, Numbering& numbering) {
  Contents out;
  auto q = context.query(
      "SELECT rank, process, name, value, typeof(rank) = 'integer' AND typeof(process) = 'integer' "
      "AND typeof(name) = 'text' AND typeof(value) = 'blob' FROM content_input");
  while (q.next()) {
    if (q.integer(4) != 1) return std::nullopt;
    out[q.integer(0)][q.integer(1)].push_back(numbering.of(q.text(2), q.blob(3)));
  }
  require(q.status());
  for (auto& [rank, processes] : out)
    for (auto& [process, inputs] : processes)
      tidy(inputs);
  return out;
}

struct KeyOfRank {
  Inputs inputs;
  Rowids rows; // of key_input
  bool plain = false;
};
using Keys = std::map<std::pair<std::string, std::int64_t>, KeyOfRank>; // key, rank

std::optional<Keys> read_keys(Context& context, Numbering& numbering) {
  Keys out;
  auto q = context.query("SELECT rowid, key, rank, name, value, typeof(key) = 'blob' AND "
                         "typeof(rank) = 'integer' AND typeof(name) = 'text' AND typeof(value) = "
                         "'blob' FROM key_input");
  auto at = out.end();
  while (q.next()) {
    if (q.integer(5) != 1) return std::nullopt;
    std::pair name{q.blob(1), q.integer(2)};
    if (at == out.end() || at->first != name) at = out.try_emplace(std::move(name)).first;
    at->second.inputs.push_back(numbering.of(q.text(3), q.blob(4)));
    at->second.rows.push_back(q.integer(0));
  }
  require(q.status());
  return out;
}

bool holds_all_of_one(const Inputs& key, const std::map<std::int64_t, Inputs>& processes) {
  return std::any_of(processes.begin(), processes.end(), [&](const auto& p) {
    return std::includes(key.begin(), key.end(), p.second.begin(), p.second.end());
  });
}

} // namespace

Kept keys_to_compare(Context& context, const Small& known) {
  Numbering numbering;
  const auto contents = read_contents(context, numbering);
  if (!contents) return {};
  auto keys = read_keys(context, numbering);
  if (!keys) return {};
  Kept kept;
  Rowids& inputs = kept["key_input"];
  for (auto& [name, key] : *keys) {
    tidy(key.inputs);
    const auto processes = contents->find(name.second);
    key.plain = processes != contents->end() && holds_all_of_one(key.inputs, processes->second);
    if (!key.plain) inputs.insert(inputs.end(), key.rows.begin(), key.rows.end());
  }
  std::sort(inputs.begin(), inputs.end());
  Rowids& transfers = kept["transfer"];
  for (const Transfer& t : known.transfers) {
    if (t.direction != 0) continue;
    const auto key = keys->find({known.keys[t.key], t.rank});
    if (key == keys->end() || !key->second.plain) transfers.push_back(t.rowid);
  }
  return kept;
}

} // namespace hitproof::audit::screen
