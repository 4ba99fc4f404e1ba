#include "harness/websocket_client.h"

#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::testing {
namespace {

constexpr int kText = 1;
constexpr int kBinary = 2;
constexpr int kClose = 8;
constexpr int kPing = 9;
constexpr int kPong = 10;
constexpr char kMask[] = {0x12, 0x34, 0x56, 0x78};

uint64_t BigEndian(absl::string_view bytes) {
  uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WebSocketClient>> WebSocketClient::Connect(
    const std::string& url, const std::string& protocol) {
  PLIMSOLL_ASSIGN_OR_RETURN(auto connection, StreamConnection::Connect(url));
  StreamConnection::Headers headers = {{"Connection", "Upgrade"},
                                       {"Upgrade", "websocket"},
                                       {"Sec-WebSocket-Version", "13"},
                                       {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}};
  if (!protocol.empty()) headers.emplace_back("Sec-WebSocket-Protocol", protocol);
  PLIMSOLL_ASSIGN_OR_RETURN(const HttpAnswer answer, connection->Request("GET", headers));
  if (answer.code != 101) {
    return absl::FailedPreconditionError(absl::StrCat(answer.code, " ", answer.body));
  }
  // RFC 6455, section 1.3, has this pair as its example.
  const auto accept = answer.headers.find("sec-websocket-accept");
  if (accept == answer.headers.end() || accept->second != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") {
    return absl::InternalError("the answer's Sec-WebSocket-Accept is wrong");
  }
  auto client = std::unique_ptr<WebSocketClient>(new WebSocketClient(std::move(connection)));
  const auto chosen = answer.headers.find("sec-websocket-protocol");
  if (chosen != answer.headers.end()) client->protocol_ = chosen->second;
  return client;
}

bool WebSocketClient::base64() const {
  return absl::StrContains(protocol_, "base64");
}

absl::Status WebSocketClient::SendFrame(int opcode, absl::string_view payload, bool last) {
  std::string frame(1, static_cast<char>((last ? 0x80 : 0) | opcode));
  if (payload.size() < 126) {
    frame.push_back(static_cast<char>(0x80 | payload.size()));
  } else if (payload.size() < 65536) {
    frame.push_back(static_cast<char>(0x80 | 126));
    for (const int shift : {8, 0}) frame.push_back(static_cast<char>(payload.size() >> shift));
  } else {
    frame.push_back(static_cast<char>(0x80 | 127));
    for (int shift = 56; shift >= 0; shift -= 8) {
      frame.push_back(static_cast<char>(uint64_t{payload.size()} >> shift));
    }
  }
  frame.append(kMask, sizeof(kMask));
  for (size_t i = 0; i < payload.size(); ++i) {
    frame.push_back(static_cast<char>(payload[i] ^ kMask[i % sizeof(kMask)]));
  }
  return connection_->Write(frame);
}

absl::Status WebSocketClient::SendMessage(absl::string_view message) {
  return SendFrame(base64() ? kText : kBinary, message);
}

absl::Status WebSocketClient::Send(int channel, absl::string_view data) {
  if (base64()) return SendMessage(absl::StrCat(channel, absl::Base64Escape(data)));
  return SendMessage(absl::StrCat(std::string(1, static_cast<char>(channel)), data));
}

absl::Status WebSocketClient::CloseChannel(int channel) {
  const std::string message = {static_cast<char>(255), static_cast<char>(channel)};
  return SendMessage(message);
}

absl::StatusOr<bool> WebSocketClient::ReadMessage(std::string* message, absl::Duration limit) {
  message->clear();
  while (true) {
    const absl::StatusOr<std::string> head = connection_->ReadExactly(2, limit);
    if (absl::IsOutOfRange(head.status())) return false;
    PLIMSOLL_RETURN_IF_ERROR(head.status());
    const int opcode = (*head)[0] & 0x0f;
    const bool last = ((*head)[0] & 0x80) != 0;
    uint64_t size = static_cast<uint8_t>((*head)[1]);
    if (size > 127) return absl::InternalError("a server's frames are not masked");
    if (size >= 126) {
      PLIMSOLL_ASSIGN_OR_RETURN(const std::string length,
                                connection_->ReadExactly(size == 126 ? 2 : 8, limit));
      size = BigEndian(length);
    }
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string payload, connection_->ReadExactly(size, limit));
    if (opcode == kPing) PLIMSOLL_RETURN_IF_ERROR(SendFrame(kPong, payload));
    if (opcode == kClose) {
      close_code = payload.size() >= 2 ? static_cast<int>(BigEndian(payload.substr(0, 2))) : 1005;
      SendFrame(kClose, payload).IgnoreError();
      return false;
    }
    if (opcode >= kClose) continue;
    absl::StrAppend(message, payload);
    if (last) return true;
  }
}

absl::Status WebSocketClient::ReadUntil(const std::function<bool()>& condition,
                                        absl::Duration limit) {
  std::string message;
  while (!condition()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool more, ReadMessage(&message, limit));
    if (!more) return absl::OkStatus();
    if (message.empty()) return absl::InternalError("a message without a channel");
    std::string data = message.substr(1);
    const int channel = base64() ? message[0] - '0' : static_cast<uint8_t>(message[0]);
    if (base64() && !absl::Base64Unescape(message.substr(1), &data)) {
      return absl::InternalError("a message that is no base64");
    }
    received[channel] += data;
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::testing
