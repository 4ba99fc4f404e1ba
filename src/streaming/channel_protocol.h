// Kubernetes' protocols of numbered channels in WebSocket messages.
//
// A message begins with the number of its channel: one byte, or in the base64 protocols one digit,
// and text after it. Commands have channels 0 stdin, 1 stdout, 2 stderr, 3 error, 4 resize; a
// forwarded port has two: 2n its bytes, 2n + 1 its errors.
#ifndef PLIMSOLL_STREAMING_CHANNEL_PROTOCOL_H_
#define PLIMSOLL_STREAMING_CHANNEL_PROTOCOL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::streaming {

// Channels of commands.
inline constexpr uint32_t kStdin = 0;
inline constexpr uint32_t kStdout = 1;
inline constexpr uint32_t kStderr = 2;
inline constexpr uint32_t kError = 3;
inline constexpr uint32_t kResize = 4;

struct ChannelProtocol {
  const char* name = "";     // the subprotocol's
  bool base64 = false;       // otherwise binary
  bool json_status = false;  // a command's end is sent as JSON; otherwise as text, for failures
                             // only
  bool half_close = false;   // a message on channel 255 closes the channel that it names
};

// The first of `offered` that is supported for commands (v1, v4, v5) or port-forwarding (v4). No
// offer at all means v1 or v4. nullopt: none is supported.
std::optional<ChannelProtocol> ChooseCommandProtocol(const std::vector<std::string>& offered);
std::optional<ChannelProtocol> ChoosePortProtocol(const std::vector<std::string>& offered);

struct ChannelMessage {
  uint32_t channel = 0;
  bool close = false;  // closes the channel; then there is no data
  std::string data;
};

// INVALID_ARGUMENT for an empty message, an invalid digit, or text that isn't base64.
absl::StatusOr<ChannelMessage> DecodeChannelMessage(const ChannelProtocol& protocol,
                                                    absl::string_view message);
// `channel` is at most 9 with base64, else 254.
std::string EncodeChannelMessage(const ChannelProtocol& protocol, uint32_t channel,
                                 absl::string_view data);

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_CHANNEL_PROTOCOL_H_
