#include "audit/order/records.h"

#include "audit/order/gathering.h"
#include "audit/screen/screen.h"

#include <algorithm>
#include <string>
#include <tuple>

namespace hitproof::audit::order {
namespace {

void read_operations(Context& context, Gathering& into) {
  auto q = context.query("SELECT process, thread, seq, t_ns, end_ns, stream, event, op, device, "
                         "call, handle FROM order_op WHERE result = 0 AND op BETWEEN 0 AND 15");
  while (q.next()) {
    const std::string handle = q.blob(10);
    into.operation({q.integer(0), q.integer(1), q.integer(2), q.integer(3), q.integer(4),
                    q.integer(5), q.integer(6), q.integer(7), q.integer(8), q.integer(9), handle});
  }
  require(q.status());
}

void read_copies(Context& context, Gathering& into) {
  auto q = context.query("SELECT process, thread, seq, t_ns, end_ns, stream, transfer, call_seq, "
                         "call, direction, access_order FROM copy WHERE result = 0");
  while (q.next()) {
    if (!into.wants_copy(q.integer(6), q.integer(8))) continue;
    into.copy({q.integer(0), q.integer(1), q.integer(2), q.integer(3), q.integer(4), q.integer(5),
               q.integer(6), q.integer(7), q.integer(8), q.integer(9), q.integer(10)});
  }
  require(q.status());
}

void read_announced(Context& context, Gathering& into) {
  auto waits =
      context.query("SELECT process, thread, seq, t_ns, end_ns, event, transfer FROM wait");
  while (waits.next())
    into.wait({waits.integer(0), waits.integer(1), waits.integer(2), waits.integer(3),
               waits.integer(4), waits.integer(5), waits.integer(6)});
  require(waits.status());
  auto marks = context.query(
      "SELECT process, thread, seq, t_ns, transfer FROM transfer_mark WHERE kind = 3");
  while (marks.next())
    into.complete({marks.integer(0), marks.integer(1), marks.integer(2), marks.integer(3),
                   marks.integer(3), 0, marks.integer(4)});
  require(marks.status());
}

void read_steps(Context& context, Gathering& into) {
  std::vector<StepRow> steps;
  auto q = context.query("SELECT step, rank, process, t_ns, end_ns, thread, seq FROM step");
  while (q.next())
    steps.push_back({q.integer(0), q.integer(1), q.integer(2), q.integer(3), q.integer(4),
                     q.integer(5), q.integer(6)});
  require(q.status());
  const auto key = [](const StepRow& s) { return std::tie(s.step, s.rank, s.process); };
  const auto before = [&](const StepRow& a, const StepRow& b) { return key(a) < key(b); };
  std::sort(steps.begin(), steps.end(), before);
  auto shares = context.query("SELECT step, rank, process, request, transfer FROM step_request");
  while (shares.next()) {
    const StepRow sought{shares.integer(0), shares.integer(1), shares.integer(2), 0, 0, 0, 0};
    auto s = std::lower_bound(steps.begin(), steps.end(), sought, before);
    for (; s != steps.end() && key(*s) == key(sought); ++s)
      into.step(*s, shares.integer(3), shares.integer(4));
  }
  require(shares.status());
}

} // namespace

std::shared_ptr<const Records> records_of(Context& context) {
  if (context.screen() != nullptr) return context.screen()->calls();
  Gathering gathering(context);
  read_operations(context, gathering);
  read_copies(context, gathering);
  read_announced(context, gathering);
  read_steps(context, gathering);
  return std::make_shared<const Records>(gathering.records());
}

} // namespace hitproof::audit::order
