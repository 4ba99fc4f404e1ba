#include "nri/plugin_events.h"

#include "absl/strings/str_cat.h"

namespace plimsoll::nri {
namespace {

constexpr uint32_t kAllEvents = (uint32_t{1} << (static_cast<int>(api::LAST) - 1)) - 1;

}  // namespace

const char* EventName(api::Event event) {
  switch (event) {
    case api::RUN_POD_SANDBOX:
      return "RunPodSandbox";
    case api::STOP_POD_SANDBOX:
      return "StopPodSandbox";
    case api::REMOVE_POD_SANDBOX:
      return "RemovePodSandbox";
    case api::CREATE_CONTAINER:
      return "CreateContainer";
    case api::POST_CREATE_CONTAINER:
      return "PostCreateContainer";
    case api::START_CONTAINER:
      return "StartContainer";
    case api::POST_START_CONTAINER:
      return "PostStartContainer";
    case api::UPDATE_CONTAINER:
      return "UpdateContainer";
    case api::POST_UPDATE_CONTAINER:
      return "PostUpdateContainer";
    case api::STOP_CONTAINER:
      return "StopContainer";
    case api::REMOVE_CONTAINER:
      return "RemoveContainer";
    case api::UPDATE_POD_SANDBOX:
      return "UpdatePodSandbox";
    case api::POST_UPDATE_POD_SANDBOX:
      return "PostUpdatePodSandbox";
    case api::VALIDATE_CONTAINER_ADJUSTMENT:
      return "ValidateContainerAdjustment";
    default:
      return "Unknown";
  }
}

bool HasStateChange(api::Event event) {
  switch (event) {
    case api::CREATE_CONTAINER:
    case api::UPDATE_CONTAINER:
    case api::STOP_CONTAINER:
    case api::UPDATE_POD_SANDBOX:
    case api::VALIDATE_CONTAINER_ADJUSTMENT:
      return false;
    default:
      return true;
  }
}

absl::StatusOr<Subscription> Subscription::Read(int32_t events) {
  Subscription subscription;
  subscription.explicit_ = events != 0;
  subscription.mask_ = events == 0 ? kAllEvents : static_cast<uint32_t>(events);
  if (const uint32_t unknown = subscription.mask_ & ~kAllEvents; unknown != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("events 0x", absl::Hex(subscription.mask_), ": bits 0x", absl::Hex(unknown),
                     " are no events of this protocol; bit N-1 is event N, up to ",
                     static_cast<int>(api::LAST) - 1));
  }
  return subscription;
}

std::vector<std::string> Subscription::Names() const {
  std::vector<std::string> names;
  for (int number = 1; number < static_cast<int>(api::LAST); ++number) {
    const auto event = static_cast<api::Event>(number);
    if (Has(event)) names.emplace_back(EventName(event));
  }
  return names;
}

}  // namespace plimsoll::nri
