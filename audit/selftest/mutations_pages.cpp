#include "audit/selftest/parts.h"

namespace hitproof::audit::selftest {

using enum Answer;

std::vector<Mutation> mutations_of_pages() {
  return {
      {"pages_load_of_an_entry_never_copied", "pages", "page_not_copied", fail,
       "the copies of one entry of a load are dropped",
       "DELETE FROM copy WHERE transfer = " ONE_LOAD " AND entry = " MLA},
      {"pages_entry_never_announced", "pages", "entry_not_covered", fail,
       "a load names no page of one entry",
       "DELETE FROM transfer_page WHERE transfer = " ONE_LOAD " AND entry = " STATE ";"
       "UPDATE transfer SET pages = (SELECT COUNT(*) FROM transfer_page p WHERE p.transfer = "
       "transfer.transfer) WHERE transfer = " ONE_LOAD},
      {"pages_short_copy", "pages", "bytes_do_not_add_up", fail,
       "a load's copies are 32 bytes short in one entry",
       "UPDATE copy SET bytes = bytes - 32 WHERE transfer = " ONE_LOAD " AND entry = " MLA},
      {"pages_copy_lands_in_the_next_block", "pages", "copied_elsewhere", fail,
       "a load's copies land one block further",
       "UPDATE copy SET dst = dst + " STRIDE_OF(MLA) " WHERE transfer = " ONE_LOAD
                                                     " AND entry = " MLA},
      {"pages_copy_outside_of_every_announcement", "pages", "copy_nobody_announced", fail,
       "a copy of a load lands where nothing was announced",
       "UPDATE copy SET dst = dst + " STRIDE_OF(
           MLA) ", entry = 65535, block = 4294967295 WHERE transfer = " ONE_LOAD
                " AND entry = " MLA},
      {"pages_landed_content_differs", "pages", "content_differs", fail,
       "what landed has another digest than what left",
       "UPDATE page_digest SET content = zeroblob(32) WHERE transfer = " ONE_LOAD
       " AND entry = " MLA " AND moment = 1"},
      {"pages_digest_of_another_page", "pages", "content_differs", fail,
       "what landed has the digest of the next entry's page",
       "UPDATE page_digest SET content = (SELECT MIN(content) FROM page_digest d WHERE d.transfer "
       "= " ONE_LOAD " AND d.entry = " NEXT_MLA " AND d.moment = 1) WHERE transfer = " ONE_LOAD
       " AND entry = " MLA " AND moment = 1"},
      {"pages_two_contents_swapped", "pages", "content_differs", fail,
       "the contents of two entries landed in each other's place",
       "CREATE TEMP TABLE landed AS SELECT entry, MIN(content) AS content FROM page_digest WHERE "
       "transfer = " ONE_LOAD " AND moment = 1 AND entry IN (" MLA ", " NEXT_MLA
       ") GROUP BY entry; UPDATE page_digest SET content = (SELECT l.content FROM landed l WHERE "
       "l.entry <> page_digest.entry) WHERE transfer = " ONE_LOAD
       " AND moment = 1 AND entry IN (SELECT entry FROM landed); DROP TABLE landed"},
      {"pages_padding_differs", "pages", "padding_differs", fail,
       "the padding that landed differs from what left",
       "UPDATE page_digest SET page = zeroblob(32) WHERE transfer = " ONE_LOAD " AND entry = " STATE
       " AND moment = 1"},
      {"pages_both_legs_equal_but_not_the_way", "pages", "load_differs_from_save", fail,
       "a load gives other bytes than were saved under its key",
       "UPDATE page_digest SET content = zeroblob(32) WHERE transfer = " ONE_LOAD
       " AND entry = " MLA},
      {"pages_compare_differs", "pages", "compare_found_difference", fail,
       "the comparison of both sides found 5 different bytes",
       "UPDATE page_compare SET content_differ = 5, first_differ = 17 WHERE transfer = " ONE_LOAD
       " AND entry = " MLA},
      {"pages_address_of_another_block", "pages", "address_not_registered", fail,
       "a load announces the address of the next block",
       "UPDATE transfer_page SET device_address = device_address + " STRIDE_OF(
           MLA) " WHERE transfer = " ONE_LOAD " AND entry = " MLA},
      {"pages_other_stride_on_the_transfer_side", "pages", "map_differs_from_model", fail,
       "the side that transfers took a tail's content size for its stride",
       "UPDATE entry SET page_stride = content_bytes WHERE origin = 1 AND entry = " TAIL},
      {"pages_a_rank_did_not_load",
       "pages",
       "transfer_missing_on_rank",
       fail,
       "the load of one rank is dropped",
       "DELETE FROM transfer WHERE transfer = " ONE_LOAD,
       {.needs = &several_ranks}},
      {"pages_block_of_another_request", "pages", "page_of_another_request", fail,
       "a loaded block belongs to another request",
       "UPDATE block SET request = request + 1 WHERE op = 0 AND block = (SELECT MAX(block) FROM "
       "transfer_page WHERE transfer = " ONE_LOAD ")"},
      {"pages_object_of_another_entry", "pages", "object_of_another_page", fail,
       "a page is loaded from the stored object of another entry",
       "UPDATE transfer_page SET host_object = (SELECT o.host_object FROM transfer_page o WHERE "
       "o.transfer = " ONE_LOAD " AND o.entry = " NEXT_MLA ") WHERE transfer = " ONE_LOAD
       " AND entry = " MLA},
      {"pages_refused_copy", "pages", "copy_refused", fail, "a load's copies returned an error",
       "UPDATE copy SET result = 700 WHERE transfer = " ONE_LOAD " AND entry = " MLA},
      {"pages_extent_short_by_a_chunk", "pages", "extent_not_covered", fail,
       "a load claims one chunk more than its pages cover",
       "UPDATE transfer SET token_end = token_end + " CHUNK " WHERE transfer = " ONE_LOAD},
      {"pages_null_block", "pages", "null_block", fail, "a save names the null block",
       "UPDATE transfer_page SET block = 0 WHERE transfer = " ONE_SAVE " AND entry = " MLA},
      {"pages_digests_gone", "pages", "digest_missing", inconclusive,
       "the digests of a load are dropped", "DELETE FROM page_digest WHERE transfer = " ONE_LOAD},
      {"pages_zeros_only", "pages", "content_all_zero", inconclusive,
       "a loaded tail holds nothing but zeros",
       "UPDATE page_digest SET nonzero = 0 WHERE transfer = " ONE_LOAD " AND entry = " TAIL},
      {"pages_announcement_lost", "pages", "announcements_missing", inconclusive,
       "a load counts one page more than it names",
       "UPDATE transfer SET pages = pages + 1 WHERE transfer = " ONE_LOAD},
      {"pages_save_before_the_recording", "pages", "load_without_save", inconclusive,
       "a page is loaded that no recorded save left",
       "UPDATE transfer_page SET host_object = host_object + 1000000000 WHERE transfer = " ONE_LOAD
       " AND entry = " MLA},
      {"pages_of_a_transfer_never_named", "pages", "transfer_without_pages", inconclusive,
       "every page of a load is dropped", "DELETE FROM transfer_page WHERE transfer = " ONE_LOAD},
      {"pages_entry_the_model_never_registered", "pages", "entry_not_declared", inconclusive,
       "the model's registration of an entry is dropped on one rank",
       "DELETE FROM entry WHERE origin = 0 AND entry = " MLA
       " AND rank = (SELECT rank FROM transfer WHERE transfer = " ONE_LOAD ")"},
      {"pages_of_another_rank",
       "pages",
       "page_of_another_rank",
       fail,
       "a load names the page of another rank",
       "UPDATE transfer_page SET rank = (rank + 1) % " RANKS " WHERE transfer = " ONE_LOAD
       " AND entry = " MLA,
       {.needs = &several_ranks}},
      {"pages_unmapped_by_the_side_that_transfers", "pages", "address_unknown", inconclusive,
       "the transferring side's registration of an entry is dropped",
       "DELETE FROM entry WHERE origin = 1 AND entry = " MLA},
      {"pages_digested_in_part", "pages", "digest_of_other_bytes", inconclusive,
       "a page was digested without its last 32 bytes",
       "UPDATE page_digest SET bytes = bytes - 32 WHERE transfer = " ONE_LOAD " AND entry = " MLA},
      {"pages_harmless_other_addresses", "pages", "", silence,
       "the transferring side maps everything 4,096 bytes further",
       "UPDATE entry SET base = base + 4096 WHERE origin = 1; UPDATE transfer_page SET "
       "device_address = device_address + 4096; UPDATE copy SET src = src + 4096 WHERE direction "
       "= 0 AND transfer <> 0; UPDATE copy SET dst = dst + 4096 WHERE direction = 1 AND transfer "
       "<> 0"},
      {"pages_harmless_copy_in_two_parts", "pages", "", silence,
       "one entry's copies of a load are made in two parts",
       "INSERT INTO copy SELECT process, " ADDED ", t_ns, src + 512, dst + 512, bytes - 512, "
       "stream, end_ns, transfer, call_seq, call, version, batch_index, batch_count, result, "
       "block, entry, direction, access_order FROM copy WHERE transfer = " ONE_LOAD
       " AND entry = " MLA "; UPDATE copy SET bytes = 512 WHERE transfer = " ONE_LOAD
       " AND entry = " MLA " AND thread < 50000000"},
      {"pages_harmless_small_input_copies", "pages", "", silence,
       "small copies that belong to no transfer are added",
       "INSERT INTO copy SELECT process, " ADDED ", t_ns, 17, 4096, 64, stream, end_ns, 0, "
       "call_seq, call, version, batch_index, batch_count, 0, 4294967295, 65535, 1, access_order "
       "FROM copy WHERE entry = " MLA},
  };
}

} // namespace hitproof::audit::selftest
