// The messages of ttrpc in a plugin's connection, and the protobuf in them.
#include <string>
#include <utility>
#include <vector>

#include "check.h"
#include "nri/ttrpc/message.h"
#include "ttrpc/ttrpc.pb.h"

namespace {

using namespace plimsoll::nri;

struct Decoded {
  std::vector<Message> messages;
  absl::Status status;
  bool is_whole = false;
};

Decoded Decode(absl::string_view bytes, size_t piece) {
  Decoded decoded;
  MessageDecoder decoder;
  const auto take = [&](Message message) {
    decoded.messages.push_back(std::move(message));
    return absl::OkStatus();
  };
  while (!bytes.empty() && decoded.status.ok()) {
    const absl::string_view part = bytes.substr(0, piece);
    decoded.status = decoder.Feed(part, take);
    bytes.remove_prefix(part.size());
  }
  decoded.is_whole = decoder.IsBetweenMessages();
  return decoded;
}

bool Same(const Message& one, const Message& other) {
  return one.stream == other.stream && one.type == other.type && one.flags == other.flags &&
         one.body == other.body && one.too_long == other.too_long;
}

void CheckMessage(const Message& message) {
  FUZZ_CHECK(message.body.size() <= kMaxMessageBytes, "a body that is too long");
  FUZZ_CHECK(message.too_long == 0 || message.body.empty(), "half a body");
  const Decoded again = Decode(MessageBytes(message.stream, message.type, message.body), 5);
  FUZZ_CHECK(again.status.ok() && again.is_whole && again.messages.size() == 1, "written wrong");
  FUZZ_CHECK(again.messages[0].body == message.body, "the message loses its body");
  ttrpc::Request request;
  if (request.ParseFromString(message.body)) request.SerializeAsString();
  ttrpc::Response response;
  if (response.ParseFromString(message.body)) response.SerializeAsString();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  const absl::string_view bytes = Text(data, size);
  const Decoded decoded = Decode(bytes, size + 1);
  if (!decoded.status.ok()) CheckRefusal(decoded.status);
  for (const size_t piece : {1, 11}) {
    const Decoded again = Decode(bytes, piece);
    FUZZ_CHECK(again.status == decoded.status, again.status.ToString());
    FUZZ_CHECK(again.is_whole == decoded.is_whole, "cut, the bytes end elsewhere");
    FUZZ_CHECK(again.messages.size() == decoded.messages.size(), "cut, messages are missing");
    for (size_t i = 0; i < again.messages.size(); ++i) {
      FUZZ_CHECK(Same(again.messages[i], decoded.messages[i]), "cut, a message differs");
    }
  }
  for (const Message& message : decoded.messages) CheckMessage(message);
  return 0;
}
