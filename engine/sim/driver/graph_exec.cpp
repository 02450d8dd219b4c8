// Executable graphs: a snapshot of the nodes in a topological order, rebound and launched.
#include "engine/sim/driver/graph.h"
#include "engine/sim/driver/handle_table.h"
#include "engine/sim/driver/settings.h"

#include <algorithm>
#include <utility>

namespace hitproof::sim {
namespace {

HandleTable<GraphExec>& execs() {
  static auto& instance = *new HandleTable<GraphExec>;
  return instance;
}

using Nodes = std::vector<ExecNode>;

// The numbers of the records and waits of one launch, fixed when it is launched.
std::vector<uint64_t> number_events(const Nodes& nodes) {
  std::vector<uint64_t> numbers(nodes.size(), 0);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (const auto* op = std::get_if<RecordOp>(&nodes[i].work))
      numbers[i] = op->event->begin_record();
    else if (const auto* wait = std::get_if<WaitOp>(&nodes[i].work))
      numbers[i] = wait->event->newest();
  }
  return numbers;
}

struct Perform {
  Stream& stream;
  uint64_t number;
  void operator()(std::monostate) const {}
  void operator()(const CopyOp& op) const { perform(op); }
  void operator()(const FillOp& op) const { perform(op); }
  void operator()(const HostOp& op) const { op.fn(op.user_data); }
  void operator()(const RecordOp& op) const { op.event->finish_record(number); }
  void operator()(const WaitOp& op) const {
    if (broken(Break::ignore_event)) return;
    if (CUresult error = op.event->wait(number)) stream.fail(error);
  }
};

void run_nodes(const Nodes& nodes, const std::vector<uint64_t>& numbers, Stream& stream) {
  std::vector<uint32_t> missing(nodes.size());
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    missing[i] = static_cast<uint32_t>(nodes[i].after.size());
    if (missing[i] == 0) open.push_back(i);
  }
  while (!open.empty()) {
    // draw() is 0 without a seed: nodes run in the order of their making.
    const auto pick = open.begin() + static_cast<long>(draw() % open.size());
    const uint32_t at = *pick;
    open.erase(pick);
    std::visit(Perform{stream, numbers[at]}, nodes[at].work);
    for (uint32_t later = at + 1; later < nodes.size(); ++later)
      for (uint32_t before : nodes[later].after)
        if (before == at && --missing[later] == 0)
          open.insert(std::upper_bound(open.begin(), open.end(), later), later);
  }
}

} // namespace

CUresult instantiate(CUgraph handle, CUgraphExec& out) {
  std::lock_guard lock(graph_mutex());
  auto graph = find_graph(handle);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  auto exec = std::make_shared<GraphExec>();
  exec->nodes = std::make_shared<Nodes>();
  exec->source = graph;
  // Dependencies may have been added in any order: take what is ready until nothing is left.
  std::vector<const Node*> left;
  for (const auto& node : graph->nodes)
    left.push_back(node.get());
  while (!left.empty()) {
    auto ready = std::find_if(left.begin(), left.end(), [&](const Node* node) {
      return std::all_of(node->after.begin(), node->after.end(),
                         [&](const Node* before) { return exec->position.contains(before); });
    });
    if (ready == left.end()) return CUDA_ERROR_INVALID_VALUE; // a cycle
    ExecNode made{(*ready)->work, {}};
    for (const Node* before : (*ready)->after)
      made.after.push_back(exec->position.at(before));
    exec->position.emplace(*ready, static_cast<uint32_t>(exec->nodes->size()));
    exec->nodes->push_back(std::move(made));
    left.erase(ready);
  }
  out = exec->handle();
  execs().add(std::move(exec));
  return CUDA_SUCCESS;
}

CUresult destroy_exec(CUgraphExec handle) {
  return execs().take(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

bool known_exec(CUgraphExec handle) { return execs().find(handle) != nullptr; }

CUresult rebind(CUgraphExec handle, CUgraphNode node, CUgraphNodeType type, Work work) {
  auto exec = execs().find(handle);
  auto known = find_node(node);
  if (!exec || !known || known->type != type) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(exec->mutex);
  auto it = exec->position.find(known.get());
  if (it == exec->position.end()) return CUDA_ERROR_INVALID_VALUE;
  auto changed = std::make_shared<Nodes>(*exec->nodes);
  (*changed)[it->second].work = std::move(work);
  exec->nodes = std::move(changed);
  return CUDA_SUCCESS;
}

CUresult launch(CUgraphExec handle, const std::shared_ptr<Stream>& stream) {
  auto exec = execs().find(handle);
  if (!exec) return CUDA_ERROR_INVALID_VALUE;
  // A launch into a capture would be a child graph, which this device does not have.
  if (CUresult refused = refuse_while_capturing(*stream)) return refused;
  std::shared_ptr<const Nodes> nodes;
  {
    std::lock_guard lock(exec->mutex);
    nodes = exec->nodes;
  }
  auto numbers = number_events(*nodes);
  stream->enqueue([nodes, numbers = std::move(numbers), on = stream.get()] {
    run_nodes(*nodes, numbers, *on);
  });
  return CUDA_SUCCESS;
}

} // namespace hitproof::sim
