#include "linux/process_tree.h"

#include <cerrno>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace plimsoll::linux {

absl::StatusOr<std::vector<ProcessEntry>> ListProcessTable(const FsRoot& root) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, root.List("proc"));
  std::vector<ProcessEntry> table;
  for (const std::string& name : names) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(name, &pid) || pid <= 0) continue;
    const absl::StatusOr<ProcessEntry> entry = ReadProcess(root, pid);
    if (absl::IsNotFound(entry.status())) continue;  // it has ended
    PLIMSOLL_RETURN_IF_ERROR(entry.status());
    table.push_back(*entry);
  }
  return table;
}

absl::StatusOr<std::vector<std::string>> ReadWords(const FsRoot& root, pid_t pid,
                                                   const char* file) {
  const absl::StatusOr<std::string> text = root.Read(absl::StrCat("proc/", pid, "/", file));
  const bool is_too_large = absl::IsResourceExhausted(text.status()) && ErrnoOf(text.status()) == 0;
  if (absl::IsNotFound(text.status()) || absl::IsPermissionDenied(text.status()) ||
      ErrnoOf(text.status()) == ESRCH || is_too_large) {
    return std::vector<std::string>();
  }
  PLIMSOLL_RETURN_IF_ERROR(text.status());
  return std::vector<std::string>(absl::StrSplit(*text, '\0', absl::SkipEmpty()));
}

std::vector<ProcessEntry> DescendantsOf(const std::vector<ProcessEntry>& table, pid_t ancestor) {
  std::vector<ProcessEntry> found;
  const auto add_children = [&](pid_t parent) {
    for (const ProcessEntry& entry : table) {
      if (entry.parent == parent && entry.id.pid != parent) found.push_back(entry);
    }
  };
  add_children(ancestor);
  for (size_t i = 0; i < found.size(); ++i) add_children(found[i].id.pid);
  return found;
}

absl::StatusOr<bool> KillDescendants(const FsRoot& root, pid_t ancestor) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<ProcessEntry> table, ListProcessTable(root));
  absl::Status status;
  bool any = false;
  for (const ProcessEntry& each : DescendantsOf(table, ancestor)) {
    if (each.zombie) continue;
    any = true;
    status = FirstError(status, KillProcess(root, each.id));
  }
  PLIMSOLL_RETURN_IF_ERROR(status);
  return any;
}

}  // namespace plimsoll::linux
