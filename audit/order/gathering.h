// Makes the graph's records of the rows that order work, whoever reads these: statements
// (records.cpp) or the look at all records (screen/orders.h). Rows of one table come in the order
// of the table.
#pragma once

#include "audit/order/records.h"

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace hitproof::audit::order {

// A row of order_op.
struct OperationRow {
  std::int64_t process, thread, seq, t_ns, end_ns, stream, event, op, device, call;
  std::string_view handle; // bytes
};
// A row of copy.
struct CopyRow {
  std::int64_t process, thread, seq, t_ns, end_ns, stream, transfer, call_seq, call, direction,
      access_order;
};
// A row of wait; of transfer_mark, where it has no end and no event.
struct AnnouncedRow {
  std::int64_t process, thread, seq, t_ns, end_ns, event, transfer;
};
// A row of step.
struct StepRow {
  std::int64_t step, rank, process, t_ns, end_ns, thread, seq;
};

class Gathering {
 public:
  // Reads the transfers, and the names of the hooked calls. Throws AuditError.
  explicit Gathering(Context& context);

  // Of calls that succeeded (result 0), and any op.
  void operation(const OperationRow& row);
  void copy(const CopyRow& row);
  // Whether `copy` has any use for a row with these.
  bool wants_copy(std::int64_t transfer, std::int64_t call) const {
    return transfer != 0 || (!synchronous_.empty() && synchronous_.contains(call));
  }
  void wait(const AnnouncedRow& row);
  void complete(const AnnouncedRow& row); // a mark of kind 3
  // A row of step_request with the step of its number, rank and process.
  void step(const StepRow& step, std::int64_t request, std::int64_t transfer);

  // All of it; nothing may be added after.
  Records records();

 private:
  struct Transfer {
    std::int64_t rank, request, direction, t_ns;
  };
  // The step of a request that began last is what rule order calls the producer.
  struct Share {
    std::int64_t rank, request;
    StepRow step;
  };

  const StepRow* producer(const Transfer& save) const;
  std::int64_t stream(std::int64_t handle, std::int64_t call) const;

  std::map<std::int64_t, Transfer> transfers_;
  std::set<std::int64_t> saved_;                                  // requests
  std::set<std::int64_t> synchronous_, of_the_thread_, launches_; // hooked calls
  bool events_are_known_ = true;
  std::vector<Record> records_;
  std::map<std::string, std::uint32_t, std::less<>> handles_;
  std::size_t newest_copy_ = SIZE_MAX; // entries of one batch mostly follow each other
  std::int64_t newest_copy_call_ = 0;
  std::vector<Share> shares_;
  std::map<std::pair<std::int64_t, std::int64_t>, StepRow> readers_; // (load, process)
};

} // namespace hitproof::audit::order
