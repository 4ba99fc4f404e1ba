// Wires of SPDY streams.
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "streaming/spdy_session.h"
#include "streaming/wire.h"

namespace plimsoll::streaming {
namespace {

constexpr size_t kMaxCommandStreams = 8;
constexpr uint32_t kMaxPairs = 256;

class SpdyWire : public Wire, private SpdySession::Handler {
 public:
  SpdyWire(size_t max_streams, Link* link, WireUser* user)
      : link_(link), user_(user), session_(this, max_streams, &out_) {}

  void Begin() override {}
  absl::Status Receive(absl::string_view bytes) override {
    const absl::Status status = session_.Receive(bytes);
    Flush();
    return status;
  }
  void Send(uint32_t channel, absl::string_view data) override {
    const auto stream = streams_.find(channel);
    if (stream == streams_.end() || data.empty()) return;
    session_.Send(stream->second, data);
    Flush();
  }
  void End(uint32_t channel) override {
    const auto stream = streams_.find(channel);
    if (stream == streams_.end()) return;
    session_.End(stream->second);
    Flush();
  }
  void GoAway() override {
    session_.GoAway();
    Flush();
  }

 protected:
  // The channel for a stream that the client opens, or an error that refuses it.
  virtual absl::StatusOr<uint32_t> ChannelOf(uint32_t id, const SpdyHeaders& headers) = 0;
  // The channel is open and may be used.
  virtual void OnOpen(uint32_t channel) = 0;

  bool Has(uint32_t channel) const { return streams_.contains(channel); }
  void Drop(uint32_t channel) {
    const auto stream = streams_.find(channel);
    if (stream == streams_.end()) return;
    session_.End(stream->second);
    // Further data of the client is dropped.
    session_.Reset(stream->second, SpdyReset::kCancel);
    channels_.erase(stream->second);
    streams_.erase(stream);
    Flush();
  }

  Link* const link_;
  WireUser* const user_;

 private:
  absl::Status OnStream(uint32_t id, const SpdyHeaders& headers) override {
    PLIMSOLL_ASSIGN_OR_RETURN(const uint32_t channel, ChannelOf(id, headers));
    if (!streams_.emplace(channel, id).second) {
      return absl::InvalidArgumentError("there is a stream of that type already");
    }
    channels_[id] = channel;
    return absl::OkStatus();
  }
  void OnReplied(uint32_t id) override { OnOpen(channels_.at(id)); }
  void OnData(uint32_t id, absl::string_view data) override {
    if (const auto channel = channels_.find(id); channel != channels_.end()) {
      user_->OnData(channel->second, data);
    }
  }
  void OnEnd(uint32_t id) override {
    if (const auto channel = channels_.find(id); channel != channels_.end()) {
      user_->OnEnd(channel->second);
    }
  }
  void OnReset(uint32_t id) override {
    const auto found = channels_.find(id);
    if (found == channels_.end()) return;
    const uint32_t channel = found->second;
    channels_.erase(found);
    streams_.erase(channel);
    user_->OnReset(channel);
  }
  void Flush() {
    if (!out_.empty()) link_->Send(std::exchange(out_, std::string()));
  }

  std::string out_;
  SpdySession session_;
  std::map<uint32_t, uint32_t> streams_;   // by channel
  std::map<uint32_t, uint32_t> channels_;  // by stream
};

class SpdyCommandWire final : public SpdyWire {
 public:
  SpdyCommandWire(std::set<uint32_t> expected, bool json_status, Link* link, WireUser* user)
      : SpdyWire(kMaxCommandStreams, link, user),
        missing_(std::move(expected)),
        json_status_(json_status) {}
  bool json_status() const override { return json_status_; }

