// A note of what a running program has on the machine, so that the next one can remove it if this
// one is killed: a dead FUSE mount, and a hierarchy with groups and threads in it.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_RECORD_H_
#define PLIMSOLL_TESTS_RESCTRLFS_RECORD_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"

namespace plimsoll::resctrlfs {

struct Record {
  std::string hierarchy;    // its name, which is the note's too
  std::string mount_point;  // absolute
};

// Written before anything is made. Names the calling process as the owner.
absl::Status WriteRecord(const FsRoot& host, const FsRoot& records, const Record& record);
absl::Status RemoveRecord(const FsRoot& records, const Record& record);

// Unmounts, gives all threads back and removes the hierarchy; OK where there is nothing of it. A
// mount point that something else is mounted on by now is left alone.
absl::Status CleanUp(const FsRoot& host, const Record& record);

// CleanUp for every note whose process is gone, and removes the note. Goes on after an error and
// returns the first.
absl::Status CleanUpAfterTheDead(const FsRoot& host, const FsRoot& records);

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_RECORD_H_
