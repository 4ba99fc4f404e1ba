#include "linux/resctrl.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/fault_injection.h"
#include "base/status.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::linux {
namespace {

// The kernel's own directories in a group.
bool IsKernels(absl::string_view name) {
  return name == "info" || name == "mon_groups" || name == "mon_data";
}

std::string In(const std::string& group, absl::string_view file) {
  return group.empty() ? std::string(file) : absl::StrCat(group, "/", file);
}

absl::StatusOr<std::vector<std::string>> Directories(const FsRoot& fs, const std::string& below) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                            fs.List(below.empty() ? "." : below));
  std::vector<std::string> directories;
  for (const std::string& name : names) {
    const auto status = fs.Stat(In(below, name));
    if (status.ok() && S_ISDIR(status->st_mode)) directories.push_back(name);
  }
  return directories;
}

}  // namespace

std::string MonitoringGroupPath(const std::string& group, const std::string& name) {
  return In(group, absl::StrCat("mon_groups/", name));
}

absl::StatusOr<std::unique_ptr<Resctrl>> Resctrl::Open(const FsRoot& host) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<MountInfo> mounts, ReadMounts(host));
  // The last mount is the visible one.
  const auto mount = std::find_if(mounts.rbegin(), mounts.rend(),
                                  [](const MountInfo& m) { return m.fs_type == "resctrl"; });
  if (mount == mounts.rend()) {
    return absl::FailedPreconditionError(
        "resctrl is not mounted; on a processor with Intel RDT, AMD QoS or Arm MPAM and a kernel "
        "for it: mount -t resctrl resctrl /sys/fs/resctrl");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot fs, host.Sub(mount->mount_point));
  return std::unique_ptr<Resctrl>(new Resctrl(std::move(fs), mount->super_options));
}

absl::StatusOr<std::vector<std::string>> Resctrl::ControlGroups() const {
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> groups, Directories(fs_, ""));
  groups.erase(std::remove_if(groups.begin(), groups.end(),
                              [](const std::string& name) { return IsKernels(name); }),
               groups.end());
  return groups;
}

absl::StatusOr<std::vector<std::string>> Resctrl::MonitoringGroups(const std::string& group) const {
  const std::string directory = In(group, "mon_groups");
  if (!fs_.Exists(directory)) {
    if (HasGroup(group)) return std::vector<std::string>();
    return absl::NotFoundError(absl::StrCat("no resctrl group ", fs_.PathOf(group)));
  }
  return Directories(fs_, directory);
}

bool Resctrl::HasGroup(const std::string& group) const {
  return fs_.Exists(In(group, "tasks"));
}

absl::Status Resctrl::MakeGroup(const std::string& group) const {
  const std::string path = fs_.PathOf(group);
  absl::MutexLock lock(&command_);
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("make", path));
  // The parent directory is the kernel's or was made here; this file system has no symlinks.
  if (mkdirat(fs_.fd(), group.c_str(), 0755) == 0) return absl::OkStatus();
  const int error = errno;
  const std::string what = absl::StrCat("make resctrl group ", path);
  return Explain(error == EBUSY ? absl::ResourceExhaustedError(
                                      absl::StrCat(what, ": no monitoring id is free yet"))
                                : ErrnoStatus(error, what));
}

absl::StatusOr<uint64_t> Resctrl::InodeOf(const std::string& group) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const struct stat directory, fs_.Stat(group));
  return directory.st_ino;
}

absl::Status Resctrl::RemoveGroup(const std::string& group) const {
  absl::MutexLock lock(&command_);
  return Explain(fs_.RemoveDir(group));
}

absl::StatusOr<Schemata> Resctrl::ReadSchemata(const std::string& group) const {
  const std::string file = In(group, "schemata");
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, fs_.Read(file));
  auto schemata = ParseSchemata(text);
  if (!schemata.ok()) return Annotate(schemata.status(), fs_.PathOf(file));
  return schemata;
}

absl::Status Resctrl::WriteSchemata(const std::string& group, const Schemata& schemata) const {
  if (schemata.empty()) return absl::OkStatus();
  absl::MutexLock lock(&command_);
  return Explain(fs_.Write(In(group, "schemata"), SchemataText(schemata)));
}

absl::StatusOr<std::vector<pid_t>> Resctrl::Threads(const std::string& group) const {
  const std::string file = In(group, "tasks");
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, fs_.Read(file));
  std::vector<pid_t> threads;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    pid_t thread = 0;
    if (!absl::SimpleAtoi(line, &thread)) {
      return absl::InternalError(
          absl::StrCat(fs_.PathOf(file), ": \"", line, "\" is no thread id"));
    }
    threads.push_back(thread);
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

