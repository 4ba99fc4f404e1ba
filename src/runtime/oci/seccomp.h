// Seccomp profiles in the forms that OCI runtimes take.
//
// crun takes a finished filter (annotation run.oci.seccomp_bpf_data); the others compile
// "linux.seccomp" themselves. Compiling a profile of some four hundred calls takes libseccomp
// several milliseconds, so each is compiled once.
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

// One profile in both forms; both are empty for Unconfined.
struct Seccomp {
  std::string filter;   // an array of struct sock_filter, in base64
  std::string profile;  // JSON: "linux.seccomp" of the OCI specification
  bool operator==(const Seccomp&) const = default;
};

// The RuntimeDefault profile for a process with these capabilities.
//
// Calls of ordinary programs are allowed. Calls that administer the machine are allowed only with
// the capability that they need anyway. Calls known to be dangerous get EPERM; unknown ones get
// ENOSYS, on which a C library falls back to an older call.
absl::StatusOr<Seccomp> CompileDefaultSeccomp(CapabilityMask capabilities);

// Compiles a profile in the OCI form (runtime-spec config-linux.md, "seccomp"), as Kubernetes'
// Localhost profiles are. `name` is the file, for messages. Errors, INVALID_ARGUMENT, name file and
// key. Calls unknown to this machine's libseccomp are ignored, as by other runtimes.
absl::StatusOr<Seccomp> CompileSeccompProfile(absl::string_view json, absl::string_view name);

// Thread-safe.
class SeccompCompiler {
 public:
  // `host`: the root in which Localhost files are looked for.
  explicit SeccompCompiler(FsRoot host) : host_(std::move(host)) {}

  // Localhost files are read again each time (regular ones of at most 1 MiB), NOT_FOUND when there
  // is none.
  absl::StatusOr<Seccomp> Compile(const SecurityProfile& profile, CapabilityMask capabilities);

  // The same for a profile's text itself, "linux.seccomp" of the OCI specification.
  absl::StatusOr<Seccomp> CompileText(const std::string& json);

 private:
  // Compiles, or finds a compiled one. `name`: for messages.
  absl::StatusOr<Seccomp> Compiled(const std::string& json, absl::string_view name);

  const FsRoot host_;
  absl::Mutex mutex_;
  // Emptied beyond kMaxCachedProfiles.
  absl::flat_hash_map<CapabilityMask, Seccomp> defaults_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Seccomp> files_ ABSL_GUARDED_BY(mutex_);  // by content
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_SECCOMP_H_
