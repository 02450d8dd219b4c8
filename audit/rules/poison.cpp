// Rule poison: what a load had to overwrite was poisoned before and is gone after.
#include "audit/rule.h"
#include "audit/trace.h"

namespace hitproof::audit {
namespace {

const Sentence sentences[] = {
    {"residue", "{entry} on rank {rank}, block {block}: {actual} bytes were never written by load "
                "{transfer}; the "
                "first still poisoned byte is at offset {expected}."},
    {"destination_never_named",
     "Load {transfer} never names {entry} on rank {rank} as a destination: what its pages "
     "hold was there before.",
     RestsOn::absence},
    {"not_poisoned",
     "{entry} on rank {rank}, block {block}: no poison was seen on this destination of load "
     "{transfer}, so nothing shows that the load wrote it."},
    {"poison_not_proved",
     "{entry} on rank {rank}, block {block}: only {actual} of {expected} bytes were seen poisoned "
     "before load {transfer}."},
    {"poison_of_another_generation",
     "{entry} on rank {rank}, block {block}: the poison is of generation {actual}, the "
     "page of generation {expected}."},
    {"poisoned_after_the_copies",
     "{entry} on rank {rank}, block {block}: the poison was not put down between the "
     "announcement of load {transfer} and the end of its copies."},
};

const char* const tables[] = {"page_poison", "transfer", "transfer_page", "copy", "entry"};
const char* const queries[] = {"poison"};

void judge(Context& context, const Rule& rule, RuleReport& report) {
  if (not_applicable_to_control(context, report)) return;
  collect(context, rule, "poison", report);
  report.figures = counted_together(
      context, "poison.sql",
      {{"destinations", "SUM(q.verified_bytes = p.bytes)"},
       {"residue", "SUM(q.residue_bytes)"},
       {"residue_content", "SUM(q.residue_content)"},
       {"bytes_verified", "SUM(q.verified_bytes)"}},
      "FROM page_poison q JOIN transfer_page p ON p.transfer = q.transfer AND p.entry = q.entry "
      "AND p.block = q.block AND p.token_end = q.token_end JOIN transfer t ON t.transfer = "
      "p.transfer WHERE t.direction = 1");
  report.figures.insert(report.figures.begin() + 1,
                        counted(context, "poison.sql", "announced",
                                "SELECT COUNT(*) FROM transfer_page p JOIN transfer t ON "
                                "t.transfer = p.transfer WHERE t.direction = 1"));
  report.observations = report.figure("destinations");
  report.observed = report.find_figure("destinations")->trace;
}

} // namespace

const Rule poison_rule = {"poison",
                          "Every destination of every load was seen poisoned before its copies, "
                          "and none of the poison was left after them.",
                          sentences,
                          tables,
                          queries,
                          judge};

} // namespace hitproof::audit
