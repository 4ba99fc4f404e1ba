#include "linux/process_tree.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

// proc(5): "pid (comm) state ppid ...", and comm may hold anything.
bool Parse(absl::string_view stat, ProcessEntry* entry) {
  const size_t after = stat.rfind(')');
  if (after == absl::string_view::npos) return false;
  const std::vector<absl::string_view> fields =
      absl::StrSplit(stat.substr(after + 1), ' ', absl::SkipWhitespace());
  // Field 3, the state, is the first after the name; field 22, the start time, the 20th.
  if (fields.size() < 20) return false;
  entry->zombie = fields[0] == "Z" || fields[0] == "X";
  return absl::SimpleAtoi(fields[1], &entry->parent) &&
         absl::SimpleAtoi(fields[19], &entry->id.start_time_ticks);
}

}  // namespace

absl::StatusOr<std::vector<ProcessEntry>> ListProcessTable(const FsRoot& root) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, root.List("proc"));
  std::vector<ProcessEntry> table;
  for (const std::string& name : names) {
    ProcessEntry entry;
    if (!absl::SimpleAtoi(name, &entry.id.pid) || entry.id.pid <= 0) continue;
    const absl::StatusOr<std::string> stat = root.Read(absl::StrCat("proc/", name, "/stat"));
    if (stat.ok() && Parse(*stat, &entry)) table.push_back(entry);
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
