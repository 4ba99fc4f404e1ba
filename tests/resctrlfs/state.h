// The state behind the mounted tree. Used by one thread.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_STATE_H_
#define PLIMSOLL_TESTS_RESCTRLFS_STATE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "resctrlfs/command_status.h"
#include "resctrlfs/controls.h"
#include "resctrlfs/counters.h"
#include "resctrlfs/layout.h"
#include "resctrlfs/membership.h"
#include "resctrlfs/rmids.h"
#include "resources/cpu_set.h"

namespace plimsoll::resctrlfs {

// A control group ("CTRL_MON" in the kernel's documentation) or a monitoring group ("MON").
struct Group {
  GroupId id = kRootGroup;
  std::string name;         // empty: the root group
  Group* parent = nullptr;  // the control group of a monitoring group
  int closid = 0;           // a monitoring group's is its parent's
  int rmid = 0;
  Mode mode = Mode::kShareable;
  resources::CpuSet cpus;
  std::string mbps_event;                        // mba_MBps_event
  std::vector<std::unique_ptr<Group>> monitors;  // of a control group, oldest first

  bool IsMonitor() const { return parent != nullptr; }
  bool IsRoot() const { return id == kRootGroup; }
};

struct State {
  // `membership` must outlive it. The layout must have passed CheckLayout.
  State(Layout the_layout, Membership* membership);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const Layout layout;
  Membership& members;
  Controls controls;
  Rmids rmids;
  Counters counters;
  CommandStatus status;
  Group root;
  std::vector<std::unique_ptr<Group>> groups;  // control groups without the root
  GroupId next_id = 1;
  uint32_t max_threshold_occupancy = 0;

  bool CanControl() const { return !controls.schemas().empty(); }
  bool CanMonitor() const { return layout.monitoring.has_value(); }
  // The root group first.
  std::vector<Group*> ControlGroups();
  std::vector<const Group*> ControlGroups() const;
  ClosidModes Modes() const;
  resources::CpuSet AllCpus() const;
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_STATE_H_
