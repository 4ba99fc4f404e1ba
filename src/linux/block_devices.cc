#include "linux/block_devices.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "linux/name_pattern.h"

namespace plimsoll::linux {
namespace {

constexpr char kByNumber[] = "sys/dev/block/";
// The most directories and names examined for one pattern: some tenths of a second.
constexpr size_t kMostLooks = 100'000;

// The scheduler in brackets of "none [mq-deadline] bfq". A device that takes requests without a
// queue (md, most of dm, zram) has no such file, or "none" in it.
std::string ActiveScheduler(absl::string_view text) {
  for (absl::string_view word : absl::StrSplit(absl::StripAsciiWhitespace(text), ' ')) {
    if (word.size() > 2 && word.front() == '[' && word.back() == ']') {
      return std::string(word.substr(1, word.size() - 2));
    }
  }
  return std::string(absl::StripAsciiWhitespace(text));
}

absl::StatusOr<Disk> ReadDisk(const FsRoot& host, const DeviceNumber& number) {
  const std::string directory = absl::StrCat(kByNumber, FormatDeviceNumber(number));
  Disk disk{.number = number};
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string link, host.ReadLink(directory));
  disk.name = link.substr(link.rfind('/') + 1);
  const auto scheduler = host.Read(absl::StrCat(directory, "/queue/scheduler"));
  if (scheduler.ok()) disk.scheduler = ActiveScheduler(*scheduler);
  return disk;
}

// "sys/dev/block/8:1" is a link to ".../block/sda/sda1": a partition's directory is in its disk's.
absl::StatusOr<DeviceNumber> ReadDiskOf(const FsRoot& host, const DeviceNumber& number) {
  const std::string directory = absl::StrCat(kByNumber, FormatDeviceNumber(number));
  if (!host.Exists(absl::StrCat(directory, "/partition"))) return number;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, host.Read(absl::StrCat(directory, "/../dev")));
  return ParseDeviceNumber(absl::StripAsciiWhitespace(text));
}

bool HasWildcard(absl::string_view component) {
  return component.find_first_of("*?[\\") != absl::string_view::npos;
}

