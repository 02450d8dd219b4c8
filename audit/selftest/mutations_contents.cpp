// What a load must overwrite (poison) and what the next computation reads (tails).
#include "audit/selftest/parts.h"

namespace hitproof::audit::selftest {

using enum Answer;

std::vector<Mutation> mutations_of_contents() {
  return {
      // ---- poison
      {"poison_residue", "poison", "residue", fail,
       "the last 32 bytes of a loaded page are still poison",
       "UPDATE page_poison SET residue_bytes = 32, residue_content = 32, first_residue = "
       "page_bytes - 32 WHERE transfer = " ONE_LOAD " AND entry = " MLA},
      {"poison_entry_never_named", "poison", "destination_never_named", fail,
       "a load names no page of one entry",
       "DELETE FROM transfer_page WHERE transfer = " ONE_LOAD " AND entry = " STATE},
      {"poison_row_gone", "poison", "not_poisoned", inconclusive,
       "the poison records of one destination are dropped",
       "DELETE FROM page_poison WHERE transfer = " ONE_LOAD " AND entry = " MLA},
      {"poison_seen_in_part", "poison", "poison_not_proved", inconclusive,
       "only 8 bytes of a destination were seen poisoned",
       "UPDATE page_poison SET verified_bytes = 8 WHERE transfer = " ONE_LOAD " AND entry = " MLA},
      {"poison_of_another_owner", "poison", "poison_of_another_generation", inconclusive,
       "a destination was poisoned for another generation of its block",
       "UPDATE page_poison SET generation = generation + 1 WHERE transfer = " ONE_LOAD
       " AND entry = " MLA},
      {"poison_after_the_load", "poison", "poisoned_after_the_copies", inconclusive,
       "a destination was poisoned after its load was complete",
       "UPDATE page_poison SET poison_ns = poison_ns + 60000000000 WHERE transfer = " ONE_LOAD
       " AND entry = " MLA},
      {"poison_harmless_order_of_rows", "poison", "", silence,
       "the poison records lie in another order",
       "CREATE TEMP TABLE p AS SELECT * FROM page_poison ORDER BY entry DESC; DELETE FROM "
       "page_poison; INSERT INTO page_poison SELECT * FROM p; DROP TABLE p"},

      // ---- tails
      {"tails_announced_elsewhere", "tails", "address_not_registered", fail,
       "the computation reads one tail at the contiguous address",
       "UPDATE tail_read SET effective = naive WHERE entry = " TAIL},
      {"tails_other_strides", "tails", "stride_not_registered", fail,
       "the computation reads one tail with another stride",
       "UPDATE tail_read SET stride1 = stride1 + 32 WHERE entry = " TAIL},
      {"tails_load_lands_elsewhere", "tails", "landed_elsewhere", fail,
       "a load put a tail into the next block's place",
       "UPDATE transfer_page SET device_address = device_address + " STRIDE_OF(
           TAIL) " WHERE transfer = " ONE_LOAD " AND entry = " TAIL},
      {"tails_written_contiguously_by_the_load", "tails", "written_at_contiguous_address", fail,
       "a load wrote a tail at the contiguous address",
       "UPDATE copy SET dst = dst - block * " STRIDE_OF(TAIL) " + block * " BYTES_OF(
           TAIL) ", entry = 65535 WHERE transfer = " ONE_LOAD " AND entry = " TAIL},
      {"tails_written_contiguously_by_the_model", "tails", "only_at_contiguous_address", fail,
       "every tail is zero where it is read, and is not at the contiguous address",
       "UPDATE tail_read SET nonzero = 0, naive_nonzero = 200; UPDATE page_digest SET nonzero = 0 "
       "WHERE entry IN (SELECT entry FROM entry WHERE kind = 3)"},
      {"tails_stale_under_every_key", "tails", "same_tail_under_two_keys", fail,
       "one tail has the same content under every key",
       "UPDATE page_digest SET content = "
       "x'00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff' WHERE entry "
       "= " TAIL},
      {"tails_are_poison", "tails", "tail_is_poison", fail, "a loaded tail is still poison",
       "UPDATE page_poison SET residue_bytes = page_bytes, residue_content = page_bytes WHERE "
       "transfer = " ONE_LOAD " AND entry = " TAIL},
      {"tails_zeros_only", "tails", "only_zeros", inconclusive, "every tail that was read is zero",
       "UPDATE tail_read SET nonzero = 0"},
      {"tails_not_read_back", "tails", "tail_not_read", inconclusive,
       "the reads of one tail are dropped", "DELETE FROM tail_read WHERE entry = " TAIL},
      {"tails_half_read", "tails", "read_in_part", inconclusive, "half of one tail was read",
       "UPDATE tail_read SET elements = elements / 2 WHERE entry = " TAIL},
      {"tails_of_an_unregistered_entry", "tails", "tail_not_registered", inconclusive,
       "the model's registration of a tail is dropped",
       "DELETE FROM entry WHERE origin = 0 AND entry = " TAIL},
      {"tails_of_unknown_shape", "tails", "shape_unknown", inconclusive,
       "the strides of a tail are dropped", "DELETE FROM entry_shape WHERE entry = " TAIL},
      {"tails_harmless_zeros_at_the_naive_address",
       "tails",
       "",
       silence,
       "nothing lies at the contiguous address",
       "UPDATE tail_read SET naive_nonzero = 0, naive_equal = elements - nonzero",
       {.may_change = {{"tails/naive_nonzero", "it is the number that was changed"}}}},
      {"tails_harmless_other_base", "tails", "", silence,
       "the model's regions lie 8,192 bytes further",
       "UPDATE entry SET base = base + 8192 WHERE origin = 0; UPDATE tail_read SET effective = "
       "effective + 8192, naive = naive + 8192; UPDATE state SET address = address + 8192"},
  };
}

} // namespace hitproof::audit::selftest
