// A client of GetDynamicRuntimeConfig.
#ifndef PLIMSOLL_TESTS_HARNESS_TOPOLOGY_STREAM_H_
#define PLIMSOLL_TESTS_HARNESS_TOPOLOGY_STREAM_H_

#include <chrono>
#include <memory>

#include "absl/time/time.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {

class TopologyStream {
 public:
  explicit TopologyStream(Node& node) {
    context_.set_deadline(std::chrono::system_clock::now() +
                          absl::ToChronoSeconds(Patience(absl::Seconds(60))));
    reader_ = node.runtime().GetDynamicRuntimeConfig(&context_, {});
  }
  // Waits for the next message. False at the stream's end; Finish says why it ended.
  bool Next(cri::ResourceTopology* topology) {
    cri::DynamicRuntimeConfigResponse response;
    if (!reader_->Read(&response)) return false;
    *topology = response.resource_topology();
    return true;
  }
  grpc::Status Finish() { return reader_->Finish(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<cri::DynamicRuntimeConfigResponse>> reader_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_TOPOLOGY_STREAM_H_
