#include "linux/selinux.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/list_directory.h"
#include "base/random_id.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

constexpr char kXattr[] = "security.selinux";
constexpr char kConfig[] = "etc/selinux/config";
constexpr unsigned long kCategories = 1024;  // of the policies that distributions have
constexpr size_t kMaxText = 64 * 1024;
// Longest path from an open directory: a tree may be deeper than the longest path (PATH_MAX).
constexpr size_t kMaxPathBytes = 2000;

// Paths whose own labels the system needs: Relabel refuses these, but not others below them.
constexpr absl::string_view kSystemPaths[] = {
    "/",     "/bin", "/boot",  "/dev",   "/etc", "/etc/passwd", "/etc/pki", "/etc/shadow",
    "/home", "/lib", "/lib64", "/media", "/opt", "/proc",       "/root",    "/run",
    "/sbin", "/srv", "/sys",   "/tmp",   "/usr", "/var",        "/var/lib", "/var/log"};

// The value of `key = value` or `key="value"` in lines of text; empty if there is none.
std::string ValueOf(absl::string_view text, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, key)) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "=")) continue;
    line = absl::StripAsciiWhitespace(line);
    if (absl::ConsumePrefix(&line, "\"")) line = line.substr(0, line.find('"'));
    return std::string(line);
  }
  return "";
}

// user, role, type and the level, which may have colons itself.
std::vector<std::string> PartsOf(absl::string_view label) {
  return absl::StrSplit(label, absl::MaxSplits(':', 3));
}

bool IsLabel(absl::string_view label) {
  const std::vector<std::string> parts = PartsOf(label);
  return parts.size() >= 3 && absl::c_none_of(parts, [](const std::string& part) {
           return part.empty() || absl::StrContains(part, ' ');
         });
}

absl::Status CheckPart(absl::string_view field, absl::string_view member, const std::string& part,
                       absl::string_view more) {
  const bool good = part.size() <= 255 && absl::c_all_of(part, [&](char c) {
                      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
                             c == '.' || c == '-' || absl::StrContains(more, c);
                    });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ".", member, " is \"", absl::CHexEscape(part),
                   "\"; it must be made of at most 255 letters, digits and \"_.-", more, "\""));
}

std::string LabelWith(absl::string_view label, const SelinuxOptions& options) {
  std::vector<std::string> parts = PartsOf(label);
  const std::string* asked[] = {&options.user, &options.role, &options.type, &options.level};
  for (size_t i = 0; i < parts.size() && i < std::size(asked); ++i) {
    if (!asked[i]->empty()) parts[i] = *asked[i];
  }
  return absl::StrJoin(parts, ":");
}

// Errors of a file that others have just removed or replaced, or that can't have a label.
bool MayBePassedOver(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EOPNOTSUPP;
}

// A file that has the label already is left alone: it may be on a read-only file system. The kernel
// ends labels with a NUL.
bool HasLabel(const std::string& at, absl::string_view label, decltype(getxattr)* read) {
  char text[512];
  const ssize_t size = read(at.c_str(), kXattr, text, sizeof(text));
  return size > 0 && absl::StripSuffix(absl::string_view(text, static_cast<size_t>(size)),
                                       absl::string_view("\0", 1)) == label;
}

absl::Status SetLabelAt(int directory, const std::string& name, const std::string& path,
                        const std::string& label) {
  const std::string at = absl::StrCat("/proc/self/fd/", directory, "/", name);
  if (HasLabel(at, label, lgetxattr)) return absl::OkStatus();
  if (lsetxattr(at.c_str(), kXattr, label.data(), label.size(), 0) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("label ", path, " with ", label));
}

// A directory still to be visited: a path from an open one.
struct Pending {
  FsRoot base;
  std::string path;
};

class Relabeller {
 public:
  // `path`: of `top`, for messages.
  Relabeller(const FsRoot& top, const std::string& path, const std::string& label)
      : path_(path), top_size_(top.path().size()), label_(label), pending_{Pending{top, "."}} {}

