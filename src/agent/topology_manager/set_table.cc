#include "agent/topology_manager/set_table.h"

#include <array>
#include <bit>
#include <map>

namespace plimsoll::agent {
namespace {

// Numbers of a word's bits in which bit i is 0.
constexpr std::array<uint64_t, 6> kBitsWithout = {0x5555555555555555, 0x3333333333333333,
                                                  0x0f0f0f0f0f0f0f0f, 0x00ff00ff00ff00ff,
                                                  0x0000ffff0000ffff, 0x00000000ffffffff};

}  // namespace

NodeMask SetNumbers::MaskAt(size_t number) const {
  if (is_without_holes_) return NodeMask::FromBits(number);
  NodeMask mask;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if ((number >> i & 1) != 0) mask.Add(nodes_[i]);
  }
  return mask;
}

size_t SetNumbers::Compressed(NodeMask mask) const {
  size_t number = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) number |= size_t{mask.Contains(nodes_[i])} << i;
  return number;
}

SetTable::SetTable(const std::vector<NodeRange>& ranges, const std::vector<uint32_t>& nodes)
    : SetTable(SetNumbers(nodes)) {
  std::map<uint64_t, SetTable> by_most;
  for (const NodeRange& each : ranges) {
    if (each.least == each.most) {
      Add(each.least);
    } else {
      by_most.try_emplace(each.most.bits(), SetNumbers(nodes)).first->second.Add(each.least);
    }
  }
  for (auto& [most, table] : by_most) {
    table.AddAbove(NodeMask::FromBits(most));
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= table.words_[i];
  }
}

void SetTable::AddAbove(NodeMask most) {
  const size_t bits = numbers_.Of(most);
  for (size_t i = 0; i < kBitsWithout.size(); ++i) {
    if ((bits >> i & 1) == 0) continue;
    for (uint64_t& word : words_) word |= (word & kBitsWithout[i]) << (size_t{1} << i);
  }
  for (size_t step = 1; step < words_.size(); step <<= 1) {
    if ((bits & step * kBits) == 0) continue;
    for (size_t i = 0; i < words_.size(); ++i) {
      if ((i & step) == 0) words_[i | step] |= words_[i];
    }
  }
}

size_t SetTable::Union() const {
  size_t all = 0;
  uint64_t numbers_in_words = 0;
  for (size_t i = 0; i < words_.size(); ++i) {
    if (words_[i] != 0) all |= i * kBits;
    numbers_in_words |= words_[i];
  }
  for (size_t i = 0; i < kBitsWithout.size(); ++i) {
    if ((numbers_in_words & ~kBitsWithout[i]) != 0) all |= size_t{1} << i;
  }
  return all;
}

SetTable::Words SetTable::Incomplete(size_t most) const {
  uint64_t possible = ~uint64_t{0};
  for (size_t i = 0; i < kBitsWithout.size(); ++i) {
    if ((most >> i & 1) == 0) possible &= kBitsWithout[i];
  }
  Words lack(words_.size());
  for (size_t i = 0; i < words_.size(); ++i) {
    if ((i * kBits & ~most) == 0) lack[i] = ~words_[i] & possible;
  }
  for (size_t i = 0; i < kBitsWithout.size(); ++i) {
    for (uint64_t& word : lack) word |= word >> (size_t{1} << i) & kBitsWithout[i];
  }
  for (size_t step = 1; step < lack.size(); step <<= 1) {
    for (size_t i = 0; i < lack.size(); ++i) {
      if ((i & step) == 0) lack[i] |= lack[i | step];
    }
  }
  return lack;
}

std::vector<NodeRange> SetTable::Ranges() const {
  SetTable all = *this;
  all.AddNumber(0);  // it doesn't count, and makes one range of all other sets
  const size_t most = all.Union();
  const Words incomplete = all.Incomplete(most);
  // Sets all of whose supersets are there: the least of them tell of all.
  Words complete(words_.size()), above(words_.size());
  for (size_t i = 0; i < complete.size(); ++i) complete[i] = all.words_[i] & ~incomplete[i];
  for (size_t i = 0; i < complete.size(); ++i) {
    for (size_t bit = 0; bit < kBitsWithout.size(); ++bit) {
      above[i] |= (complete[i] & kBitsWithout[bit]) << (size_t{1} << bit);
    }
    for (size_t step = 1; step < complete.size(); step <<= 1) {
      if ((i & step) == 0) above[i | step] |= complete[i];
    }
  }
  std::vector<NodeRange> ranges;
  for (size_t i = 0; i < words_.size(); ++i) {
    const uint64_t alone = all.words_[i] & incomplete[i];
    for (uint64_t left = (complete[i] & ~above[i]) | alone; left != 0; left &= left - 1) {
      const auto bit = static_cast<size_t>(std::countr_zero(left));
      const size_t number = i * kBits + bit;
      const bool is_alone = (alone >> bit & 1) != 0;
      if (number == 0 && (is_alone || most == 0)) continue;
      ranges.push_back(
          {.least = numbers_.MaskAt(number), .most = numbers_.MaskAt(is_alone ? number : most)});
    }
  }
  return ranges;
}

}  // namespace plimsoll::agent
