#include "cri/translate_id_mappings.h"

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

void FillIdMappings(const std::vector<runtime::IdMapping>& mappings,
                    google::protobuf::RepeatedPtrField<v1::IDMapping>* out) {
  for (const runtime::IdMapping& each : mappings) {
    v1::IDMapping* mapping = out->Add();
    mapping->set_host_id(each.host_id);
    mapping->set_container_id(each.container_id);
    mapping->set_length(each.length);
  }
}

}  // namespace plimsoll::cri