  absl::Status Run() {
    while (!pending_.empty()) {
      const Pending next = std::move(pending_.back());
      pending_.pop_back();
      PLIMSOLL_RETURN_IF_ERROR(Visit(next));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Visit(const Pending& directory) {
    const std::string path =
        absl::StrCat(path_, directory.base.PathOf(directory.path).substr(top_size_));
    const absl::StatusOr<UniqueFd> fd =
        directory.base.OpenFile(directory.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!fd.ok()) return MayBePassedOver(ErrnoOf(fd.status())) ? absl::OkStatus() : fd.status();
    UniqueFd listed(fcntl(fd->get(), F_DUPFD_CLOEXEC, 0));
    if (!listed.valid()) return ErrnoStatus(errno, absl::StrCat("open ", path));
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                              ListDirectory(std::move(listed), path));
    for (const std::string& name : names) {
      const std::string entry = absl::StrCat(path, "/", name);
      const absl::Status labelled = SetLabelAt(fd->get(), name, entry, label_);
      if (!labelled.ok() && !MayBePassedOver(ErrnoOf(labelled))) return labelled;
      struct stat info = {};
      if (fstatat(fd->get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (S_ISDIR(info.st_mode)) PLIMSOLL_RETURN_IF_ERROR(Push(directory, name));
    }
    return absl::OkStatus();
  }

  absl::Status Push(const Pending& directory, const std::string& name) {
    if (directory.path.size() + name.size() < kMaxPathBytes) {
      pending_.push_back({directory.base, absl::StrCat(directory.path, "/", name)});
      return absl::OkStatus();
    }
    absl::StatusOr<FsRoot> base = directory.base.Sub(directory.path);
    if (!base.ok() && MayBePassedOver(ErrnoOf(base.status()))) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(base.status());
    pending_.push_back({*std::move(base), name});
    return absl::OkStatus();
  }

  const std::string path_;
  const size_t top_size_;
  const std::string label_;
  std::vector<Pending> pending_;
};

}  // namespace

bool HasSelinux(const FsRoot& root) {
  return root.Exists("sys/fs/selinux/enforce") && root.Exists(kConfig);
}

absl::StatusOr<SelinuxLabels> ReadSelinuxLabels(const FsRoot& root) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string config, root.Read(kConfig, kMaxText));
  const std::string policy = ValueOf(config, "SELINUXTYPE");
  if (policy.empty() || absl::StrContains(policy, '/') || policy[0] == '.') {
    return absl::FailedPreconditionError(
        absl::StrCat("/", kConfig, " names no policy (SELINUXTYPE)"));
  }
  const std::string file = absl::StrCat("etc/selinux/", policy, "/contexts/lxc_contexts");
  const absl::StatusOr<std::string> contexts = root.Read(file, kMaxText);
  if (!contexts.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the policy ", policy, " has no labels for containers: ", contexts.status().message()));
  }
  SelinuxLabels labels = {ValueOf(*contexts, "process"), ValueOf(*contexts, "file")};
  if (IsLabel(labels.process) && IsLabel(labels.file)) return labels;
  return absl::FailedPreconditionError(
      absl::StrCat("/", file, " has no labels \"process\" and \"file\""));
}

absl::StatusOr<SelinuxLabels> LabelsWith(absl::string_view field, const SelinuxLabels& labels,
                                         const SelinuxOptions& options) {
  PLIMSOLL_RETURN_IF_ERROR(CheckPart(field, "user", options.user, ""));
  PLIMSOLL_RETURN_IF_ERROR(CheckPart(field, "role", options.role, ""));
  PLIMSOLL_RETURN_IF_ERROR(CheckPart(field, "type", options.type, ""));
  PLIMSOLL_RETURN_IF_ERROR(CheckPart(field, "level", options.level, ":,"));
  return SelinuxLabels{LabelWith(labels.process, options),
                       LabelWith(labels.file, {.user = options.user, .level = options.level})};
}

bool HasLevel(absl::string_view label) {
  return PartsOf(label).size() == 4;
}

std::string RandomLevel(absl::string_view label) {
  if (!HasLevel(label)) return "";
  const std::string level = PartsOf(label)[3];
  // The sensitivity of the low end, if the level is a range.
  const std::string sensitivity = level.substr(0, level.find_first_of("-:"));
  const unsigned long chance = std::stoul(RandomId().substr(0, 8), nullptr, 16);
  const unsigned long one = chance % kCategories;
  const unsigned long other = (one + 1 + chance / kCategories % (kCategories - 1)) % kCategories;
  return absl::StrCat(sensitivity, ":c", std::min(one, other), ",c", std::max(one, other));
}

absl::Status SetFileLabel(const FsRoot& root, absl::string_view path, const std::string& label) {
  return SetLabelAt(root.fd(), std::string(path), root.PathOf(path), label);
}

absl::Status Relabel(const UniqueFd& file, const std::string& path, const std::string& label) {
  if (absl::c_linear_search(kSystemPaths, path)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not relabelled: the system needs its labels as they are"));
  }
  const std::string at = absl::StrCat("/proc/self/fd/", file.get());
  const auto error = [&](const char* what) {
    return ErrnoStatus(errno, absl::StrCat(what, " ", path));
  };
  // This link is the kernel's, and leads to the open file.
  if (!HasLabel(at, label, getxattr) &&
      setxattr(at.c_str(), kXattr, label.data(), label.size(), 0) != 0 && errno != EOPNOTSUPP) {
    return error("label");
  }
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return error("look at");
  if (!S_ISDIR(info.st_mode)) return absl::OkStatus();
  const absl::StatusOr<FsRoot> directory = FsRoot::Open(at);
  if (!directory.ok()) return Annotate(directory.status(), path);
  return Annotate(Relabeller(*directory, path, label).Run(), absl::StrCat("relabel ", path));
}

}  // namespace plimsoll::linux
