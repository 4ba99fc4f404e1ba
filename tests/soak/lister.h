// Asks for everything on the node, as kubelet and its monitoring do again and again.
#ifndef PLIMSOLL_TESTS_SOAK_LISTER_H_
#define PLIMSOLL_TESTS_SOAK_LISTER_H_

#include "harness/node.h"
#include "soak/journal.h"

namespace plimsoll::testing {

// All lists, statistics and metrics once, whole and as streams. In none may anything be twice.
void ListAll(Node& node, Journal& journal);

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_LISTER_H_
