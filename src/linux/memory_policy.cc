#include "linux/memory_policy.h"

#include <linux/mempolicy.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

constexpr char kNodesWithMemory[] = "sys/devices/system/node/has_memory";
constexpr unsigned kMaxNodes = 1024;  // 1 << CONFIG_NODES_SHIFT, at most
constexpr unsigned kBitsOfWord = 64;

// Younger than the oldest headers that this builds with.
constexpr int kWeightedInterleave = 6;
constexpr int kNumaBalancing = 1 << 13;

constexpr std::pair<const char*, int> kModes[] = {
    {"MPOL_DEFAULT", MPOL_DEFAULT},
    {"MPOL_PREFERRED", MPOL_PREFERRED},
    {"MPOL_BIND", MPOL_BIND},
    {"MPOL_INTERLEAVE", MPOL_INTERLEAVE},
    {"MPOL_LOCAL", MPOL_LOCAL},
    {"MPOL_PREFERRED_MANY", MPOL_PREFERRED_MANY},
    {"MPOL_WEIGHTED_INTERLEAVE", kWeightedInterleave}};
constexpr std::pair<const char*, int> kModeFlags[] = {
    {"MPOL_F_STATIC_NODES", MPOL_F_STATIC_NODES},
    {"MPOL_F_RELATIVE_NODES", MPOL_F_RELATIVE_NODES},
    {"MPOL_F_NUMA_BALANCING", kNumaBalancing}};

template <size_t kSize>
absl::StatusOr<int> Find(const std::pair<const char*, int> (&known)[kSize], absl::string_view what,
                         absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const auto& [each, number] : known) {
    if (name == each) return number;
    names.push_back(each);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(what, " \"", name, "\" is none of ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<std::set<unsigned>> ParseNodes(absl::string_view text) {
  std::set<unsigned> nodes;
  for (const absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::vector<absl::string_view> ends = absl::StrSplit(part, '-');
    unsigned first = 0;
    unsigned last = 0;
    if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) ||
        !absl::SimpleAtoi(ends.back(), &last) || first > last || last >= kMaxNodes) {
      return absl::InvalidArgumentError(
          absl::StrCat("nodes \"", text, "\" must be a list as \"0-1,3\", below ", kMaxNodes));
    }
    for (unsigned node = first; node <= last; ++node) nodes.insert(node);
  }
  return nodes;
}

absl::Status CheckNodes(const FsRoot& host, int mode, absl::string_view name,
                        const std::set<unsigned>& nodes) {
  const bool without = mode == MPOL_DEFAULT || mode == MPOL_LOCAL;
  if (without && !nodes.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("mode ", name, " takes no nodes"));
  }
  if (!without && mode != MPOL_PREFERRED && nodes.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("mode ", name, " needs nodes"));
  }
  if (nodes.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> text = host.Read(kNodesWithMemory);
  if (absl::IsNotFound(text.status())) {
    return absl::FailedPreconditionError("this kernel has no NUMA (CONFIG_NUMA)");
  }
  PLIMSOLL_RETURN_IF_ERROR(text.status());
  const absl::string_view there = absl::StripAsciiWhitespace(*text);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::set<unsigned> present, ParseNodes(there));
  for (const unsigned node : nodes) {
    if (present.contains(node)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("this machine has no node ", node, " with memory; it has ", there));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> EncodeMemoryPolicy(const FsRoot& host, absl::string_view mode,
                                               absl::string_view nodes,
                                               const std::vector<std::string>& flags) {
  PLIMSOLL_ASSIGN_OR_RETURN(int encoded, Find(kModes, "mode", mode));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::set<unsigned> set, ParseNodes(nodes));
  int bits = 0;
  for (const std::string& flag : flags) {
    PLIMSOLL_ASSIGN_OR_RETURN(const int bit, Find(kModeFlags, "flag", flag));
    bits |= bit;
  }
  const bool relative = (bits & MPOL_F_RELATIVE_NODES) != 0;
  if (relative && (bits & MPOL_F_STATIC_NODES) != 0) {
    return absl::InvalidArgumentError(
        "flags MPOL_F_STATIC_NODES and MPOL_F_RELATIVE_NODES exclude each other");
  }
  // Relative ones are counted within the process's cpuset and wrap around.
  const absl::Status checked = CheckNodes(host, encoded, mode, set);
  if (!checked.ok() && !(relative && absl::IsFailedPrecondition(checked))) return checked;
  if (set.empty() && bits != 0) {
    return absl::InvalidArgumentError(absl::StrCat("flags of mode ", mode, " need nodes"));
  }
  if (!set.empty() && !relative) bits |= MPOL_F_STATIC_NODES;
  std::string text = absl::StrCat(encoded | bits);
  if (set.empty()) return text;
  std::vector<uint64_t> words(*set.rbegin() / kBitsOfWord + 1, 0);
  for (const unsigned node : set) words[node / kBitsOfWord] |= uint64_t{1} << node % kBitsOfWord;
  return absl::StrCat(text, ":", absl::StrJoin(words, ",", [](std::string* out, uint64_t word) {
                        absl::StrAppend(out, absl::Hex(word));
                      }));
}

}  // namespace plimsoll::linux
