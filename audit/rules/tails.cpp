// Rule tails: the tail that the next computation really reads.
#include "audit/rule.h"
#include "audit/trace.h"

namespace hitproof::audit {
namespace {

const Sentence sentences[] = {
    {"address_not_registered",
     "{entry} on rank {rank}, block {block}: the computation announces its tail at {actual}, "
     "but by the registered base and stride it is at {expected}.",
     RestsOn::absence},
    {"tail_not_registered",
     "{entry} on rank {rank}: a tail was read whose registration is not recorded."},
    {"stride_not_registered",
     "{entry} on rank {rank}: read with strides {actual}, registered are {expected}."},
    {"shape_unknown", "{entry} on rank {rank}: the strides of this tail were never registered."},
    {"read_in_part",
     "{entry} on rank {rank}, block {block}: {actual} of {expected} elements were read."},
    {"only_zeros", "{entry} on rank {rank}, block {block}: all {expected} elements at the "
                   "effective address are zero "
                   "({actual} at the contiguous address are not): an ineffective observation."},
    {"only_at_contiguous_address",
     "{entry} on rank {rank}, block {block}: saved, restored and read as zeros at the "
     "effective address, while {actual} of {expected} elements at the contiguous address "
     "are not zero: the tail is written where nobody reads."},
    {"same_tail_under_two_keys",
     "{entry} on rank {rank}, block {block}: the same tail was saved under {actual} keys; "
     "what the computation writes does not get there."},
    {"tail_not_read", "{entry} on rank {rank}: restored by load {transfer}, and never read back "
                      "where the computation "
                      "reads it."},
    {"landed_elsewhere",
     "{entry} on rank {rank}, block {block}: load {transfer} put the tail at offset {actual} of "
     "its region, the computation reads at offset {expected}."},
    {"written_at_contiguous_address",
     "{entry} on rank {rank}, block {block}: load {transfer} wrote the tail at the "
     "contiguous offset {actual}, which no computation reads; it reads at {expected}."},
    {"tail_is_poison",
     "{entry} on rank {rank}, block {block}: {actual} bytes of the tail that the computation reads "
     "are still poison after load {transfer}."},
};

const char* const tables[] = {"tail_read",     "entry", "entry_shape",
                              "transfer_page", "copy",  "page_poison"};
const char* const queries[] = {"tails"};

void judge(Context& context, const Rule& rule, RuleReport& report) {
  if (not_applicable_to_control(context, report)) return;
  collect(context, rule, "tails", report);
  // Observations are reads of restored tails at the registered address; reads elsewhere count for
  // nothing.
  report.figures = counted_together(
      context, "tails.sql",
      {{"observations", "COUNT(*)"},
       {"nonzero", "SUM(r.nonzero > 0)"},
       {"nonzero_elements", "SUM(r.nonzero)"},
       {"elements", "SUM(r.elements)"},
       {"strided", "SUM(r.effective <> r.naive)"},
       {"naive_nonzero", "SUM(r.naive_nonzero > 0)"}},
      "FROM tail_read r JOIN transfer t ON t.transfer = r.transfer AND t.rank = r.rank JOIN "
      "(SELECT process, rank, entry, MAX(base) AS base, MAX(page_stride) AS page_stride FROM entry "
      "WHERE origin = 0 AND kind = 3 GROUP BY process, rank, entry) e ON e.process = r.process AND "
      "e.rank = r.rank AND e.entry = r.entry WHERE t.direction = 1 AND r.effective = e.base + "
      "r.block * e.page_stride");
  report.figures.push_back(counted(context, "tails.sql", "reads_without_load",
                                   "SELECT COUNT(*) FROM tail_read WHERE transfer = 0"));
  report.observations = report.figure("nonzero");
  report.observed = report.find_figure("nonzero")->trace;
  if (report.figure("observations") > 0 && report.observations == 0)
    report.missing.push_back("every tail that was read is zero");
}

} // namespace

const Rule tails_rule = {"tails",
                         "Every restored tail was read at the address and strides that follow from "
                         "its registration, is not zero there, "
                         "and lies where the load wrote it.",
                         sentences,
                         tables,
                         queries,
                         judge,
                         false,
                         2};

} // namespace hitproof::audit
