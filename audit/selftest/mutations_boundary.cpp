#include "audit/selftest/parts.h"

namespace hitproof::audit::selftest {

using enum Answer;

std::vector<Mutation> mutations_of_boundary() {
  return {
      {"boundary_label_ahead_of_p", "boundary", "label_is_not_p", fail,
       "a load's label is one token ahead of what is credited",
       "UPDATE transfer SET boundary = boundary + 1 WHERE transfer = " ONE_LOAD},
      {"boundary_scheduler_credits_one_less", "boundary", "content_is_not_p", fail,
       "the scheduler credits one token less than the state stands for",
       "UPDATE admission SET computed = computed - 1 WHERE source = 2"},
      {"boundary_state_filed_wrongly", "boundary", "filed_under_another_boundary", fail,
       "states stand for one chunk less than they are filed under",
       "UPDATE state SET tokens = tokens - " CHUNK " WHERE entry = " STATE},
      {"boundary_content_behind_the_label", "boundary", "content_is_not_label", fail,
       "states stand for one token less than their label",
       "UPDATE state SET tokens = tokens - 1 WHERE entry = " STATE},
      {"boundary_one_rank_elsewhere", "boundary", "resumes_elsewhere", fail,
       "one rank resumes a chunk before p",
       "UPDATE step_request SET start = start - " CHUNK " WHERE transfer = " ONE_LOAD},
      {"boundary_ranks_disagree",
       "boundary",
       "ranks_disagree",
       fail,
       "one rank loads the state of another boundary",
       "UPDATE transfer SET boundary = boundary - " CHUNK " WHERE transfer = " ONE_LOAD,
       {.needs = &several_ranks}},
      {"boundary_rank_without_load",
       "boundary",
       "rank_without_load",
       fail,
       "the load of one rank is dropped",
       "DELETE FROM transfer WHERE transfer = " ONE_LOAD,
       {.needs = &several_ranks}},
      {"boundary_drafts", "boundary", "drafts_in_the_first_step", fail,
       "the first step after a load carries a draft",
       "UPDATE step_request SET drafts = 1 WHERE transfer = " ONE_LOAD},
      {"boundary_schedules_too_little", "boundary", "scheduled_is_not_the_suffix", fail,
       "one token less than the suffix is scheduled",
       "UPDATE admission SET scheduled = scheduled - 1 WHERE source = 2"},
      {"boundary_lookup_answers_too_much", "boundary", "answer_exceeds_what_is_held", fail,
       "the look-up answers a chunk more than one group of one rank holds",
       "UPDATE lookup_answer SET answer_tokens = answer_tokens - " CHUNK
       " WHERE answer_tokens > 0 AND rank = " LAST_RANK
       " AND transfer_group = (SELECT MAX(transfer_group) FROM entry)"},
      {"boundary_credits_more_than_found", "boundary", "credited_more_than_found", fail,
       "the scheduler credits what the look-up did not find",
       "UPDATE admission SET external_hit = 0 WHERE source = 2"},
      {"boundary_nothing_left", "boundary", "nothing_left_to_compute", fail,
       "a prompt is credited wholly",
       "UPDATE request SET prompt_tokens = (SELECT MIN(computed) FROM admission a WHERE a.request "
       "= request.request) WHERE request IN (SELECT request FROM admission WHERE source = 2)"},
      {"boundary_contents_unseen", "boundary", "content_not_observed", inconclusive,
       "every digest is dropped", "DELETE FROM page_digest"},
      {"boundary_states_unannounced", "boundary", "content_unknown", inconclusive,
       "what the model runner computed is dropped", "DELETE FROM state"},
      {"boundary_reload_not_served", "boundary", "reload_loaded_nothing", inconclusive,
       "a reload was computed again instead of loaded",
       "DELETE FROM step_request WHERE transfer IN " LOADS " AND request = (SELECT MIN(request) "
       "FROM transfer WHERE direction = 1); DELETE FROM transfer WHERE direction = 1 AND request "
       "= (SELECT MIN(request) FROM transfer WHERE direction = 1)"},
      {"boundary_admission_gone", "boundary", "admission_missing", inconclusive,
       "the admission of a reload is dropped",
       "DELETE FROM admission WHERE request = (SELECT request FROM transfer WHERE transfer "
       "= " ONE_LOAD ")"},
      {"boundary_another_state_admitted", "boundary", "label_is_not_admitted", fail,
       "the state of one chunk earlier is admitted",
       "UPDATE admission SET label_boundary = label_boundary - " CHUNK " WHERE source = 2"},
      {"boundary_loads_less_than_credited", "boundary", "credited_more_than_loaded", fail,
       "a load ends a chunk before what is credited",
       "UPDATE transfer SET token_end = token_end - " CHUNK " WHERE transfer = " ONE_LOAD},
      {"boundary_step_of_another_size", "boundary", "step_is_not_as_scheduled", fail,
       "the first step after a load has one token more than was scheduled",
       "UPDATE step_request SET tokens = tokens + 1 WHERE transfer = " ONE_LOAD},
      {"boundary_first_step_unseen", "boundary", "first_step_unknown", inconclusive,
       "no step says that it reads a load",
       "UPDATE step_request SET transfer = 0 WHERE transfer = " ONE_LOAD},
      {"boundary_harmless_second_candidate", "boundary", "", silence,
       "each state of one entry could also stand for one token more",
       "INSERT INTO state SELECT process, " ADDED ", t_ns, request, address, content, block, "
       "generation, tokens + 1, rank, entry, step FROM state WHERE entry = " STATE},
  };
}

} // namespace hitproof::audit::selftest
