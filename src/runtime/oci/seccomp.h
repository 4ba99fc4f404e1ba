// Seccomp profiles compiled to BPF.
//
// crun takes a finished filter (annotation run.oci.seccomp_bpf_data). Compiling a profile of some
// four hundred calls takes libseccomp several milliseconds, so each is compiled once.
#ifndef PLIMSOLL_RUNTIME_OCI_SECCOMP_H_
#define PLIMSOLL_RUNTIME_OCI_SECCOMP_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "runtime/oci/capabilities.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::runtime {

// The RuntimeDefault profile for a process with these capabilities: an array of struct sock_filter.
//
// What ordinary programs need is allowed; what administers the machine is only where the process
// has the capability for it anyway; calls known to be dangerous get EPERM and those unknown here
// ENOSYS, on which a C library falls back to an older call.
absl::StatusOr<std::string> CompileDefaultSeccomp(CapabilityMask capabilities);

// A profile in the OCI form (runtime-spec config-linux.md, "seccomp") as Kubernetes' Localhost
// profiles have it. `name` is the file, for messages. Errors, INVALID_ARGUMENT, name file and key.
// Calls that this machine's libseccomp doesn't know are passed over, as other runtimes do.
absl::StatusOr<std::string> CompileSeccompProfile(absl::string_view json, absl::string_view name);

// Thread-safe.
class SeccompCompiler {
 public:
  // `host`: where Localhost files are looked for.
  explicit SeccompCompiler(FsRoot host) : host_(std::move(host)) {}

  // The filter for crun in base64; empty for Unconfined. Localhost files are read anew each time
  // (regular ones of at most 1 MiB), NOT_FOUND when there is none.
  absl::StatusOr<std::string> Filter(const SecurityProfile& profile, CapabilityMask capabilities);

 private:
  const FsRoot host_;
  absl::Mutex mutex_;
  // What was compiled, in base64. At most kMaxCached; then it is emptied.
  absl::flat_hash_map<CapabilityMask, std::string> defaults_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::string> files_ ABSL_GUARDED_BY(mutex_);  // by content
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_SECCOMP_H_
