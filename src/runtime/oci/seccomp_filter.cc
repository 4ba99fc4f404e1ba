#include "runtime/oci/seccomp_filter.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;

constexpr uint32_t kActionBits = 0xffff0000;  // the others are the action's errno

// Puts the action under the OCI specification's names: `action` and, with an errno, `number`.
void SetAction(uint32_t action, const char* name, const char* number, Json* object) {
  const char* text = "SCMP_ACT_KILL_PROCESS";  // the safe one, for an action without a name here
  const bool has_number =
      (action & kActionBits) == SCMP_ACT_ERRNO(0) || (action & kActionBits) == SCMP_ACT_TRACE(0);
  for (const auto& [known, its_name] :
       {std::pair(SCMP_ACT_ALLOW, "SCMP_ACT_ALLOW"), std::pair(SCMP_ACT_LOG, "SCMP_ACT_LOG"),
        std::pair(SCMP_ACT_TRAP, "SCMP_ACT_TRAP"), std::pair(SCMP_ACT_KILL_THREAD, "SCMP_ACT_KILL"),
        std::pair(SCMP_ACT_ERRNO(0), "SCMP_ACT_ERRNO"),
        std::pair(SCMP_ACT_TRACE(0), "SCMP_ACT_TRACE")}) {
    if ((action & kActionBits) == known) text = its_name;
  }
  (*object)[name] = text;
  if (has_number) (*object)[number] = action & ~kActionBits;
}

// The OCI specification's name; libseccomp has one of its own.
std::string ArchitectureName(uint32_t token) {
  for (const auto& [known, name] : kArchitectures) {
    if (known == token) return name;
  }
  return "";
}

const char* OperatorName(scmp_compare op) {
  for (const auto& [known, name] : kOperators) {
    if (known == op) return name;
  }
  return "";
}

}  // namespace

SeccompFilter::SeccompFilter(void* context, uint32_t default_action, uint32_t architecture)
    : context_(context),
      default_action_(default_action),
      profile_({{"architectures", {ArchitectureName(architecture)}}, {"syscalls", Json::array()}}) {
  SetAction(default_action, "defaultAction", "defaultErrnoRet", &profile_);
}

absl::StatusOr<SeccompFilter> SeccompFilter::Make(uint32_t default_action, uint32_t architecture) {
  void* context = seccomp_init(default_action);
  if (context == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("no such default action: ", default_action));
  }
  SeccompFilter filter(context, default_action, architecture);
  if (architecture != seccomp_arch_native()) {
    int result = seccomp_arch_add(context, architecture);
    if (result == 0) result = seccomp_arch_remove(context, seccomp_arch_native());
    if (result != 0) return ErrnoStatus(-result, "choose the architecture of a seccomp filter");
  }
  // The OCI runtime sets no_new_privs, from the spec.
  seccomp_attr_set(context, SCMP_FLTATR_CTL_NNP, 0);
  // A binary tree: a dozen comparisons per call instead of hundreds.
  seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  return filter;
}

absl::Status SeccompFilter::AddArchitecture(uint32_t architecture) {
  const int result = seccomp_arch_add(context_.get(), architecture);
  if (result == -EEXIST) return absl::OkStatus();
  if (result != 0) return ErrnoStatus(-result, "add architecture to seccomp filter");
  profile_["architectures"].push_back(ArchitectureName(architecture));
  return absl::OkStatus();
}

absl::Status SeccompFilter::AddRule(uint32_t action, const std::string& call,
                                    const std::vector<scmp_arg_cmp>& arguments) {
  if (action == default_action_) return absl::OkStatus();
  const int number = seccomp_syscall_resolve_name(call.c_str());
  if (number == __NR_SCMP_ERROR) return absl::OkStatus();
  const int result = seccomp_rule_add_array(
      context_.get(), action, number, static_cast<unsigned>(arguments.size()), arguments.data());
  // The same rule twice (a profile names a call in two places) changes nothing.
  if (result == -EEXIST) return absl::OkStatus();
  if (result != 0) return ErrnoStatus(-result, absl::StrCat("seccomp rule for ", call));
  Describe(action, call, arguments);
  return absl::OkStatus();
}

// Neighbours of one action and without conditions share an entry.
void SeccompFilter::Describe(uint32_t action, const std::string& call,
                             const std::vector<scmp_arg_cmp>& arguments) {
  Json rule = Json::object();
  SetAction(action, "action", "errnoRet", &rule);
  for (const scmp_arg_cmp& argument : arguments) {
    rule["args"].push_back({{"index", argument.arg},
                            {"op", OperatorName(argument.op)},
                            {"value", argument.datum_a},
                            {"valueTwo", argument.datum_b}});
  }
  Json& rules = profile_["syscalls"];
  if (!rules.empty() && arguments.empty()) {
    Json last = rules.back();
    last.erase("names");
    if (last == rule) return rules.back()["names"].push_back(call);
  }
  rule["names"] = {call};
  rules.push_back(std::move(rule));
}

absl::StatusOr<Seccomp> SeccompFilter::Export() const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string bpf, ExportBpf());
  return Seccomp{.filter = absl::Base64Escape(bpf), .profile = profile_.dump()};
}

absl::StatusOr<std::string> SeccompFilter::ExportBpf() const {
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
