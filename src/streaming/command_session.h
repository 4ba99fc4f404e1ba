// One client of a command: of one that is started for it (exec), or of a container's own (attach).
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

// What every session is given; all of it outlives the session.
struct SessionContext {
  asio::io_context& io;
  WorkerPool& pool;  // for what blocks
  Backend& backend;
  absl::Duration creation_timeout;    // for the client to open its streams
  const std::atomic<bool>& stopping;  // of the server, which waits for its sessions
};

// Used in the loop's thread.
class CommandSession : public WireUser {
 public:
  // More of standard input than this isn't read from the client before the command has taken some.
  static constexpr size_t kEnoughInput = 256 * 1024;

  CommandSession(const SessionContext& context, StreamRequest request, Link* link)
      : context_(context),
        request_(std::move(request)),
        link_(link),
        changed_(context.io),
        input_(context.io),
        room_(context.io) {}

  // Before anything is read from the client. `wire` is this one's.
  void Begin(Wire* wire);
  // Everything, until the client has been told how it ended, or is gone.
  asio::awaitable<void> Run();

  // Returns when more may be read from the client. False: it has left meanwhile.
  asio::awaitable<bool> RoomForInput();
  // The client can't be read any more.
  void OnGone();
  // It has closed as it should. A command ends with its client all the same.
  void OnClosed() { OnGone(); }

  void OnReady() override;
  void OnData(uint32_t channel, absl::string_view data) override;
  void OnEnd(uint32_t channel) override;

  // Channels that a SPDY client opens for such a request.
  static std::set<uint32_t> ExpectedChannels(const StreamRequest& request, bool resizes);
  // On which something may be sent.
  static std::set<uint32_t> WritableChannels(const StreamRequest& request);

 protected:
  // Carries the streams to their end; how the command ended. Called when the client is ready.
  virtual asio::awaitable<absl::StatusOr<int>> Serve() = 0;
  // Makes Serve come to its end, as the client has gone.
  virtual void Stop() = 0;
  virtual void Resize(const TerminalSize& size) = 0;

  Wire& wire() { return *wire_; }
  Link& link() { return *link_; }
  const SessionContext& context() const { return context_; }
  const StreamRequest& request() const { return request_; }
  bool gone() const { return gone_; }

  // Where the command's standard output and error go; kError where the client wants neither.
  uint32_t OutputChannel() const { return request_.output ? kStdout : kStderr; }
  // For a line of our own to whoever reads the command's standard error.
  uint32_t NoteChannel() const { return request_.errors ? kStderr : kStdout; }

  // The client's input in its order: waits for some. Empty: it has ended, or is not wanted.
  asio::awaitable<std::string> NextInput();
  // Nobody takes input any more: what comes is dropped.
  void DropInput();

 private:
  asio::awaitable<void> LimitCreation(Sleep* creation);

  const SessionContext context_;
  const StreamRequest request_;
  Link* const link_;
  Wire* wire_ = nullptr;
  Signal changed_;
  bool ready_ = false;
  bool too_late_ = false;  // for being ready
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
