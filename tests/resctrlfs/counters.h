// Monitoring events: values that a test gives, per group, cache and event.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_COUNTERS_H_
#define PLIMSOLL_TESTS_RESCTRLFS_COUNTERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "resctrlfs/membership.h"

namespace plimsoll::resctrlfs {

// What the hardware says when asked for one counter.
struct Reading {
  enum class Kind { kValue, kUnavailable, kError };
  Kind kind = Kind::kValue;
  uint64_t value = 0;
};

class Counters {
 public:
  // Of the group itself; 0 until it is set.
  void Set(GroupId group, int cache, const std::string& event, Reading reading);
  void Forget(GroupId group);
  // The sum over `groups`: a control group with its monitoring groups, or one monitoring group. As
  // the kernel: those that can be read are added up, and only if none can, it says why the last
  // couldn't. With the newline.
  std::string Show(const std::vector<GroupId>& groups, int cache, const std::string& event) const;

 private:
  std::map<std::tuple<GroupId, int, std::string>, Reading> readings_;
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_COUNTERS_H_
