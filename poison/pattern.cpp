#include "poison/pattern.h"

#include "kernels/page_ops.h"

#include <array>
#include <cstring>

namespace hitproof::poison {
namespace {

// Puts 7 bits into the upper bits of each byte; the lowest bit of each byte stays 0.
std::uint64_t spread(std::uint64_t bits) {
  std::uint64_t word = 0;
  for (int i = 0; i < 8; ++i)
    word |= ((bits >> (7 * i)) & 0x7f) << (8 * i + 1);
  return word;
}

std::uint64_t gather(std::uint64_t word) {
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i)
    bits |= ((word >> (8 * i + 1)) & 0x7f) << (7 * i);
  return bits;
}

} // namespace

std::uint32_t recording_tag(const char* name) {
  std::uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
  for (; *name != '\0'; ++name) {
    hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001b3u;
  }
  return static_cast<std::uint32_t>((hash ^ (hash >> 24) ^ (hash >> 48)) & 0xfff);
}

std::uint64_t poison_key(std::uint32_t recording, const Owner& owner) {
  const std::uint64_t bits = (owner.entry & 0xffu) | (std::uint64_t{owner.page & 0xfffffu} << 8) |
                             (std::uint64_t{owner.generation & 0xffffu} << 28) |
                             (std::uint64_t{recording & 0xfffu} << 44);
  return spread(bits);
}

std::optional<Owner> owner_of_word(std::uint32_t recording, std::uint64_t word,
                                   std::uint64_t offset) {
  if ((word & kernels::poison_set_bits) != kernels::poison_set_bits) return std::nullopt;
  const std::uint64_t bits =
      gather(word ^ kernels::poison_whiten(offset / kernels::poison_word_bytes));
  if (((bits >> 44) & 0xfff) != (recording & 0xfffu)) return std::nullopt;
  return Owner{static_cast<std::uint32_t>(bits & 0xff),
               static_cast<std::uint32_t>((bits >> 8) & 0xfffff),
               static_cast<std::uint32_t>((bits >> 28) & 0xffff)};
}

std::optional<Residue> find_residue(std::uint32_t recording, const void* data, std::size_t bytes,
                                    std::uint64_t offset) {
  // Few owners can share a page: its own generation, and a neighbour's poison moved by a wrong copy
  // at the same offset. Eight candidates are plenty; later ones are not counted.
  std::array<Residue, 8> seen{};
  std::size_t used = 0;
  const unsigned char* p = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, p + i, sizeof word);
    const auto owner = owner_of_word(recording, word, offset + i);
    if (!owner) continue;
    std::size_t k = 0;
    while (k < used && !(seen[k].owner == *owner))
      ++k;
    if (k == seen.size()) continue;
    if (k == used) seen[used++] = Residue{0, *owner, offset + i};
    ++seen[k].words;
  }
  std::optional<Residue> best;
  for (std::size_t k = 0; k < used; ++k) {
    if (!best || seen[k].words > best->words) best = seen[k];
  }
  return best;
}

} // namespace hitproof::poison
