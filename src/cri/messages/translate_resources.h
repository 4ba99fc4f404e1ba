// Translates LinuxContainerResources to the runtime's types and back.
#ifndef PLIMSOLL_CRI_MESSAGES_TRANSLATE_RESOURCES_H_
#define PLIMSOLL_CRI_MESSAGES_TRANSLATE_RESOURCES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cri/runtime/v1/api.pb.h"
#include "linux/cgroup/settings.h"
#include "runtime/engine.h"

namespace plimsoll::cri {

// 0 and empty mean "not specified" and stay absent. `field` begins the names in errors, e.g.
// "config.linux.resources". INVALID_ARGUMENT for values out of range; api.proto has the ranges.
// oom_score_adj is checked but is no cgroup setting: take it from the message.
absl::StatusOr<linux::CgroupSettings> CgroupSettingsFrom(
    const ::runtime::v1::LinuxContainerResources& resources, absl::string_view field);

// An update, from `linux` or KEP-2273's `resources.linux`. INVALID_ARGUMENT, naming the member, if
// both are present and differ. UNIMPLEMENTED for `windows`: kubelet never sends it on Linux, so the
// client takes the machine for another and would miss its request. An oom_score_adj of 0 means no
// change: clients that change only the CPU set send it. Class and Kubernetes resources (3008, 4112)
// are ignored.
absl::StatusOr<runtime::ResourceUpdate> ResourceUpdateFrom(
    const ::runtime::v1::UpdateContainerResourcesRequest& request);

// True if the annotation plimsoll.dev/memory-shrink, an update's or else its pod's, asks to make
// room for a memory limit below the memory in use. INVALID_ARGUMENT for a value that is not
// "best-effort".
using CriAnnotations = google::protobuf::Map<std::string, std::string>;
absl::StatusOr<bool> AsksToShrink(const CriAnnotations& update, const CriAnnotations& pod);

// Fills in what the kernel enforces. An unknown value is 0 or empty; no limit is -1.
void FillLinuxResources(const runtime::EffectiveResources& effective,
                        ::runtime::v1::LinuxContainerResources* out);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGES_TRANSLATE_RESOURCES_H_
