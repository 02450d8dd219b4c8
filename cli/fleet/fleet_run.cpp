#include "cli/fleet/fleet_run.h"

#include "audit/audit.h"
#include "audit/order/paths.h"
#include "cli/command.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

namespace hitproof::cli {
namespace {

using schema::Code;
using schema::Status;
using Clock = std::chrono::steady_clock;

class Taking {
 public:
  Taking(const FleetOptions& options, FleetSink& sink, FleetSummary& summary)
      : options_(options), sink_(sink), summary_(summary) {}

  // True after the first archive that was left out in strict mode.
  bool stopped() const noexcept { return stopped_; }

  // Not ok where the sink failed.
  Status take(const std::string& dir) {
    // An archive that is there already is not read again: thousands of them are looked at in
    // seconds.
    if (const auto id = fleet_id(dir); id.ok()) {
      const auto there = sink_.holds(*id);
      if (!there.ok()) return there.status();
      if (*there) return skip(dir, *id);
    }
    auto archive = FleetArchive::open(dir);
    if (!archive.ok()) {
      leave_out(dir, archive.status());
      return {};
    }
    Status status = sink_.begin(archive->id());
    bool archives_fault = false;
    if (status.ok()) status = copy(*archive, archives_fault);
    if (status.ok()) {
      status = sink_.commit();
      archives_fault = status.code() == Code::unsupported;
    }
    if (status.ok()) {
      ++summary_.added;
      summary_.rows += rows_;
      if (!verdict_.empty()) ++summary_.verdicts[verdict_];
      show_progress();
      return status;
    }
    sink_.drop();
    if (!archives_fault) return std::move(status).with_context(dir);
    leave_out(dir, status);
    return {};
  }

 private:
  // `archives_fault`: it cannot be read, while the sink is in order.
  Status copy(FleetArchive& archive, bool& archives_fault) {
    std::vector<std::int64_t> counts;
    for (const FleetTable& table : archive.tables()) {
      auto rows = archive.rows(table);
      archives_fault = !rows.ok();
      if (!rows.ok()) return rows.status();
      const auto count = sink_.table(table, *rows);
      // Tables that fit to no others, or hold values of other kinds than their columns.
      archives_fault = !rows->status().ok() || count.code() == Code::corruption ||
                       count.code() == Code::invalid_argument;
      if (!count.ok()) return count.status();
      counts.push_back(*count);
    }
    std::optional<audit::Report> report;
    if (options_.audit) {
      // Verified just now; what a verification says of a whole archive is a finding there.
      auto audited = audit::audit_archive(archive.dir(), audit::Options{false});
      archives_fault = !audited.ok();
      if (!audited.ok()) return audited.status();
      report = std::move(audited).value();
    }
    std::optional<std::vector<std::int64_t>> without_path;
    if (!report && options_.paths) {
      auto walked = audit::order::transfers_without_path(archive.dir());
      if (walked.ok()) without_path = std::move(walked).value();
    }
    for (const FactTable& facts : archive.facts(counts, report ? &*report : nullptr,
                                                without_path ? &*without_path : nullptr)) {
      if (Status s = sink_.facts(facts); !s.ok()) return s;
    }
    rows_ = 0;
    for (const std::int64_t n : counts)
      rows_ += n;
    verdict_ = report ? audit::verdict_name(report->verdict) : "";
    return {};
  }

  Status skip(const std::string& dir, const std::string& id) {
    ++summary_.already_there;
    if (!options_.quiet)
      std::fprintf(stderr, "hitproof: %s is there already (%s): skipped\n", dir.c_str(),
                   id.c_str());
    return {};
  }

  void leave_out(const std::string& dir, const Status& why) {
    const bool damaged = why.code() == Code::corruption;
    const bool open = why.code() == Code::incomplete;
    const int code = damaged ? exit_damaged : open ? exit_inconclusive : exit_usage;
    const auto weight = [](int c) { return c == exit_inconclusive ? 1 : c == 0 ? 0 : c; };
    if (weight(code) > weight(summary_.exit_code)) summary_.exit_code = code;
    summary_.left_out.emplace_back(dir, why);
    const char* remedy = "left out; name the folder of an archive of this or an older format";
    if (damaged) remedy = "left out; hitproof verify lists what is not what was written";
    if (open) remedy = "left out; hitproof inspect shows what it holds";
    if (why.code() == Code::refused)
      remedy = "left out; see that its files can be read, and that memory and open files suffice "
               "(ulimit -a)";
    if (why.code() == Code::unsupported) remedy = "left out; try another version of DuckDB";
    complain(why.message(), remedy);
    stopped_ = options_.strict;
  }

  void show_progress() {
    if (options_.quiet || Clock::now() - shown_ < std::chrono::seconds(10)) return;
    shown_ = Clock::now();
    std::fprintf(stderr, "hitproof: %lld archives, %lld rows\n",
                 static_cast<long long>(summary_.added), static_cast<long long>(summary_.rows));
  }

  const FleetOptions& options_;
  FleetSink& sink_;
  FleetSummary& summary_;
  Clock::time_point shown_ = Clock::now();
  bool stopped_ = false;
  std::int64_t rows_ = 0; // of the archive at hand
  std::string verdict_;
};

Status take_list(std::istream& lines, Taking& taking) {
  Status status;
  for (std::string line; status.ok() && !taking.stopped() && std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) status = taking.take(line);
  }
  return status;
}

} // namespace

Status take_fleet(const FleetOptions& options, FleetSink& sink, FleetSummary& summary) {
  Taking taking(options, sink, summary);
  Status status;
  for (const std::string& dir : options.dirs) {
    if (status.ok() && !taking.stopped()) status = taking.take(dir);
  }
  if (status.ok() && options.list == "-") status = take_list(std::cin, taking);
  if (status.ok() && !options.list.empty() && options.list != "-") {
    std::ifstream file(options.list);
    if (!file) return Status(Code::not_found, options.list + ": the list cannot be read");
    status = take_list(file, taking);
  }
  const Status finished = sink.finish();
  return status.ok() ? finished : status;
}

std::string fleet_json(const FleetSummary& summary, const std::string& out) {
  nlohmann::ordered_json j;
  j["out"] = out;
  j["added"] = summary.added;
  j["already_there"] = summary.already_there;
  j["rows"] = summary.rows;
  j["verdicts"] = summary.verdicts;
  j["left_out"] = nlohmann::ordered_json::array();
  for (const auto& [dir, why] : summary.left_out)
    j["left_out"].push_back(
        {{"archive", dir}, {"code", schema::code_name(why.code())}, {"message", why.message()}});
  return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string fleet_sentence(const FleetSummary& summary) {
  std::string words = std::to_string(summary.added) + " archives added (" +
                      std::to_string(summary.rows) + " rows), " +
                      std::to_string(summary.already_there) + " there already, " +
                      std::to_string(summary.left_out.size()) + " left out";
  for (const auto& [verdict, count] : summary.verdicts)
    words += "; " + verdict + ": " + std::to_string(count);
  return words + ".";
}

} // namespace hitproof::cli
