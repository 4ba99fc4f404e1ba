#include "image/user_lookup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/text/printable.h"

namespace plimsoll::image {
namespace {

constexpr size_t kMaxUsersBytes = 16 * 1024 * 1024;
constexpr size_t kMaxGroups = 65536;  // NGROUPS_MAX, limits.h: setgroups(2) takes no more
constexpr uint32_t kMaxId = std::numeric_limits<uint32_t>::max() - 1;  // -1 means "leave as it is"

struct PasswdEntry {
  std::string name;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::string home;
};

bool ParseId(absl::string_view text, uint32_t* id) {
  if (text.empty() || text.find_first_not_of("0123456789") != absl::string_view::npos) return false;
  return absl::SimpleAtoi(text, id) && *id <= kMaxId;
}

bool AllDigits(absl::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos;
}

// name:password:uid:gid:comment:home:shell
std::optional<PasswdEntry> ParsePasswdLine(absl::string_view line) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, ':');
  PasswdEntry entry;
  if (fields.size() < 6 || fields[0].empty() || !ParseId(fields[2], &entry.uid) ||
      !ParseId(fields[3], &entry.gid)) {
    return std::nullopt;
  }
  entry.name = std::string(fields[0]);
  entry.home = std::string(fields[5]);
  return entry;
}

template <typename Matches>
std::optional<PasswdEntry> FindPasswd(absl::string_view text, const Matches& matches) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    std::optional<PasswdEntry> entry = ParsePasswdLine(line);
    if (entry.has_value() && matches(*entry)) return entry;
  }
  return std::nullopt;
}

// The group `name` of a group file: name:password:gid:members
std::optional<uint32_t> FindGroup(absl::string_view name, absl::string_view text) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ':');
    uint32_t gid = 0;
    if (fields.size() >= 3 && fields[0] == name && ParseId(fields[2], &gid)) return gid;
  }
  return std::nullopt;
}

absl::StatusOr<uint32_t> ResolveGroup(absl::string_view group, absl::string_view group_text) {
  if (AllDigits(group)) {
    uint32_t number = 0;
    if (ParseId(group, &number)) return number;
    return absl::InvalidArgumentError(
        absl::StrCat("group ", group, " is above the highest group id, ", kMaxId));
  }
  if (std::optional<uint32_t> gid = FindGroup(group, group_text); gid.has_value()) return *gid;
  return absl::NotFoundError(absl::StrCat("group \"", Printable(group),
                                          "\" is not in the image's /etc/group; use its number"));
}

absl::StatusOr<std::optional<PasswdEntry>> ResolveName(absl::string_view user,
                                                       absl::string_view passwd_text,
                                                       uint32_t* uid) {
  if (AllDigits(user)) {
    if (ParseId(user, uid)) {
      return FindPasswd(passwd_text, [uid](const PasswdEntry& e) { return e.uid == *uid; });
    }
    return absl::InvalidArgumentError(
        absl::StrCat("user ", user, " is above the highest user id, ", kMaxId));
  }
  std::optional<PasswdEntry> entry =
      FindPasswd(passwd_text, [user](const PasswdEntry& e) { return e.name == user; });
  if (entry.has_value()) {
    *uid = entry->uid;
    return entry;
  }
  return absl::NotFoundError(absl::StrCat("user \"", Printable(user),
                                          "\" is not in the image's /etc/passwd; use its number"));
}

absl::Status CheckRegular(const FsRoot& rootfs, absl::string_view path, int fd) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) {
    return ErrnoStatus(errno, absl::StrCat("stat ", rootfs.PathOf(path)));
  }
  if (S_ISREG(info.st_mode)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(rootfs.PathOf(path), " of the image is not a regular file"));
}

}  // namespace

std::vector<uint32_t> GroupsOf(absl::string_view user_name, absl::string_view group_text) {
  std::vector<uint32_t> gids;
  for (absl::string_view line : absl::StrSplit(group_text, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ':');
    uint32_t gid = 0;
    if (fields.size() < 4 || !ParseId(fields[2], &gid)) continue;
    for (absl::string_view member : absl::StrSplit(fields[3], ',')) {
      if (member == user_name && gids.size() < kMaxGroups) gids.push_back(gid);
    }
  }
  std::sort(gids.begin(), gids.end());
  gids.erase(std::unique(gids.begin(), gids.end()), gids.end());
  return gids;
}

absl::StatusOr<ResolvedUser> ResolveUser(absl::string_view spec, absl::string_view passwd_text,
                                         absl::string_view group_text) {
  const size_t colon = spec.find(':');
  absl::string_view user = spec.substr(0, colon);
  const absl::string_view group =
      colon == absl::string_view::npos ? absl::string_view() : spec.substr(colon + 1);
  const bool has_group = !group.empty();
  if (group.find(':') != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("user \"", Printable(spec), "\" is malformed; valid is user, or user:group"));
  }
  if (user.empty()) user = "0";

  ResolvedUser resolved;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<PasswdEntry> entry,
                            ResolveName(user, passwd_text, &resolved.uid));
  if (entry.has_value()) {
    resolved.gid = entry->gid;
    if (!entry->home.empty()) resolved.home = entry->home;
    if (!has_group) resolved.additional_gids = GroupsOf(entry->name, group_text);
  }
  if (has_group) {
    PLIMSOLL_ASSIGN_OR_RETURN(resolved.gid, ResolveGroup(group, group_text));
  }
  auto& gids = resolved.additional_gids;
  gids.erase(std::remove(gids.begin(), gids.end(), resolved.gid), gids.end());
  return resolved;
}

absl::StatusOr<std::string> ReadUserFile(const FsRoot& rootfs, absl::string_view path) {
  const absl::StatusOr<UniqueFd> there = rootfs.OpenFile(path, O_PATH);  // opens no device yet
  if (absl::IsNotFound(there.status())) return std::string();
  PLIMSOLL_RETURN_IF_ERROR(there.status());
  PLIMSOLL_RETURN_IF_ERROR(CheckRegular(rootfs, path, there->get()));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd,
                            rootfs.OpenFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  PLIMSOLL_RETURN_IF_ERROR(CheckRegular(rootfs, path, fd.get()));  // it may have been replaced
  std::string text;
  char buffer[16384];
  while (true) {
    const ssize_t n = read(fd.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("read ", rootfs.PathOf(path)));
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
    if (text.size() > kMaxUsersBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("read ", rootfs.PathOf(path), ": larger than ", kMaxUsersBytes, " bytes"));
    }
  }
}

}  // namespace plimsoll::image
