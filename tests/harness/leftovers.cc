#include "harness/leftovers.h"

#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "base/fs_root.h"
#include "harness/kernel.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::testing {
namespace {

constexpr absl::string_view kProcess = "process ";

bool IsAtOrBelow(const std::string& path, const std::string& directory) {
  return path == directory || absl::StartsWith(path, absl::StrCat(directory, "/"));
}

void AddMounts(const InventoryScope& scope, const std::vector<linux::MountInfo>& mounts,
               Inventory& inventory) {
  for (const linux::MountInfo& mount : mounts) {
    for (const std::string& directory : scope.directories) {
      if (!IsAtOrBelow(mount.mount_point, directory)) continue;
      inventory.insert(absl::StrCat("mount ", mount.mount_point, " ", mount.fs_type));
    }
  }
}

// Symbolic links are not followed. A file that vanishes meanwhile doesn't count.
void AddFiles(const std::string& directory, Inventory& inventory) {
  const auto names = Host().List(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (absl::StartsWith(name, "plimsoll.db")) continue;
    const std::string path = absl::StrCat(directory, "/", name);
    inventory.insert(absl::StrCat("file ", path));
    struct stat info = {};
    if (lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) AddFiles(path, inventory);
  }
}

void AddGroups(const std::string& path, Inventory& inventory) {
  const auto names = Host().List(path);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string child = absl::StrCat(path, "/", name);
    struct stat info = {};
    if (lstat(child.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    inventory.insert(absl::StrCat("cgroup ", child));
    AddGroups(child, inventory);
  }
}

bool IsOurs(const InventoryScope& scope, const std::string& command, const std::string& groups) {
  for (const std::string& directory : scope.directories) {
    if (absl::StrContains(command, directory)) return true;
  }
  if (scope.cgroup.empty()) return false;
  for (absl::string_view line : absl::StrSplit(groups, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() == 3 && IsAtOrBelow(fields[2], scope.cgroup)) return true;
  }
  return false;
}

void AddProcesses(const InventoryScope& scope, Inventory& inventory) {
  const auto names = Host().List("proc");
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!std::all_of(name.begin(), name.end(), absl::ascii_isdigit)) continue;
    const auto line = Host().Read(absl::StrCat("proc/", name, "/cmdline"));
    // Zombies and kernel threads have no command line.
    if (!line.ok() || line->empty()) continue;
    const std::string command = absl::StrReplaceAll(*line, {{std::string(1, '\0'), " "}});
    const std::string groups = Host().Read(absl::StrCat("proc/", name, "/cgroup")).value_or("");
    if (!IsOurs(scope, command, groups)) continue;
    inventory.insert(absl::StrCat(kProcess, name, " ", command));
  }
}

// Drops the number of a pipe or socket: only their count matters.
std::string KindOf(const std::string& link) {
  for (const char* kind : {"pipe:", "socket:"}) {
    if (absl::StartsWith(link, kind)) return kind;
  }
  return link;
}

void AddDescriptors(pid_t holder, Inventory& inventory) {
  const std::string directory = absl::StrCat("proc/", holder, "/fd");
  const auto names = Host().List(directory);
  if (!names.ok()) return;
  std::map<std::string, int> counts;
  for (const std::string& name : *names) {
    char link[4096];
    const std::string path = absl::StrCat("/", directory, "/", name);
    const ssize_t n = readlink(path.c_str(), link, sizeof(link));
    if (n > 0) ++counts[KindOf(std::string(link, static_cast<size_t>(n)))];
  }
  for (const auto& [what, count] : counts) {
    // A line for each, so that one more descriptor is one more line.
    if (absl::EndsWith(what, "/fd")) continue;  // this look's own descriptor
    for (int i = 1; i <= count; ++i) inventory.insert(absl::StrCat("descriptor ", i, " ", what));
  }
}

std::vector<std::string> Query(sqlite3* database, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    return {absl::StrCat("can't be read: ", sqlite3_errmsg(database))};
  }
  std::vector<std::string> rows;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const unsigned char* text = sqlite3_column_text(statement, 0);
    rows.emplace_back(text != nullptr ? reinterpret_cast<const char*>(text) : "");
  }
  sqlite3_finalize(statement);
  return rows;
}

void AddRows(const std::string& path, Inventory& inventory) {
  if (path.empty() || !Host().Exists(path)) return;
  sqlite3* handle = nullptr;
  sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE, nullptr);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(handle, &sqlite3_close);
  if (handle == nullptr) return;
  sqlite3_busy_timeout(handle, 5000);
  // Reading must not tidy up: that would hide what a killed daemon left.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  for (const std::string& table :
       Query(handle, "SELECT name FROM sqlite_master WHERE type = 'table'")) {
    for (const std::string& id : Query(handle, absl::StrCat("SELECT * FROM ", table))) {
      inventory.insert(absl::StrCat("row ", table, " ", id));
    }
  }
}

// A process that was there, and executes another program by now: a shell becomes its last command.
bool IsProcessOf(const Inventory& before, const std::string& entry) {
  if (!absl::StartsWith(entry, kProcess)) return false;
  const std::string its = entry.substr(0, entry.find(' ', kProcess.size()) + 1);
  const auto it = before.lower_bound(its);
  return it != before.end() && absl::StartsWith(*it, its);
}

}  // namespace

Inventory TakeInventory(const InventoryScope& scope) {
  Inventory inventory;
  const auto mounts = linux::ReadMounts(Host());
  if (mounts.ok()) {
    AddMounts(scope, *mounts, inventory);
    for (const linux::MountInfo& mount : *mounts) {
      const bool is_hierarchy = mount.fs_type == "cgroup" || mount.fs_type == "cgroup2";
      if (!is_hierarchy || scope.cgroup.empty()) continue;
      const std::string group = absl::StrCat(mount.mount_point, scope.cgroup);
      if (Host().Exists(group)) inventory.insert(absl::StrCat("cgroup ", group));
      AddGroups(group, inventory);
    }
  } else {
    inventory.insert(absl::StrCat("mounts can't be read: ", mounts.status().message()));
  }
  for (const std::string& directory : scope.directories) AddFiles(directory, inventory);
  AddProcesses(scope, inventory);
  AddRows(scope.database, inventory);
  if (scope.holder != 0) AddDescriptors(scope.holder, inventory);
  return inventory;
}

std::vector<std::string> LeftOver(const Inventory& before, const Inventory& after) {
  std::vector<std::string> left;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(left));
  std::erase_if(left, [&](const std::string& entry) { return IsProcessOf(before, entry); });
  return left;
}

std::vector<std::string> AwaitNothingLeft(const InventoryScope& scope, const Inventory& before,
                                          absl::Duration within) {
  std::vector<std::string> left;
  Eventually(
      [&] {
        left = LeftOver(before, TakeInventory(scope));
        return left.empty();
      },
      within);
  return left;
}

}  // namespace plimsoll::testing
