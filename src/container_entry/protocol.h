// The agreement between plimsoll-exec and the daemon, beside the plan.
#ifndef PLIMSOLL_CONTAINER_ENTRY_PROTOCOL_H_
#define PLIMSOLL_CONTAINER_ENTRY_PROTOCOL_H_

namespace plimsoll::entry {

inline constexpr int kPlanDescriptor = 3;

// Exit code when one of its processes was killed on the way, without a message in the log.
inline constexpr int kSilentEnd = 255;

// Beginnings of a message in the log. Nothing was started, and the OCI runtime may succeed: with
// every command of this container, or with this one.
inline constexpr char kUnsupported[] = "unsupported: ";
inline constexpr char kNotNow[] = "not now: ";

}  // namespace plimsoll::entry

#endif  // PLIMSOLL_CONTAINER_ENTRY_PROTOCOL_H_
