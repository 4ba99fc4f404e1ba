#include "protobuf/field_count.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

// The depth of protobuf's parser. A type that contains itself may be nested without end.
constexpr int kMostDepth = 100;

class Counter {
 public:
  Counter(absl::string_view bytes, int most)
      : in_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())),
        most_(most) {}

  // Up to the stream's present limit.
  absl::Status Count(const Descriptor& type, int depth = 0) {
    if (depth > kMostDepth) return Malformed(type);
    while (const uint32_t tag = in_.ReadTag()) {
      if (++fields_ > most_) {
        return absl::ResourceExhaustedError(absl::StrCat("it has more than ", most_, " fields"));
      }
      const FieldDescriptor* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      const Descriptor* inner = field != nullptr ? field->message_type() : nullptr;
      const auto wire_type = WireFormatLite::GetTagWireType(tag);
      if (wire_type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED && inner != nullptr) {
        PLIMSOLL_RETURN_IF_ERROR(CountInner(*inner, depth + 1));
      } else if (wire_type == WireFormatLite::WIRETYPE_START_GROUP ||
                 wire_type == WireFormatLite::WIRETYPE_END_GROUP ||
                 !WireFormatLite::SkipField(&in_, tag)) {
        return Malformed(type);
      }
    }
    return in_.ConsumedEntireMessage() ? absl::OkStatus() : Malformed(type);
  }

 private:
  absl::Status CountInner(const Descriptor& type, int depth) {
    uint32_t length = 0;
    if (!in_.ReadVarint32(&length)) return Malformed(type);
    // A stream over an array has a limit from the start.
    if (length > static_cast<uint32_t>(in_.BytesUntilLimit())) return Malformed(type);
    const auto limit = in_.PushLimit(static_cast<int>(length));
    PLIMSOLL_RETURN_IF_ERROR(Count(type, depth));
    in_.PopLimit(limit);
    return absl::OkStatus();
  }

  static absl::Status Malformed(const Descriptor& type) {
    return absl::InvalidArgumentError(absl::StrCat("it is no ", type.full_name()));
  }

  google::protobuf::io::CodedInputStream in_;
  const int most_;
  int fields_ = 0;
};

}  // namespace

absl::Status CheckFieldCount(absl::string_view bytes, const google::protobuf::Message& message,
                             int most) {
  if (bytes.size() > INT32_MAX) return absl::ResourceExhaustedError("it has more than 2 GiB");
  return Counter(bytes, most).Count(*message.GetDescriptor());
}

absl::Status ParseBounded(absl::string_view bytes, int most, google::protobuf::Message* message) {
  PLIMSOLL_RETURN_IF_ERROR(CheckFieldCount(bytes, *message, most));
  if (!message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is no ", message->GetDescriptor()->full_name()));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll
