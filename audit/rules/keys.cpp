// Rule keys: a key names everything that the bytes depend on, and only one content.
#include "audit/rule.h"
#include "audit/trace.h"

namespace hitproof::audit {
namespace {

const Sentence sentences[] = {
    {"content_input_not_in_key",
     "Rank {rank} saved under a key (save {transfer}) that does not contain '{expected}', "
     "although its bytes depend on it.",
     RestsOn::absence},
    {"key_input_has_another_value",
     "Rank {rank} saved under a key (save {transfer}) whose '{expected}' has another "
     "value than the one that its bytes depend on."},
    {"key_inputs_unknown",
     "Save {transfer} on rank {rank}: the inputs of its key are not recorded."},
    {"content_inputs_unknown", "Rank {rank} never declared what the bytes of its cache depend on."},
    {"one_key_two_contents",
     "{entry} on rank {rank}: one key names {actual} different contents (first seen in save "
     "{transfer})."},
};

const char* const tables[] = {"key_input", "content_input", "transfer"};
const char* const queries[] = {"keys"};

void judge(Context& context, const Rule& rule, RuleReport& report) {
  if (not_applicable_to_control(context, report)) return;
  collect(context, rule, "keys", report);
  report.figures = {
      counted(context, "keys.sql", "keys",
              "SELECT COUNT(*) FROM (SELECT DISTINCT key, rank FROM transfer WHERE direction = 0)"),
      counted(context, "keys.sql", "contents",
              "SELECT COUNT(*) FROM (SELECT DISTINCT t.key, d.entry FROM page_digest d JOIN "
              "transfer t ON t.transfer = d.transfer WHERE t.direction = 0 AND d.place = 0 AND "
              "d.moment = 0)"),
      counted(context, "keys.sql", "inputs", "SELECT COUNT(DISTINCT name) FROM key_input"),
      counted(context, "keys.sql", "content_inputs",
              "SELECT COUNT(DISTINCT name) FROM content_input"),
  };
  if (report.figure("contents") == 0)
    report.missing.push_back(
        "no saved content was digested, so keys cannot be compared by content");
  report.observations = report.figure("keys");
  report.observed = report.find_figure("keys")->trace;
}

} // namespace

const Rule keys_rule = {"keys",
                        "Every input that the cached bytes depend on is in the key that they are "
                        "saved under, with the same value, and no "
                        "key names two contents.",
                        sentences,
                        tables,
                        queries,
                        judge};

} // namespace hitproof::audit
