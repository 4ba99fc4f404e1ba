// The kernel's resctrl file system (Documentation/filesystems/resctrl.rst).
//
// A group is named by its path below the mount point: "" is the root group, "gold" a control group
// (a CLOSID), "gold/mon_groups/c1" or "mon_groups/c1" a monitoring group (an RMID) of one.
//
// An error of the kernel ends with its own words (info/last_cmd_status). ENOSPC and, for a new
// group, EBUSY (RMIDs in use until their cache lines are gone) are RESOURCE_EXHAUSTED, EINVAL is
// INVALID_ARGUMENT, a removed group NOT_FOUND.
#ifndef PLIMSOLL_LINUX_RESCTRL_H_
#define PLIMSOLL_LINUX_RESCTRL_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "linux/resctrl_info.h"
#include "linux/schemata.h"

namespace plimsoll::linux {

// Thread-safe. Holds the mount point's directory open.
class Resctrl {
 public:
  // A group's `tasks` file, kept open, so that a move costs one write(2). Thread-safe.
  class TasksFile {
   public:
    // Moves one thread into the group. NOT_FOUND: no such thread; FAILED_PRECONDITION: the group
    // was removed meanwhile.
    absl::Status Add(pid_t thread) const;

   private:
    friend class Resctrl;
    TasksFile(const Resctrl* resctrl, std::string path, UniqueFd fd)
        : resctrl_(resctrl), path_(std::move(path)), fd_(std::move(fd)) {}

    const Resctrl* resctrl_;
    std::string path_;
    UniqueFd fd_;
  };

  // Finds the mount point in `host`'s proc/self/mountinfo. FAILED_PRECONDITION when it isn't
  // mounted.
  static absl::StatusOr<std::unique_ptr<Resctrl>> Open(const FsRoot& host);

  // The absolute path, which begins with host's.
  const std::string& mount_point() const { return fs_.path(); }
  // The mount's options: "rw", "cdp", "mba_MBps".
  const std::vector<std::string>& mount_options() const { return mount_options_; }

  // The machine's allocation and monitoring features. INTERNAL for a file that is not understood.
  absl::StatusOr<ResctrlInfo> ReadInfo() const;

  // Sorted names of the control groups except the root, and of the monitoring groups of one.
  absl::StatusOr<std::vector<std::string>> ControlGroups() const;
  absl::StatusOr<std::vector<std::string>> MonitoringGroups(const std::string& group) const;
  bool HasGroup(const std::string& group) const;
  // ALREADY_EXISTS when the group exists.
  absl::Status MakeGroup(const std::string& group) const;
  // The inode number of the group's directory; a later group of the same name has another.
  absl::StatusOr<uint64_t> InodeOf(const std::string& group) const;
  // Moves the group's threads to its parent. OK when it doesn't exist.
  absl::Status RemoveGroup(const std::string& group) const;

  absl::StatusOr<Schemata> ReadSchemata(const std::string& group) const;
  // Writes all lines in one write(2), which the kernel takes whole or not at all (but see mba_MBps
  // there).
  absl::Status WriteSchemata(const std::string& group, const Schemata& schemata) const;

  // Sorted ids of the group's threads in this PID namespace. A control group's include those of its
  // monitoring groups.
  absl::StatusOr<std::vector<pid_t>> Threads(const std::string& group) const;
  absl::StatusOr<TasksFile> OpenTasks(const std::string& group) const;
  // The absolute path.
  std::string TasksPath(const std::string& group) const;

  // Each monitored event, summed over the caches that have a number for it now: "llc_occupancy",
  // "mbm_total_bytes", ... in bytes. Empty where there is no monitoring. NOT_FOUND if the group
  // doesn't exist.
  absl::StatusOr<std::map<std::string, uint64_t>> Counters(const std::string& group) const;

  // Copies info/ and the groups (no thread ids) below `out`, with a mountinfo of its own, so that
  // Open(out) shows the same machine elsewhere.
  absl::Status Capture(const FsRoot& out) const;

  // The kernel's message about the last command, without the newline; empty when there is none or
  // it can't be read.
  std::string LastCommandStatus() const;

 private:
  Resctrl(FsRoot fs, std::vector<std::string> mount_options)
      : fs_(std::move(fs)), mount_options_(std::move(mount_options)) {}

  absl::Status Explain(const absl::Status& status) const;
  absl::Status CopyFiles(const FsRoot& out, const std::string& directory) const;

  const FsRoot fs_;
  const std::vector<std::string> mount_options_;
  // All commands share last_cmd_status: a writer holds this until it has read that file.
  mutable absl::Mutex command_;
};

// "gold/mon_groups/c1"; for the root "mon_groups/c1".
std::string MonitoringGroupPath(const std::string& group, const std::string& name);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_RESCTRL_H_
