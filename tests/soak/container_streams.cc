// A container's streams: commands and attached clients, as kubectl makes them through kubelet.
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "harness/spdy_client.h"
#include "harness/stream_status.h"
#include "harness/websocket_client.h"
#include "soak/container_life.h"

namespace plimsoll::testing {
namespace {

using Code = grpc::StatusCode;
using Stub = cri::RuntimeService::Stub;

// The result of a streamed command.
struct Streamed {
  std::string out;
  std::string err;
  int exit_code = -1;
};

absl::StatusOr<Streamed> ReadByWebSocket(const std::string& url, const std::string& input,
                                         const char* protocol) {
  auto client = WebSocketClient::Connect(url, protocol);
  if (!client.ok()) return client.status();
  WebSocketClient& stream = **client;
  if (!input.empty()) {
    if (absl::Status sent = stream.Send(0, input); !sent.ok()) return sent;
  }
  if (absl::Status read = stream.ReadToEnd(); !read.ok()) return read;
  return Streamed{stream.received[1], stream.received[2], ExitCodeOf(stream.received[3])};
}

absl::StatusOr<Streamed> ReadBySpdy(const std::string& url, const std::string& input) {
  auto client = SpdyClient::Connect(url, "v4.channel.k8s.io");
  if (!client.ok()) return client.status();
  SpdyClient& session = **client;
  std::map<std::string, uint32_t> streams;
  for (const char* name : {"error", "stdin", "stdout", "stderr"}) {
    const auto stream = session.Open({{"streamtype", name}});
    if (!stream.ok()) return stream.status();
    streams[name] = *stream;
  }
  if (absl::Status sent = session.Send(streams["stdin"], input, /*last=*/true); !sent.ok()) {
    return sent;
  }
  if (absl::Status read = session.ReadToEnd(); !read.ok()) return read;
  return Streamed{session.received[streams["stdout"]], session.received[streams["stderr"]],
                  ExitCodeOf(session.received[streams["error"]])};
}

}  // namespace

// Sends a line, which comes back after the command's own output.
void ContainerLife::StreamedExec() {
  const int code = static_cast<int>(Dice(3) * 7);
  const size_t bytes = Dice(4) == 0 ? 1000 + Dice(300000) : Dice(100);
  const std::string input = absl::StrCat("for ", name_, "\n");
  cri::ExecRequest request;
  request.set_container_id(id_);
  for (const char* word : {"/bin/sh", "-c"}) request.add_cmd(word);
  request.add_cmd(absl::StrCat("head -c ", bytes,
                               " /dev/zero | tr '\\0' z; read line; echo \"$line\"; echo err >&2; "
                               "exit ",
                               code));
  request.set_stdin(true);
  request.set_stdout(true);
  request.set_stderr(true);
  cri::ExecResponse response;
  if (calls_->Ask("Exec", &Stub::Exec, request, &response) != Code::OK) return;
  const uint64_t way = Dice(3);
  const absl::StatusOr<Streamed> streamed =
      way == 0 ? ReadBySpdy(response.url(), input)
               : ReadByWebSocket(response.url(), input,
                                 way == 1 ? "v4.channel.k8s.io" : "v5.channel.k8s.io");
  calls_->journal().Count("streamed commands");
  if (!streamed.ok()) {
    return calls_->Fault(
        absl::StrCat("the stream of a command in ", name_, ": ", streamed.status().ToString()));
  }
  if (streamed->exit_code != code || streamed->err != "err\n" ||
      streamed->out != std::string(bytes, 'z') + input) {
    calls_->Fault(absl::StrCat("a streamed command in ", name_, " gave code ", streamed->exit_code,
                               ", ", streamed->out.size(), " bytes of output and \"", streamed->err,
                               "\" for ", code, ", ", bytes + input.size(), " and \"err\""));
  }
}

// The client leaves before the command's end; the daemon kills the command.
void ContainerLife::LeaveStreamedExec() {
  cri::ExecRequest request;
  request.set_container_id(id_);
  for (const char* word : {"/bin/sh", "-c", "echo here; sleep 1000; :"}) request.add_cmd(word);
  request.set_stdout(true);
  cri::ExecResponse response;
  if (calls_->Ask("Exec", &Stub::Exec, request, &response) != Code::OK) return;
  const auto client = WebSocketClient::Connect(response.url(), "v5.channel.k8s.io");
  if (!client.ok()) return calls_->Fault("no stream: " + client.status().ToString());
  const absl::Status status =
      (*client)->ReadUntil([&] { return (*client)->received[1] == "here\n"; });
  if (!status.ok()) calls_->Fault("the stream of a command that waits: " + status.ToString());
  calls_->journal().Count("streams left by their clients");
}

// No message informs a client that it is attached: write lines until some arrive; all after the
// first of these must arrive.
void ContainerLife::WatchByAttach() {
  AwaitReady();
  cri::AttachRequest request;
  request.set_container_id(id_);
  request.set_stdout(true);
  request.set_stderr(true);
  cri::AttachResponse response;
  if (calls_->Ask("Attach", &Stub::Attach, request, &response) != Code::OK) return;
  const auto client = WebSocketClient::Connect(response.url(), "v5.channel.k8s.io");
  if (!client.ok()) return calls_->Fault("no attached client: " + client.status().ToString());
  std::string& seen = (*client)->received[1];
  const int lines = static_cast<int>(1 + Dice(60));  // each time; the machine decides how often
  const bool told = Eventually([&] {
    WriteLines(lines);
    const std::string last = written_.out.back() + "\n";
    // Lines from before the attachment are not for it.
    (*client)
        ->ReadUntil([&] { return absl::EndsWith(seen, last); }, absl::Seconds(1))
        .IgnoreError();
    return absl::EndsWith(seen, last) || calls_->has_faults();
  });
  calls_->journal().Count("attached clients");
  if (calls_->has_faults()) return;
  const std::string all = "\n" + absl::StrJoin(written_.out, "\n") + "\n";
  if (!told || !absl::EndsWith(all, "\n" + seen)) {
    calls_->Fault(
        absl::StrCat("an attached client of ", name_, " was told \"", seen, "\" of \"", all, "\""));
  }
}

// The container's first process echoes its input. A client's input comes after its attachment, so
// it must see all of the echo, and nothing else.
void ContainerLife::TypeByAttach() {
  AwaitReady();
  cri::AttachRequest request;
  request.set_container_id(id_);
  request.set_stdin(true);
  request.set_stdout(true);
  request.set_stderr(true);
  cri::AttachResponse response;
  if (calls_->Ask("Attach", &Stub::Attach, request, &response) != Code::OK) return;
  const bool half_closes = Dice(2) == 0;
  const auto client = WebSocketClient::Connect(
      response.url(), half_closes ? "v5.channel.k8s.io" : "v4.channel.k8s.io");
  if (!client.ok()) return calls_->Fault("no attached client: " + client.status().ToString());
  std::string typed;
  for (uint64_t left = 1 + Dice(60); left > 0; --left) {
    written_.out.push_back(absl::StrCat("out ", written_.out.size(), " of ", name_));
    absl::StrAppend(&typed, written_.out.back(), "\n");
  }
  absl::Status status = (*client)->Send(0, typed);
  // The container's input stays open for others.
  if (status.ok() && half_closes) status = (*client)->CloseChannel(0);
  const std::string& seen = (*client)->received[1];
  if (status.ok()) {
    status = (*client)->ReadUntil([&] { return seen.size() >= typed.size(); });
  }
  calls_->journal().Count("attached clients that type");
  if (!status.ok() || seen != typed) {
    return calls_->Fault(absl::StrCat("a client that typed \"", typed, "\" to ", name_,
                                      " was told \"", seen, "\"; ", status.ToString()));
  }
  const bool all = Eventually([&] {
    status = CheckLog(LogText(), written_, LogEnd::kComplete);
    return status.ok();
  });
  if (!all) calls_->Fault(absl::StrCat("the log of ", name_, ": ", status.message()));
}

}  // namespace plimsoll::testing
