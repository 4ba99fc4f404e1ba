#include "linux/cgroup/merge.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "linux/cgroup/files.h"
#include "linux/cgroup/line_files.h"

namespace plimsoll::linux {
namespace {

constexpr char kCpuMax[] = "cpu.max";
constexpr char kCpuWeight[] = "cpu.weight";
constexpr char kCpuWeightNice[] = "cpu.weight.nice";
constexpr char kCpuIdle[] = "cpu.idle";
constexpr char kCpus[] = "cpuset.cpus";
constexpr char kMems[] = "cpuset.mems";
constexpr char kMemory[] = "memory.max";
constexpr char kSwap[] = "memory.swap.max";
constexpr char kPids[] = "pids.max";
constexpr char kHugetlbSuffix[] = ".max";

bool IsFinite(const std::optional<int64_t>& limit) {
  return limit.has_value() && *limit >= 0;
}

int64_t Sum(int64_t one, int64_t other) {
  return one + std::min(other, std::numeric_limits<int64_t>::max() - one);
}

// Parses a number of bytes as memory.max does: any base of C, and a suffix ("64M", lib/cmdline.c
// memparse). -1 for "max".
std::optional<int64_t> ParseBytes(absl::string_view text) {
  const std::string value(absl::StripAsciiWhitespace(text));
  if (value == "max") return -1;
  if (value.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(value[0]))) {
    return std::nullopt;
  }
  char* end = nullptr;
  errno = 0;
  uint64_t bytes = strtoull(value.c_str(), &end, 0);
  if (errno != 0) return std::nullopt;
  const absl::string_view suffix = end;
  if (!suffix.empty()) {
    const size_t power = absl::string_view("kmgtpe").find(
        absl::ascii_tolower(static_cast<unsigned char>(suffix[0])));
    if (suffix.size() != 1 || power == absl::string_view::npos) return std::nullopt;
    const unsigned shift = 10 * (static_cast<unsigned>(power) + 1);
    if (bytes > std::numeric_limits<uint64_t>::max() >> shift) return std::nullopt;
    bytes <<= shift;
  }
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::min(bytes, kMost));
}

template <typename T>
bool Overlay(const std::optional<T>& from, std::optional<T>* to) {
  if (from.has_value()) *to = from;
  return from.has_value();
}

template <typename T>
void OverlayFile(const std::optional<T>& from, const char* file, std::optional<T>* to,
                 CgroupSettings* settings) {
  if (Overlay(from, to)) settings->unified.erase(file);
}

// --- memory on v2: the kernel limits swap alone, the client memory and swap together

std::optional<int64_t> MemoryOf(const CgroupSettings& settings) {
  const auto raw = settings.unified.find(kMemory);
  return raw != settings.unified.end() ? ParseBytes(raw->second) : settings.memory_limit_bytes;
}

// The value of memory.swap.max for a finite limit of memory and swap; nullopt where it isn't known.
std::optional<int64_t> SwapAlone(const CgroupSettings& settings) {
  const std::optional<int64_t> memory = MemoryOf(settings);
  const std::optional<int64_t>& both = settings.memory_swap_limit_bytes;
  if (!IsFinite(both) || !IsFinite(memory) || *both < *memory) return std::nullopt;
  return *both - *memory;
}

// Replaces memory and swap by a raw swap limit, whatever the memory limit is. An unknown size stays
// as the kernel has it.
void KeepSwapAlone(std::optional<int64_t> swap, CgroupSettings* settings) {
  settings->memory_swap_limit_bytes.reset();
  if (swap.has_value()) settings->unified[kSwap] = FormatLimit(*swap);
}

