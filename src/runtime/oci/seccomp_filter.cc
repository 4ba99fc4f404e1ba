#include "runtime/oci/seccomp_filter.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll::runtime {

absl::StatusOr<SeccompFilter> SeccompFilter::Make(uint32_t default_action) {
  void* context = seccomp_init(default_action);
  if (context == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("no such default action: ", default_action));
  }
  SeccompFilter filter(context, default_action);
  // The OCI runtime sets no_new_privs, from the spec.
  seccomp_attr_set(context, SCMP_FLTATR_CTL_NNP, 0);
  // A binary tree: a dozen comparisons per call instead of hundreds.
  seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  return filter;
}

absl::Status SeccompFilter::AddArchitecture(uint32_t architecture) {
  const int result = seccomp_arch_add(context_.get(), architecture);
  if (result == 0 || result == -EEXIST) return absl::OkStatus();
  return ErrnoStatus(-result, "add architecture to seccomp filter");
}

absl::Status SeccompFilter::AddRule(uint32_t action, const std::string& call,
                                    const std::vector<scmp_arg_cmp>& arguments) {
  if (action == default_action_) return absl::OkStatus();
  const int number = seccomp_syscall_resolve_name(call.c_str());
  if (number == __NR_SCMP_ERROR) return absl::OkStatus();
  const int result = seccomp_rule_add_array(
      context_.get(), action, number, static_cast<unsigned>(arguments.size()), arguments.data());
  // The same rule twice (a profile names a call in two places) changes nothing.
  if (result == 0 || result == -EEXIST) return absl::OkStatus();
  return ErrnoStatus(-result, absl::StrCat("seccomp rule for ", call));
}

absl::StatusOr<std::string> SeccompFilter::Export() const {
  const UniqueFd file(memfd_create("seccomp", MFD_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, "memfd for seccomp filter");
  const int result = seccomp_export_bpf(context_.get(), file.get());
  if (result != 0) return ErrnoStatus(-result, "compile seccomp filter");
  const off_t size = lseek(file.get(), 0, SEEK_END);
  std::string bpf(static_cast<size_t>(size > 0 ? size : 0), '\0');
  if (bpf.empty() || pread(file.get(), bpf.data(), bpf.size(), 0) != size) {
    return absl::InternalError("compile seccomp filter: it came out empty");
  }
  return bpf;
}

}  // namespace plimsoll::runtime
