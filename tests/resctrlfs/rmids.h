// The RMIDs: free ones, and freed ones that still have lines in a cache.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_RMIDS_H_
#define PLIMSOLL_TESTS_RESCTRLFS_RMIDS_H_

#include <set>

#include "resctrlfs/command_status.h"

namespace plimsoll::resctrlfs {

class Rmids {
 public:
  // 0 is the root group's from the start.
  explicit Rmids(int count);

  // ENOSPC when all are taken, EBUSY when some only linger.
  Errno Take(int* rmid);
  void Free(int rmid);
  // While on, freed ones linger, as on a machine whose cache still holds lines of their tasks.
  void Linger(bool on);

 private:
  std::set<int> free_;
  std::set<int> lingering_;
  bool linger_ = false;
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_RMIDS_H_
