// The kernel's resctrl file system (Documentation/filesystems/resctrl.rst).
//
// A group is named by its path below the mount point: "" is the root group, "gold" a control group
// (a CLOSID), "gold/mon_groups/c1" or "mon_groups/c1" a monitoring group (an RMID) of one.
//
// Where the kernel refuses, the error has the kernel's own words (info/last_cmd_status) at its end.
// ENOSPC and, for a new group, EBUSY (RMIDs in use until their cache lines are gone) are
// RESOURCE_EXHAUSTED, EINVAL is INVALID_ARGUMENT, a group that is gone NOT_FOUND.
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
    // Puts one thread into the group. NOT_FOUND: there is no such thread; FAILED_PRECONDITION: the
    // group was removed meanwhile.
    absl::Status Add(pid_t thread) const;

   private:
    friend class Resctrl;
    TasksFile(const Resctrl* resctrl, std::string path, UniqueFd fd)
        : resctrl_(resctrl), path_(std::move(path)), fd_(std::move(fd)) {}

    const Resctrl* resctrl_;
    std::string path_;
    UniqueFd fd_;
  };

  // Finds where it is mounted from `host`'s proc/self/mountinfo. FAILED_PRECONDITION when it isn't.
  static absl::StatusOr<std::unique_ptr<Resctrl>> Open(const FsRoot& host);

  // Absolute, below host's path.
  const std::string& mount_point() const { return fs_.path(); }
  // Of the mount: "rw", "cdp", "mba_MBps".
  const std::vector<std::string>& mount_options() const { return mount_options_; }

  // What there is to allocate and to measure. INTERNAL for a file that is not understood.
  absl::StatusOr<ResctrlInfo> ReadInfo() const;

  // Names of control groups without the root, and of the monitoring groups of one, sorted.
  absl::StatusOr<std::vector<std::string>> ControlGroups() const;
  absl::StatusOr<std::vector<std::string>> MonitoringGroups(const std::string& group) const;
  bool HasGroup(const std::string& group) const;
  // ALREADY_EXISTS when it is there.
  absl::Status MakeGroup(const std::string& group) const;
  // The inode number of its directory, which a group made later under that name hasn't.
  absl::StatusOr<uint64_t> InodeOf(const std::string& group) const;
  // Its threads go to its parent's group. OK when it is not there.
  absl::Status RemoveGroup(const std::string& group) const;

  absl::StatusOr<Schemata> ReadSchemata(const std::string& group) const;
  // One write of all lines, which the kernel takes whole or not at all (but see mba_MBps there).
  absl::Status WriteSchemata(const std::string& group, const Schemata& schemata) const;

  // Ids of the threads in it, as seen from this PID namespace, sorted. A control group's include
  // those of its monitoring groups.
  absl::StatusOr<std::vector<pid_t>> Threads(const std::string& group) const;
  absl::StatusOr<TasksFile> OpenTasks(const std::string& group) const;
  // Absolute.
  std::string TasksPath(const std::string& group) const;

  // Each monitored event, summed over the caches that have a number for it now: "llc_occupancy",
  // "mbm_total_bytes", ... in bytes. Empty where there is no monitoring. NOT_FOUND.
  absl::StatusOr<std::map<std::string, uint64_t>> Counters(const std::string& group) const;

  // Writes what info/ and the groups say (no thread ids) below `out`, with a mountinfo of its own,
  // so that Open(out) shows the same machine elsewhere.
  absl::Status Capture(const FsRoot& out) const;

  // What the kernel says of the last command, without the newline; empty when it has nothing to
  // say or can't be read.
  std::string LastCommandStatus() const;

 private:
  Resctrl(FsRoot fs, std::vector<std::string> mount_options)
      : fs_(std::move(fs)), mount_options_(std::move(mount_options)) {}

  absl::Status Explain(const absl::Status& status) const;
  absl::Status CopyFiles(const FsRoot& out, const std::string& directory) const;

  const FsRoot fs_;
  const std::vector<std::string> mount_options_;
  // last_cmd_status is one file for all: who writes holds this until it has read it.
  mutable absl::Mutex command_;
};

// "gold/mon_groups/c1"; for the root "mon_groups/c1".
std::string MonitoringGroupPath(const std::string& group, const std::string& name);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_RESCTRL_H_
