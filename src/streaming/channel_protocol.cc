#include "streaming/channel_protocol.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace plimsoll::streaming {
namespace {

constexpr uint8_t kCloseChannel = 255;

constexpr ChannelProtocol kCommandProtocols[] = {
    {.name = "v5.channel.k8s.io", .json_status = true, .half_close = true},
    {.name = "v4.channel.k8s.io", .json_status = true},
    {.name = "v4.base64.channel.k8s.io", .base64 = true, .json_status = true},
    {.name = "channel.k8s.io"},
    {.name = "base64.channel.k8s.io", .base64 = true},
};
constexpr ChannelProtocol kPortProtocols[] = {
    {.name = "v4.channel.k8s.io"},
    {.name = "v4.base64.channel.k8s.io", .base64 = true},
};

std::optional<ChannelProtocol> Choose(absl::Span<const ChannelProtocol> supported,
                                      const std::vector<std::string>& offered) {
  // No subprotocol means binary channels, and the answer names none.
  if (offered.empty()) return ChannelProtocol();
  for (const std::string& name : offered) {
    for (const ChannelProtocol& protocol : supported) {
      if (name == protocol.name) return protocol;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ChannelProtocol> ChooseCommandProtocol(const std::vector<std::string>& offered) {
  return Choose(kCommandProtocols, offered);
}

std::optional<ChannelProtocol> ChoosePortProtocol(const std::vector<std::string>& offered) {
  return Choose(kPortProtocols, offered);
}

absl::StatusOr<ChannelMessage> DecodeChannelMessage(const ChannelProtocol& protocol,
                                                    absl::string_view message) {
  if (message.empty()) {
    return absl::InvalidArgumentError("a WebSocket message without the number of its channel");
  }
  ChannelMessage result;
  const auto first = static_cast<uint8_t>(message[0]);
  message.remove_prefix(1);
  if (protocol.base64) {
    if (first < '0' || first > '9') {
      return absl::InvalidArgumentError(absl::StrCat("a WebSocket message that begins with byte ",
                                                     first,
                                                     "; with base64 the channel is a digit"));
    }
    result.channel = first - uint32_t{'0'};
    if (!absl::Base64Unescape(message, &result.data)) {
      return absl::InvalidArgumentError("a WebSocket message that is not base64");
    }
    return result;
  }
  if (protocol.half_close && first == kCloseChannel) {
    if (message.size() != 1) {
      return absl::InvalidArgumentError("a WebSocket message that closes no channel, or several");
    }
    result.channel = static_cast<uint8_t>(message[0]);
    result.close = true;
    return result;
  }
  result.channel = first;
  result.data = std::string(message);
  return result;
}

std::string EncodeChannelMessage(const ChannelProtocol& protocol, uint32_t channel,
                                 absl::string_view data) {
  if (protocol.base64) return absl::StrCat(channel, absl::Base64Escape(data));
  std::string message;
  message.reserve(1 + data.size());
  message.push_back(static_cast<char>(channel));
  message.append(data.data(), data.size());
  return message;
}

}  // namespace plimsoll::streaming
