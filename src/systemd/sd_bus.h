// Functions of sd-bus under their own names, as pointers into libsystemd.
//
// The library is loaded when the cgroup driver systemd is first used: on a machine without systemd,
// and for everything else, Plimsoll needs no libsystemd. Only code that runs after LoadSdBus may
// call these.
#ifndef PLIMSOLL_SYSTEMD_SD_BUS_H_
#define PLIMSOLL_SYSTEMD_SD_BUS_H_

#include <systemd/sd-bus.h>

#include "absl/status/status.h"

namespace plimsoll::systemd {

// Each name hides the function of <systemd/sd-bus.h>, so calls read as any program's. A function
// that is missing here fails the link.
#define PLIMSOLL_SD_BUS_FUNCTIONS(F) \
  F(sd_bus_add_match_async)          \
  F(sd_bus_call_async)               \
  F(sd_bus_call_method_async)        \
  F(sd_bus_close_unref)              \
  F(sd_bus_get_events)               \
  F(sd_bus_get_fd)                   \
  F(sd_bus_get_timeout)              \
  F(sd_bus_match_signal_async)       \
  F(sd_bus_message_append)           \
  F(sd_bus_message_append_array)     \
  F(sd_bus_message_close_container)  \
  F(sd_bus_message_get_error)        \
  F(sd_bus_message_is_method_error)  \
  F(sd_bus_message_new_method_call)  \
  F(sd_bus_message_open_container)   \
  F(sd_bus_message_read)             \
  F(sd_bus_message_unref)            \
  F(sd_bus_new)                      \
  F(sd_bus_process)                  \
  F(sd_bus_set_address)              \
  F(sd_bus_set_bus_client)           \
  F(sd_bus_set_description)          \
  F(sd_bus_slot_unref)               \
  F(sd_bus_start)

#define PLIMSOLL_SD_BUS_DECLARE(name) extern decltype(&::name) name;
PLIMSOLL_SD_BUS_FUNCTIONS(PLIMSOLL_SD_BUS_DECLARE)
#undef PLIMSOLL_SD_BUS_DECLARE

// Loads libsystemd.so.0 unless that is done; it stays loaded. FAILED_PRECONDITION, with advice, if
// it is missing or lacks a function. Thread-safe.
absl::Status LoadSdBus();
// For tests: loads another library, and changes nothing if that fails. Not thread-safe.
absl::Status LoadSdBusFrom(const char* library);

}  // namespace plimsoll::systemd

#endif  // PLIMSOLL_SYSTEMD_SD_BUS_H_
