// The server of an agent's unix socket: connections, their requests and their limits.
#ifndef PLIMSOLL_AGENT_API_SERVER_H_
#define PLIMSOLL_AGENT_API_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/api/answer.h"
#include "agent/api/connection_places.h"
#include "agent/http/request.h"
#include "agent/http/socket_path.h"
#include "base/socket_file.h"
#include "base/socket_keeper.h"
#include "base/unique_fd.h"
#include "base/worker_pool.h"

namespace plimsoll::agent {

struct ServerLimits {
  // Each has a thread. Further clients wait in the socket's queue.
  size_t connections = 64;
  size_t streams = 48;  // watches and followed logs, of these connections
  // For a request to begin, for its body, and for a client to take some of its answer.
  absl::Duration patience = absl::Seconds(30);
  // For a request's header. Whoever sends half of it holds a place for no longer.
  absl::Duration header_patience = absl::Seconds(5);
  // A connection without a request for so long gives way where all are taken.
  absl::Duration idle_enough = absl::Seconds(1);
  RequestLimits request;
};

struct ServerOptions {
  SocketFile socket = {kDefaultAgentSocket, 0600, std::nullopt};
  ServerLimits limits;
  // Called when the socket's file has been removed by others: OK once it is there again. From a
  // thread of the server's; may be null.
  std::function<void(const absl::Status&)> tell_socket;
};

class ApiServer {
 public:
  // Called from several threads at once. It answers the request before it returns, and returns
  // soon after a call of the answer's has returned false.
  using Handler = std::function<void(const HttpRequest& request, Answer& answer)>;

  // Listens at the socket. INVALID_ARGUMENT: the path can't be a socket's; FAILED_PRECONDITION:
  // another process listens there, or the file is no socket. A socket that a process left behind is
  // replaced.
  static absl::StatusOr<std::unique_ptr<ApiServer>> Start(ServerOptions options, Handler handler);
  // Ends all waits of connections and answers, removes the socket's file, and returns when the
  // handlers have: well within a second where they keep to the above.
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

 private:
  ApiServer(ServerOptions options, Handler handler, UniqueFd listener, UniqueFd stop);
  absl::Status KeepSocket();
  void Listen();
  void Admit(UniqueFd socket);
  void Serve(UniqueFd socket);
  // One request of the connection and its answer. False: the connection is over.
  bool ServeOne(Connection* connection, std::string* input);
  // False: no request came; the client has been told what can be told.
  bool ReadRequest(Connection* connection, std::string* input, HttpRequest* request);

  const ServerOptions options_;
  const Handler handler_;
  const UniqueFd listener_;
  const UniqueFd stop_;  // eventfd, readable once the server stops
  ConnectionPlaces places_;
  WorkerPool pool_;
  std::unique_ptr<SocketKeeper> keeper_;
  std::thread thread_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_API_SERVER_H_
