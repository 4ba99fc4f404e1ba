// Ids, capabilities and seccomp filter of a command.
#ifndef PLIMSOLL_CONTAINER_ENTRY_CREDENTIALS_H_
#define PLIMSOLL_CONTAINER_ENTRY_CREDENTIALS_H_

#include <linux/filter.h>

#include "container_entry/plan.h"

namespace plimsoll::entry {

// A seccomp filter; without instructions, none.
struct Filter {
  sock_filter* instructions = nullptr;
  unsigned short count = 0;
};

// False: failed, with errno.
bool ReadFilter(int descriptor, Filter* filter);
bool LoadFilter(const Filter& filter);

// Takes on the plan's ids and capabilities, in the container's user namespace. A process without
// no_new_privs needs CAP_SYS_ADMIN to load a filter, so the filter is loaded before that is
// dropped. Fails through `report`.
void TakeCredentials(const Plan& plan, const Filter& filter, int report);

}  // namespace plimsoll::entry

#endif  // PLIMSOLL_CONTAINER_ENTRY_CREDENTIALS_H_
