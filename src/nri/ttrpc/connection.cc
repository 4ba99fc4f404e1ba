#include "nri/ttrpc/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "nri/ttrpc/frames.h"
#include "nri/ttrpc/message.h"
#include "nri/ttrpc/pending_calls.h"
#include "nri/ttrpc/sender.h"
#include "nri/ttrpc/waiting_requests.h"
#include "protobuf/field_count.h"
#include "ttrpc/ttrpc.pb.h"

namespace plimsoll::nri {
namespace {

constexpr size_t kReceiveBytes = 64 * 1024;
// The bound of an error's text that the other side sends.
constexpr size_t kMaxErrorBytes = 4096;
// The fields of ttrpc's envelope with its metadata, which nobody here reads.
constexpr int kMostFields = 1000;

// Receives like recv, whether the socket blocks or not.
ssize_t ReceiveSome(int socket, std::vector<char>* buffer) {
  while (true) {
    const ssize_t count = recv(socket, buffer->data(), buffer->size(), 0);
    if (count >= 0 || (errno != EINTR && errno != EAGAIN)) return count;
    pollfd input = {socket, POLLIN, 0};
    if (errno == EAGAIN) poll(&input, 1, -1);
  }
}

// The error that came over the wire: a code that nobody knows is an error still.
absl::Status ErrorOf(const ttrpc::Status& status) {
  const bool is_known = status.code() > 0 && status.code() <= 16;
  return absl::Status(
      is_known ? static_cast<absl::StatusCode>(status.code()) : absl::StatusCode::kUnknown,
      Printable(absl::string_view(status.message()).substr(0, kMaxErrorBytes)));
}

absl::Status TooLong(absl::string_view message, size_t bytes) {
  return absl::ResourceExhaustedError(
      absl::StrCat(message, " takes ", bytes, " bytes; a message holds ", kMaxMessageBytes));
}

std::string RequestBytes(absl::string_view service, absl::string_view method,
                         absl::string_view payload, absl::Duration timeout) {
  ttrpc::Request request;
  request.set_service(std::string(service));
  request.set_method(std::string(method));
  request.set_payload(std::string(payload));
  if (timeout < absl::InfiniteDuration()) {
    request.set_timeout_nano(absl::ToInt64Nanoseconds(timeout));
  }
  return request.SerializeAsString();
}

// The payload of a call's answer, or its error.
absl::StatusOr<std::string> ReadAnswer(const Message& answer) {
  if (answer.too_long > 0) return TooLong("the answer", answer.too_long);
  ttrpc::Response response;
  if (const absl::Status parsed = ParseBounded(answer.body, kMostFields, &response); !parsed.ok()) {
    return absl::InternalError(
        absl::StrCat("the answer is no message of ttrpc: ", parsed.message()));
  }
  if (response.status().code() != 0) return ErrorOf(response.status());
  return std::move(*response.mutable_payload());
}

ttrpc::Response ResponseOf(const absl::StatusOr<std::string>& answer) {
  ttrpc::Response response;
  if (answer.ok()) {
    response.set_payload(*answer);
    return response;
  }
  response.mutable_status()->set_code(answer.status().raw_code());
  // A protobuf string must be UTF-8.
  response.mutable_status()->set_message(Printable(answer.status().message()));
  return response;
}

// The caller's share of the protocol that `message` breaks. ttrpc for Go refuses the one stream.
absl::Status CheckRequest(const Message& message, uint32_t last_stream) {
  if (message.too_long > 0) return TooLong("the request", message.too_long);
  if (message.stream % 2 == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a call on stream ", message.stream, "; a caller's streams have odd ids"));
  }
  if (message.type == kDataMessage) {
    return absl::InvalidArgumentError(
        absl::StrCat("data for stream ", message.stream, ", which is no stream of data"));
  }
  if (message.stream <= last_stream) {
    return absl::InvalidArgumentError(absl::StrCat("a call on stream ", message.stream,
                                                   " after one on ", last_stream,
                                                   "; ids of streams must grow"));
  }
  return absl::OkStatus();
}

class SocketConnection : public TtrpcConnection {
 public:
  SocketConnection(UniqueFd socket, ConnectionOptions options)
      : options_(std::move(options)),
        socket_(std::move(socket)),
        sender_(socket_.get()),
        requests_(options_.max_waiting_calls) {}
  ~SocketConnection() override;

