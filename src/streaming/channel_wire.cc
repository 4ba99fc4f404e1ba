// Wires of numbered channels in WebSocket messages.
#include <utility>
#include <vector>

#include "base/status.h"
#include "streaming/wire.h"

namespace plimsoll::streaming {
namespace {

class ChannelWire : public Wire {
 public:
  ChannelWire(const ChannelProtocol& protocol, std::set<uint32_t> writable, Link* link,
              WireUser* user)
      : protocol_(protocol), writable_(std::move(writable)), link_(link), user_(user) {}

  absl::Status Receive(absl::string_view bytes) override {
    // Some clients ping with empty messages.
    if (bytes.empty()) return absl::OkStatus();
    PLIMSOLL_ASSIGN_OR_RETURN(const ChannelMessage message, DecodeChannelMessage(protocol_, bytes));
    if (message.close) {
      user_->OnEnd(message.channel);
    } else if (!message.data.empty()) {
      user_->OnData(message.channel, message.data);
    }
    return absl::OkStatus();
  }
  void Send(uint32_t channel, absl::string_view data) override {
    if (data.empty() || !writable_.contains(channel)) return;
    link_->Send(EncodeChannelMessage(protocol_, channel, data));
  }
  // No protocol can end one channel: the connection's end is the end of all channels.
  void End(uint32_t channel) override { writable_.erase(channel); }
  bool json_status() const override { return protocol_.json_status; }

 protected:
  const ChannelProtocol protocol_;
  std::set<uint32_t> writable_;
  Link* const link_;
  WireUser* const user_;
};

class CommandWire final : public ChannelWire {
 public:
  CommandWire(const ChannelProtocol& protocol, std::set<uint32_t> writable, uint32_t first,
              Link* link, WireUser* user)
      : ChannelWire(protocol, std::move(writable), link, user), first_(first) {}
  void Begin() override {
    link_->Send(EncodeChannelMessage(protocol_, first_, ""));
    user_->OnReady();
  }

 private:
  const uint32_t first_;
};

class PortWire final : public ChannelWire {
 public:
  PortWire(const ChannelProtocol& protocol, std::vector<uint16_t> ports, Link* link, WireUser* user)
      : ChannelWire(protocol, {}, link, user), ports_(std::move(ports)) {}
  void Begin() override {
    for (uint32_t pair = 0; pair < ports_.size(); ++pair) {
      const uint16_t port = ports_[pair];
      const std::string number = {static_cast<char>(port & 0xff), static_cast<char>(port >> 8)};
      for (const uint32_t channel : {2 * pair, 2 * pair + 1}) {
        writable_.insert(channel);
        Send(channel, number);
      }
    }
    for (uint32_t pair = 0; pair < ports_.size(); ++pair) user_->OnPort(pair, ports_[pair]);
  }
  void DropPair(uint32_t pair) override {
    writable_.erase(2 * pair);
    writable_.erase(2 * pair + 1);
  }

 private:
  const std::vector<uint16_t> ports_;
};

}  // namespace

std::unique_ptr<Wire> NewChannelWire(const ChannelProtocol& protocol, std::set<uint32_t> writable,
                                     uint32_t first, Link* link, WireUser* user) {
  return std::make_unique<CommandWire>(protocol, std::move(writable), first, link, user);
}

std::unique_ptr<Wire> NewChannelPortWire(const ChannelProtocol& protocol,
                                         const std::vector<uint16_t>& ports, Link* link,
                                         WireUser* user) {
  return std::make_unique<PortWire>(protocol, ports, link, user);
}

}  // namespace plimsoll::streaming
