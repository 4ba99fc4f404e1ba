#include "linux/process_tree.h"

#include <string>

#include "absl/strings/numbers.h"
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

}  // namespace plimsoll::linux
