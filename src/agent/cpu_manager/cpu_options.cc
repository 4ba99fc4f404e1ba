#include "agent/cpu_manager/cpu_options.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/closest_word.h"
#include "base/text/go_bool.h"

namespace plimsoll::agent {
namespace {

struct CpuOption {
  const char* name;
  bool CpuOptions::*member;
};
constexpr std::array kCpuOptions = {
    CpuOption{"full-pcpus-only", &CpuOptions::full_pcpus_only},
    CpuOption{"distribute-cpus-across-numa", &CpuOptions::distribute_cpus_across_numa},
    CpuOption{"align-by-socket", &CpuOptions::align_by_socket},
    CpuOption{"distribute-cpus-across-cores", &CpuOptions::distribute_cpus_across_cores},
    CpuOption{"strict-cpu-reservation", &CpuOptions::strict_cpu_reservation},
    CpuOption{"prefer-align-cpus-by-uncorecache", &CpuOptions::prefer_align_cpus_by_uncorecache},
};

// Pairs of which kubelet takes one only.
constexpr std::array kExclusions = {
    std::pair{&CpuOptions::full_pcpus_only, &CpuOptions::distribute_cpus_across_cores},
    std::pair{&CpuOptions::distribute_cpus_across_numa, &CpuOptions::distribute_cpus_across_cores},
    std::pair{&CpuOptions::prefer_align_cpus_by_uncorecache,
              &CpuOptions::distribute_cpus_across_cores},
    std::pair{&CpuOptions::prefer_align_cpus_by_uncorecache,
              &CpuOptions::distribute_cpus_across_numa},
};

const char* CpuOptionName(bool CpuOptions::*member) {
  return absl::c_find_if(kCpuOptions,
                         [&](const CpuOption& option) { return option.member == member; })
      ->name;
}

absl::Status UnknownCpuOption(absl::string_view name) {
  std::vector<std::string> names;
  for (const CpuOption& option : kCpuOptions) names.emplace_back(option.name);
  const std::string closest = ClosestWord(name, names);
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown CPU manager policy option \"", absl::Utf8SafeCHexEscape(name.substr(0, 80)), "\"",
      closest.empty() ? absl::StrCat("; valid: ", absl::StrJoin(names, ", "))
                      : absl::StrCat("; did you mean \"", closest, "\"?")));
}

}  // namespace

absl::StatusOr<CpuOptions> ParseCpuOptions(const std::map<std::string, std::string>& options) {
  CpuOptions parsed;
  for (const auto& [name, value] : options) {
    const auto option = absl::c_find_if(
        kCpuOptions, [&name = name](const CpuOption& known) { return name == known.name; });
    if (option == kCpuOptions.end()) return UnknownCpuOption(name);
    const auto wanted = GoBool(value);
    if (!wanted) {
      return absl::InvalidArgumentError(
          absl::StrCat("CPU manager policy option \"", name, "\" is \"",
                       absl::Utf8SafeCHexEscape(absl::string_view(value).substr(0, 80)),
                       "\"; expected true or false"));
    }
    parsed.*option->member = *wanted;
  }
  for (const auto& [first, second] : kExclusions) {
    if (!(parsed.*first) || !(parsed.*second)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("CPU manager policy options \"", CpuOptionName(first), "\" and \"",
                     CpuOptionName(second), "\" exclude each other; set one of them to false"));
  }
  return parsed;
}

}  // namespace plimsoll::agent
