// WebSocket messages of Kubernetes' channel protocols, and sizes of terminals.
#include <string>

#include "check.h"
#include "streaming/channel_protocol.h"
#include "streaming/command_end.h"

namespace {

using namespace plimsoll::fuzz;
namespace streaming = plimsoll::streaming;

void CheckProtocol(const char* name, absl::string_view text) {
  const streaming::ChannelProtocol protocol = *streaming::ChooseCommandProtocol({name});
  const auto message = streaming::DecodeChannelMessage(protocol, text);
  if (!message.ok()) return CheckRefusal(message.status());
  FUZZ_CHECK(message->channel <= 255, name);
  if (message->close) return;
  const auto again = streaming::DecodeChannelMessage(
      protocol, streaming::EncodeChannelMessage(protocol, message->channel, message->data));
  // From v5 on channel 255 is reserved for closing others.
  if (protocol.half_close && message->channel == 255) return;
  FUZZ_CHECK(again.ok() && again->data == message->data, name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text = Text(data, size);
  for (const char* name : {"v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"}) {
    CheckProtocol(name, text);
  }
  streaming::TerminalSizes sizes;
  const auto terminal = sizes.Read(text);
  FUZZ_CHECK(!terminal || (terminal->columns > 0 && terminal->rows > 0), "a terminal of no size");
  return 0;
}
