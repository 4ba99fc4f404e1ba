// /proc/<pid>/mountinfo, proc(5).
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::linux {
namespace {

// The kernel writes space, tab, newline and backslash in a path as a backslash and three octal
// digits.
std::string Unescape(absl::string_view text) {
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && octal(text[i + 1]) && octal(text[i + 2]) &&
        octal(text[i + 3])) {
      plain.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                        (text[i + 3] - '0')));
      i += 3;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

// 36 35 98:0 /root /mnt/point rw,noatime master:1 - ext4 /dev/root rw,errors=continue
// id parent dev root mount_point options [optional...] - type source super_options
absl::StatusOr<MountInfo> ParseMount(absl::string_view line) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
  const auto dash = absl::c_find(fields, "-");
  MountInfo mount;
  // The source may be an empty string, so fields after the dash are counted, not skipped.
  if (dash - fields.begin() < 6 || fields.end() - dash < 4 ||
      !absl::SimpleAtoi(fields[0], &mount.id) || !absl::SimpleAtoi(fields[1], &mount.parent_id)) {
    return absl::InvalidArgumentError(absl::StrCat("mountinfo: not understood: \"", line, "\""));
  }
  mount.root = Unescape(fields[3]);
  mount.mount_point = Unescape(fields[4]);
  mount.options = absl::StrSplit(fields[5], ',');
  for (auto field = fields.begin() + 6; field != dash; ++field) {
    if (absl::StartsWith(*field, "shared:")) mount.shared = true;
    if (absl::StartsWith(*field, "master:")) mount.slave = true;
  }
  mount.fs_type = Unescape(dash[1]);
  mount.source = Unescape(dash[2]);
  mount.super_options = absl::StrSplit(dash[3], ',');
  return mount;
}

}  // namespace

absl::StatusOr<std::vector<MountInfo>> ParseMountInfo(absl::string_view text) {
  std::vector<MountInfo> mounts;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    PLIMSOLL_ASSIGN_OR_RETURN(MountInfo mount, ParseMount(line));
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

absl::StatusOr<MountInfo> MountOf(const FsRoot& root, const UniqueFd& file) {
  struct statx info = {};
  if (statx(file.get(), "", AT_EMPTY_PATH, STATX_MNT_ID, &info) != 0) {
    return ErrnoStatus(errno, "find the mount of a file");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<MountInfo> mounts, ReadMounts(root));
  for (MountInfo& mount : mounts) {
    if (static_cast<uint64_t>(mount.id) == info.stx_mnt_id) return std::move(mount);
  }
  return absl::FailedPreconditionError("a file is on a mount that this process doesn't see");
}

absl::StatusOr<std::string> PathOfDescriptor(const UniqueFd& file) {
  char path[PATH_MAX];
  const std::string link = absl::StrCat("/proc/self/fd/", file.get());
  const ssize_t size = readlink(link.c_str(), path, sizeof(path));
  if (size < 0) return ErrnoStatus(errno, "find the path of a file");
  return std::string(path, static_cast<size_t>(size));
}

absl::StatusOr<std::vector<MountInfo>> ReadMounts(const FsRoot& root) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, root.Read("proc/self/mountinfo"));
  return ParseMountInfo(text);
}

}  // namespace plimsoll::linux
