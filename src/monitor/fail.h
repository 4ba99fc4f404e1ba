// The end of a program that can't go on. For the static programs of this room, which have no other
// way to say why than their standard error.
#ifndef PLIMSOLL_MONITOR_FAIL_H_
#define PLIMSOLL_MONITOR_FAIL_H_

namespace plimsoll::monitor {

// "plimsoll: <what> <object>: <errno's text>", exit code 1.
[[noreturn]] void Fail(const char* what, const char* object);

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_FAIL_H_
