// Calls to any runtime's CRI socket. gRPC's headers stay in client.cc: a test includes only this
// file and the messages.
//
//   Client client("unix:///run/containerd/containerd.sock", "", /*patience=*/1);
//   cri::VersionRequest request;
//   absl::StatusOr<cri::VersionResponse> version = client.Ask<cri::VersionResponse>(request);
//
// The type of the request selects the method, from the services of the contract
// (api/cri/runtime/v1). Every call has a time limit. Thread-safe.
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

// The answers to one request, one after another. One thread calls Read and Finish.
class Stream {
 public:
  // Ends the call if it is still running.
  virtual ~Stream() = default;
  // Waits for the next message. False: there is no more.
  virtual bool Read(Message* message) = 0;
  // The call's final status; call once, after Read returned false.
  virtual absl::Status Finish() = 0;
  // Ends the call, from any thread.
  virtual void Cancel() = 0;
};

// A method of the contract, which every runtime can be asked.
struct Method {
  std::string name;  // "RunPodSandbox"
  bool streams = false;
  std::unique_ptr<Message> request;  // empty ones
  std::unique_ptr<Message> response;
};
// The methods of CRI v1, without Plimsoll's additions.
std::vector<Method> MethodsOfTheContract();

class Client {
 public:
  // Endpoints are "unix:///path", "/path" or any form of gRPC's. `image_endpoint` empty: the same.
  // `patience`: the factor for all time limits.
  Client(const std::string& endpoint, const std::string& image_endpoint, double patience);
  ~Client();

  // UNAVAILABLE, naming the endpoint, if there is no listener within that time.
  absl::Status AwaitListener(absl::Duration within);

  // The status has gRPC's code and message. INVALID_ARGUMENT also if the contract has no such call.
  absl::Status Call(const Message& request, Message* response);
  absl::Status Call(const Message& request, Message* response, absl::Duration limit);
  template <typename Response>
  absl::StatusOr<Response> Ask(const Message& request) {
    Response response;
    const absl::Status status = Call(request, &response);
    if (!status.ok()) return status;
    return response;
  }

  // Null if the contract has no such call.
  std::unique_ptr<Stream> Open(const Message& request, absl::Duration limit);

  // Cancels running calls and waits for them; all later calls fail with CANCELLED.
  void Shut();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace plimsoll::conformance

#endif  // PLIMSOLL_TESTS_CONFORMANCE_CLIENT_H_
