#include "kube/apiserver/https_client.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/random/random.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/programs/cancellation.h"
#include "base/status.h"
#include "base/steady_time.h"
#include "base/text/human_bytes.h"
#include "base/text/printable.h"
#include "dial/connect.h"
#include "kube/apiserver/api_error.h"
#include "kube/apiserver/api_path.h"
#include "kube/apiserver/credentials.h"
#include "kube/apiserver/event_of.h"
#include "kube/apiserver/json_frames.h"
#include "kube/apiserver/server_connection.h"

namespace plimsoll::kube {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostPathBytes = 16 * 1024;
constexpr size_t kMostErrorBytes = 1024 * 1024;
// A watch's begin: a server sends its header at once.
constexpr absl::Duration kWatchPatience = absl::Seconds(10);

// A request's answer up to its body. Of an error, the body too.
struct Answer {
  std::unique_ptr<ServerConnection> connection;
  ApiCredentials credentials;
  std::string error_body;

  bool is_error() const { return connection->code() < 200 || connection->code() > 299; }
  // While there is a connection.
  absl::Status Error(absl::string_view method) const {
    const int code = connection->code();
    const bool is_redirect = code >= 300 && code <= 399 && code != 304;
    return is_redirect ? ErrorOfRedirect(code, connection->location())
                       : ErrorOfAnswer(method, code, error_body);
  }
};

absl::Status CheckRequest(const ApiRequest& request) {
  bool is_fit = absl::StartsWith(request.path, "/") && request.path.size() <= kMostPathBytes;
  for (const char each : request.path) {
    is_fit = is_fit && absl::ascii_isgraph(static_cast<unsigned char>(each)) && each != '#';
  }
  for (const char each : absl::StrCat(request.method, request.content_type)) {
    is_fit = is_fit && absl::ascii_isgraph(static_cast<unsigned char>(each));
  }
  if (is_fit) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", Printable(request.path.substr(0, 200)),
                   "\" can't be asked for: a path begins with \"/\", and all else than letters, "
                   "digits and marks is escaped"));
}

// Error messages of the server or of the way to it never show the token, whoever put it there.
absl::Status WithoutToken(const absl::Status& status, const std::string& token) {
  if (status.ok() || token.empty() || !absl::StrContains(status.message(), token)) return status;
  return absl::Status(status.code(),
                      absl::StrReplaceAll(status.message(), {{token, "<the token>"}}));
}

class HttpsClient : public ApiClient {
 public:
  HttpsClient(ApiServerAddress address, ApiClientOptions options)
      : address_(std::move(address)),
        options_(std::move(options)),
        stop_{stopped_.fd(), [this] { return stopped_.cancelled(); }} {}

  bool can_stop() const { return stop_.fd >= 0; }

  absl::StatusOr<Json> Call(const ApiRequest& request, absl::Duration patience) override {
    absl::StatusOr<Json> object = Exchange(request, SteadyAfter(patience));
    if (object.ok()) return object;
    return Annotate(object.status(), absl::StrCat(request.method, " ", request.path));
  }

  absl::Status Watch(const std::string& path,
                     const std::function<bool(WatchEvent)>& on_event) override {
    return Annotate(Follow(path, on_event), absl::StrCat("watch ", path));
  }

  void Stop() override { stopped_.Cancel(); }

 private:
  absl::StatusOr<Json> Exchange(const ApiRequest& request, SteadyTime deadline);
  absl::Status Follow(const std::string& path, const std::function<bool(WatchEvent)>& on_event);
  // Passes on the events of a watch that has begun, until `end` at most.
  absl::Status PassOn(ServerConnection& connection, bool has_bookmarks, SteadyTime end,
                      const std::function<bool(WatchEvent)>& on_event) const;
  // Asks until there is an answer that isn't to be asked for again.
  absl::StatusOr<Answer> AskUntil(const ApiRequest& request, bool is_watch, SteadyTime deadline);
  // Asks once more if the server doesn't know the token and there is another one.
  absl::StatusOr<Answer> AskAs(const ApiRequest& request, bool is_watch, SteadyTime deadline);
  absl::StatusOr<Answer> AskOnce(const ApiRequest& request, const ApiCredentials& credentials,
                                 bool is_watch, SteadyTime deadline);
  absl::StatusOr<std::unique_ptr<ServerConnection>> TakeIdle(const ApiCredentials& credentials);
  void KeepIdle(std::unique_ptr<ServerConnection> connection);
  std::string Format(const ApiRequest& request, const ApiCredentials& credentials) const;
  absl::Status ReadAll(ServerConnection& connection, size_t most, SteadyTime deadline,
                       std::string* body) const;
  absl::Status Rest(absl::Duration wait) const;

