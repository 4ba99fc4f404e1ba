#include "runtime/oci/seccomp.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

constexpr size_t kMaxCachedProfiles = 64;
constexpr size_t kMaxProfileBytes = 1024 * 1024;

// A client names the file: opening anything but a regular file must not block or have an effect.
absl::StatusOr<std::string> ReadProfile(const FsRoot& host, const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd file,
                            host.OpenFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("look at ", path));
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(host.PathOf(path), " is no regular file"));
  }
  std::string text(kMaxProfileBytes + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = read(file.get(), text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("read ", host.PathOf(path)));
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  if (size > kMaxProfileBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(host.PathOf(path), " is larger than ", kMaxProfileBytes, " bytes"));
  }
  text.resize(size);
  return text;
}

}  // namespace

absl::StatusOr<Seccomp> SeccompCompiler::Compile(const SecurityProfile& profile,
                                                 CapabilityMask capabilities) {
  if (profile.type == SecurityProfile::Type::kUnconfined) return Seccomp();
  if (profile.type == SecurityProfile::Type::kRuntimeDefault) {
    absl::MutexLock lock(&mutex_);  // held while compiling: others wait for the result
    const auto found = defaults_.find(capabilities);
    if (found != defaults_.end()) return found->second;
    PLIMSOLL_ASSIGN_OR_RETURN(Seccomp compiled, CompileDefaultSeccomp(capabilities));
    if (defaults_.size() >= kMaxCachedProfiles) defaults_.clear();
    return defaults_[capabilities] = std::move(compiled);
  }
  if (!absl::StartsWith(profile.localhost_path, "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat("seccomp profile \"", profile.localhost_path, "\": must be an absolute path"));
  }
  const absl::StatusOr<std::string> json = ReadProfile(host_, profile.localhost_path);
  if (!json.ok()) return Annotate(json.status(), "seccomp profile");
  return Compiled(*json, profile.localhost_path);
}

absl::StatusOr<Seccomp> SeccompCompiler::CompileText(const std::string& json) {
  if (json.size() > kMaxProfileBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("linux.seccomp_policy has ", json.size(),
                                                     " bytes; at most ", kMaxProfileBytes));
  }
  return Compiled(json, "linux.seccomp_policy");
}

absl::StatusOr<Seccomp> SeccompCompiler::Compiled(const std::string& json, absl::string_view name) {
  absl::MutexLock lock(&mutex_);
  const auto found = files_.find(json);
  if (found != files_.end()) return found->second;
  PLIMSOLL_ASSIGN_OR_RETURN(Seccomp compiled, CompileSeccompProfile(json, name));
  if (files_.size() >= kMaxCachedProfiles) files_.clear();
  return files_[json] = std::move(compiled);
}

}  // namespace plimsoll::runtime
