#include "cri/messages/listed_configs.h"

#include <google/protobuf/io/coded_stream.h>

#include <cstdint>

namespace plimsoll::cri {
namespace {

using google::protobuf::io::CodedOutputStream;

constexpr size_t kMostVarint = 5;

// A tag of protobuf's encoding: field number and wire type.
constexpr uint32_t TagOf(int field, bool is_varint) {
  return static_cast<uint32_t>(field) << 3 | (is_varint ? 0 : 2);  // 2: a length, then that many
                                                                   // bytes
}

}  // namespace

void AddToList(int list_field, int state_field, absl::string_view bytes, int state,
               std::string* response) {
  uint8_t state_bytes[2 * kMostVarint];
  uint8_t* end = CodedOutputStream::WriteVarint32ToArray(TagOf(state_field, true), state_bytes);
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(state), end);
  const auto state_size = static_cast<size_t>(end - state_bytes);
  uint8_t head[2 * kMostVarint];
  end = CodedOutputStream::WriteVarint32ToArray(TagOf(list_field, false), head);
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(bytes.size() + state_size),
                                                end);
  response->append(reinterpret_cast<const char*>(head), static_cast<size_t>(end - head));
  response->append(bytes.data(), bytes.size());
  response->append(reinterpret_cast<const char*>(state_bytes), state_size);
}

}  // namespace plimsoll::cri
