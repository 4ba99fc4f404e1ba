// A pod's announced needs (KEP-4112) as the CRI's messages. The numbers of the enumerations are
// equal in both.
#ifndef PLIMSOLL_RUNTIME_ANNOUNCEMENT_MESSAGES_H_
#define PLIMSOLL_RUNTIME_ANNOUNCEMENT_MESSAGES_H_

#include <vector>

#include "cri/runtime/v1/api.pb.h"
#include "google/protobuf/repeated_field.h"
#include "runtime/spec/mount.h"
#include "runtime/spec/pod_resources.h"

namespace plimsoll::runtime {

void FillPodResources(const PodResources& resources, ::runtime::v1::PodResourceConfig* out);
void FillKubernetesResources(const KubernetesResources& resources,
                             ::runtime::v1::KubernetesResources* out);
void FillIdMappings(const std::vector<IdMapping>& mappings,
                    google::protobuf::RepeatedPtrField<::runtime::v1::IDMapping>* out);
// Fills all of the message but `image`.
void FillMountedImageSpec(const MountedImageSpec& spec, ::runtime::v1::ImageSpec* out);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_ANNOUNCEMENT_MESSAGES_H_
