#include "agent/api/server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/steady_time.h"

namespace plimsoll::agent {
namespace {

// For a client to take an error's answer while its request is still coming.
constexpr absl::Duration kDiscard = absl::Milliseconds(500);
constexpr int kStarvedMilliseconds = 100;

ApiError ErrorOfRequest(const absl::Status& fault) {
  const std::string message(fault.message());
  if (absl::IsOutOfRange(fault)) return {413, "RequestEntityTooLarge", message};
  if (absl::IsResourceExhausted(fault)) return {431, "RequestHeaderTooLarge", message};
  return {400, "BadRequest", message};
}

// Sends the error to a client whose request can't be read any further.
void Dismiss(Connection* connection, ConnectionPlaces* places, const ApiError& error) {
  Answer(connection, places, HttpRequest(), kDiscard).Fail(error);
  connection->Finish(kDiscard);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ApiServer>> ApiServer::Start(ServerOptions options,
                                                            Handler handler) {
  PLIMSOLL_RETURN_IF_ERROR(CheckSocketPath(options.socket.path));
  PLIMSOLL_RETURN_IF_ERROR(CheckNobodyListens(options.socket.path));
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return ErrnoStatus(errno, "eventfd");
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd listener, ListenAt(options.socket));
  const std::string path = options.socket.path;
  try {
    std::unique_ptr<ApiServer> server(new ApiServer(std::move(options), std::move(handler),
                                                    std::move(listener), std::move(stop)));
    PLIMSOLL_RETURN_IF_ERROR(server->KeepSocket());
    return server;
  } catch (const std::system_error& error) {
    unlink(path.c_str());
    return absl::ResourceExhaustedError(absl::StrCat("serve ", path, ": ", error.what()));
  }
}

ApiServer::ApiServer(ServerOptions options, Handler handler, UniqueFd listener, UniqueFd stop)
    : options_(std::move(options)),
      handler_(std::move(handler)),
      listener_(std::move(listener)),
      stop_(std::move(stop)),
      places_(options_.limits.connections, options_.limits.streams, options_.limits.idle_enough),
      pool_(static_cast<int>(options_.limits.connections), options_.limits.connections),
      thread_([this] { Listen(); }) {}

ApiServer::~ApiServer() {
  const uint64_t one = 1;
  while (write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  places_.Stop();
  if (keeper_ == nullptr) unlink(options_.socket.path.c_str());  // its start failed
  SocketKeeper::RemoveFile(std::move(keeper_));
  thread_.join();
}

absl::Status ApiServer::KeepSocket() {
  auto tell = [this](const absl::Status& status) {
    if (options_.tell_socket) options_.tell_socket(status);
  };
  PLIMSOLL_ASSIGN_OR_RETURN(
      keeper_, SocketKeeper::Start(
                   options_.socket, [this](UniqueFd socket) { Admit(std::move(socket)); }, tell));
  return absl::OkStatus();
}

void ApiServer::Listen() {
  bool starved = false;  // accept fails: descriptors or memory are used up
  while (true) {
    pollfd polls[] = {{stop_.get(), POLLIN, 0}, {starved ? -1 : listener_.get(), POLLIN, 0}};
    if (poll(polls, 2, starved ? kStarvedMilliseconds : -1) < 0) continue;
    if (polls[0].revents != 0) return;
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    starved = !socket.valid() && errno != EINTR && errno != ECONNABORTED && errno != EAGAIN;
    if (socket.valid()) Admit(std::move(socket));
  }
}

void ApiServer::Admit(UniqueFd socket) {
  if (!places_.Enter()) return;
  const auto shared = std::make_shared<UniqueFd>(std::move(socket));
  const bool scheduled = pool_.TrySchedule([this, shared] {
    Serve(std::move(*shared));
    places_.Leave();
  });
  if (!scheduled) places_.Leave();
}

void ApiServer::Serve(UniqueFd socket) {
  Connection connection(std::move(socket), stop_.get());
  std::string input;
  while (ServeOne(&connection, &input)) {
  }
}

bool ApiServer::ServeOne(Connection* connection, std::string* input) {
  HttpRequest request;
  if (!ReadRequest(connection, input, &request)) return false;
  Answer answer(connection, &places_, request, options_.limits.patience);
  handler_(request, answer);
  if (answer.reusable()) return true;
  connection->Finish(kDiscard);
  return false;
}

bool ApiServer::ReadRequest(Connection* connection, std::string* input, HttpRequest* request) {
  const absl::Duration patience = options_.limits.patience;
  if (input->empty()) {
    const ConnectionPlaces::Idle idle(&places_, connection);
    if (!connection->AwaitInput(SteadyAfter(patience)).ok()) return false;
  }
  SteadyTime deadline = SteadyAfter(options_.limits.header_patience);
  bool has_header = false;
  RequestReader reader(options_.limits.request);
  bool continued = false;
  while (true) {
    const absl::StatusOr<bool> whole = reader.Take(input);
    if (!whole.ok()) {
      Dismiss(connection, &places_, ErrorOfRequest(whole.status()));
      return false;
    }
    if (*whole) break;
    if (reader.has_header() && !std::exchange(has_header, true)) deadline = SteadyAfter(patience);
    if (reader.awaits_continue() && !std::exchange(continued, true) &&
        !connection->Send("HTTP/1.1 100 Continue\r\n\r\n", patience).ok()) {
      return false;
    }
    const absl::Status received = connection->Receive(deadline, input);
    if (absl::IsDeadlineExceeded(received)) {
      Dismiss(connection, &places_, {408, "RequestTimeout", "the request came too slowly"});
    }
    if (!received.ok()) return false;
  }
  *request = reader.Release();
  return true;
}

}  // namespace plimsoll::agent
