// What the lists of mutations share: names for rows, so that a change finds its place in every
// archive of a study, whatever its numbers are.
#pragma once

#include "audit/selftest/mutation.h"

// A load is a transfer with direction 1; "one" is the first by id.
#define ONE_LOAD "(SELECT MIN(transfer) FROM transfer WHERE direction = 1)"
#define ONE_SAVE "(SELECT MIN(transfer) FROM transfer WHERE direction = 0)"
#define ONE_SAVE_PROCESS "(SELECT process FROM transfer WHERE transfer = " ONE_SAVE ")"
#define LOADS "(SELECT transfer FROM transfer WHERE direction = 1)"

// The first entry of a kind as the model registered it.
#define FIRST_OF_KIND(kind) "(SELECT MIN(entry) FROM entry WHERE origin = 0 AND kind = " kind ")"
#define MLA FIRST_OF_KIND("0")
#define STATE FIRST_OF_KIND("2")
#define TAIL FIRST_OF_KIND("3")
#define NEXT_MLA "(SELECT MIN(entry) FROM entry WHERE origin = 0 AND kind = 0 AND entry > " MLA ")"
#define STRIDE_OF(entry_number)                                                                    \
  "(SELECT MAX(page_stride) FROM entry WHERE entry = " entry_number ")"
#define BYTES_OF(entry_number) "(SELECT MAX(page_bytes) FROM entry WHERE entry = " entry_number ")"
#define CHUNK "(SELECT MAX(tokens_per_page) FROM entry)"
#define RANKS "(SELECT COUNT(DISTINCT rank) FROM entry)"
#define LAST_RANK "(SELECT MAX(rank) FROM entry)"
#define RANK_PROCESS "(SELECT MIN(process) FROM entry WHERE origin = 0)"

// Operations of the study.
#define RELOAD "(SELECT MIN(op) FROM study_operation WHERE kind = 'reload')"
#define INTERPOSED "(SELECT MIN(op) FROM study_operation WHERE kind = 'interpose')"
#define NEXT_INTERPOSED                                                                            \
  "(SELECT MIN(op) FROM study_operation WHERE kind = 'interpose' AND op > " INTERPOSED ")"
#define LAST_TOKEN_OF(op_number) "(SELECT MAX(position) FROM study_token WHERE op = " op_number ")"
#define REQUEST_OF(op_number) "(SELECT request FROM study_operation WHERE op = " op_number ")"

// Added rows get a thread of their own, numbered without a gap, so that none seems to be missing.
#define ADDED "thread + 50000000, ROW_NUMBER() OVER (PARTITION BY process, thread ORDER BY seq)"

namespace hitproof::audit::selftest {

inline constexpr Need several_ranks{"more than one rank", "SELECT " RANKS " > 1"};

std::vector<Mutation> mutations_of_pages();
std::vector<Mutation> mutations_of_contents(); // poison, tails
std::vector<Mutation> mutations_of_waits();
std::vector<Mutation> mutations_of_boundary();
std::vector<Mutation> mutations_of_order();
std::vector<Mutation> mutations_of_studies(); // generations, keys, control, crosscheck
std::vector<Mutation> mutations_of_evidence();
std::vector<Mutation> harmless_changes(); // to every rule

// Changes of files, files.cpp.
schema::Status remove_plan(const std::string& dir);
schema::Status plan_control_for_other_tokens(const std::string& dir);
schema::Status add_file_behind_manifest(const std::string& dir);
schema::Status add_log(const std::string& dir);

} // namespace hitproof::audit::selftest
