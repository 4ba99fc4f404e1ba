#include "cri/container_configs.h"

#include <google/protobuf/io/coded_stream.h>

#include <utility>

#include "cri/translate_container.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using google::protobuf::io::CodedOutputStream;

// Of protobuf's encoding: a field's number and how its value is written.
constexpr uint32_t kContainersTag =
    v1::ListContainersResponse::kContainersFieldNumber << 3 | 2;  // a length, and so many bytes
constexpr uint32_t kStateTag = v1::Container::kStateFieldNumber << 3 | 0;  // a varint
constexpr size_t kMostVarint = 5;

}  // namespace

std::shared_ptr<const ListedContainer> ContainerConfigs::GetListed(
    const runtime::ContainerRecord& record) {
  if (auto known = listed_.Find(record.id)) return known;
  auto listed = std::make_shared<ListedContainer>();
  listed->config = configs_.Get(record.id, record.client_config);
  v1::Container message;
  FillContainer(record, *listed->config, &message);
  message.clear_state();
  listed->bytes = message.SerializeAsString();
  return listed_.Keep(record.id, std::move(listed));
}

void AddListed(const ListedContainer& container, v1::ContainerState state, std::string* response) {
  uint8_t state_bytes[2 * kMostVarint];
  uint8_t* end = CodedOutputStream::WriteVarint32ToArray(kStateTag, state_bytes);
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(state), end);
  const auto state_size = static_cast<size_t>(end - state_bytes);
  uint8_t head[2 * kMostVarint];
  end = CodedOutputStream::WriteVarint32ToArray(kContainersTag, head);
  end = CodedOutputStream::WriteVarint32ToArray(
      static_cast<uint32_t>(container.bytes.size() + state_size), end);
  response->append(reinterpret_cast<const char*>(head), static_cast<size_t>(end - head));
  response->append(container.bytes);
  response->append(reinterpret_cast<const char*>(state_bytes), state_size);
}

}  // namespace plimsoll::cri
