// A topology provider: sends each line of its standard input, a ResourceTopology in JSON, to
// plimsolld, and says what became of it. Whatever can print a topology so becomes a provider:
//
//   (my-inventory --watch) | topology-provider /run/plimsoll/topology.sock my-inventory
//
// It is connected until its input ends. Then, after `hold`, plimsolld is back to the kernel's.
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>

#include <iostream>
#include <string>

#include "plimsoll/v1/topology.grpc.pb.h"

namespace {

using plimsoll::v1::ProvideRequest;
using plimsoll::v1::ProvideResponse;
using plimsoll::v1::TopologyProviderService;

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: topology-provider SOCKET NAME < TOPOLOGIES\n";
    return 2;
  }
  const auto stub = TopologyProviderService::NewStub(
      grpc::CreateChannel(std::string("unix:") + argv[1], grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  // A daemon that is just being started is waited for.
  context.set_wait_for_ready(true);
  const auto stream = stub->Provide(&context);

  ProvideRequest request;
  request.set_provider(argv[2]);
  // The first one only connects, so that a second provider learns at once that it is one too many.
  do {
    ProvideResponse response;
    if (!stream->Write(request) || !stream->Read(&response)) break;
    if (request.has_topology()) {
      const std::string reason = response.reason().empty() ? "" : ": " + response.reason();
      std::cout << (response.accepted() ? "accepted" : "refused") << reason << std::endl;
    }
    request.Clear();
    for (std::string line; std::getline(std::cin, line);) {
      const auto status =
          google::protobuf::util::JsonStringToMessage(line, request.mutable_topology());
      if (status.ok()) break;
      std::cout << "refused: " << status.ToString() << std::endl;
      request.Clear();
    }
  } while (request.has_topology());
  stream->WritesDone();
  const grpc::Status status = stream->Finish();
  if (status.ok()) return 0;
  std::cerr << "topology-provider: " << status.error_message() << "\n";
  return 1;
}
