// The events of the protocol, and a plugin's subscription to them.
#ifndef PLIMSOLL_NRI_PLUGIN_EVENTS_H_
#define PLIMSOLL_NRI_PLUGIN_EVENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nri/v1alpha1/api.pb.h"

namespace plimsoll::nri {

namespace api = ::nri::pkg::api::v1alpha1;

// The event's call: "CreateContainer".
const char* EventName(api::Event event);
// True if plugins from before protocol 0.12 know the event by StateChange.
bool HasStateChange(api::Event event);

class Subscription {
 public:
  // `events`: as of ConfigureResponse. INVALID_ARGUMENT: it has bits of unknown events.
  static absl::StatusOr<Subscription> Read(int32_t events);

  bool Has(api::Event event) const { return (mask_ & Bit(event)) != 0; }
  // True if the plugin has named its events, instead of asking for all.
  bool is_explicit() const { return explicit_; }
  void Drop(api::Event event) { mask_ &= ~Bit(event); }
  std::vector<std::string> Names() const;  // in the order of the numbers

 private:
  static uint32_t Bit(api::Event event) { return uint32_t{1} << (static_cast<int>(event) - 1); }

  uint32_t mask_ = 0;
  bool explicit_ = false;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_PLUGIN_EVENTS_H_
