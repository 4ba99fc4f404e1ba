// For tests: a started server over mocks, and the calls that its services' tests share.
#ifndef PLIMSOLL_CRI_SERVICES_FIXTURE_FOR_TEST_H_
#define PLIMSOLL_CRI_SERVICES_FIXTURE_FOR_TEST_H_

#include <memory>
#include <string>
#include <vector>

#include "cri/mocks_for_test.h"

namespace plimsoll::cri {

class ServicesTest : public ServerFixture {
 protected:
  void SetUp() override { Start(); }

  template <typename Stub, typename Request, typename Response>
  absl::StatusCode Code(const std::unique_ptr<Stub>& stub,
                        grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                     Response*),
                        const Request& request) {
    Response response;
    return static_cast<absl::StatusCode>(Call(stub, method, request, &response).error_code());
  }

  std::vector<std::string> Containers(const ::runtime::v1::ContainerFilter& filter) {
    ::runtime::v1::ListContainersRequest request;
    *request.mutable_filter() = filter;
    ::runtime::v1::ListContainersResponse response;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::ListContainers, request, &response).ok());
    std::vector<std::string> ids;
    for (const ::runtime::v1::Container& container : response.containers()) {
      ids.push_back(container.id());
    }
    return ids;
  }

  std::vector<std::string> Pods(const ::runtime::v1::PodSandboxFilter& filter) {
    ::runtime::v1::ListPodSandboxRequest request;
    *request.mutable_filter() = filter;
    ::runtime::v1::ListPodSandboxResponse response;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::ListPodSandbox, request, &response).ok());
    std::vector<std::string> ids;
    for (const ::runtime::v1::PodSandbox& pod : response.items()) ids.push_back(pod.id());
    return ids;
  }
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_SERVICES_FIXTURE_FOR_TEST_H_
