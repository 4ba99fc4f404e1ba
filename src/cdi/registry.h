// The CDI devices of this machine: those in the specification files of some directories.
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

// Files are looked at whenever a device is asked for, and read when one is new or not as it was: so
// whoever writes a file and then asks has it, which no notification from the kernel can promise,
// and nothing is done while nobody asks. Thread-safe.
class Registry {
 public:
  // `directories`: absolute, a later one before an earlier one; they need not be there. Files in
  // them that end in .json, .yaml or .yml count.
  Registry(FsRoot host, std::vector<std::string> directories);

  // What the devices change, in the order of `names`, one that is named twice once; the part that
  // is common to a file's devices goes before the first of them.
  //
  // INVALID_ARGUMENT: no name of a device. NOT_FOUND: there is none of it; the message names what
  // of its kind there is. FAILED_PRECONDITION: two files of one directory have it, or one that may
  // have it can't be read; the message names the files and their faults.
  absl::StatusOr<ContainerEdits> Resolve(const std::vector<std::string>& names);

  // What is wrong with the files now, one sentence each, for Status.
  std::vector<std::string> Faults();

 private:
  struct File {
    size_t priority = 0;    // its directory's place in the list
    std::string shown;      // its path for messages: a file's name may be any bytes
    std::string signature;  // empty: read it again, whatever it is now
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
  // What was meant, for an error: a device of nearly that name, or the kinds that there are.
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
