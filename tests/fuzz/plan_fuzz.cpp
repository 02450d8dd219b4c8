// A plan of any bytes: one that is accepted is written canonically, and that text is the same plan.
#include "schema/plan.h"
#include "tests/fuzz/fuzz.h"

namespace schema = hitproof::schema;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto plan = schema::parse_plan({reinterpret_cast<const char*>(data), size});
  if (!plan.ok()) return 0;
  const auto again = schema::parse_plan(schema::write_plan(*plan));
  if (!again.ok() || !(*again == *plan)) std::abort();
  return 0;
}
