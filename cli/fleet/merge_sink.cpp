#include "cli/fleet/fleet_sink.h"

namespace hitproof::cli {
namespace {

class MergeSink : public FleetSink {
 public:
  explicit MergeSink(schema::MergedFile file) : file_(std::move(file)) {}

  schema::Result<bool> holds(const std::string& id) override {
    return file_.holds(fleet_archive_table, id);
  }
  schema::Status begin(const std::string& id) override {
    id_ = id;
    return file_.begin();
  }
  schema::Result<std::int64_t> table(const FleetTable& table, schema::Query& rows) override {
    return file_.add(table.merged, id_, table.columns, rows);
  }
  schema::Status facts(const FactTable& facts) override {
    std::vector<schema::MergedColumn> columns;
    for (const FactColumn& c : facts.columns)
      columns.push_back({c.name, c.type});
    for (const auto& row : facts.rows) {
      if (schema::Status s = file_.add_row(facts.name, id_, columns, row); !s.ok()) return s;
    }
    return {};
  }
  schema::Status commit() override { return file_.commit(); }
  void drop() noexcept override { file_.rollback(); }
  schema::Status finish() override { return file_.close(); }

 private:
  schema::MergedFile file_;
  std::string id_;
};

} // namespace

schema::Result<std::unique_ptr<FleetSink>> open_merged_file(const std::string& path) {
  auto file = schema::MergedFile::open(path);
  if (!file.ok()) return file.status();
  return std::unique_ptr<FleetSink>(std::make_unique<MergeSink>(std::move(file).value()));
}

} // namespace hitproof::cli
