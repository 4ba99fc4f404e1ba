// The CDI devices of this machine, from the specification files in some directories.
//
//   cdi::Registry devices(host, {"/etc/cdi", "/var/run/cdi"});
//   PLIMSOLL_ASSIGN_OR_RETURN(edits, devices.Resolve({"vendor.com/gpu=0"}));
#ifndef PLIMSOLL_CDI_REGISTRY_H_
#define PLIMSOLL_CDI_REGISTRY_H_

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
#include "cdi/edits.h"
#include "cdi/spec.h"

namespace plimsoll::cdi {

// Every request for a device checks the files, and reads those that are new or changed. So a client
// that writes a file and then asks for its device gets it, which no notification from the kernel
// can promise: inotify has to follow directories that come and go, too, and costs a thread. A file
// is read again if name, inode, size or ctime differ, or if it was changed less than 50 ms before.
// Thread-safe.
class Registry {
 public:
  // `directories`: absolute paths, later ones take precedence; they need not exist. Only files that
  // end in .json, .yaml or .yml count.
  Registry(FsRoot host, std::vector<std::string> directories);

  // The devices' edits, in the order of `names`; a duplicate counts once. The edits common to a
  // file's devices come before those of the first of them.
  //
  // INVALID_ARGUMENT: not a device name. NOT_FOUND: no such device; the message names the devices
  // of its kind. FAILED_PRECONDITION: two files of one directory have it, or a file that may have
  // it can't be read; the message names the files and their faults.
  absl::StatusOr<ContainerEdits> Resolve(const std::vector<std::string>& names);

  // The present faults of the files, one sentence each, for Status.
  std::vector<std::string> Faults();

 private:
  struct File {
    size_t priority = 0;    // its directory's place in the list
    std::string shown;      // its path for messages: a file's name may be any bytes
    std::string signature;  // empty: read the file again in any case
    absl::Status status;
    Spec spec;
  };
  struct Found {
    const File* file = nullptr;
    const ContainerEdits* edits = nullptr;
    std::string conflict;  // the other file; empty: none
  };

  // Brings `files_` and `devices_` up to date.
  void Look() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LookInto(size_t priority, std::map<std::string, std::shared_ptr<const File>>* now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<const File> ReadFile(size_t priority, const std::string& path,
                                       const std::string& signature) const;
  void Index() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A suggestion for an error: a device of nearly that name, or the existing kinds.
  std::string Near(const std::string& name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Missing(const std::string& name, const std::string& kind) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const FsRoot host_;
  const std::vector<std::string> directories_;
  absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<const File>> files_ ABSL_GUARDED_BY(mutex_);  // by path
  std::map<std::string, Found> devices_ ABSL_GUARDED_BY(mutex_);  // by "vendor.com/class=name"
  std::vector<std::string> directory_faults_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::cdi

#endif  // PLIMSOLL_CDI_REGISTRY_H_
