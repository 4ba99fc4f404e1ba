// The AppArmor profile of a container.
#ifndef PLIMSOLL_RUNTIME_OCI_APPARMOR_H_
#define PLIMSOLL_RUNTIME_OCI_APPARMOR_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::runtime {

// Thread-safe.
class AppArmor {
 public:
  // `host` holds sys/. `enabled`: whether the kernel has it (linux::HasAppArmor).
  AppArmor(FsRoot host, bool enabled) : host_(std::move(host)), enabled_(enabled) {}

  // The name of a loaded profile; empty for Unconfined. RuntimeDefault is "plimsoll-default", which
  // is loaded if need be (by apparmor_parser, of Debian's package apparmor). FAILED_PRECONDITION
  // where the kernel has no AppArmor, NOT_FOUND names a Localhost profile that isn't loaded.
  absl::StatusOr<std::string> Profile(const SecurityProfile& asked);

 private:
  absl::Status LoadDefault();

  const FsRoot host_;
  const bool enabled_;
  absl::Mutex loading_;  // one at a time
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_APPARMOR_H_
