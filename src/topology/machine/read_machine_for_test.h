// For tests: the zones that discovery makes of a handwritten machine, which every client can read.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_READ_MACHINE_FOR_TEST_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_READ_MACHINE_FOR_TEST_H_

#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "pictures/topology.h"
#include "topology/machine/discover.h"
#include "topology/machine/machine_files_for_test.h"
#include "topology/machine/plain_tree_for_test.h"
#include "topology/make_zones.h"
#include "topology/validate.h"

namespace plimsoll::topology {

inline Machine ReadMachine(MachineFiles& files) {
  auto machine = Discover(files.root(), PLIMSOLL_HWLOC_PROGRAM);
  EXPECT_TRUE(machine.ok()) << machine.status();
  if (machine.ok()) {
    EXPECT_EQ(Validate(MakeZones(*machine), nullptr), absl::OkStatus());
  }
  return machine.ok() ? *std::move(machine) : Machine();
}

// The tree without the root's line, which is the same in most tests.
inline std::string TreeText(const Machine& machine) {
  const std::string text = PlainTree(pictures::TopologyText(MakeZones(machine)));
  return "\n" + text.substr(text.find('\n') + 1);
}

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_READ_MACHINE_FOR_TEST_H_
