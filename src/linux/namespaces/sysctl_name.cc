#include "linux/namespaces/sysctl_name.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

// Parameters that the kernel keeps per namespace: ipc_namespaces(7), network_namespaces(7),
// uts_namespaces(7).
struct Allowed {
  absl::string_view path;
  bool is_prefix;
  SysctlNamespace belongs_to;
};
constexpr Allowed kAllowed[] = {
    {"net/", true, SysctlNamespace::kNetwork},
    {"kernel/shm", true, SysctlNamespace::kIpc},
    {"kernel/msg", true, SysctlNamespace::kIpc},
    {"kernel/sem", false, SysctlNamespace::kIpc},
    {"fs/mqueue/", true, SysctlNamespace::kIpc},
    {"kernel/domainname", false, SysctlNamespace::kUts},
    {"kernel/hostname", false, SysctlNamespace::kUts},
};

std::string ToPath(absl::string_view name) {
  std::string path(name);
  const size_t first = path.find_first_of("./");
  if (first == std::string::npos || path[first] == '/') return path;
  for (char& c : path) {
    if (c == '.') {
      c = '/';
    } else if (c == '/') {
      c = '.';
    }
  }
  return path;
}

bool IsWellFormed(absl::string_view path) {
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return path.find('\0') == absl::string_view::npos;
}

}  // namespace

absl::StatusOr<Sysctl> ParseSysctlName(absl::string_view name) {
  std::string path = ToPath(name);
  if (!IsWellFormed(path)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is no sysctl name"));
  }
  for (const Allowed& allowed : kAllowed) {
    if (allowed.is_prefix ? absl::StartsWith(path, allowed.path) : path == allowed.path) {
      return Sysctl{.path = std::move(path), .belongs_to = allowed.belongs_to};
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "sysctl ", name,
      " belongs to the whole machine; a pod can set net.*, kernel.shm*, kernel.msg*, kernel.sem, "
      "fs.mqueue.*, kernel.hostname and kernel.domainname"));
}

}  // namespace plimsoll::linux
