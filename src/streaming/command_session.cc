#include "streaming/command_session.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll::streaming {

std::set<uint32_t> CommandSession::ExpectedChannels(const StreamRequest& request, bool resizes) {
  std::set<uint32_t> channels = {kError};
  if (request.input) channels.insert(kStdin);
  if (request.output) channels.insert(kStdout);
  if (request.errors) channels.insert(kStderr);
  if (request.terminal && resizes) channels.insert(kResize);
  return channels;
}

std::set<uint32_t> CommandSession::WritableChannels(const StreamRequest& request) {
  std::set<uint32_t> channels = {kError};
  if (request.output) channels.insert(kStdout);
  if (request.errors) channels.insert(kStderr);
  return channels;
}

asio::awaitable<void> CommandSession::LimitCreation(Sleep* creation) {
  const bool slept = co_await creation->For(context_.creation_timeout);
  if (slept && !ready_) {
    too_late_ = true;
    changed_.Notify();
  }
}

void CommandSession::Begin(Wire* wire) {
  wire_ = wire;
  wire_->Begin();
}

asio::awaitable<void> CommandSession::Run() {
  Sleep creation(context_.io);
  Tasks tasks(context_.io);
  tasks.Spawn(LimitCreation(&creation));
  while (!ready_ && !too_late_ && !gone_) co_await changed_.Wait();
  creation.End();
  co_await tasks.Join();

  absl::StatusOr<int> end = absl::CancelledError("the client has left");
  if (too_late_) {
    end = absl::DeadlineExceededError(absl::StrCat(
        "not all streams were opened within ", absl::FormatDuration(context_.creation_timeout)));
  } else if (!gone_) {
    context_.streams = true;
    end = co_await Serve();
  }
  DropInput();
  // End standard output before the error channel: clients take the error channel's end as final.
  wire_->End(kStdout);
  wire_->End(kStderr);
  wire_->Send(kError, wire_->json_status() ? EndAsJson(end) : EndAsText(end));
  wire_->End(kError);
  wire_->End(kStdin);
  wire_->End(kResize);
  wire_->GoAway();
  link_->Close();
}

asio::awaitable<bool> CommandSession::RoomForInput() {
  while (input_.bytes() >= kEnoughInput && !input_.dropped() && !gone_) {
    if (link_->HasLeft()) co_return false;
    co_await room_.WaitFor(Link::kLook);
  }
  co_return true;
}

void CommandSession::OnGone() {
  if (gone_) return;
  gone_ = true;
  DropInput();
  changed_.Notify();
  Stop();
}

void CommandSession::OnReady() {
  ready_ = true;
  changed_.Notify();
}

void CommandSession::OnData(uint32_t channel, absl::string_view data) {
  if (channel == kStdin) {
    if (request_.input) input_.Add(data);
  } else if (channel == kResize && request_.terminal) {
    if (const auto size = sizes_.Read(data); size.has_value()) Resize(*size);
  }
}

void CommandSession::OnEnd(uint32_t channel) {
  if (channel == kStdin) input_.End();
}

asio::awaitable<std::string> CommandSession::NextInput() {
  std::string next = co_await input_.Next();
  input_.Passed(next.size());
  room_.Notify();
  co_return next;
}

void CommandSession::DropInput() {
  input_.Drop();
  room_.Notify();
}

}  // namespace plimsoll::streaming
