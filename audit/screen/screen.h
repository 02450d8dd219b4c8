// The look at a whole recording, done once for all rules: which rows each query still needs, and
// the figures that would take a pass of their own.
#pragma once

#include "audit/order/records.h"
#include "audit/screen/look.h"

#include <memory>
#include <optional>

namespace hitproof::audit::screen {

// How a query is run: its text, over tables of which only some rows are needed.
struct Plan {
  std::string sql;
  Kept kept;
  std::vector<std::string> prepare; // statements that come between the tables and the query
  std::size_t rows() const;
};

// One row of pages_moved.sql.
struct Moved {
  std::int64_t rank = 0, direction = 0, entries = 0, pages = 0, bytes = 0;
};

// What was loaded for one request on one rank.
struct Loaded {
  std::int64_t request = 0, rank = 0;
  std::int64_t pages = 0, bytes = 0; // that copies were joined to
  std::int64_t chunks = 0;           // different ends of tokens among all that were announced
};

// Of the state pages that were loaded for one request, how many can stand for a number of tokens.
struct StandsFor {
  std::int64_t request = 0, tokens = 0, fitting = 0, pages = 0;
};

class Screen {
 public:
  // Reads the recording of `context`. Null where it is of a form that is left to the statements.
  static std::unique_ptr<Screen> look(Context& context);

  // Null where the query runs as it stands.
  const Plan* plan(std::string_view query) const;
  // The figure `name` of rule `source` ("pages.sql"), where the look counted it.
  std::optional<std::int64_t> figure(const std::string& source, const std::string& name) const;
  const std::vector<Moved>& moved() const { return moved_; }
  const std::vector<Loaded>& loaded() const { return loaded_; }
  // Ascending by request and tokens; null where that is left to the statement.
  const std::optional<std::vector<StandsFor>>& loaded_states() const { return loaded_states_; }
  // The calls that rule order walks over.
  const std::shared_ptr<const order::Records>& calls() const { return calls_; }

 private:
  std::map<std::string, Plan, std::less<>> plans_;
  std::map<std::string, std::int64_t> figures_;
  std::vector<Moved> moved_;
  std::vector<Loaded> loaded_;
  std::optional<std::vector<StandsFor>> loaded_states_;
  std::shared_ptr<const order::Records> calls_;
  friend class Looking;
};

// While it lives, the tables of a query have only the rows that the query needs.
class Reduced {
 public:
  // `sql` is what is run where there is no plan for `query`.
  Reduced(Context& context, std::string_view query, const char* sql);
  ~Reduced();
  Reduced(const Reduced&) = delete;
  Reduced& operator=(const Reduced&) = delete;
  const std::string& sql() const { return sql_; }

 private:
  Context& context_;
  std::string sql_;
  std::vector<std::string> shadows_;
};

} // namespace hitproof::audit::screen
