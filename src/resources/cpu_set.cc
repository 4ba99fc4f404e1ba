#include "resources/cpu_set.h"

#include <algorithm>
#include <bit>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::resources {
namespace {

constexpr uint32_t kWordBits = 64;

absl::Status InvalidCpuSet(absl::string_view item, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "CPU list item \"", item.substr(0, 40), "\": ", why, "; a list is numbers and ranges below ",
      CpuSet::kMaxCpus, ", for example 0-3,8"));
}

// Removes digits from the front of `rest`; a number too large for a CPU becomes kMaxCpus.
bool TakeNumber(absl::string_view& rest, uint32_t& number) {
  size_t count = 0;
  number = 0;
  while (count < rest.size() && absl::ascii_isdigit(rest[count])) {
    number = std::min(CpuSet::kMaxCpus, number * 10 + static_cast<uint32_t>(rest[count] - '0'));
    ++count;
  }
  rest.remove_prefix(count);
  return count > 0;
}

absl::Status AddItem(absl::string_view item, CpuSet& set) {
  absl::string_view rest = item;
  uint32_t first = 0;
  if (!TakeNumber(rest, first)) return InvalidCpuSet(item, "no number");
  uint32_t last = first;
  uint32_t used = 1;
  uint32_t group = 1;
  if (absl::ConsumePrefix(&rest, "-")) {
    if (!TakeNumber(rest, last)) return InvalidCpuSet(item, "the range has no end");
    if (absl::ConsumePrefix(&rest, ":")) {
      if (!TakeNumber(rest, used) || !absl::ConsumePrefix(&rest, "/") || !TakeNumber(rest, group)) {
        return InvalidCpuSet(item, "after \":\" follows used/group");
      }
      if (used == 0 || used > group)
        return InvalidCpuSet(item, "used must be 1 to the group's size");
    }
  }
  if (!rest.empty())
    return InvalidCpuSet(item, absl::StrCat("unexpected \"", rest.substr(0, 16), "\""));
  if (last < first) return InvalidCpuSet(item, "the range ends before it begins");
  if (last >= CpuSet::kMaxCpus) return InvalidCpuSet(item, "number too large");
  for (uint32_t cpu = first; cpu <= last; ++cpu) {
    if ((cpu - first) % group < used) set.Add(cpu);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CpuSet> CpuSet::Parse(absl::string_view text) {
  CpuSet set;
  text = absl::StripAsciiWhitespace(text);
  if (text.empty()) return set;
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    PLIMSOLL_RETURN_IF_ERROR(AddItem(item, set));
  }
  return set;
}

std::string CpuSet::ToString() const {
  std::string text;
  const std::vector<uint32_t> cpus = ToVector();
  for (size_t i = 0; i < cpus.size();) {
    size_t end = i;
    while (end + 1 < cpus.size() && cpus[end + 1] == cpus[end] + 1) ++end;
    absl::StrAppend(&text, text.empty() ? "" : ",", cpus[i]);
    if (end > i) absl::StrAppend(&text, "-", cpus[end]);
    i = end + 1;
  }
  return text;
}

void CpuSet::Add(uint32_t cpu) {
  if (cpu >= kMaxCpus) return;
  if (words_.size() <= cpu / kWordBits) words_.resize(cpu / kWordBits + 1);
  words_[cpu / kWordBits] |= uint64_t{1} << (cpu % kWordBits);
}

void CpuSet::Remove(uint32_t cpu) {
  if (!Contains(cpu)) return;
  words_[cpu / kWordBits] &= ~(uint64_t{1} << (cpu % kWordBits));
  Trim();
}

bool CpuSet::Contains(uint32_t cpu) const {
  return cpu / kWordBits < words_.size() && (words_[cpu / kWordBits] >> (cpu % kWordBits) & 1) != 0;
}

size_t CpuSet::Size() const {
  size_t size = 0;
  for (const uint64_t word : words_) size += static_cast<size_t>(std::popcount(word));
  return size;
}

std::vector<uint32_t> CpuSet::ToVector() const {
  std::vector<uint32_t> cpus;
  for (uint32_t i = 0; i < words_.size(); ++i) {
    for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
      cpus.push_back(i * kWordBits + static_cast<uint32_t>(std::countr_zero(word)));
    }
  }
  return cpus;
}

CpuSet CpuSet::Union(const CpuSet& other) const {
  CpuSet result = words_.size() >= other.words_.size() ? *this : other;
  const CpuSet& smaller = words_.size() >= other.words_.size() ? other : *this;
  for (size_t i = 0; i < smaller.words_.size(); ++i) result.words_[i] |= smaller.words_[i];
  return result;
}

CpuSet CpuSet::Intersection(const CpuSet& other) const {
  CpuSet result;
  result.words_.resize(std::min(words_.size(), other.words_.size()));
  for (size_t i = 0; i < result.words_.size(); ++i) result.words_[i] = words_[i] & other.words_[i];
  result.Trim();
  return result;
}

CpuSet CpuSet::Difference(const CpuSet& other) const {
  CpuSet result = *this;
  for (size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i) {
    result.words_[i] &= ~other.words_[i];
  }
  result.Trim();
  return result;
}

bool CpuSet::IsSubsetOf(const CpuSet& other) const {
  return Difference(other).Empty();
}

void CpuSet::Trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

}  // namespace plimsoll::resources
