#include "runtime/oci/seccomp.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

constexpr size_t kMaxCached = 64;
constexpr size_t kMaxProfileBytes = 1024 * 1024;

}  // namespace

absl::StatusOr<std::string> SeccompCompiler::Filter(const SecurityProfile& profile,
                                                    CapabilityMask capabilities) {
  if (profile.type == SecurityProfile::Type::kUnconfined) return std::string();
  absl::MutexLock lock(&mutex_);  // held while compiling: the second who wants it waits for it
  if (profile.type == SecurityProfile::Type::kRuntimeDefault) {
    const auto found = defaults_.find(capabilities);
    if (found != defaults_.end()) return found->second;
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string bpf, CompileDefaultSeccomp(capabilities));
    if (defaults_.size() >= kMaxCached) defaults_.clear();
    return defaults_[capabilities] = absl::Base64Escape(bpf);
  }
  if (!absl::StartsWith(profile.localhost_path, "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat("seccomp profile \"", profile.localhost_path, "\": must be an absolute path"));
  }
  absl::StatusOr<std::string> json = host_.Read(profile.localhost_path, kMaxProfileBytes);
  if (!json.ok()) return Annotate(json.status(), "seccomp profile");
  const auto found = files_.find(*json);
  if (found != files_.end()) return found->second;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string bpf,
                            CompileSeccompProfile(*json, profile.localhost_path));
  if (files_.size() >= kMaxCached) files_.clear();
  return files_[*json] = absl::Base64Escape(bpf);
}

}  // namespace plimsoll::runtime