  const ApiServerAddress address_;
  const ApiClientOptions options_;
  Cancellation stopped_;
  const StopSignal stop_;
  absl::Mutex mutex_;
  std::unique_ptr<ServerConnection> idle_ ABSL_GUARDED_BY(mutex_);
};

std::string HttpsClient::Format(const ApiRequest& request,
                                const ApiCredentials& credentials) const {
  std::string text =
      absl::StrCat(request.method, " ", address_.prefix, request.path,
                   " HTTP/1.1\r\nHost: ", dial::HostAndPort(address_.host, address_.port),
                   "\r\nUser-Agent: ", options_.user_agent, "\r\nAccept: application/json\r\n");
  if (!credentials.token.empty()) {
    absl::StrAppend(&text, "Authorization: Bearer ", credentials.token, "\r\n");
  }
  std::string body;
  if (!request.body.is_null()) {
    body = request.body.dump(-1, ' ', false, Json::error_handler_t::replace);
    absl::StrAppend(&text, "Content-Type: ", request.content_type, "\r\n");
  }
  if (request.method != "GET") absl::StrAppend(&text, "Content-Length: ", body.size(), "\r\n");
  return absl::StrCat(text, "\r\n", body);
}

absl::StatusOr<Json> HttpsClient::Exchange(const ApiRequest& request, SteadyTime deadline) {
  PLIMSOLL_ASSIGN_OR_RETURN(Answer answer, AskUntil(request, /*is_watch=*/false, deadline));
  if (answer.is_error()) {
    const absl::Status error = answer.Error(request.method);
    KeepIdle(std::move(answer.connection));
    return WithoutToken(error, answer.credentials.token);
  }
  std::string body;
  PLIMSOLL_RETURN_IF_ERROR(ReadAll(*answer.connection, options_.most_body_bytes, deadline, &body));
  KeepIdle(std::move(answer.connection));
  if (body.empty()) return Json(Json::object());
  return ParseObject(body, {.bytes = options_.most_body_bytes});
}

absl::StatusOr<Answer> HttpsClient::AskUntil(const ApiRequest& request, bool is_watch,
                                             SteadyTime deadline) {
  PLIMSOLL_RETURN_IF_ERROR(CheckRequest(request));
  while (true) {
    PLIMSOLL_ASSIGN_OR_RETURN(Answer answer, AskAs(request, is_watch, deadline));
    const int code = answer.connection->code();
    const auto wait = RetryAfter(answer.connection->retry_after(), absl::Now());
    const bool is_later = (code == 429 || code == 503) && wait.has_value();
    // A wait of nothing must not become a loop without rest.
    const absl::Duration rest = std::max(wait.value_or(absl::ZeroDuration()), absl::Seconds(1));
    if (!is_later || rest >= TimeUntil(deadline)) return answer;
    KeepIdle(std::move(answer.connection));
    PLIMSOLL_RETURN_IF_ERROR(Rest(rest));
  }
}

absl::StatusOr<Answer> HttpsClient::AskAs(const ApiRequest& request, bool is_watch,
                                          SteadyTime deadline) {
  PLIMSOLL_ASSIGN_OR_RETURN(const ApiCredentials before, LoadCredentials(address_));
  PLIMSOLL_ASSIGN_OR_RETURN(Answer answer, AskOnce(request, before, is_watch, deadline));
  if (answer.connection->code() != 401) return answer;
  PLIMSOLL_ASSIGN_OR_RETURN(const ApiCredentials after, LoadCredentials(address_));
  if (after.token == before.token && after.SameConnection(before)) return answer;
  return AskOnce(request, after, is_watch, deadline);
}

absl::StatusOr<Answer> HttpsClient::AskOnce(const ApiRequest& request,
                                            const ApiCredentials& credentials, bool is_watch,
                                            SteadyTime deadline) {
  Answer answer;
  answer.credentials = credentials;
  // A watch's connection is its own to the end.
  if (!is_watch) {
    PLIMSOLL_ASSIGN_OR_RETURN(answer.connection, TakeIdle(credentials));
  }
  while (true) {
    if (stopped_.cancelled()) return absl::CancelledError("the client was stopped");
    const bool was_idle = answer.connection != nullptr;
    if (!was_idle) {
      PLIMSOLL_ASSIGN_OR_RETURN(answer.connection,
                                ServerConnection::Open(address_, credentials, stop_, deadline));
    }
    const absl::Status asked =
        answer.connection->Ask(Format(request, credentials), options_.most_header_bytes, deadline);
    if (asked.ok()) break;
    // The server closed the connection as we took it.
    const bool came_too_late = was_idle && !answer.connection->answered() &&
                               absl::IsUnavailable(asked) && request.method != "POST";
    if (!came_too_late) return WithoutToken(asked, credentials.token);
    answer.connection.reset();
  }
  if (answer.is_error()) {
    PLIMSOLL_RETURN_IF_ERROR(
        ReadAll(*answer.connection, kMostErrorBytes, deadline, &answer.error_body));
  }
  return answer;
}

