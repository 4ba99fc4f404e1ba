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
// Calls of ordinary programs are allowed. Calls that administer the machine are allowed only with
// the capability that they need anyway. Calls known to be dangerous get EPERM; unknown ones get
// ENOSYS, on which a C library falls back to an older call.
absl::StatusOr<std::string> CompileDefaultSeccomp(CapabilityMask capabilities);

// Compiles a profile in the OCI form (runtime-spec config-linux.md, "seccomp"), as Kubernetes'
// Localhost profiles are. `name` is the file, for messages. Errors, INVALID_ARGUMENT, name file and
// key. Calls unknown to this machine's libseccomp are ignored, as by other runtimes.
absl::StatusOr<std::string> CompileSeccompProfile(absl::string_view json, absl::string_view name);

// Thread-safe.
class SeccompCompiler {
 public:
  // `host`: the root in which Localhost files are looked for.
  explicit SeccompCompiler(FsRoot host) : host_(std::move(host)) {}

  // The filter for crun in base64; empty for Unconfined. Localhost files are read anew each time
  // (regular ones of at most 1 MiB), NOT_FOUND when there is none.
  absl::StatusOr<std::string> Filter(const SecurityProfile& profile, CapabilityMask capabilities);

  // The same for a profile's text itself, "linux.seccomp" of the OCI specification.
  absl::StatusOr<std::string> FilterOf(const std::string& json);

 private:
  // Compiles, or finds a compiled one. `name`: for messages.
  absl::StatusOr<std::string> Compiled(const std::string& json, absl::string_view name);

  const FsRoot host_;
  absl::Mutex mutex_;
  // Compiled filters, in base64. Emptied beyond kMaxCached.
  absl::flat_hash_map<CapabilityMask, std::string> defaults_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::string> files_ ABSL_GUARDED_BY(mutex_);  // by content
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_SECCOMP_H_
