#include "cri/messages/translate_id_mappings.h"

namespace plimsoll::cri {

namespace v1 = ::runtime::v1;

std::vector<runtime::IdMapping> IdMappingsFrom(
    const google::protobuf::RepeatedPtrField<v1::IDMapping>& message) {
  std::vector<runtime::IdMapping> mappings;
  for (const v1::IDMapping& each : message) {
    mappings.push_back({each.host_id(), each.container_id(), each.length()});
  }
  return mappings;
}

}  // namespace plimsoll::cri