void MergeMemory(const CgroupSettings& update, CgroupSettings* settings) {
  const std::optional<int64_t> swap = SwapAlone(*settings);
  OverlayFile(update.memory_limit_bytes, kMemory, &settings->memory_limit_bytes, settings);
  OverlayFile(update.memory_swap_limit_bytes, kSwap, &settings->memory_swap_limit_bytes, settings);
  std::optional<int64_t>& both = settings->memory_swap_limit_bytes;
  if (!IsFinite(both)) return;
  if (update.memory_swap_limit_bytes.has_value()) {
    if (settings->unified.contains(kMemory)) KeepSwapAlone(SwapAlone(*settings), settings);
  } else if (update.memory_limit_bytes.has_value()) {
    if (swap.has_value() && *update.memory_limit_bytes >= 0) {
      both = Sum(*update.memory_limit_bytes, *swap);
    } else {
      KeepSwapAlone(swap, settings);
    }
  }
}

// --- cpu.max, which holds two members

void TakeApartCpuMax(CgroupSettings* settings) {
  const auto raw = settings->unified.find(kCpuMax);
  if (raw == settings->unified.end()) return;
  const std::vector<std::string> words = ParseWords(raw->second);
  settings->unified.erase(raw);
  int64_t quota = 0;
  if (!words.empty() && words[0] == "max") settings->cpu_quota_us = -1;
  if (!words.empty() && absl::SimpleAtoi(words[0], &quota)) settings->cpu_quota_us = quota;
  uint64_t period = 0;
  if (words.size() > 1 && absl::SimpleAtoi(words[1], &period)) settings->cpu_period_us = period;
}

std::string CpuMaxWithPeriod(const std::string& value, CgroupSettings settings) {
  TakeApartCpuMax(&settings);
  if (ParseWords(value).size() != 1 || !settings.cpu_period_us.has_value()) return value;
  return absl::StrCat(absl::StripAsciiWhitespace(value), " ", *settings.cpu_period_us);
}

// --- files with lines

using Line = std::pair<std::string, std::string>;  // key and the rest

std::vector<Line> LinesOf(absl::string_view text) {
  std::vector<Line> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const std::vector<std::string> words = ParseWords(line);
    // "100" alone is "default 100" (Documentation/admin-guide/cgroup-v2.rst, "io.weight").
    if (words.size() == 1) {
      lines.emplace_back("default", words[0]);
    } else {
      lines.emplace_back(words[0], absl::StrJoin(words.begin() + 1, words.end(), " "));
    }
  }
  return lines;
}

std::string MergeWords(const std::string& before, const std::string& after) {
  if (!absl::StrContains(before, '=') || !absl::StrContains(after, '=')) return after;
  std::vector<std::string> words = ParseWords(before);
  for (const std::string& word : ParseWords(after)) {
    const std::string key = word.substr(0, word.find('=') + 1);
    const auto same = absl::c_find_if(
        words, [&](const std::string& each) { return absl::StartsWith(each, key); });
    if (same != words.end()) {
      *same = word;
    } else {
      words.push_back(word);
    }
  }
  return absl::StrJoin(words, " ");
}

// A line of words "key=value" leaves other keys alone.
std::string MergeLines(const std::string& before, const std::string& after) {
  std::vector<Line> lines = LinesOf(before);
  for (const auto& [key, rest] : LinesOf(after)) {
    const auto same =
        absl::c_find_if(lines, [&key = key](const Line& line) { return line.first == key; });
    if (same != lines.end()) {
      same->second = MergeWords(same->second, rest);
    } else {
      lines.emplace_back(key, rest);
    }
  }
  return absl::StrJoin(lines, "\n", absl::PairFormatter(" "));
}

// --- all of it

void MergeMembers(const CgroupSettings& update, CgroupSettings* settings) {
  OverlayFile(update.cpu_shares, kCpuWeight, &settings->cpu_shares, settings);
  if (update.cpu_shares) settings->unified.erase(kCpuWeightNice);
  if (update.cpu_quota_us || update.cpu_period_us) TakeApartCpuMax(settings);
  Overlay(update.cpu_quota_us, &settings->cpu_quota_us);
  Overlay(update.cpu_period_us, &settings->cpu_period_us);
  OverlayFile(update.cpuset_cpus, kCpus, &settings->cpuset_cpus, settings);
  OverlayFile(update.cpuset_mems, kMems, &settings->cpuset_mems, settings);
  OverlayFile(update.pids_limit, kPids, &settings->pids_limit, settings);
  for (const auto& [size, limit] : update.hugetlb_limits) {
    settings->hugetlb_limits[size] = limit;
    settings->unified.erase(absl::StrCat("hugetlb.", size, kHugetlbSuffix));
  }
  MergeMemory(update, settings);
}

void MergeFile(const std::string& file, const std::string& value, CgroupSettings* settings) {
  std::string merged = value;
  if (file == kCpuMax) {
    merged = CpuMaxWithPeriod(value, *settings);
    settings->cpu_quota_us.reset();
    settings->cpu_period_us.reset();
  } else if (file == kCpuWeight || file == kCpuWeightNice ||
             (file == kCpuIdle && absl::StripAsciiWhitespace(value) != "0")) {
    settings->cpu_shares.reset();  // an idle group has a weight of its own, and takes no other
    settings->unified.erase(kCpuWeight);
    settings->unified.erase(kCpuWeightNice);
  } else if (file == kCpus) {
    settings->cpuset_cpus.reset();
  } else if (file == kMems) {
    settings->cpuset_mems.reset();
  } else if (file == kPids) {
    settings->pids_limit.reset();
  } else if (file == kMemory) {
    if (IsFinite(settings->memory_swap_limit_bytes)) KeepSwapAlone(SwapAlone(*settings), settings);
    settings->memory_limit_bytes.reset();
  } else if (file == kSwap) {
    settings->memory_swap_limit_bytes.reset();
  } else if (const auto size = HugetlbPageSize(file, kHugetlbSuffix); size.has_value()) {
    settings->hugetlb_limits.erase(*size);
  } else if (LineReset(file).has_value()) {
    const auto before = settings->unified.find(file);
    if (before != settings->unified.end()) merged = MergeLines(before->second, value);
  }
  settings->unified[file] = merged;
}

void MergeV1(const CgroupSettings& update, CgroupSettings* settings) {
  const std::optional<int64_t> memory = settings->memory_limit_bytes;
  MergeInto(update, settings);
  std::optional<int64_t>& both = settings->memory_swap_limit_bytes;
  if (!update.memory_limit_bytes || update.memory_swap_limit_bytes || !IsFinite(both)) return;
  if (*update.memory_limit_bytes < 0) {
    // Without swap in the sum, the next memory limit decides how much is swapped.
    both = both == memory ? std::nullopt : std::optional<int64_t>(-1);
  } else if (*both < *update.memory_limit_bytes) {
    if (IsFinite(memory)) {
      both = Sum(*update.memory_limit_bytes, *both - *memory);
    } else {
      both.reset();
    }
  }
}

}  // namespace

void Settle(CgroupLayout layout, CgroupSettings* settings) {
  if (layout == CgroupLayout::kV2) {
    std::map<std::string, std::string> files;
    files.swap(settings->unified);
    for (const auto& [file, value] : files) MergeFile(file, value, settings);
  }
  const std::optional<int64_t>& memory = settings->memory_limit_bytes;
  std::optional<int64_t>& both = settings->memory_swap_limit_bytes;
  if (IsFinite(both) && memory.has_value() && (*memory < 0 || *both < *memory)) both.reset();
}

void MergeUpdate(const CgroupSettings& update, CgroupLayout layout, CgroupSettings* settings) {
  Settle(layout, settings);
  if (layout != CgroupLayout::kV2) return MergeV1(update, settings);
  MergeMembers(update, settings);
  for (const auto& [file, value] : update.unified) MergeFile(file, value, settings);
}

}  // namespace plimsoll::linux
