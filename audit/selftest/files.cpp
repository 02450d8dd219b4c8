// Changes of an archive's files.
#include "audit/selftest/parts.h"
#include "schema/plan.h"
#include "schema/recording.h"

#include <filesystem>
#include <fstream>

namespace hitproof::audit::selftest {
namespace fs = std::filesystem;

namespace {

schema::Status write_file(const std::string& path, const std::string& text) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (out.good()) return {};
  return schema::Status(schema::Code::io_error, path + ": cannot be written");
}

} // namespace

schema::Status remove_plan(const std::string& dir) {
  std::error_code error;
  fs::remove(dir + "/data/plan.toml", error);
  if (!error) return {};
  return schema::Status::from_errno(error.value(), "remove " + dir + "/data/plan.toml");
}

schema::Status plan_control_for_other_tokens(const std::string& dir) {
  const std::string path = dir + "/data/reference/plan.toml";
  auto plan = schema::read_plan(path);
  if (!plan.ok()) return plan.status();
  plan->tokens += 1;
  const std::string text = schema::write_plan(*plan);
  if (auto status = write_file(path, text); !status.ok()) return status;
  auto control = schema::Recording::open_file(dir + "/data/reference/recording.sqlite",
                                              schema::Access::read_write);
  if (!control.ok()) return control.status();
  return control->put("plan_sha256", schema::to_hex(schema::sha256(text)));
}

schema::Status add_file_behind_manifest(const std::string& dir) {
  return write_file(dir + "/data/added.txt", "No manifest names this file.\n");
}

schema::Status add_log(const std::string& dir) {
  return write_file(dir + "/data/logs/selftest.log", "A line of talk.\n");
}

} // namespace hitproof::audit::selftest