  absl::Status StartThreads();
  absl::StatusOr<std::string> Call(absl::string_view service, absl::string_view method,
                                   absl::string_view payload, absl::Duration timeout,
                                   bool* answered) override;
  void Close() override { End(absl::OkStatus()); }
  bool IsClosed() const override;

 private:
  // One connection in the socket.
  struct Lane {
    uint32_t id;
    MessageDecoder decoder;
  };

  absl::StatusOr<Message> Exchange(absl::string_view request, SteadyTime deadline);
  void End(const absl::Status& why);
  absl::Status Why() const;

  void Read();
  absl::Status ReadToTheEnd();
  absl::Status TakeAnswer(Message message);
  absl::Status TakeRequest(Message message);

  void Serve();
  absl::StatusOr<std::string> Answer(const Message& message, uint32_t* last_stream) const;
  absl::Status SendAnswer(uint32_t stream, const absl::StatusOr<std::string>& answer);

  const ConnectionOptions options_;
  const UniqueFd socket_;
  Sender sender_;
  PendingCalls calls_;
  WaitingRequests requests_;
  mutable absl::Mutex mutex_;
  std::optional<absl::Status> why_ ABSL_GUARDED_BY(mutex_);  // it has ended
  int callers_ ABSL_GUARDED_BY(mutex_) = 0;                  // threads in Call
  std::thread reader_;
  std::thread server_;
};

SocketConnection::~SocketConnection() {
  Close();
  if (reader_.joinable()) reader_.join();
  if (server_.joinable()) server_.join();
  absl::MutexLock lock(&mutex_);
  const auto all_left = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return callers_ == 0; };
  mutex_.Await(absl::Condition(&all_left));
}

absl::Status SocketConnection::StartThreads() {
  try {
    reader_ = std::thread([this] { Read(); });
    server_ = std::thread([this] { Serve(); });
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("no thread for a connection: ", error.what()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> SocketConnection::Call(absl::string_view service,
                                                   absl::string_view method,
                                                   absl::string_view payload,
                                                   absl::Duration timeout, bool* answered) {
  if (answered != nullptr) *answered = false;
  if (timeout <= absl::ZeroDuration()) return absl::DeadlineExceededError("no time for a call");
  const std::string request = RequestBytes(service, method, payload, timeout);
  if (request.size() > kMaxMessageBytes) {
    return Annotate(TooLong("the request", request.size()), method);
  }
  {
    absl::MutexLock lock(&mutex_);
    ++callers_;
  }
  const absl::StatusOr<Message> answer = Exchange(request, SteadyAfter(timeout));
  {
    absl::MutexLock lock(&mutex_);
    --callers_;
  }
  if (!answer.ok()) return answer.status();
  if (answered != nullptr) *answered = true;
  return ReadAnswer(*answer);
}

absl::StatusOr<Message> SocketConnection::Exchange(absl::string_view request, SteadyTime deadline) {
  uint32_t stream = 0;
  const absl::Status sent =
      sender_.Send(options_.calls, deadline, [&]() -> absl::StatusOr<std::string> {
        // Ids must grow in the order in which calls are sent.
        PLIMSOLL_ASSIGN_OR_RETURN(stream, calls_.Begin());
        return MessageBytes(stream, kRequestMessage, request);
      });
  if (sent.ok()) return calls_.Await(stream, deadline);
  if (stream != 0) calls_.Forget(stream);
  if (!absl::IsAborted(sent)) return sent;
  End(absl::UnavailableError(sent.message()));
  return EndedFor(Why());
}

bool SocketConnection::IsClosed() const {
  absl::MutexLock lock(&mutex_);
  return why_.has_value();
}

absl::Status SocketConnection::Why() const {
  absl::MutexLock lock(&mutex_);
  return why_.value_or(absl::OkStatus());
}

// The reader then finds the end of what has arrived, and ends the rest.
void SocketConnection::End(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  if (why_.has_value()) return;
  why_ = why;
  shutdown(socket_.get(), SHUT_RDWR);
}

void SocketConnection::Read() {
  End(ReadToTheEnd());
  calls_.End(Why());
  requests_.End();
}

absl::Status SocketConnection::ReadToTheEnd() {
  FrameDecoder frames;
  Lane answers = {options_.calls, {}};
  Lane requests = {options_.serves, {}};
  const auto take = [&](uint32_t connection, absl::string_view part) {
    if (connection == answers.id) {
      return Annotate(answers.decoder.Feed(
                          part, [&](Message message) { return TakeAnswer(std::move(message)); }),
                      absl::StrCat("connection ", connection));
    }
    if (connection == requests.id) {
      return Annotate(requests.decoder.Feed(
                          part, [&](Message message) { return TakeRequest(std::move(message)); }),
                      absl::StrCat("connection ", connection));
    }
    // Nobody here has opened it; its bytes go nowhere.
    return absl::OkStatus();
  };
  std::vector<char> buffer(kReceiveBytes);
  while (true) {
    const ssize_t count = ReceiveSome(socket_.get(), &buffer);
    if (count < 0) {
      return absl::UnavailableError(ErrnoStatus(errno, "recv on the socket").message());
    }
    if (count == 0) break;
    PLIMSOLL_RETURN_IF_ERROR(
        frames.Feed(absl::string_view(buffer.data(), static_cast<size_t>(count)), take));
  }
  const bool is_whole = frames.IsBetweenFrames() && answers.decoder.IsBetweenMessages() &&
                        requests.decoder.IsBetweenMessages();
  return absl::UnavailableError(absl::StrCat("the other side closed the connection",
                                             is_whole ? "" : " in the middle of a message"));
}

absl::Status SocketConnection::TakeAnswer(Message message) {
  if (message.type == kResponseMessage) return calls_.Answer(std::move(message));
  if (message.type != kRequestMessage && message.type != kDataMessage) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a message of type ", message.type, " on stream ",
                                                 message.stream,
                                                 ", on which only responses may come"));
}

absl::Status SocketConnection::TakeRequest(Message message) {
  // Other types are of a later protocol, and ignored as ttrpc for Go does.
  if (message.type != kRequestMessage && message.type != kDataMessage) return absl::OkStatus();
  return requests_.Push(std::move(message));
}

void SocketConnection::Serve() {
  uint32_t last_stream = 0;
  while (const std::optional<Message> message = requests_.Pop()) {
    const absl::Status sent = SendAnswer(message->stream, Answer(*message, &last_stream));
    if (!sent.ok()) End(absl::UnavailableError(sent.message()));
  }
  if (options_.closed) options_.closed(Why());
}

absl::StatusOr<std::string> SocketConnection::Answer(const Message& message,
                                                     uint32_t* last_stream) const {
  PLIMSOLL_RETURN_IF_ERROR(CheckRequest(message, *last_stream));
  *last_stream = message.stream;
  ttrpc::Request request;
  if (const absl::Status parsed = ParseBounded(message.body, kMostFields, &request); !parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request is no message of ttrpc: ", parsed.message()));
  }
  if (request.service() != options_.service || options_.serve == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("service ", request.service().substr(0, kMaxErrorBytes)));
  }
  return options_.serve(request.method(), request.payload());
}

absl::Status SocketConnection::SendAnswer(uint32_t stream,
                                          const absl::StatusOr<std::string>& answer) {
  std::string body = ResponseOf(answer).SerializeAsString();
  if (body.size() > kMaxMessageBytes) {
    body = ResponseOf(TooLong("the answer", body.size())).SerializeAsString();
  }
  return sender_.Send(options_.serves, SteadyAfter(options_.answer_timeout),
                      [&]() -> absl::StatusOr<std::string> {
                        return MessageBytes(stream, kResponseMessage, body);
                      });
}

}  // namespace

absl::StatusOr<std::unique_ptr<TtrpcConnection>> TtrpcConnection::Start(UniqueFd socket,
                                                                        ConnectionOptions options) {
  if (!socket.valid()) return absl::InvalidArgumentError("a connection needs a socket");
  auto connection = std::make_unique<SocketConnection>(std::move(socket), std::move(options));
  PLIMSOLL_RETURN_IF_ERROR(connection->StartThreads());
  return connection;
}

}  // namespace plimsoll::nri
