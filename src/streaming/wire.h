// The protocols below a session, each reduced to numbered channels (channel_protocol.h).
#ifndef PLIMSOLL_STREAMING_WIRE_H_
#define PLIMSOLL_STREAMING_WIRE_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "streaming/channel_protocol.h"
#include "streaming/link.h"

namespace plimsoll::streaming {

// The user of a wire, called for the client's actions. May call the wire, except Wire::Receive.
class WireUser {
 public:
  virtual ~WireUser() = default;
  // All expected channels are open. Called once, by Receive or by Begin.
  virtual void OnReady() {}
  // One channel of a forwarded port is open, and the other is to follow.
  virtual void OnHalfPort(uint32_t /*pair*/) {}
  // A forwarded port: channels 2 * `pair` and 2 * `pair` + 1 are open.
  virtual void OnPort(uint32_t /*pair*/, uint16_t /*port*/) {}
  virtual void OnData(uint32_t channel, absl::string_view data) = 0;
  // The client sends no more on the channel.
  virtual void OnEnd(uint32_t channel) = 0;
  // The client has given the channel up, both ways.
  virtual void OnReset(uint32_t channel) { OnEnd(channel); }
};

// Used in the loop's thread.
class Wire {
 public:
  virtual ~Wire() = default;
  // Call before anything else.
  virtual void Begin() = 0;
  // Takes the link's bytes. On an error the client broke the protocol, and nothing more can be
  // read.
  virtual absl::Status Receive(absl::string_view bytes) = 0;
  // No effect on channels that are not open.
  virtual void Send(uint32_t channel, absl::string_view data) = 0;
  virtual void End(uint32_t channel) = 0;
  // Ends both channels of a forwarded port.
  virtual void DropPair(uint32_t /*pair*/) {}
  virtual void GoAway() {}
  // The form of a command's end: JSON or text.
  virtual bool json_status() const = 0;
};

// In all of these `link` and `user` outlive the wire.

// Messages of a WebSocket. `writable`: channels that may be sent on; `first`: the channel on which
// an empty message announces the connection.
std::unique_ptr<Wire> NewChannelWire(const ChannelProtocol& protocol, std::set<uint32_t> writable,
                                     uint32_t first, Link* link, WireUser* user);
// The same for forwarded ports, all known in advance: sends each port's number on its two channels.
std::unique_ptr<Wire> NewChannelPortWire(const ChannelProtocol& protocol,
                                         const std::vector<uint16_t>& ports, Link* link,
                                         WireUser* user);
// SPDY streams of a command. `expected`: channels the client is to open.
std::unique_ptr<Wire> NewSpdyCommandWire(std::set<uint32_t> expected, bool json_status, Link* link,
                                         WireUser* user);
// SPDY streams of forwarded ports, in pairs that the client opens at will.
std::unique_ptr<Wire> NewSpdyPortWire(Link* link, WireUser* user);

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_WIRE_H_
