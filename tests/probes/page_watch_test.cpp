// Announcements and what is done to pages: poison, digests, comparison, delay, tails.
#include "poison/pattern.h"
#include "schema/page_digest.h"
#include "tests/probes/page_pattern.h"
#include "tests/probes/run_subject.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace hitproof::probes_test {
namespace {

using namespace subject;
using schema::rec::page_compare;
using schema::rec::page_digest;
using schema::rec::page_poison;

schema::Digest content_digest(std::size_t page) {
  return schema::page_digest(page_content(page).data(), content_bytes);
}
schema::Digest whole_digest(std::size_t page) {
  return schema::page_digest(page_content(page).data(), page_bytes);
}

template <class R> Typed<R> of_page(const Recorded& r, std::size_t page) {
  const auto rows = r.all<R>();
  EXPECT_EQ(rows.size(), pages);
  for (const auto& row : rows) {
    if (row.block == first_block + page) return row;
  }
  ADD_FAILURE() << "no row for page " << page;
  return {};
}

Typed<page_digest> digest_of(const Recorded& r, std::size_t page, int place, int moment) {
  for (const auto& row : r.all<page_digest>()) {
    if (row.block == first_block + page && row.place == place && row.moment == moment) return row;
  }
  ADD_FAILURE() << "no digest for page " << page;
  return {};
}

TEST(Load, CleanPagesAreOverwrittenEntirely) {
  const Recorded r = run({"load", "clean"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  for (std::size_t i = 0; i < pages; ++i) {
    const auto poison = of_page<page_poison>(r, i);
    EXPECT_EQ(poison.page_bytes, page_bytes);
    EXPECT_EQ(poison.verified_bytes, page_bytes);
    EXPECT_EQ(poison.residue_bytes, 0u);
    EXPECT_EQ(poison.first_residue, -1);
    EXPECT_EQ(poison.generation, generation);
    EXPECT_EQ(poison.entry, page_entry);
    EXPECT_EQ(poison.rank, page_rank);
    EXPECT_LT(poison.poison_ns, poison.t_ns);
    const auto compare = of_page<page_compare>(r, i);
    EXPECT_EQ(compare.content_bytes, content_bytes);
    EXPECT_EQ(compare.padding_bytes, page_bytes - content_bytes);
    EXPECT_EQ(compare.content_differ + compare.padding_differ, 0u);
    EXPECT_EQ(compare.first_differ, -1);
    EXPECT_EQ(compare.direction, 1);
    const auto left = digest_of(r, i, 1, 0), landed = digest_of(r, i, 0, 1);
    EXPECT_EQ(left.content, content_digest(i));
    EXPECT_EQ(left.page, whole_digest(i));
    EXPECT_EQ(landed.content, left.content);
    EXPECT_EQ(landed.page, left.page);
    EXPECT_GT(landed.nonzero, content_bytes - content_bytes / 128);
    EXPECT_LT(landed.nonzero, content_bytes);
  }
}

TEST(Load, CopiesNameTheirTransferAndPage) {
  const Recorded r = run({"load", "part"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const auto copies = r.all<schema::rec::copy>();
  ASSERT_EQ(copies.size(), pages + 3); // one page in two parts; two copies after the close
  std::vector<std::uint32_t> blocks;
  for (std::size_t i = 0; i + 2 < copies.size(); ++i) {
    EXPECT_EQ(copies[i].transfer, transfer_id);
    EXPECT_EQ(copies[i].entry, page_entry);
    blocks.push_back(copies[i].block - first_block);
  }
  EXPECT_EQ(blocks, (std::vector<std::uint32_t>{0, 1, 2, 3, 3, 4}));
  for (std::size_t i = copies.size() - 2; i < copies.size(); ++i) {
    EXPECT_EQ(copies[i].transfer, 0u);
    EXPECT_EQ(copies[i].block, 0xffffffffu);
    EXPECT_EQ(copies[i].entry, 0xffff);
  }
}

TEST(Load, MarksAndRecordsFollowTheTransfer) {
  const Recorded r = run({"load", "clean"});
  const auto transfers = r.all<schema::rec::transfer>();
  ASSERT_EQ(transfers.size(), 1u);
  EXPECT_EQ(transfers[0].transfer, transfer_id);
  EXPECT_EQ(transfers[0].pages, pages);
  EXPECT_EQ(transfers[0].boundary, 1792u);
  EXPECT_EQ(transfers[0].direction, 1);
  EXPECT_EQ(transfers[0].key[1], 2);
  EXPECT_EQ(r.all<schema::rec::transfer_page>().size(), pages);
  std::map<int, Typed<schema::rec::transfer_mark>> marks;
  for (const auto& m : r.all<schema::rec::transfer_mark>())
    marks[m.kind] = m;
  ASSERT_EQ(marks.size(), 3u); // announced, closed, complete; no delay
  EXPECT_LE(transfers[0].t_ns, marks[5].t_ns);
  EXPECT_LT(marks[5].t_ns, marks[3].t_ns + 1'000'000'000);
  EXPECT_EQ(marks[3].event, r.fact("event"));
  EXPECT_EQ(marks[5].event, r.fact("event"));
  EXPECT_GT(marks[3].t_ns, of_page<page_compare>(r, pages - 1).t_ns);
  EXPECT_NE(marks[3].tid, marks[5].tid) << "completion must be stamped on the stream";
}

TEST(Load, SkippedPageKeepsAllItsPoison) {
  const Recorded r = run({"load", "skip"});
  const auto poison = of_page<page_poison>(r, 1);
  EXPECT_EQ(poison.verified_bytes, page_bytes);
  EXPECT_EQ(poison.residue_bytes, page_bytes);
  EXPECT_EQ(poison.residue_content, content_bytes / 8 * 8);
  EXPECT_EQ(poison.first_residue, 0);
  EXPECT_NE(digest_of(r, 1, 0, 1).content, content_digest(1));
  EXPECT_GT(of_page<page_compare>(r, 1).content_differ, 0u);
  EXPECT_EQ(of_page<page_poison>(r, 0).residue_bytes, 0u);
}

TEST(Load, ShortCopyLeavesPoisonWhereItEnded) {
  const Recorded r = run({"load", "short"});
  const auto poison = of_page<page_poison>(r, 2);
  EXPECT_EQ(poison.residue_bytes, page_bytes - 1024);
  EXPECT_EQ(poison.first_residue, 1024);
  EXPECT_EQ(of_page<page_compare>(r, 2).first_differ, 1024);
}

TEST(Load, PaddingIsJudgedApart) {
  const Recorded r = run({"load", "padding"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  for (std::size_t i = 0; i < pages; ++i) {
    const auto poison = of_page<page_poison>(r, i);
    EXPECT_EQ(poison.residue_content, 0u);
    EXPECT_EQ(poison.residue_bytes, (page_bytes - content_bytes) / 8 * 8);
    const auto compare = of_page<page_compare>(r, i);
    EXPECT_EQ(compare.content_differ, 0u);
    EXPECT_GT(compare.padding_differ, 1000u);
    EXPECT_EQ(digest_of(r, i, 0, 1).content, content_digest(i));
    EXPECT_NE(digest_of(r, i, 0, 1).page, whole_digest(i));
  }
}

TEST(Load, WrongSourceShowsInDigestAndComparison) {
  const Recorded r = run({"load", "wrong"});
  EXPECT_EQ(of_page<page_poison>(r, 4).residue_bytes, 0u);
  EXPECT_EQ(digest_of(r, 4, 0, 1).content, content_digest(0));
  EXPECT_EQ(digest_of(r, 4, 1, 0).content, content_digest(4));
  EXPECT_EQ(of_page<page_compare>(r, 4).first_differ, 0);
}

TEST(Load, MetadataModeWatchesNoPage) {
  const Recorded r = run({"load", "clean"}, {.environment = {{"HITPROOF_PROBES", "metadata"}}});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_TRUE(r.all<page_poison>().empty());
  EXPECT_TRUE(r.all<page_digest>().empty());
  EXPECT_EQ(r.all<schema::rec::transfer_page>().size(), pages);
  EXPECT_EQ(r.all<schema::rec::copy>()[0].transfer, transfer_id);
}

TEST(Load, ForcedDropsLeaveGapsAndAreCounted) {
  const Recorded r = run({"load", "clean"}, {.environment = {{"HITPROOF_FORCE_DROP", "4"}}});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const std::size_t rows = 4 * pages; // poison, two digests, comparison
  EXPECT_EQ(r.coverage("page_records").dropped, rows / 4);
  EXPECT_EQ(r.coverage("page_records").calls, rows - rows / 4);
  EXPECT_EQ(r.gaps, rows / 4);
  EXPECT_EQ(r.coverage("hooks").dropped, rows / 4);
}

std::map<int, Typed<schema::rec::transfer_mark>> marks_of(const Recorded& r) {
  std::map<int, Typed<schema::rec::transfer_mark>> marks;
  for (const auto& m : r.all<schema::rec::transfer_mark>())
    marks[m.kind] = m;
  return marks;
}

class DelayedSave : public testing::TestWithParam<const char*> {};

TEST_P(DelayedSave, DelayIsInsideTheStream) {
  const Recorded r =
      run({"save", GetParam()}, {.environment = {{"HITPROOF_SAVE_DELAY_MS", "150"}}});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  auto marks = marks_of(r);
  ASSERT_EQ(marks.size(), 5u);
  EXPECT_EQ(marks[1].value, 150'000'000u);
  EXPECT_GE(marks[2].t_ns - marks[1].t_ns, 150'000'000u);
  EXPECT_GT(marks[3].t_ns, marks[2].t_ns);
  EXPECT_LT(r.fact("submit_ms"), 100u) << "the caller was blocked";
  EXPECT_GE(r.fact("wait_ms"), 150u) << "the event did not cover the delay";
  const bool held = std::string(GetParam()) == "held";
  for (std::size_t i = 0; i < pages; ++i) {
    EXPECT_GT(digest_of(r, i, 0, 0).t_ns, marks[2].t_ns)
        << "the source was read before the delay ended";
  }
  EXPECT_EQ(r.all<page_compare>().size(), held ? 0u : pages);
  EXPECT_EQ(r.all<page_digest>().size(), held ? pages : 2 * pages);
  EXPECT_TRUE(r.all<page_poison>().empty());
}

INSTANTIATE_TEST_SUITE_P(Saves, DelayedSave, testing::Values("copy", "held"),
                         [](const auto& i) { return std::string(i.param); });

TEST(Save, DigestsAndComparesBothSides) {
  const Recorded r = run({"save", "copy"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(marks_of(r).size(), 3u);
  for (std::size_t i = 0; i < pages; ++i) {
    EXPECT_EQ(digest_of(r, i, 0, 0).content, content_digest(i));
    EXPECT_EQ(digest_of(r, i, 1, 1).page, whole_digest(i));
    EXPECT_EQ(of_page<page_compare>(r, i).content_differ, 0u);
    EXPECT_EQ(of_page<page_compare>(r, i).direction, 0);
  }
  // One copy over five pages: the row names the first of them.
  EXPECT_EQ(r.all<schema::rec::copy>()[1].block, first_block);
}

TEST(Save, ReuseDuringTheDelayIsWhatLeaves) {
  const Recorded r = run({"save", "late"}, {.environment = {{"HITPROOF_SAVE_DELAY_MS", "150"}}});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_NE(digest_of(r, 0, 0, 0).content, content_digest(0));
  EXPECT_EQ(digest_of(r, 1, 0, 0).content, content_digest(1));
}

TEST(Tails, EffectiveAddressIsReadWithItsStrides) {
  const Recorded r = run({"tails", "effective"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const auto reads = r.all<schema::rec::tail_read>();
  ASSERT_EQ(reads.size(), 1u);
  const auto& t = reads[0];
  EXPECT_EQ(t.elements, 2u * ring * channels);
  EXPECT_EQ(t.nonzero, t.elements);
  EXPECT_EQ(t.naive_nonzero, 0u);
  EXPECT_EQ(t.naive_equal, 0u);
  std::vector<std::uint16_t> gathered;
  for (int h = 0; h < 2; ++h)
    for (int s = 0; s < ring; ++s)
      for (int c = 0; c < channels; ++c)
        gathered.push_back(static_cast<std::uint16_t>(0x3f80 + h * stride_half + s * stride_slot +
                                                      c * stride_channel));
  EXPECT_EQ(t.effective_digest, schema::sha256(gathered.data(), gathered.size() * 2));
  EXPECT_EQ(t.stride2, stride_channel);
  EXPECT_EQ(t.transfer, transfer_id);
}

TEST(Tails, ZerosAtTheEffectiveAddressAreSeenAsZeros) {
  const Recorded r = run({"tails", "naive"});
  const auto t = r.all<schema::rec::tail_read>().at(0);
  EXPECT_EQ(t.nonzero, 0u);
  EXPECT_EQ(t.naive_nonzero, t.elements);
}

TEST(States, AreDigestedOnTheStream) {
  const Recorded r = run({"tails"});
  const auto s = r.all<schema::rec::state>().at(0);
  EXPECT_EQ(s.content, content_digest(2)) << "read before the copy in front of it";
  EXPECT_EQ(s.tokens, 1792u);
  EXPECT_EQ(s.generation, generation);
  const auto k = r.all<schema::rec::pooled_key>().at(0);
  EXPECT_EQ(k.digest, schema::sha256(page_content(2).data(), 132));
  EXPECT_EQ(k.position, 7u);
}

TEST(Flips, OneByteAtTheAddressThatWasAskedFor) {
  for (const bool naive : {false, true}) {
    const Recorded r =
        run({"flips"}, {.environment = {{"HITPROOF_TAIL_EFFECT", naive ? "naive" : "effective"}}});
    ASSERT_EQ(r.exit_code, 0) << r.err;
    const auto flips = r.all<schema::rec::tail_flip>();
    ASSERT_EQ(flips.size(), 1u);
    EXPECT_EQ(flips[0].position, 1785u);
    EXPECT_EQ(flips[0].where, naive ? 1 : 0);
    EXPECT_EQ(flips[0].address, r.fact("base") + r.fact("flipped"));
    const std::uint64_t from = r.fact(naive ? "naive" : "effective");
    EXPECT_GE(flips[0].address, from);
    EXPECT_LT(flips[0].address, from + 4 * stride_half);
    EXPECT_EQ(r.all<schema::rec::process>()[0].mode & 64u, 64u) << "the recording must say so";
  }
  EXPECT_TRUE(run({"flips"}).all<schema::rec::tail_flip>().empty())
      << "only the diagnostic run changes a byte";
  EXPECT_TRUE(run({"flips"}).lines("fact flipped").empty());
}

TEST(Announcements, BecomeTheirRecords) {
  const Recorded r = run({"announcements"}, {.environment = {{"HITPROOF_SAVE_DELAY_MS", "5"}}});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(r.fact("mode"), 1u | 2 | 4 | 8 | 16 | 32);
  const auto processes = r.all<schema::rec::process>();
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(schema::get_text(processes[1].role), "rank");
  EXPECT_EQ(processes[1].rank, 2);
  EXPECT_EQ(r.all<schema::rec::request>().at(0).prompt_tokens, 3584u);
  EXPECT_EQ(schema::get_text(r.all<schema::rec::request>()[0].tag), "A/3584");
  EXPECT_EQ(r.all<schema::rec::admission>().at(0).source, 2u);
  EXPECT_EQ(r.all<schema::rec::lookup>().at(0).mode, 1u);
  EXPECT_EQ(r.all<schema::rec::lookup_answer>().at(0).transfer_group, 5);
  EXPECT_EQ(schema::get_text(r.all<schema::rec::key_input>().at(0).name), "weights");
  EXPECT_EQ(r.all<schema::rec::content_input>().at(0).value[31], 32);
  EXPECT_EQ(r.all<schema::rec::step>().at(0).t_ns, 1000u);
  EXPECT_EQ(r.all<schema::rec::step>()[0].end_ns, 2000u);
  EXPECT_EQ(r.all<schema::rec::step_request>().at(0).accepted, 1793u);
  EXPECT_EQ(r.all<schema::rec::block>().at(0).engine_group, 4);
  EXPECT_EQ(r.all<schema::rec::wait>().at(0).t_ns, 3000u);
  EXPECT_EQ(r.all<schema::rec::reuse>().at(0).entry, 69);
  EXPECT_EQ(schema::get_text(r.all<schema::rec::profile>().at(0).selected), "128");
  EXPECT_EQ(r.coverage("announcements").dropped, 2u) << "unknown transfers are counted";
}

} // namespace
} // namespace hitproof::probes_test