absl::StatusOr<Resctrl::TasksFile> Resctrl::OpenTasks(const std::string& group) const {
  const std::string file = In(group, "tasks");
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, fs_.OpenFile(file, O_RDWR));
  return TasksFile(this, fs_.PathOf(file), std::move(fd));
}

std::string Resctrl::TasksPath(const std::string& group) const {
  return fs_.PathOf(In(group, "tasks"));
}

absl::Status Resctrl::TasksFile::Add(pid_t thread) const {
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("write", path_));
  std::array<char, 16> text = {};
  const int length = std::snprintf(text.data(), text.size(), "%d\n", static_cast<int>(thread));
  ssize_t written = -1;
  do {
    written = pwrite(fd_.get(), text.data(), static_cast<size_t>(length), 0);
  } while (written < 0 && errno == EINTR);
  if (written == length) return absl::OkStatus();
  const int error = written < 0 ? errno : EIO;
  const std::string what = absl::StrCat("move thread ", thread, " with ", path_);
  if (error == ESRCH) return absl::NotFoundError(absl::StrCat(what, ": there is no such thread"));
  if (error == ENODEV) {
    return absl::FailedPreconditionError(absl::StrCat(what, ": the group was removed"));
  }
  return resctrl_->Explain(ErrnoStatus(error, what));
}

absl::StatusOr<std::map<std::string, uint64_t>> Resctrl::Counters(const std::string& group) const {
  std::map<std::string, uint64_t> sums;
  const std::string data = In(group, "mon_data");
  if (!fs_.Exists(data)) {
    if (HasGroup(group)) return sums;
    return absl::NotFoundError(absl::StrCat("no resctrl group ", fs_.PathOf(group)));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> domains, Directories(fs_, data));
  for (const std::string& domain : domains) {
    const std::string directory = absl::StrCat(data, "/", domain);
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> events, fs_.List(directory));
    for (const std::string& event : events) {
      // A counter may read "Unavailable" or "Error". A directory is no counter (sub-NUMA clusters
      // have some, whose sum is the file beside them).
      const auto text = fs_.Read(absl::StrCat(directory, "/", event));
      uint64_t value = 0;
      if (text.ok() && absl::SimpleAtoi(*text, &value)) sums[event] += value;
    }
  }
  return sums;
}

std::string Resctrl::LastCommandStatus() const {
  const auto text = fs_.Read("info/last_cmd_status");
  if (!text.ok()) return "";
  const absl::string_view words = absl::StripAsciiWhitespace(*text);
  return words == "ok" ? "" : absl::StrJoin(absl::StrSplit(words, '\n'), "; ");
}

absl::Status Resctrl::Explain(const absl::Status& status) const {
  if (status.ok()) return status;
  const std::string words = LastCommandStatus();
  return words.empty() ? status : AlsoSay(status, absl::StrCat("the kernel says: ", words));
}

absl::Status Resctrl::CopyFiles(const FsRoot& out, const std::string& directory) const {
  const std::string to = In("sys/fs/resctrl", directory);
  PLIMSOLL_RETURN_IF_ERROR(out.MakeDirs(to, 0755));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                            fs_.List(directory.empty() ? "." : directory));
  for (const std::string& name : names) {
    const std::string path = In(directory, name);
    const auto status = fs_.Stat(path);
    if (!status.ok() || !S_ISREG(status->st_mode)) continue;
    // The machine's threads are nobody else's business; the file's existence marks a group.
    auto text = name == "tasks" ? absl::StatusOr<std::string>("") : fs_.Read(path);
    if (!text.ok()) continue;  // not readable: some files are write-only
    PLIMSOLL_RETURN_IF_ERROR(out.ReplaceFile(In(to, name), *text, 0644));
  }
  return absl::OkStatus();
}

absl::Status Resctrl::Capture(const FsRoot& out) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> groups, ControlGroups());
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> resources, Directories(fs_, "info"));
  for (const std::string& resource : resources) {
    PLIMSOLL_RETURN_IF_ERROR(CopyFiles(out, In("info", resource)));
  }
  PLIMSOLL_RETURN_IF_ERROR(CopyFiles(out, ""));
  for (const std::string& group : groups) PLIMSOLL_RETURN_IF_ERROR(CopyFiles(out, group));
  PLIMSOLL_RETURN_IF_ERROR(out.MakeDirs("proc/self", 0755));
  return out.ReplaceFile(
      "proc/self/mountinfo",
      absl::StrCat("1 0 0:1 / /sys/fs/resctrl rw,relatime - resctrl resctrl ",
                   mount_options_.empty() ? "rw" : absl::StrJoin(mount_options_, ","), "\n"),
      0644);
}

}  // namespace plimsoll::linux