absl::StatusOr<std::unique_ptr<ServerConnection>> HttpsClient::TakeIdle(
    const ApiCredentials& credentials) {
  std::unique_ptr<ServerConnection> taken;
  {
    const absl::MutexLock lock(&mutex_);
    taken = std::move(idle_);
  }
  if (taken != nullptr && !taken->IsReusable(credentials)) taken.reset();
  return taken;
}

void HttpsClient::KeepIdle(std::unique_ptr<ServerConnection> connection) {
  // The old one is closed without the lock.
  const absl::MutexLock lock(&mutex_);
  idle_.swap(connection);
}

absl::Status HttpsClient::ReadAll(ServerConnection& connection, size_t most, SteadyTime deadline,
                                  std::string* body) const {
  bool more = true;
  while (more) {
    PLIMSOLL_ASSIGN_OR_RETURN(more, connection.ReadBody(deadline, body));
    if (body->size() > most) {
      return absl::UnavailableError(
          absl::StrCat("the server's answer is longer than ", HumanBytes(most)));
    }
  }
  return absl::OkStatus();
}

absl::Status HttpsClient::Rest(absl::Duration wait) const {
  const SteadyTime end = SteadyAfter(wait);
  while (true) {
    const int64_t left = absl::ToInt64Milliseconds(TimeUntil(end) + absl::Milliseconds(1));
    pollfd look = {stop_.fd, POLLIN, 0};
    const int count = poll(&look, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 100'000'000)));
    if (count > 0) return absl::CancelledError("the client was stopped");
    if (count == 0 && SteadyNow() >= end) return absl::OkStatus();
    if (count < 0 && errno != EINTR) return ErrnoStatus(errno, "poll");
  }
}

absl::Status HttpsClient::Follow(const std::string& path,
                                 const std::function<bool(WatchEvent)>& on_event) {
  ApiRequest request;
  request.path = path;
  absl::Duration time = options_.watch_time;
  if (!absl::StrContains(path, "timeoutSeconds=")) {
    absl::BitGen random;
    time *= absl::Uniform(random, 1.0, 2.0);
    const int64_t seconds = std::max<int64_t>(absl::ToInt64Seconds(time), 1);
    request.path = ApiPathWith(path, {{"timeoutSeconds", absl::StrCat(seconds)}});
  } else {
    time *= 2;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const Answer answer,
                            AskUntil(request, /*is_watch=*/true, SteadyAfter(kWatchPatience)));
  if (answer.is_error()) {
    return WithoutToken(answer.Error("GET"), answer.credentials.token);
  }
  const bool has_bookmarks = absl::StrContains(path, "allowWatchBookmarks=true");
  return WithoutToken(
      PassOn(*answer.connection, has_bookmarks, SteadyAfter(time + options_.watch_grace), on_event),
      answer.credentials.token);
}

absl::Status HttpsClient::PassOn(ServerConnection& connection, bool has_bookmarks, SteadyTime end,
                                 const std::function<bool(WatchEvent)>& on_event) const {
  JsonFrames frames({.bytes = options_.most_event_bytes});
  bool more = true;
  while (more) {
    std::string bytes;
    const SteadyTime silent = has_bookmarks ? SteadyAfter(options_.watch_silence) : kNever;
    const absl::StatusOr<bool> read = connection.ReadBody(std::min(silent, end), &bytes);
    if (absl::IsDeadlineExceeded(read.status())) {
      return absl::UnavailableError(SteadyNow() < end ? "the server has fallen silent"
                                                      : "the server doesn't end the watch");
    }
    PLIMSOLL_ASSIGN_OR_RETURN(more, read);
    frames.Feed(bytes);
    while (true) {
      PLIMSOLL_ASSIGN_OR_RETURN(std::optional<Json> frame, frames.Next());
      if (!frame.has_value()) break;
      PLIMSOLL_ASSIGN_OR_RETURN(WatchEvent event, EventOf(*std::move(frame)));
      if (!on_event(std::move(event))) return absl::OkStatus();
      if (stopped_.cancelled()) return absl::CancelledError("the client was stopped");
    }
  }
  if (frames.is_amid()) return absl::UnavailableError("the watch ended in the middle of an event");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ApiClient>> MakeApiClient(ApiServerAddress address,
                                                         ApiClientOptions options) {
  auto client = std::make_unique<HttpsClient>(std::move(address), std::move(options));
  if (client->can_stop()) return client;
  return absl::ResourceExhaustedError("the API server's client: no descriptor is left");
}

}  // namespace plimsoll::kube
