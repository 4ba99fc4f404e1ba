// Id mappings of user namespaces: the engine's types of the CRI's messages.
#ifndef PLIMSOLL_CRI_MESSAGES_TRANSLATE_ID_MAPPINGS_H_
#define PLIMSOLL_CRI_MESSAGES_TRANSLATE_ID_MAPPINGS_H_

#include <vector>

#include "cri/runtime/v1/api.pb.h"
#include "google/protobuf/repeated_field.h"
#include "runtime/spec/mount.h"

namespace plimsoll::cri {

std::vector<runtime::IdMapping> IdMappingsFrom(
    const google::protobuf::RepeatedPtrField<::runtime::v1::IDMapping>& message);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGES_TRANSLATE_ID_MAPPINGS_H_
