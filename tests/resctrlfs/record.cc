#include "resctrlfs/record.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "linux/namespaces/mounts.h"
#include "linux/process.h"
#include "resctrlfs/hierarchy.h"

namespace plimsoll::resctrlfs {
namespace {

using Json = nlohmann::json;

// In the directory of records, but no record.
constexpr char kTurn[] = "cleaning.lock";

absl::Status CleanUpOne(const FsRoot& host, const FsRoot& records, const std::string& name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, records.Read(name));
  // Another program's record, or another version's: left alone.
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("pid") || !json.contains("mount_point")) {
    return absl::OkStatus();
  }
  try {
    const linux::ProcessId owner = {.pid = json.at("pid").get<pid_t>(),
                                    .start_time_ticks = json.at("start_time").get<uint64_t>()};
    PLIMSOLL_ASSIGN_OR_RETURN(const bool runs, linux::IsRunning(host, owner));
    if (runs) return absl::OkStatus();
    const Record record = {.hierarchy = json.at("hierarchy").get<std::string>(),
                           .mount_point = json.at("mount_point").get<std::string>()};
    PLIMSOLL_RETURN_IF_ERROR(CleanUp(host, record));
  } catch (const Json::exception& error) {
    return absl::DataLossError(absl::StrCat(records.PathOf(name), ": ", error.what()));
  }
  return records.RemoveFile(name);
}

}  // namespace

absl::Status WriteRecord(const FsRoot& host, const FsRoot& records, const Record& record) {
  PLIMSOLL_ASSIGN_OR_RETURN(const linux::ProcessId self, linux::IdentifyProcess(host, getpid()));
  const Json json = {{"pid", self.pid},
                     {"start_time", self.start_time_ticks},
                     {"hierarchy", record.hierarchy},
                     {"mount_point", record.mount_point}};
  return records.ReplaceFile(record.hierarchy, json.dump() + "\n");
}

absl::Status RemoveRecord(const FsRoot& records, const Record& record) {
  return records.RemoveFile(record.hierarchy);
}

absl::Status CleanUp(const FsRoot& host, const Record& record) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<linux::MountInfo> mounts, linux::ReadMounts(host));
  absl::Status first;
  for (const linux::MountInfo& mount : mounts) {
    if (mount.mount_point == record.mount_point && mount.fs_type == "fuse.resctrl") {
      first = FirstError(first, linux::Unmount(mount.mount_point, /*lazy=*/true));
    }
  }
  return FirstError(first, Hierarchy::Destroy(host, record.hierarchy));
}

absl::Status CleanUpAfterTheDead(const FsRoot& host, const FsRoot& records) {
  // One at a time: mounting a hierarchy that another program has just released makes it again, so
  // two that take turns would never see it go.
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd turn, records.OpenFile(kTurn, O_RDWR | O_CREAT, 0600));
  if (flock(turn.get(), LOCK_EX) != 0) {
    return ErrnoStatus(errno, absl::StrCat("lock ", records.PathOf(kTurn)));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, records.List("."));
  absl::Status first;
  for (const std::string& name : names) {
    const absl::Status status = CleanUpOne(host, records, name);
    // Another program that starts now may have been faster.
    if (!absl::IsNotFound(status)) first = FirstError(first, status);
  }
  return first;
}

}  // namespace plimsoll::resctrlfs
