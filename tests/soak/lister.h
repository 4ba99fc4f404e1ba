// Lists everything on the node, as kubelet and its monitoring do all the time.
#ifndef PLIMSOLL_TESTS_SOAK_LISTER_H_
#define PLIMSOLL_TESTS_SOAK_LISTER_H_

#include "harness/node.h"
#include "soak/journal.h"

namespace plimsoll::testing {

// Calls all lists, statistics and metrics once, whole and as streams. None may have duplicates.
void ListAll(Node& node, Journal& journal);

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_LISTER_H_
