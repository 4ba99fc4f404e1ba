#include "linux/cgroup/files.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/text/human_bytes.h"

namespace plimsoll::linux {
namespace {

// v1 rounds "no limit" down to whole pages, hugetlb to whole huge pages, of which 16 GB is the
// largest that any architecture has.
constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() - (int64_t{16} << 30);

}  // namespace

absl::StatusOr<int64_t> ParseLimit(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text == "max") return -1;
  uint64_t value = 0;
  if (absl::SimpleAtoi(text, &value)) {
    return value >= static_cast<uint64_t>(kUnlimited) ? -1 : static_cast<int64_t>(value);
  }
  int64_t negative = 0;
  if (absl::SimpleAtoi(text, &negative) && negative < 0) return -1;
  return absl::InternalError(absl::StrCat("\"", text, "\" is no cgroup limit"));
}

std::string FormatLimit(int64_t limit) {
  return limit < 0 ? "max" : absl::StrCat(limit);
}

absl::StatusOr<CpuMax> ParseCpuMax(absl::string_view text) {
  const std::vector<std::string> words = ParseWords(text);
  CpuMax max;
  if (words.size() != 2 || !absl::SimpleAtoi(words[1], &max.period_us)) {
    return absl::InternalError(absl::StrCat("cpu.max: not understood: \"", text, "\""));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(max.quota_us, ParseLimit(words[0]));
  return max;
}

std::optional<uint64_t> FindKey(absl::string_view text, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    uint64_t value = 0;
    if (absl::ConsumePrefix(&line, key) && absl::ConsumePrefix(&line, " ") &&
        absl::SimpleAtoi(line, &value)) {
      return value;
    }
  }
  return std::nullopt;
}

absl::Status RefuseToStarve(const std::string& group, int64_t limit, int64_t usage,
                            int64_t droppable) {
  if (limit < 0 || usage - droppable <= limit) return absl::OkStatus();
  const auto words = [](int64_t bytes) { return BytesInWords(static_cast<uint64_t>(bytes)); };
  return absl::FailedPreconditionError(
      absl::StrCat("memory limit ", words(limit), ": cgroup ", group, " uses ", words(usage),
                   ", and only ", words(std::min(usage, droppable)), " can be reclaimed"));
}

absl::StatusOr<Pressure> ParsePressure(absl::string_view text) {
  Pressure pressure;
  bool any = false;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const std::vector<std::string> words = ParseWords(line);
    PressureLine read;
    bool whole = words.size() == 5 && (words[0] == "some" || words[0] == "full");
    const std::pair<absl::string_view, double*> averages[] = {
        {"avg10=", &read.avg10}, {"avg60=", &read.avg60}, {"avg300=", &read.avg300}};
    for (size_t i = 0; whole && i < 3; ++i) {
      absl::string_view word = words[i + 1];
      whole = absl::ConsumePrefix(&word, averages[i].first) &&
              absl::SimpleAtod(word, averages[i].second);
    }
    absl::string_view total = whole ? absl::string_view(words[4]) : absl::string_view();
    if (!absl::ConsumePrefix(&total, "total=") || !absl::SimpleAtoi(total, &read.total_us)) {
      return absl::InternalError(absl::StrCat("\"", line, "\" is no line of a pressure file"));
    }
    (words[0] == "some" ? pressure.some : pressure.full) = read;
    any = true;
  }
  if (!any) return absl::InternalError("a pressure file is empty");
  return pressure;
}

absl::StatusOr<std::vector<pid_t>> ParseProcesses(absl::string_view text) {
  std::vector<pid_t> pids;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(line, &pid) || pid < 0) {
      return absl::InternalError(absl::StrCat("cgroup.procs: not a pid: \"", line, "\""));
    }
    if (pid != 0) pids.push_back(pid);
  }
  return pids;
}

absl::StatusOr<std::string> ParseOwnGroup(absl::string_view text, absl::string_view controller) {
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::MaxSplits(':', 2));  // a path may hold colons
    if (fields.size() != 3) continue;
    for (const absl::string_view name : absl::StrSplit(fields[1], ',')) {
      if (name == controller) return std::string(fields[2]);
    }
  }
  return absl::NotFoundError(absl::StrCat("no cgroup hierarchy with controller \"", controller,
                                          "\" in /proc/<pid>/cgroup"));
}

std::vector<std::string> ParseWords(absl::string_view text) {
  return absl::StrSplit(text, absl::ByAnyChar(" \n\t"), absl::SkipEmpty());
}

std::optional<std::string> HugetlbPageSize(absl::string_view file, absl::string_view suffix) {
  if (!absl::ConsumePrefix(&file, "hugetlb.") || !absl::ConsumeSuffix(&file, suffix) ||
      file.empty() || file.find('.') != absl::string_view::npos) {
    return std::nullopt;
  }
  return std::string(file);
}

}  // namespace plimsoll::linux
