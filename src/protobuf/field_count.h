// A bound on what a serialized message becomes in memory.
#ifndef PLIMSOLL_PROTOBUF_FIELD_COUNT_H_
#define PLIMSOLL_PROTOBUF_FIELD_COUNT_H_

#include <google/protobuf/message.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll {

// Two bytes on the wire can be a message of 200 bytes in memory. Counts the fields of `bytes` and
// of the messages in it, by `message`'s type; fields that the type lacks count as one each.
// Allocates nothing. INVALID_ARGUMENT: not such a message, or it has a group, which no message of
// Kubernetes or of its plugins has. RESOURCE_EXHAUSTED: more than `most`.
absl::Status CheckFieldCount(absl::string_view bytes, const google::protobuf::Message& message,
                             int most);

// CheckFieldCount, then parses.
absl::Status ParseBounded(absl::string_view bytes, int most, google::protobuf::Message* message);

}  // namespace plimsoll

#endif  // PLIMSOLL_PROTOBUF_FIELD_COUNT_H_