// Glob with an error: RESOURCE_EXHAUSTED for a pattern such as "/*/*/*/*", INVALID_ARGUMENT for one
// that is malformed. Glob returns nothing for them.
absl::StatusOr<std::vector<std::string>> TryGlob(const FsRoot& host, absl::string_view pattern) {
  std::vector<std::string> paths = {""};
  size_t looks_left = kMostLooks;
  // A file's path can't end with a slash.
  if (absl::EndsWith(pattern, "/")) return std::vector<std::string>();
  for (absl::string_view part : absl::StrSplit(pattern, '/', absl::SkipEmpty())) {
    const std::string component(part);
    std::vector<std::string> longer;
    PLIMSOLL_ASSIGN_OR_RETURN(const NamePattern names_pattern, NamePattern::Parse(component));
    for (const std::string& path : paths) {
      if (!HasWildcard(component)) {
        longer.push_back(absl::StrCat(path, "/", component));
        continue;
      }
      const auto names = host.List(path.empty() ? "." : path);
      const size_t looks = 1 + (names.ok() ? names->size() : 0);
      if (looks > looks_left) {
        return absl::ResourceExhaustedError(
            absl::StrCat("it would examine more than ", kMostLooks, " names"));
      }
      looks_left -= looks;
      if (!names.ok()) continue;  // not a directory, or gone
      for (const std::string& name : *names) {
        if (names_pattern.Matches(name)) longer.push_back(absl::StrCat(path, "/", name));
      }
    }
    paths = std::move(longer);
  }
  // A dangling link stays: the caller reports it.
  std::erase_if(paths, [&](const std::string& path) {
    return path.empty() || (!host.Exists(path) && !host.ReadLink(path).ok());
  });
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

std::string FormatDeviceNumber(const DeviceNumber& number) {
  return absl::StrCat(number.major, ":", number.minor);
}

absl::StatusOr<DeviceNumber> ParseDeviceNumber(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  DeviceNumber number;
  if (parts.size() == 2 && absl::SimpleAtoi(parts[0], &number.major) &&
      absl::SimpleAtoi(parts[1], &number.minor)) {
    return number;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is no device number (\"major:minor\")"));
}

absl::StatusOr<BlockDevices> BlockDevices::Scan(const FsRoot& host) {
  BlockDevices devices(host);
  const absl::StatusOr<std::vector<std::string>> numbers = host.List(kByNumber);
  if (absl::IsNotFound(numbers.status())) return devices;
  PLIMSOLL_RETURN_IF_ERROR(numbers.status());
  for (const std::string& text : *numbers) {
    PLIMSOLL_ASSIGN_OR_RETURN(const DeviceNumber number, ParseDeviceNumber(text));
    const auto disk_number = ReadDiskOf(host, number);
    if (absl::IsNotFound(disk_number.status())) continue;
    PLIMSOLL_RETURN_IF_ERROR(disk_number.status());
    if (*disk_number == number) {
      auto disk = ReadDisk(host, number);
      if (absl::IsNotFound(disk.status())) continue;
      PLIMSOLL_RETURN_IF_ERROR(disk.status());
      devices.disks_.push_back(*std::move(disk));
    }
    devices.disk_of_[number] = *disk_number;
  }
  std::sort(devices.disks_.begin(), devices.disks_.end(),
            [](const Disk& a, const Disk& b) { return a.number < b.number; });
  return devices;
}

const Disk* BlockDevices::DiskOf(const DeviceNumber& number) const {
  const auto at = disk_of_.find(number);
  if (at == disk_of_.end()) return nullptr;
  const auto disk =
      std::lower_bound(disks_.begin(), disks_.end(), at->second,
                       [](const Disk& each, const DeviceNumber& n) { return each.number < n; });
  return disk != disks_.end() && disk->number == at->second ? &*disk : nullptr;
}

absl::StatusOr<DeviceMatch> BlockDevices::Match(absl::string_view pattern) const {
  if (pattern.empty() || pattern.front() != '/') {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", pattern, "\" is no absolute path such as /dev/sda or /dev/disk/by-id/*"));
  }
  DeviceMatch match;
  std::set<DeviceNumber> found;
  match.problem = "nothing matches";
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> paths, TryGlob(host_, pattern));
  for (const std::string& path : paths) {
    const absl::StatusOr<struct stat> info = host_.Stat(path);
    if (!info.ok() || !S_ISBLK(info->st_mode)) {
      match.problem = absl::StrCat(path, info.ok() ? " is no block device" : " leads nowhere");
      continue;
    }
    const DeviceNumber number{major(info->st_rdev), minor(info->st_rdev)};
    const Disk* disk = DiskOf(number);
    if (disk == nullptr) {
      match.problem = absl::StrCat(path, ": the kernel has no device ", FormatDeviceNumber(number));
    } else if (found.insert(disk->number).second) {
      match.disks.push_back(*disk);
    }
  }
  if (!match.disks.empty()) match.problem.clear();
  std::sort(match.disks.begin(), match.disks.end(),
            [](const Disk& a, const Disk& b) { return a.number < b.number; });
  return match;
}

std::vector<std::string> Glob(const FsRoot& host, absl::string_view pattern) {
  return TryGlob(host, pattern).value_or(std::vector<std::string>());
}

bool HasIoCost(absl::string_view io_cost_qos, const DeviceNumber& disk) {
  for (absl::string_view line : absl::StrSplit(io_cost_qos, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipWhitespace());
    if (words.empty() || words[0] != FormatDeviceNumber(disk)) continue;
    return std::find(words.begin(), words.end(), "enable=1") != words.end();
  }
  return false;
}

}  // namespace plimsoll::linux
