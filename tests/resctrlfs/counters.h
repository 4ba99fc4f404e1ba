// Monitoring events: values set by a test, per group, cache and event.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_COUNTERS_H_
#define PLIMSOLL_TESTS_RESCTRLFS_COUNTERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "resctrlfs/membership.h"

namespace plimsoll::resctrlfs {

// The hardware's answer for one counter.
struct Reading {
  enum class Kind { kValue, kUnavailable, kError };
  Kind kind = Kind::kValue;
  uint64_t value = 0;
};

class Counters {
 public:
  // Sets the group's own value, initially 0.
  void Set(GroupId group, int cache, const std::string& event, Reading reading);
  void Forget(GroupId group);
  // The sum over `groups`: a control group with its monitoring groups, or one monitoring group. As
  // in the kernel, readable values are added up; only if none is readable, the text is the last
  // one's error. With the newline.
  std::string Show(const std::vector<GroupId>& groups, int cache, const std::string& event) const;

 private:
  std::map<std::tuple<GroupId, int, std::string>, Reading> readings_;
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_COUNTERS_H_
