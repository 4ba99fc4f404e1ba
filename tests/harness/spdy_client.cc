#include "harness/spdy_client.h"

#include <zlib.h>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "streaming/spdy_dictionary.h"

namespace plimsoll::testing {
namespace {

constexpr size_t kHeaderBytes = 8;

std::string Number(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

uint32_t NumberAt(absl::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

std::string Control(uint16_t type, absl::string_view payload) {
  return absl::StrCat(Number(0x80030000u | type), Number(static_cast<uint32_t>(payload.size())),
                      payload);
}

}  // namespace

SpdyClient::SpdyClient() : zlib_(std::make_unique<z_stream>()) {
  const absl::Span<const uint8_t> dictionary = streaming::SpdyDictionary();
  deflateInit(zlib_.get(), 9);
  deflateSetDictionary(zlib_.get(), dictionary.data(), static_cast<uInt>(dictionary.size()));
}

SpdyClient::~SpdyClient() {
  deflateEnd(zlib_.get());
}

absl::StatusOr<std::unique_ptr<SpdyClient>> SpdyClient::Connect(const std::string& url,
                                                                const std::string& protocol) {
  auto client = std::unique_ptr<SpdyClient>(new SpdyClient);
  PLIMSOLL_ASSIGN_OR_RETURN(client->own_connection_, StreamConnection::Connect(url));
  client->connection_ = client->own_connection_.get();
  StreamConnection::Headers headers = {
      {"Connection", "Upgrade"}, {"Upgrade", "SPDY/3.1"}, {"Content-Length", "0"}};
  if (!protocol.empty()) headers.emplace_back("X-Stream-Protocol-Version", protocol);
  PLIMSOLL_ASSIGN_OR_RETURN(const HttpAnswer answer, client->connection_->Request("POST", headers));
  if (answer.code != 101) {
    return absl::FailedPreconditionError(absl::StrCat(answer.code, " ", answer.body));
  }
  const auto chosen = answer.headers.find("x-stream-protocol-version");
  if (chosen != answer.headers.end()) client->protocol_ = chosen->second;
  return client;
}

absl::StatusOr<std::unique_ptr<SpdyClient>> SpdyClient::ConnectByTunnel(const std::string& url) {
  auto client = std::unique_ptr<SpdyClient>(new SpdyClient);
  PLIMSOLL_ASSIGN_OR_RETURN(client->tunnel_,
                            WebSocketClient::Connect(url, "SPDY/3.1+portforward.k8s.io"));
  client->connection_ = &client->tunnel_->connection();
  client->protocol_ = client->tunnel_->protocol();
  return client;
}

absl::Status SpdyClient::SendBytes(absl::string_view bytes) {
  return tunnel_ != nullptr ? tunnel_->SendMessage(bytes) : connection_->Write(bytes);
}

absl::StatusOr<uint32_t> SpdyClient::Open(const Headers& headers) {
  std::string text = Number(static_cast<uint32_t>(headers.size()));
  for (const auto& [name, value] : headers) {
    absl::StrAppend(&text, Number(static_cast<uint32_t>(name.size())), name,
                    Number(static_cast<uint32_t>(value.size())), value);
  }
  std::string block(text.size() + 1024, '\0');
  zlib_->next_in = reinterpret_cast<Bytef*>(text.data());
  zlib_->avail_in = static_cast<uInt>(text.size());
  zlib_->next_out = reinterpret_cast<Bytef*>(block.data());
  zlib_->avail_out = static_cast<uInt>(block.size());
  if (deflate(zlib_.get(), Z_SYNC_FLUSH) != Z_OK) return absl::InternalError("deflate");
  block.resize(block.size() - zlib_->avail_out);
  const uint32_t stream = next_stream_;
  next_stream_ += 2;
  PLIMSOLL_RETURN_IF_ERROR(
      SendBytes(Control(1, absl::StrCat(Number(stream), Number(0), std::string(2, '\0'), block))));
  return stream;
}

absl::Status SpdyClient::Send(uint32_t stream, absl::string_view data, bool last) {
  const uint32_t flags = last ? 1u << 24 : 0;
  return SendBytes(
      absl::StrCat(Number(stream), Number(flags | static_cast<uint32_t>(data.size())), data));
}

absl::Status SpdyClient::Ping(uint32_t id) {
  return SendBytes(Control(6, Number(id)));
}

absl::StatusOr<std::string> SpdyClient::ReadBytes(absl::Duration limit) {
  if (tunnel_ == nullptr) return connection_->Read(limit);
  std::string message;
  PLIMSOLL_ASSIGN_OR_RETURN(const bool more, tunnel_->ReadMessage(&message, limit));
  return more ? message : std::string();
}

absl::Status SpdyClient::TakeFrame(absl::string_view frame) {
  const uint32_t first = NumberAt(frame, 0);
  const uint8_t flags = static_cast<uint8_t>(frame[4]);
  const absl::string_view payload = frame.substr(kHeaderBytes);
  if (first >> 31 == 0) {
    absl::StrAppend(&received[first], payload);
    if ((flags & 1) != 0) ended.insert(first);
    return absl::OkStatus();
  }
  if (first >> 16 != 0x8003) return absl::InternalError("a frame of another version");
  if (payload.size() < 4) return absl::InternalError("a control frame that is too short");
  const uint32_t number = NumberAt(payload, 0);
  switch (first & 0xffff) {
    case 2:
      replied.insert(number);
      break;
    case 3:
      reset.insert(number);
      break;
    case 6:
      pings.insert(number);
      break;
    case 7:
      gone_away = true;
      break;
    default:
      break;
  }
  return absl::OkStatus();
}

absl::Status SpdyClient::ReadUntil(const std::function<bool()>& condition, absl::Duration limit) {
  while (!condition()) {
    size_t size = kHeaderBytes;
    if (unread_.size() >= size) size += NumberAt(unread_, 4) & 0xffffff;
    if (unread_.size() >= size && unread_.size() >= kHeaderBytes) {
      PLIMSOLL_RETURN_IF_ERROR(TakeFrame(absl::string_view(unread_).substr(0, size)));
      unread_.erase(0, size);
      continue;
    }
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string more, ReadBytes(limit));
    if (more.empty()) return absl::OkStatus();
    unread_ += more;
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::testing
