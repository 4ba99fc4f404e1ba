// Put in front of every file that includes generated messages (preset `tsan`): for the thread
// sanitizer protobuf's headers give map fields two members more, which the messages in Debian's
// libprotobuf and the generated code, built without it, don't have. So protobuf must not see that
// it is on; Abseil has to, and decides when its config.h is read first.
#ifndef PLIMSOLL_TESTS_SANITIZERS_PROTOBUF_LAYOUT_H_
#define PLIMSOLL_TESTS_SANITIZERS_PROTOBUF_LAYOUT_H_

#include "absl/base/config.h"

#undef __SANITIZE_THREAD__

#endif  // PLIMSOLL_TESTS_SANITIZERS_PROTOBUF_LAYOUT_H_
