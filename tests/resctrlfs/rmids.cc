#include "resctrlfs/rmids.h"

#include <cerrno>

namespace plimsoll::resctrlfs {

Rmids::Rmids(int count) {
  for (int rmid = 1; rmid < count; ++rmid) free_.insert(rmid);
}

Errno Rmids::Take(int* rmid) {
  if (free_.empty()) return lingering_.empty() ? ENOSPC : EBUSY;
  *rmid = *free_.begin();
  free_.erase(free_.begin());
  return 0;
}

void Rmids::Free(int rmid) {
  (linger_ ? lingering_ : free_).insert(rmid);
}

void Rmids::Linger(bool on) {
  linger_ = on;
  if (!on) free_.merge(lingering_);
}

}  // namespace plimsoll::resctrlfs
