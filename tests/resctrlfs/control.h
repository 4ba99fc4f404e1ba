// Commands to the program beside the mounted tree: a JSON object a line, and one a line in answer,
// {"ok": true, ...} or {"error": "..."}.
//
//   {"do": "set_counter", "group": "gold/mon_groups/c1", "cache": 0, "event": "llc_occupancy",
//    "value": 4096}                  "Unavailable" or "Error" in place of a number; "" is the root
//   {"do": "hide_new"}               hiding.h
//   {"do": "hide_for", "ms": 50}
//   {"do": "show_all"}
//   {"do": "members", "group": "gold"}         {"ok": true, "threads": [..]}, hidden ones too
//   {"do": "linger", "on": true}               rmids.h
//   {"do": "refuse_next", "verb": "write", "path": "gold/tasks", "errno": 5, "skip": 0}    script.h
//   {"do": "journal"}                          {"ok": true, "lines": [..]}
//   {"do": "stop"}
#ifndef PLIMSOLL_TESTS_RESCTRLFS_CONTROL_H_
#define PLIMSOLL_TESTS_RESCTRLFS_CONTROL_H_

#include <string>

#include "absl/strings/string_view.h"
#include "resctrlfs/hiding.h"
#include "resctrlfs/script.h"
#include "resctrlfs/state.h"
#include "resctrlfs/tree.h"

namespace plimsoll::resctrlfs {

class Control {
 public:
  // All must outlive it.
  Control(State* state, Tree* tree, Script* script, HidingMembership* hiding)
      : state_(*state), tree_(*tree), script_(*script), hiding_(*hiding) {}

  // Takes received bytes and returns those to send; an unfinished line is kept.
  std::string Receive(absl::string_view bytes);
  // After "stop".
  bool is_stopped() const { return is_stopped_; }

 private:
  std::string Answer(absl::string_view line);

  State& state_;
  Tree& tree_;
  Script& script_;
  HidingMembership& hiding_;
  std::string pending_;
  bool is_stopped_ = false;
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_CONTROL_H_
