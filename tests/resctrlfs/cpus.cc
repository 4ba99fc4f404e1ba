#include "resctrlfs/cpus.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "resctrlfs/kernel_text.h"

namespace plimsoll::resctrlfs {
namespace {

using resources::CpuSet;

std::string ShowMask(const CpuSet& cpus, int count) {
  std::string text;
  for (int chunk = (count - 1) / 32; chunk >= 0; --chunk) {
    uint32_t bits = 0;
    for (int bit = 0; bit < 32; ++bit) {
      if (cpus.Contains(static_cast<uint32_t>(chunk * 32 + bit))) bits |= 1U << bit;
    }
    const int in_chunk = std::min(32, count - chunk * 32);
    absl::StrAppendFormat(&text, "%s%0*x", text.empty() ? "" : ",", (in_chunk + 3) / 4, bits);
  }
  return text;
}

// "f,00000001": groups of up to eight digits, the last has CPUs 0 to 31.
std::optional<CpuSet> ParseMask(absl::string_view text) {
  CpuSet cpus;
  if (text.empty()) return cpus;
  std::vector<absl::string_view> chunks = absl::StrSplit(text, ',');
  std::reverse(chunks.begin(), chunks.end());
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    const std::optional<uint64_t> bits = ParseUnsigned(chunks[chunk], 16, UINT32_MAX);
    if (!bits || chunks[chunk].size() > 8) return std::nullopt;
    for (uint32_t bit = 0; bit < 32; ++bit) {
      if ((*bits >> bit & 1) != 0) cpus.Add(static_cast<uint32_t>(chunk) * 32 + bit);
    }
  }
  return cpus;
}

Errno Parse(State* state, absl::string_view text, CpuFormat format, CpuSet* cpus) {
  text = absl::StripAsciiWhitespace(text);
  if (format == CpuFormat::kList) {
    absl::StatusOr<CpuSet> parsed = CpuSet::Parse(text);
    if (!parsed.ok()) return state->status.Refuse(EINVAL, "\"", text, "\" is no list of CPUs");
    *cpus = *std::move(parsed);
  } else {
    std::optional<CpuSet> parsed = ParseMask(text);
    if (!parsed) return state->status.Refuse(EINVAL, "\"", text, "\" is no mask of CPUs");
    *cpus = *std::move(parsed);
  }
  if (!cpus->IsSubsetOf(state->AllCpus())) {
    return state->status.Refuse(format == CpuFormat::kList ? ERANGE : EOVERFLOW, "There are only ",
                                state->layout.cpus, " CPUs");
  }
  return 0;
}

Errno WriteControl(State* state, Group* group, const CpuSet& wanted) {
  const CpuSet lost = group->cpus.Difference(wanted);
  if (!lost.Empty()) {
    if (group->IsRoot()) {
      return state->status.Refuse(EINVAL, "The root group can't give CPUs away");
    }
    state->root.cpus = state->root.cpus.Union(lost);
  }
  const CpuSet gained = wanted.Difference(group->cpus);
  for (Group* other : state->ControlGroups()) {
    if (other == group || other->cpus.Intersection(gained).Empty()) continue;
    other->cpus = other->cpus.Difference(gained);
    for (const auto& monitor : other->monitors) {
      monitor->cpus = monitor->cpus.Intersection(other->cpus);
    }
  }
  group->cpus = wanted;
  for (const auto& monitor : group->monitors) monitor->cpus = CpuSet();
  return 0;
}

Errno WriteMonitor(State* state, Group* group, const CpuSet& wanted) {
  if (!wanted.IsSubsetOf(group->parent->cpus)) {
    return state->status.Refuse(EINVAL, "A monitoring group has CPUs of its control group only");
  }
  for (const auto& sibling : group->parent->monitors) {
    if (sibling.get() != group) sibling->cpus = sibling->cpus.Difference(wanted);
  }
  group->cpus = wanted;
  return 0;
}

}  // namespace

std::string ShowCpus(const State& state, const Group& group, CpuFormat format) {
  return format == CpuFormat::kList ? group.cpus.ToString() + "\n"
                                    : ShowMask(group.cpus, state.layout.cpus) + "\n";
}

Errno WriteCpus(State* state, Group* group, absl::string_view text, CpuFormat format) {
  state->status.Clear();
  if (group->mode == Mode::kPseudoLocksetup) {
    return state->status.Refuse(EINVAL, "The group is being set up for pseudo-locking");
  }
  CpuSet wanted;
  if (const Errno error = Parse(state, text, format, &wanted); error != 0) return error;
  return group->IsMonitor() ? WriteMonitor(state, group, wanted)
                            : WriteControl(state, group, wanted);
}

}  // namespace plimsoll::resctrlfs
