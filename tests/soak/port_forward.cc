// A server in a container, and its clients through PortForward, as kubectl reaches it through
// kubelet.
#include <memory>

#include "harness/spdy_client.h"
#include "harness/stream_status.h"
#include "harness/websocket_client.h"
#include "soak/container_life.h"

namespace plimsoll::testing {
namespace {

using Code = grpc::StatusCode;
using Stub = cri::RuntimeService::Stub;

// A connection to a port of the pod.
class Connection {
 public:
  Connection(SpdyClient* client, int port) : client_(*client), port_(port) {}

  absl::Status Open() {
    for (const auto& [type, stream] : {std::pair("error", &error_), {"data", &data_}}) {
      const auto opened = client_.Open({{"streamtype", type},
                                        {"port", absl::StrCat(port_)},
                                        {"requestid", absl::StrCat(port_, "/", data_)}});
      if (!opened.ok()) return opened.status();
      *stream = *opened;
    }
    return client_.Send(error_, "", /*last=*/true);
  }
  absl::Status Send(const std::string& bytes, bool last) {
    return client_.Send(data_, bytes, last);
  }
  // Reads until the server in the pod has ended it.
  absl::Status ReadToEnd() {
    return client_.ReadUntil([this] { return client_.ended.contains(error_); });
  }
  // Reads until it has ended or data has come.
  absl::Status ReadSome() {
    return client_.ReadUntil(
        [this] { return client_.ended.contains(error_) || !received().empty(); });
  }
  const std::string& received() { return client_.received[data_]; }
  const std::string& trouble() { return client_.received[error_]; }

 private:
  SpdyClient& client_;
  const int port_;
  uint32_t error_ = 0;
  uint32_t data_ = 0;  // the last connection's, until there is another
};

// Bytes in which no two pieces are alike.
std::string Bytes(size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(i * 7 + i / 251));
  return bytes;
}

}  // namespace

std::unique_ptr<WebSocketClient> ContainerLife::ServeOneConnection() {
  cri::ExecRequest request;
  request.set_container_id(id_);
  const std::string port = absl::StrCat(port_);
  for (const char* word : {"/bin/busybox", "nc", "-l", "-p", port.c_str(), "-e", "cat"}) {
    request.add_cmd(word);
  }
  request.set_stderr(true);
  cri::ExecResponse response;
  if (calls_->Ask("Exec", &Stub::Exec, request, &response) != Code::OK) return nullptr;
  auto client = WebSocketClient::Connect(response.url(), "v5.channel.k8s.io");
  if (client.ok()) return *std::move(client);
  calls_->Fault("no stream of a server: " + client.status().ToString());
  return nullptr;
}

std::unique_ptr<SpdyClient> ContainerLife::ConnectToPod() {
  const bool tunnel = Dice(3) == 0;  // through a WebSocket
  cri::PortForwardRequest request;
  request.set_pod_sandbox_id(pod_);
  request.add_port(port_);
  cri::PortForwardResponse response;
  if (calls_->Ask("PortForward", &Stub::PortForward, request, &response) != Code::OK) {
    return nullptr;
  }
  auto client = tunnel ? SpdyClient::ConnectByTunnel(response.url())
                       : SpdyClient::Connect(response.url(), "portforward.k8s.io");
  if (client.ok()) return *std::move(client);
  calls_->Fault("no client of ports: " + client.status().ToString());
  return nullptr;
}

// Until the server listens, each connection must be refused with a reason.
void ContainerLife::ForwardPort(bool leaves) {
  const std::string payload = Bytes(Dice(4) == 0 ? 1000 + Dice(300000) : 1 + Dice(1000));
  const auto server = ServeOneConnection();
  if (server == nullptr) return;
  auto client = ConnectToPod();
  if (client == nullptr) return;
  auto connection = std::make_unique<Connection>(client.get(), port_);
  absl::Status status;
  const bool connected = Eventually([&] {
    status = connection->Open();
    if (status.ok()) status = connection->Send(payload, /*last=*/!leaves);
    if (status.ok()) status = leaves ? connection->ReadSome() : connection->ReadToEnd();
    return !status.ok() || connection->trouble().empty();
  });
  calls_->journal().Count(leaves ? "forwarded ports left by their clients" : "forwarded ports");
  const std::string received = connection->received();
  const bool right = leaves
                         ? !received.empty() && payload.compare(0, received.size(), received) == 0
                         : received == payload;
  if (!status.ok() || !connected || !right) {
    return calls_->Fault(absl::StrCat("a forwarded port of ", name_, " gave back ", received.size(),
                                      " bytes of ", payload.size(), "; ", status.ToString(), "; ",
                                      connection->trouble()));
  }
  // The client's end ends the connection in the pod, and so the server.
  connection.reset();
  client.reset();
  status = server->ReadToEnd();
  const int code = ExitCodeOf(server->received[3]);
  // A server left in the middle may have no one to write to.
  if (!status.ok() || code < 0 || (!leaves && code != 0)) {
    calls_->Fault(absl::StrCat("the server of a forwarded port of ", name_, " ended with ", code,
                               ", ", status.ToString(), ", \"", server->received[2], "\""));
  }
}

}  // namespace plimsoll::testing
