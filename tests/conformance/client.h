// Calls to a CRI socket, any runtime's. gRPC's headers stay in client.cc: a test includes this file
// and the messages alone.
//
//   Client client("unix:///run/containerd/containerd.sock", "", /*patience=*/1);
//   cri::VersionRequest request;
//   absl::StatusOr<cri::VersionResponse> version = client.Ask<cri::VersionResponse>(request);
//
// The method is the one that takes the request's message; the services and their methods are those
// of the contract (api/cri/runtime/v1). Every call has a time limit. Thread-safe.
#ifndef PLIMSOLL_TESTS_CONFORMANCE_CLIENT_H_
#define PLIMSOLL_TESTS_CONFORMANCE_CLIENT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cri/runtime/v1/api.pb.h"

namespace plimsoll::conformance {

namespace cri = ::runtime::v1;
using Message = google::protobuf::Message;

// The answers to one request, one after another. Read and Finish are one thread's.
class Stream {
 public:
  // Ends the call if it still goes on.
  virtual ~Stream() = default;
  // Waits for the next message. False when there is no other.
  virtual bool Read(Message* message) = 0;
  // How the call ended; to be called once, after Read gave false.
  virtual absl::Status Finish() = 0;
  // Ends the call; any thread's.
  virtual void Cancel() = 0;
};

// A method of the contract: what can be asked of every runtime.
struct Method {
  std::string name;  // "RunPodSandbox"
  bool streams = false;
  std::unique_ptr<Message> request;  // empty ones
  std::unique_ptr<Message> response;
};
// Those of CRI v1, without what Plimsoll adds to them.
std::vector<Method> MethodsOfTheContract();

class Client {
 public:
  // Endpoints are "unix:///path", "/path" or what gRPC takes. `image_endpoint` empty: the same.
  // `patience`: by how much all time limits are longer than usual.
  Client(const std::string& endpoint, const std::string& image_endpoint, double patience);
  ~Client();

  // UNAVAILABLE, naming the endpoint, when nobody listens there within that time.
  absl::Status AwaitListener(absl::Duration within);

  // gRPC's code and message are the status's. INVALID_ARGUMENT also where the contract has no such
  // call.
  absl::Status Call(const Message& request, Message* response);
  absl::Status Call(const Message& request, Message* response, absl::Duration limit);
  template <typename Response>
  absl::StatusOr<Response> Ask(const Message& request) {
    Response response;
    const absl::Status status = Call(request, &response);
    if (!status.ok()) return status;
    return response;
  }

  // Null where the contract has no such call.
  std::unique_ptr<Stream> Open(const Message& request, absl::Duration limit);

  // From now on all calls fail with CANCELLED; those under way are cancelled and waited for.
  void Shut();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace plimsoll::conformance

#endif  // PLIMSOLL_TESTS_CONFORMANCE_CLIENT_H_