 private:
  absl::StatusOr<uint32_t> ChannelOf(uint32_t /*id*/, const SpdyHeaders& headers) override {
    static constexpr std::pair<absl::string_view, uint32_t> kTypes[] = {{"stdin", kStdin},
                                                                        {"stdout", kStdout},
                                                                        {"stderr", kStderr},
                                                                        {"error", kError},
                                                                        {"resize", kResize}};
    const absl::string_view type = HeaderOf(headers, "streamtype");
    for (const auto& [name, channel] : kTypes) {
      if (name == type) return channel;
    }
    return absl::InvalidArgumentError(absl::StrCat("no such type of stream: '", type, "'"));
  }
  void OnOpen(uint32_t channel) override {
    if (missing_.erase(channel) > 0 && missing_.empty()) user_->OnReady();
  }

  std::set<uint32_t> missing_;
  const bool json_status_;
};

class SpdyPortWire final : public SpdyWire {
 public:
  SpdyPortWire(Link* link, WireUser* user) : SpdyWire(2 * kMaxPairs, link, user) {}
  bool json_status() const override { return false; }
  void DropPair(uint32_t pair) override {
    Drop(2 * pair);
    Drop(2 * pair + 1);
    for (auto at = pairs_.begin(); at != pairs_.end(); ++at) {
      if (at->second.number != pair) continue;
      pairs_.erase(at);
      break;
    }
  }

 private:
  absl::StatusOr<uint32_t> ChannelOf(uint32_t id, const SpdyHeaders& headers) override {
    const absl::string_view type = HeaderOf(headers, "streamtype");
    if (type != "data" && type != "error") {
      return absl::InvalidArgumentError(absl::StrCat("no such type of stream: '", type, "'"));
    }
    PLIMSOLL_ASSIGN_OR_RETURN(const uint16_t port, PortOf(headers));
    // Old clients give no number, and open the error stream before the data stream.
    const absl::string_view request = HeaderOf(headers, "requestid");
    const std::string name =
        !request.empty() ? std::string(request) : absl::StrCat("#", type == "error" ? id : id - 2);
    const auto [at, is_new] = pairs_.emplace(name, Pair{next_pair_, port});
    if (is_new) ++next_pair_;
    bool& opened = type == "error" ? at->second.error_opened : at->second.data_opened;
    if (opened) return absl::InvalidArgumentError("there was a stream of that type already");
    opened = true;
    return 2 * at->second.number + (type == "error" ? 1 : 0);
  }
  void OnOpen(uint32_t channel) override {
    const uint32_t number = channel / 2;
    if (!Has(2 * number) || !Has(2 * number + 1)) return user_->OnHalfPort(number);
    for (auto at = pairs_.begin(); at != pairs_.end(); ++at) {
      if (at->second.number != number) continue;
      const uint16_t port = at->second.port;
      pairs_.erase(at);
      return user_->OnPort(number, port);
    }
  }
  static absl::StatusOr<uint16_t> PortOf(const SpdyHeaders& headers) {
    uint32_t port = 0;
    if (!absl::SimpleAtoi(HeaderOf(headers, "port"), &port) || port == 0 || port > UINT16_MAX) {
      return absl::InvalidArgumentError("a stream without a port from 1 to 65535");
    }
    return static_cast<uint16_t>(port);
  }

  struct Pair {
    uint32_t number = 0;
    uint16_t port = 0;
    bool data_opened = false;
    bool error_opened = false;
  };
  // Pairs that still lack a stream, by the client's request id. Once a pair is whole, its id is
  // free: streams opened under it later, even after a reset, make another pair with channels of its
  // own.
  std::map<std::string, Pair> pairs_;
  uint32_t next_pair_ = 0;
};

}  // namespace

std::unique_ptr<Wire> NewSpdyCommandWire(std::set<uint32_t> expected, bool json_status, Link* link,
                                         WireUser* user) {
  return std::make_unique<SpdyCommandWire>(std::move(expected), json_status, link, user);
}

std::unique_ptr<Wire> NewSpdyPortWire(Link* link, WireUser* user) {
  return std::make_unique<SpdyPortWire>(link, user);
}

}  // namespace plimsoll::streaming
