// Included before every file that includes generated messages (preset `tsan`). Under the thread
// sanitizer protobuf's headers give map fields two more members, which the messages in Debian's
// libprotobuf and the generated code, built without it, don't have. So the sanitizer must be hidden
// from protobuf, but not from Abseil, which decides when its config.h is first read.
#ifndef PLIMSOLL_TESTS_SANITIZERS_PROTOBUF_LAYOUT_H_
#define PLIMSOLL_TESTS_SANITIZERS_PROTOBUF_LAYOUT_H_

#include "absl/base/config.h"

#undef __SANITIZE_THREAD__

#endif  // PLIMSOLL_TESTS_SANITIZERS_PROTOBUF_LAYOUT_H_
