// The end of a program that can't go on. For static programs, which report a failure by their
// standard error alone.
#ifndef PLIMSOLL_MONITOR_FAIL_H_
#define PLIMSOLL_MONITOR_FAIL_H_

namespace plimsoll::monitor {

// "plimsoll: <what> <object>: <errno's text>", exit code 1.
[[noreturn]] void Fail(const char* what, const char* object);

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_FAIL_H_
