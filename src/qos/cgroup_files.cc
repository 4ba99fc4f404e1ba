#include "qos/cgroup_files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/text/closest_word.h"
#include "resources/cpu_set.h"
#include "resources/quantity.h"

namespace plimsoll::qos {
namespace {

using ValueParser = absl::StatusOr<std::string> (*)(absl::string_view text);

absl::Status Expected(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("expected ", what));
}

template <int64_t kMin, int64_t kMax>
absl::StatusOr<std::string> Number(absl::string_view text) {
  int64_t value = 0;
  if (absl::SimpleAtoi(text, &value) && value >= kMin && value <= kMax) return absl::StrCat(value);
  return Expected(absl::StrCat("a whole number from ", kMin, " to ", kMax));
}

absl::StatusOr<std::string> Bytes(absl::string_view text) {
  if (text == "max") return std::string("max");
  const auto quantity = resources::Quantity::Parse(text);
  if (!quantity.ok() || quantity->Sign() < 0) {
    return Expected("a quantity of bytes (\"512Mi\") or \"max\"");
  }
  if (quantity->Value() == std::numeric_limits<int64_t>::max()) {
    return Expected(
        absl::StrCat("at most ", std::numeric_limits<int64_t>::max() - 1, " bytes, or \"max\""));
  }
  const int64_t page = sysconf(_SC_PAGESIZE);
  return absl::StrCat(quantity->Value() / page * page);
}

absl::StatusOr<std::string> Pids(absl::string_view text) {
  // The kernel's own bound, PID_MAX_LIMIT.
  return text == "max" ? std::string("max") : Number<0, 4194304>(text);
}

// "quota period" in microseconds; kernel/sched/core.c has the bounds.
absl::StatusOr<std::string> CpuMax(absl::string_view text) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ', absl::SkipWhitespace());
  int64_t quota = 0;
  int64_t period = 100000;
  const bool valid = (words.size() == 1 || words.size() == 2) &&
                     (words[0] == "max" || (absl::SimpleAtoi(words[0], &quota) && quota >= 1000)) &&
                     (words.size() == 1 ||
                      (absl::SimpleAtoi(words[1], &period) && period >= 1000 && period <= 1000000));
  if (valid) return absl::StrCat(words[0], " ", period);
  return Expected(
      "microseconds per period, \"50000 100000\": the first 1000 or more, or \"max\"; the second "
      "1000 to 1000000");
}

// cpu.uclamp.*: a percentage with two decimals; 100 is "max".
absl::StatusOr<std::string> Percentage(absl::string_view text) {
  double value = 0;
  if (text == "max") return std::string("max");
  if (!absl::SimpleAtod(text, &value) || !(value >= 0 && value <= 100)) {
    return Expected("a percentage from 0 to 100, or \"max\"");
  }
  const std::string two_decimals = absl::StrFormat("%.2f", value);
  return two_decimals == "100.00" ? "max" : two_decimals;
}

absl::StatusOr<std::string> IoPriority(absl::string_view text) {
  for (const char* word : {"no-change", "promote-to-rt", "restrict-to-be", "idle"}) {
    if (text == word) return std::string(word);
  }
  return Expected("no-change, promote-to-rt, restrict-to-be or idle");
}

absl::StatusOr<std::string> List(absl::string_view text) {
  const auto set = resources::CpuSet::Parse(text);
  if (set.ok() && !set->Empty()) return set->ToString();
  return Expected("a list such as \"0-3,8\"");
}

struct Allowed {
  const char* controller;
  const char* name;
  const char* reset;
  ValueParser parse;
};

// cpu.idle comes before cpu.weight: an idle group refuses a weight.
constexpr Allowed kAllowed[] = {
    {"cpu", "cpu.idle", "0", Number<0, 1>},
    {"cpu", "cpu.weight", "100", Number<1, 10000>},
    {"cpu", "cpu.max", "max 100000", CpuMax},
    {"cpu", "cpu.uclamp.min", "0.00", Percentage},
    {"cpu", "cpu.uclamp.max", "max", Percentage},
    {"cpuset", "cpuset.cpus", "", List},
    {"cpuset", "cpuset.mems", "", List},
    {"io", "io.prio.class", "no-change", IoPriority},
    {"memory", "memory.min", "0", Bytes},
    {"memory", "memory.low", "0", Bytes},
    {"memory", "memory.high", "max", Bytes},
    {"memory", "memory.swap.high", "max", Bytes},
    {"memory", "memory.swap.max", "max", Bytes},
    {"memory", "memory.zswap.max", "max", Bytes},
    {"memory", "memory.zswap.writeback", "1", Number<0, 1>},
    {"memory", "memory.oom.group", "0", Number<0, 1>},
    {"pids", "pids.max", "max", Pids},
};

}  // namespace

const std::vector<ControlFile>& AllowedCgroupFiles() {
  static const std::vector<ControlFile>* const files = [] {
    auto* all = new std::vector<ControlFile>;
    for (const Allowed& each : kAllowed) {
      all->push_back({.controller = each.controller, .name = each.name, .reset = each.reset});
    }
    return all;
  }();
  return *files;
}

const ControlFile* FindCgroupFile(absl::string_view name) {
  const auto& files = AllowedCgroupFiles();
  const auto at = std::find_if(files.begin(), files.end(),
                               [&](const ControlFile& file) { return file.name == name; });
  return at == files.end() ? nullptr : &*at;
}

absl::StatusOr<std::string> CanonicalCgroupValue(absl::string_view file, absl::string_view value) {
  std::vector<std::string> names;
  for (const Allowed& each : kAllowed) {
    names.emplace_back(each.name);
    if (file != each.name) continue;
    auto canonical = each.parse(absl::StripAsciiWhitespace(value));
    if (!canonical.ok()) {
      return Annotate(canonical.status(), absl::StrCat(file, " is \"", value, "\""));
    }
    return canonical;
  }
  const std::string closest = ClosestWord(std::string(file), names);
  return absl::InvalidArgumentError(
      absl::StrCat("a class can't set the file \"", file, "\"",
                   closest.empty() ? "" : absl::StrCat(" (did you mean ", closest, "?)"),
                   "; files are ", absl::StrJoin(names, ", ")));
}

}  // namespace plimsoll::qos
