// A node's use of the machine, as a list to compare before and after.
//
//   const Inventory before = TakeInventory(scope);
//   ... create, fail, remove ...
//   EXPECT_THAT(LeftOver(before, TakeInventory(scope)), IsEmpty());
#ifndef PLIMSOLL_TESTS_HARNESS_LEFTOVERS_H_
#define PLIMSOLL_TESTS_HARNESS_LEFTOVERS_H_

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace plimsoll::testing {

// Scope of an inventory. Other nodes of this machine are not seen as long as they use other places.
struct InventoryScope {
  // State and run directory (absolute, resolved). Mounts and files below them count, and processes
  // whose command line holds one of them.
  std::vector<std::string> directories;
  std::string cgroup;    // groups below it in each hierarchy count, and processes in them
  std::string database;  // path; its rows count. Empty: none
  pid_t holder = 0;      // process whose open files count, by kind. 0: none
};

// One line each: "mount <path> <type>", "file <path>", "cgroup <path>", "process <pid> <command>",
// "row <table> <id>", "descriptor <count> <kind>". Namespaces show as the mount, process or
// descriptor that keeps them alive. Zombies don't count, nor does the database's own file.
using Inventory = std::set<std::string>;
Inventory TakeInventory(const InventoryScope& scope);

// Lines of `after` that are not in `before`.
std::vector<std::string> LeftOver(const Inventory& before, const Inventory& after);

// LeftOver of an inventory taken now, except that things about to go (a killed process, a namespace
// being freed) have up to `within` to do so.
std::vector<std::string> AwaitNothingLeft(const InventoryScope& scope, const Inventory& before,
                                          absl::Duration within = absl::Seconds(10));

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_LEFTOVERS_H_
