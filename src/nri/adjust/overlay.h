// Changes laid over messages, by the rules of fields.h.
#ifndef PLIMSOLL_NRI_ADJUST_OVERLAY_H_
#define PLIMSOLL_NRI_ADJUST_OVERLAY_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "nri/adjust/owners.h"

namespace plimsoll::nri {

// A message and the path of its members: "" of an adjustment, "linux.resources." of resources.
struct Change {
  const google::protobuf::Message& message;
  std::string prefix;
};

// Refuses a change that would be understood wrongly or takes too much room, whatever its values:
// UNIMPLEMENTED for a member that this protocol doesn't know, INVALID_ARGUMENT for text with a NUL
// byte, RESOURCE_EXHAUSTED beyond kMaxElements and kMaxChangeBytes. Errors name the member.
absl::Status CheckShape(const Change& change);
inline constexpr int kMaxElements = 4096;  // of a list
inline constexpr size_t kMaxChangeBytes = 1024 * 1024;

// Makes the plugin the owner of all that the change sets, and removes what it removes. Errors of
// Owners::Claim, which leave `owners` half changed.
absl::Status Claim(const std::string& plugin, const Change& change, Owners* owners);

// Sets in `target` what the change sets. Elements with the key of one in the change go. Removals
// themselves become elements of the target if `keep_removals`. Skips members that the target has
// not, or has in another form, and linux.rdt.remove.
void Overlay(const Change& change, bool keep_removals, google::protobuf::Message* target);

// "c 10:200" or "c 10:*": of a rule of the device cgroup, as messages and owners have it.
std::string RuleKey(const api::LinuxDeviceCgroup& rule);

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_ADJUST_OVERLAY_H_
