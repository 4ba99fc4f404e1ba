// One client's session with a command: one started for it (exec), or a container's own (attach).
#ifndef PLIMSOLL_STREAMING_COMMAND_SESSION_H_
#define PLIMSOLL_STREAMING_COMMAND_SESSION_H_

#include <atomic>
#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/worker_pool.h"
#include "streaming/async.h"
#include "streaming/backend.h"
#include "streaming/command_end.h"
#include "streaming/input_queue.h"
#include "streaming/link.h"
#include "streaming/tokens.h"
#include "streaming/wire.h"

namespace plimsoll::streaming {

// The surroundings of a session; all of it outlives the session.
struct SessionContext {
  asio::io_context& io;
  WorkerPool& pool;  // for blocking calls
  Backend& backend;
  absl::Duration creation_timeout;    // for the client to open its streams
  const std::atomic<bool>& closed;    // the server takes no more clients
  const std::atomic<bool>& stopping;  // and waits for the end of its sessions
  bool& streams;                      // whether something is open that a restart should leave alone
};

// Used in the loop's thread.
class CommandSession : public WireUser {
 public:
  // With this much untaken standard input, the session stops reading from the client.
  static constexpr size_t kEnoughInput = 256 * 1024;

  CommandSession(const SessionContext& context, StreamRequest request, Link* link)
      : context_(context),
        request_(std::move(request)),
        link_(link),
        changed_(context.io),
        input_(context.io),
        room_(context.io) {}

  // Call before anything is read from the client. `wire` belongs to this session.
  void Begin(Wire* wire);
  // Runs the session until the client has been told the end, or is gone.
  asio::awaitable<void> Run();

  // Returns when more may be read from the client. False: the client has left.
  asio::awaitable<bool> RoomForInput();
  // The client can't be read from any more.
  void OnGone();
  // The client has closed properly. A command ends with its client all the same.
  void OnClosed() { OnGone(); }

  void OnReady() override;
  void OnData(uint32_t channel, absl::string_view data) override;
  void OnEnd(uint32_t channel) override;

  // Channels that a SPDY client opens for this request.
  static std::set<uint32_t> ExpectedChannels(const StreamRequest& request, bool resizes);
  // Channels that may be written to.
  static std::set<uint32_t> WritableChannels(const StreamRequest& request);

 protected:
  // Carries the streams to their end. Result: the exit code or error. Called when the client is
  // ready.
  virtual asio::awaitable<absl::StatusOr<int>> Serve() = 0;
  // Makes Serve end because the client has left.
  virtual void Stop() = 0;
  virtual void Resize(const TerminalSize& size) = 0;

  Wire& wire() { return *wire_; }
  Link& link() { return *link_; }
  const SessionContext& context() const { return context_; }
  const StreamRequest& request() const { return request_; }
  bool gone() const { return gone_; }

  // The channel for the command's standard output and error; kError if the client wants neither.
  uint32_t OutputChannel() const { return request_.output ? kStdout : kStderr; }
  // The channel for a line of our own, beside the command's standard error.
  uint32_t NoteChannel() const { return request_.errors ? kStderr : kStdout; }

  // Waits for the client's next input. Empty: it has ended, or is dropped.
  asio::awaitable<std::string> NextInput();
  // Drops input from now on: the command takes no more.
  void DropInput();

 private:
  asio::awaitable<void> LimitCreation(Sleep* creation);

  const SessionContext context_;
  const StreamRequest request_;
  Link* const link_;
  Wire* wire_ = nullptr;
  Signal changed_;
  bool ready_ = false;
  bool too_late_ = false;  // the streams were not opened in time
  bool gone_ = false;
  TerminalSizes sizes_;
  InputQueue input_;
  Signal room_;  // in `input_`
};

std::unique_ptr<CommandSession> NewExecSession(const SessionContext& context, StreamRequest request,
                                               Link* link);
std::unique_ptr<CommandSession> NewAttachSession(const SessionContext& context,
                                                 StreamRequest request, Link* link);

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_COMMAND_SESSION_H_
