#include "audit/proof.h"

namespace hitproof::audit {
namespace {

struct Proof {
  const char* rule;
  const char* violation;
  std::vector<const char*> tables;
};

// A claim that something is absent is proved by what stands around the gap: the announcement that
// the missing record should have followed.
const std::vector<Proof>& proofs() {
  static const std::vector<Proof> list = {
      {"pages", "entry_not_covered", {"entry", "transfer"}},
      {"pages", "transfer_without_pages", {"transfer"}},
      {"pages", "announcements_missing", {"transfer"}},
      {"pages", "extent_not_covered", {"transfer", "transfer_page"}},
      {"pages", "entry_not_declared", {"transfer_page"}},
      {"pages", "page_of_another_rank", {"transfer", "transfer_page"}},
      {"pages", "null_block", {"transfer_page"}},
      {"pages", "address_not_registered", {"entry", "transfer_page"}},
      {"pages", "address_unknown", {"entry", "transfer_page"}},
      {"pages", "map_differs_from_model", {"entry"}},
      {"pages", "page_of_another_request", {"block", "transfer_page"}},
      {"pages", "page_not_copied", {"transfer", "transfer_page"}},
      {"pages", "copy_refused", {"transfer_page", "copy"}},
      {"pages", "copied_elsewhere", {"transfer_page", "copy"}},
      {"pages", "bytes_do_not_add_up", {"transfer_page", "copy"}},
      {"pages", "digest_missing", {"transfer_page", "copy"}},
      {"pages", "digest_of_other_bytes", {"transfer_page", "page_digest"}},
      {"pages", "content_differs", {"page_digest"}},
      {"pages", "padding_differs", {"page_digest"}},
      {"pages", "content_all_zero", {"page_digest"}},
      {"pages", "compare_found_difference", {"page_compare"}},
      {"pages", "load_without_save", {"transfer", "transfer_page"}},
      {"pages", "load_differs_from_save", {"transfer_page", "page_digest"}},
      {"poison", "residue", {"page_poison", "copy"}},
      {"poison", "destination_never_named", {"entry", "transfer"}},
      {"poison", "not_poisoned", {"transfer_page"}},
      {"poison", "poison_not_proved", {"transfer_page", "page_poison"}},
      {"tails", "address_not_registered", {"entry", "tail_read"}},
      {"tails", "stride_not_registered", {"entry_shape", "tail_read"}},
      {"tails", "shape_unknown", {"entry", "tail_read"}},
      {"tails", "tail_not_registered", {"tail_read"}},
      {"tails", "read_in_part", {"entry_shape", "tail_read"}},
      {"tails", "only_zeros", {"tail_read"}},
      {"tails", "only_at_contiguous_address", {"tail_read"}},
      {"tails", "tail_not_read", {"transfer_page"}},
      {"tails", "landed_elsewhere", {"copy", "tail_read"}},
      {"tails", "written_at_contiguous_address", {"copy", "tail_read"}},
      {"tails", "tail_is_poison", {"page_poison", "tail_read"}},
      {"waits", "save_not_waited_for", {"transfer", "transfer_mark"}},
      {"waits", "wait_of_another_rank", {"transfer", "wait"}},
      {"waits", "announcement_not_closed", {"transfer"}},
      {"waits", "never_completed", {"transfer", "wait"}},
      {"waits", "ended_before_completion", {"transfer", "transfer_mark", "wait"}},
      {"waits", "delay_missing", {"transfer", "transfer_mark"}},
      {"waits", "delay_too_short", {"transfer_mark"}},
      {"waits", "delay_not_covered", {"transfer_mark", "wait"}},
      {"waits", "page_reused_before_wait_ended", {"transfer", "reuse", "wait"}},
      {"waits", "page_given_out_before_wait_ended", {"transfer", "block", "wait"}},
      {"boundary", "label_is_not_p", {"transfer", "admission"}},
      {"boundary", "content_is_not_p", {"state", "admission"}},
      {"boundary", "content_is_not_label", {"state", "transfer"}},
      {"boundary", "filed_under_another_boundary", {"state", "transfer"}},
      {"boundary", "content_unknown", {"transfer"}},
      {"boundary", "content_not_observed", {"transfer", "admission"}},
      {"boundary", "label_is_not_admitted", {"admission", "transfer"}},
      {"boundary", "credited_more_than_found", {"lookup", "admission"}},
      {"boundary", "credited_more_than_loaded", {"admission", "transfer"}},
      {"boundary", "nothing_left_to_compute", {"request", "admission"}},
      {"boundary", "scheduled_is_not_the_suffix", {"request", "admission", "transfer"}},
      {"boundary", "resumes_elsewhere", {"admission", "step_request"}},
      {"boundary", "step_is_not_as_scheduled", {"admission", "step_request"}},
      {"boundary", "drafts_in_the_first_step", {"admission", "step_request"}},
      {"boundary", "rank_without_load", {"admission", "transfer"}},
      {"boundary", "answer_exceeds_what_is_held", {"lookup"}},
      {"generations", "reload_differs_from_cold", {"study_token"}},
      {"generations", "reload_logits_differ", {"study_token"}},
      {"generations", "candidate_differs_from_control", {"study_token", "reference.study_token"}},
      {"generations", "candidate_logits_differ", {"study_token", "reference.study_token"}},
      {"generations", "operation_not_finished", {"study_operation"}},
      {"generations", "nothing_generated", {"study_operation"}},
      {"order", "read_before_load_waited_for", {"transfer", "step_request", "wait"}},
      {"order", "read_before_load_complete", {"transfer_mark", "step_request"}},
      {"order", "load_never_completed", {"transfer"}},
      {"order", "first_read_not_announced", {"transfer"}},
      {"order", "path_not_proved", {"transfer", "order_op", "copy", "wait"}},
      {"order", "any_order_behind_a_stream_wait", {"transfer", "copy", "order_op"}},
      {"keys", "content_input_not_in_key", {"content_input", "key_input", "transfer"}},
      {"keys", "key_inputs_unknown", {"transfer"}},
      {"keys", "one_key_two_contents", {"transfer"}},
      {"control", "profile_not_in_force", {"profile"}},
      {"control", "step_differs_from_control", {"study_operation", "step_request"}},
      {"evidence", "process_died", {"process_exit"}},
      {"evidence", "records_dropped", {"coverage"}},
      {"evidence", "blind_path_used", {"coverage"}},
      {"evidence", "blind_path_exists", {"coverage"}},
  };
  return list;
}

} // namespace

std::vector<const char*> proof_of(std::string_view rule, std::string_view violation,
                                  std::span<const char* const> otherwise) {
  for (const Proof& p : proofs()) {
    if (rule == p.rule && violation == p.violation) return p.tables;
  }
  return {otherwise.begin(), otherwise.end()};
}

std::vector<std::string> proved_violations() {
  std::vector<std::string> names;
  for (const Proof& p : proofs())
    names.push_back(std::string(p.rule) + "/" + p.violation);
  return names;
}

} // namespace hitproof::audit
