// A libseccomp filter under construction. Used by the seccomp_*.cc files only.
#ifndef PLIMSOLL_RUNTIME_OCI_SECCOMP_FILTER_H_
#define PLIMSOLL_RUNTIME_OCI_SECCOMP_FILTER_H_

#include <seccomp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::runtime {

class SeccompFilter {
 public:
  static absl::StatusOr<SeccompFilter> Make(uint32_t default_action);

  // The machine's own architecture is always included. OK when it is there already.
  absl::Status AddArchitecture(uint32_t architecture);
  // Ignores calls that libseccomp doesn't know, and rules that repeat the default.
  absl::Status AddRule(uint32_t action, const std::string& call,
                       const std::vector<scmp_arg_cmp>& arguments = {});
  // An array of struct sock_filter.
  absl::StatusOr<std::string> Export() const;

 private:
  struct Release {
    void operator()(void* context) const { seccomp_release(context); }
  };
  SeccompFilter(void* context, uint32_t default_action)
      : context_(context), default_action_(default_action) {}

  std::unique_ptr<void, Release> context_;
  uint32_t default_action_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_SECCOMP_FILTER_H_
