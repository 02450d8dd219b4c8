// Rule pages: bytes, coverage, addresses. The figures count page moves: announced pages that copies
// were joined to, never what an announcement claims.
#include "audit/rule.h"
#include "audit/screen/screen.h"
#include "audit/trace.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace hitproof::audit {
namespace {

const Sentence sentences[] = {
    {"entry_not_covered",
     "The {expected} {transfer} on rank {rank} never names {entry}, which the model declares as "
     "transferred: its pages were neither moved nor checked.",
     RestsOn::absence},
    {"transfer_without_pages",
     "Transfer {transfer} on rank {rank} named no page at all ({expected} were counted): it was "
     "refused or its pages were not recorded."},
    {"announcements_missing",
     "Transfer {transfer} on rank {rank} announced {expected} pages, {actual} are recorded."},
    {"extent_not_covered",
     "Transfer {transfer} covers {actual} tokens of {entry} on rank {rank} where {expected} are "
     "needed.",
     RestsOn::absence},
    {"entry_not_declared",
     "Transfer {transfer} names {entry} on rank {rank}, which the model never registered."},
    {"transfer_missing_on_rank",
     "Request {request}: transfer {transfer} and its like happened on {actual} of "
     "{expected} ranks.",
     RestsOn::absence},
    {"page_of_another_rank",
     "Transfer {transfer} belongs to rank {expected}, but names a page of rank {actual}."},
    {"null_block", "Transfer {transfer} on rank {rank} names block 0 of {entry}, the null block "
                   "that nobody owns."},
    {"address_not_registered",
     "{entry} on rank {rank}, block {block}: announced at {actual}, but the registration "
     "puts this page at {expected}.",
     RestsOn::absence},
    {"address_unknown",
     "{entry} on rank {rank}, block {block}: the process that transfers never registered where it "
     "sees this entry, so the address cannot be checked."},
    {"map_differs_from_model",
     "{entry} on rank {rank}: the side that transfers maps pages with stride/bytes {actual}, "
     "the model registered {expected}."},
    {"page_of_another_request",
     "Load {transfer} writes into block {block} of {entry} on rank {rank} for request "
     "{expected}, but this block was given out to request {actual}.",
     RestsOn::absence},
    {"page_not_copied",
     "{entry} on rank {rank}, block {block}: transfer {transfer} announced "
     "{expected} bytes, and no "
     "copy touched the page.",
     RestsOn::absence},
    {"copy_refused",
     "{entry} on rank {rank}, block {block}: {actual} copies of transfer {transfer} were refused."},
    {"copied_elsewhere",
     "{entry} on rank {rank}, block {block}: of {expected} bytes copied by transfer {transfer} "
     "only {actual} went between the announced page and its host object."},
    {"bytes_do_not_add_up",
     "{entry} on rank {rank}, block {block}: transfer {transfer} copied {actual} bytes of a "
     "page of {expected}.",
     RestsOn::absence},
    {"copy_nobody_announced",
     "A copy of {actual} bytes touches the pages of {entry} on rank {rank} without having "
     "been announced.",
     RestsOn::absence},
    {"digest_missing", "{entry} on rank {rank}, block {block}: transfer {transfer} moved the page, "
                       "but its content was "
                       "not digested at both ends."},
    {"digest_of_other_bytes",
     "{entry} on rank {rank}, block {block}: {actual} bytes were digested of a page of "
     "{expected}."},
    {"content_differs",
     "{entry} on rank {rank}, block {block}: the content that landed is not the content that left "
     "in transfer {transfer}."},
    {"padding_differs",
     "{entry} on rank {rank}, block {block}: content arrived, but the padding that landed is not "
     "what left in transfer {transfer}."},
    {"content_all_zero",
     "{entry} on rank {rank}, block {block}: transfer {transfer} moved nothing but zeros; equality "
     "of zeros proves nothing."},
    {"compare_found_difference",
     "{entry} on rank {rank}, block {block}: a full comparison found {actual} bytes that "
     "differ after transfer {transfer}."},
    {"load_without_save",
     "{entry} on rank {rank}, block {block}: load {transfer} read a host object that no recorded "
     "save wrote."},
    {"object_of_another_page",
     "Load {transfer} filled {entry} on rank {rank} from a host object that was saved for "
     "another page (entry {actual})."},
    {"load_differs_from_save",
     "{entry} on rank {rank}, block {block}: what load {transfer} put on the device is not "
     "what the save had taken from it."},
};

const char* const tables[] = {"transfer_page", "transfer", "copy", "page_digest",
                              "page_compare",  "entry",    "block"};
const char* const queries[] = {"pages", "pages_moved"};

// A page that violates one of these did not arrive as it left; the others concern the announcement.
const std::set<std::string> mismatches = {
    "page_not_copied", "copied_elsewhere",       "bytes_do_not_add_up",
    "content_differs", "padding_differs",        "compare_found_difference",
    "copy_refused",    "load_differs_from_save", "object_of_another_page"};

// What pages_moved.sql gives.
std::vector<screen::Moved> page_moves(Context& context) {
  if (context.screen()) return context.screen()->moved();
  std::vector<screen::Moved> rows;
  auto q = context.query(rule_sql("pages_moved"));
  while (q.next())
    rows.push_back({q.integer(0), q.integer(1), q.integer(2), q.integer(3), q.integer(4)});
  require(q.status());
  return rows;
}

void judge(Context& context, const Rule& rule, RuleReport& report) {
  if (not_applicable_to_control(context, report)) return;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> bad;
  collect(context, rule, "pages", report, [&](const Violation& v) {
    const Subject& s = v.subject;
    if (v.effect == Verdict::fail && mismatches.count(v.id) > 0) {
      bad.emplace(s.transfer.value_or(0), s.entry.value_or(-1), s.block.value_or(-1));
    }
  });

  std::int64_t rows[2] = {0, 0}, bytes[2] = {0, 0};
  std::map<std::int64_t, std::int64_t>
      covered; // rank -> entries moved in both directions, the fewer
  for (const screen::Moved& m : page_moves(context)) {
    const std::int64_t direction = m.direction != 0;
    rows[direction] += m.pages;
    bytes[direction] += m.bytes;
    const auto [at, first] = covered.try_emplace(m.rank, m.entries);
    if (!first) at->second = std::min(at->second, m.entries);
  }
  std::int64_t least = 0;
  for (const auto& [rank, entries] : covered)
    least = least == 0 ? entries : std::min(least, entries);

  const char* const declared_sql =
      "SELECT COUNT(*) FROM (SELECT rank, entry FROM entry WHERE origin = 0 AND transferred = 1 "
      "GROUP BY rank, entry)";
  const std::int64_t declared = context.number(declared_sql);
  if (declared == 0)
    report.missing.push_back("the model registered no entries: coverage has no list to go by");
  if (rows[0] == 0) report.missing.push_back("no page was saved");
  if (rows[1] == 0) report.missing.push_back("no page was loaded");
  const auto moved = [&](const std::string& what, const char* where) {
    return traced(context, "pages_moved.sql",
                  "SELECT COALESCE(" + what + ", 0) FROM " + violations_of("pages_moved") + where);
  };
  const std::string differing =
      "SELECT COUNT(*) FROM (SELECT DISTINCT COALESCE(transfer, 0), COALESCE(entry, -1), "
      "COALESCE(block, -1) FROM " +
      violations_of("pages") + " WHERE " + counts_as_fail(context, rule) + " AND violation IN (" +
      name_list({mismatches.begin(), mismatches.end()}) + "))";
  report.observations = rows[0] + rows[1];
  report.observed = moved("SUM(pages)", "");
  report.figures = {
      {"d2h_rows", rows[0], moved("SUM(pages)", " WHERE direction = 0")},
      {"h2d_rows", rows[1], moved("SUM(pages)", " WHERE direction = 1")},
      {"mismatches", static_cast<std::int64_t>(bad.size()),
       traced(context, "pages.sql", differing)},
      {"entries_per_rank", least, moved("MIN(entries)", "")},
      {"entries_declared", declared, traced(context, "pages.sql", declared_sql)},
      counted(context, "pages.sql", "groups",
              "SELECT COUNT(DISTINCT e.transfer_group) FROM entry e JOIN transfer_page p ON p.rank "
              "= e.rank AND p.entry = e.entry WHERE e.origin = 0"),
      counted(context, "pages.sql", "held", "SELECT COUNT(*) FROM transfer_page WHERE held = 1"),
      {"h2d_bytes", bytes[1], moved("SUM(bytes)", " WHERE direction = 1")},
      {"d2h_bytes", bytes[0], moved("SUM(bytes)", " WHERE direction = 0")},
  };
}

} // namespace

const Rule pages_rule = {"pages",
                         "The bytes that landed are the bytes that left, on each leg and over the "
                         "whole way, for every entry that the "
                         "model declares, on every rank and in both directions.",
                         sentences,
                         tables,
                         queries,
                         judge};

} // namespace hitproof::audit
