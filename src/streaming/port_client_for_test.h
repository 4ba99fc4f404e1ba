// A client of one port of a pod, over any of the protocols.
#ifndef PLIMSOLL_STREAMING_PORT_CLIENT_FOR_TEST_H_
#define PLIMSOLL_STREAMING_PORT_CLIENT_FOR_TEST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "harness/spdy_client.h"
#include "harness/websocket_client.h"

namespace plimsoll::streaming {

// Not thread-safe; but one thread may send while another reads.
class PortClient {
 public:
  static constexpr char kSpdy[] = "portforward.k8s.io";
  static constexpr char kTunnel[] = "SPDY/3.1+portforward.k8s.io";
  static constexpr char kChannels[] = "v4.channel.k8s.io";
  static constexpr const char* kProtocols[] = {kSpdy, kTunnel, kChannels};

  // `url` is for `port` alone. Null if the test has failed.
  static std::unique_ptr<PortClient> Connect(const std::string& url, const std::string& protocol,
                                             uint16_t port) {
    auto client = std::unique_ptr<PortClient>(new PortClient);
    const absl::Status connected = protocol == kChannels
                                       ? client->ConnectByChannels(url)
                                       : client->ConnectBySpdy(url, protocol, port);
    EXPECT_TRUE(connected.ok()) << connected;
    return connected.ok() ? std::move(client) : nullptr;
  }

  absl::Status Send(absl::string_view data) {
    return spdy_ != nullptr ? spdy_->Send(data_, data) : websocket_->Send(0, data);
  }
  // Reads until `bytes` bytes have come from the pod, or the server has closed.
  absl::Status ReadUntil(size_t bytes) {
    const auto enough = [&] { return Data().size() >= bytes; };
    return spdy_ != nullptr ? spdy_->ReadUntil(enough) : websocket_->ReadUntil(enough);
  }
  absl::Status ReadToEnd() { return ReadUntil(SIZE_MAX); }

  // Bytes from the pod.
  absl::string_view Data() {
    return spdy_ != nullptr ? spdy_->received[data_] : AfterPort(websocket_->received[0]);
  }
  // The error text.
  absl::string_view Trouble() {
    return spdy_ != nullptr ? spdy_->received[error_] : AfterPort(websocket_->received[1]);
  }
  testing::StreamConnection& connection() {
    return spdy_ != nullptr ? spdy_->connection() : websocket_->connection();
  }
  // Null with kChannels.
  testing::SpdyClient* spdy() { return spdy_.get(); }
  // Null without kChannels.
  testing::WebSocketClient* websocket() { return websocket_.get(); }

 private:
  PortClient() = default;

  absl::Status ConnectByChannels(const std::string& url) {
    auto made = testing::WebSocketClient::Connect(url, kChannels);
    if (!made.ok()) return made.status();
    websocket_ = *std::move(made);
    return absl::OkStatus();
  }
  absl::Status ConnectBySpdy(const std::string& url, const std::string& protocol, uint16_t port) {
    auto made = protocol == kTunnel ? testing::SpdyClient::ConnectByTunnel(url)
                                    : testing::SpdyClient::Connect(url, protocol);
    if (!made.ok()) return made.status();
    spdy_ = *std::move(made);
    for (const auto& [type, stream] : {std::pair("error", &error_), {"data", &data_}}) {
      const auto opened =
          spdy_->Open({{"port", absl::StrCat(port)}, {"requestid", "0"}, {"streamtype", type}});
      if (!opened.ok()) return opened.status();
      *stream = *opened;
    }
    return absl::OkStatus();
  }
  // Both channels of a WebSocket begin with the number of their port.
  static absl::string_view AfterPort(absl::string_view received) {
    return received.substr(received.size() < 2 ? received.size() : 2);
  }

  std::unique_ptr<testing::SpdyClient> spdy_;
  std::unique_ptr<testing::WebSocketClient> websocket_;
  uint32_t error_ = 0;
  uint32_t data_ = 0;
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_PORT_CLIENT_FOR_TEST_H_
