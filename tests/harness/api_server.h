// An API server of the test's own: HTTPS on the loopback network, objects in memory.
#ifndef PLIMSOLL_TESTS_HARNESS_API_SERVER_H_
#define PLIMSOLL_TESTS_HARNESS_API_SERVER_H_

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "kube/apiserver/fake_api_client_for_test.h"
#include "kube/apiserver/https_server_for_test.h"

namespace plimsoll::testing {

// The objects behave as FakeApiClient says. Thread-safe.
class ApiServer {
 public:
  // Writes a kubeconfig into the directory.
  explicit ApiServer(const std::string& directory);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  kube::FakeApiClient& objects() { return objects_; }
  const std::string& kubeconfig() const { return kubeconfig_; }
  int port() const { return server_->port(); }
  // Writes the files that a pod has of its service account into the directory.
  void WriteAccount(const std::string& directory) const;

  // Ends all connections, and answers none until it is back.
  void GoAway();
  void ComeBack() { is_away_ = false; }

 private:
  bool Serve(kube::HttpsTestServer::Peer& peer, const std::string& request);
  bool ServeWatch(kube::HttpsTestServer::Peer& peer, const std::string& path);

  const std::string kubeconfig_;
  const kube::TestAuthority authority_;
  kube::FakeApiClient objects_;
  std::atomic<bool> is_away_ = false;
  std::unique_ptr<kube::HttpsTestServer> server_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_API_SERVER_H_
