// Plugins of the Node Resource Interface in the test's own process, and a node for them.
//
//   TEST_F(MyTest, Adjusts) {  // class MyTest : public NriTest {}
//     TestPlugin plugin("10", "tester");
//     plugin.On(&TestPlugin::create_container, [](const auto& request) { ... });
//     Join(plugin);
//     Start(RunPod(), Shell("sleep 1000"));
//     EXPECT_THAT(plugin.Calls(), ElementsAre("RunPodSandbox ...", ...));
//   }
#ifndef PLIMSOLL_TESTS_HARNESS_NRI_H_
#define PLIMSOLL_TESTS_HARNESS_NRI_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/mutex.h"
#include "base/dir_for_test.h"
#include "base/unique_fd.h"
#include "harness/node.h"
#include "nri/plugin/plugin.h"

namespace plimsoll::testing {

namespace napi = ::nri::pkg::api::v1alpha1;

// A call of the runtime as a plugin saw it.
struct SeenCall {
  std::string name;           // "CreateContainer"
  napi::PodSandbox pod;       // empty: the call is about none
  napi::Container container;  // as above
  std::string request;        // serialized
};

// A plugin that notes every call and answers as a test wants. Thread-safe.
class TestPlugin : public nri::Plugin {
 public:
  TestPlugin(std::string index, std::string name)
      : index_(std::move(index)), name_(std::move(name)) {}
  ~TestPlugin() override { Close(); }

  template <typename Request, typename Response>
  using Handler = std::function<absl::StatusOr<Response>(const Request&)>;
  // The calls that a test can answer. Each has a member of std::function type, set by On.
#define PLIMSOLL_TEST_CALL(call, member)                                                   \
  Handler<napi::call##Request, napi::call##Response> member;                               \
  absl::StatusOr<napi::call##Response> call(const napi::call##Request& request) override { \
    return Answer(#call, member, request);                                                 \
  }
  PLIMSOLL_TEST_CALL(RunPodSandbox, run_pod)
  PLIMSOLL_TEST_CALL(UpdatePodSandbox, update_pod)
  PLIMSOLL_TEST_CALL(PostUpdatePodSandbox, post_update_pod)
  PLIMSOLL_TEST_CALL(StopPodSandbox, stop_pod)
  PLIMSOLL_TEST_CALL(RemovePodSandbox, remove_pod)
  PLIMSOLL_TEST_CALL(CreateContainer, create)
  PLIMSOLL_TEST_CALL(PostCreateContainer, post_create)
  PLIMSOLL_TEST_CALL(StartContainer, start)
  PLIMSOLL_TEST_CALL(PostStartContainer, post_start)
  PLIMSOLL_TEST_CALL(UpdateContainer, update)
  PLIMSOLL_TEST_CALL(PostUpdateContainer, post_update)
  PLIMSOLL_TEST_CALL(StopContainer, stop)
  PLIMSOLL_TEST_CALL(RemoveContainer, remove)
  PLIMSOLL_TEST_CALL(ValidateContainerAdjustment, validate)
#undef PLIMSOLL_TEST_CALL
  // Called with the pods and containers of a Synchronize.
  std::function<absl::StatusOr<std::vector<napi::ContainerUpdate>>(
      const std::vector<napi::PodSandbox>&, const std::vector<napi::Container>&)>
      synchronize;

  template <typename Member, typename Function>
  void On(Member TestPlugin::*member, Function function) {
    absl::MutexLock lock(&mutex_);
    this->*member = std::move(function);
  }
  // Shorthand: adjusts every container by this.
  void Adjust(const napi::ContainerAdjustment& adjustment);
  // Ends the connection in every call of that name, unanswered. Before Connect.
  void DieIn(std::string call) {
    dies_in_ = std::move(call);
  }
  // Subscribes to these events alone; before Connect.
  void SubscribeTo(std::vector<napi::Event> events) {
    events_ = std::move(events);
  }

  // "10-tester".
  std::string full_name() const {
    return index_ + "-" + name_;
  }

  absl::Status Connect(const std::string& socket);
  void Close();
  // Ends the connection as a kill -9 of a plugin's process does. May be called in a call.
  void Cut();
  nri::Session& session() {
    return *session_;
  }

  std::vector<SeenCall> Seen() const;
  // The calls as words: "CreateContainer web", "RunPodSandbox pod-1".
  std::vector<std::string> Calls() const;
  // The calls about one pod, its containers' among them, without the pod's name.
  std::vector<std::string> CallsAbout(const std::string& pod_id) const;
  int Count(const std::string& call) const;
  // The last call of that name; fails the test if there is none.
  SeenCall Last(const std::string& call) const;
  // The call's request: LastRequest<napi::UpdateContainerRequest>("UpdateContainer").
  template <typename Request>
  Request LastRequest(const std::string& call) const {
    Request request;
    EXPECT_TRUE(request.ParseFromString(Last(call).request));
    return request;
  }
  // Waits until there were so many calls of that name.
  bool Await(const std::string& call, int count = 1) const;
  void Forget();

  // The pods and containers of the last Synchronize.
  std::vector<napi::PodSandbox> pods() const;
  std::vector<napi::Container> containers() const;

  // All but the validator's, unless SubscribeTo or `validate` say otherwise: a validator that gives
  // no answer refuses the container.
  std::vector<napi::Event> Events() const override;
  absl::Status Configure(const napi::ConfigureRequest& request) override;
  absl::StatusOr<std::vector<napi::ContainerUpdate>> Synchronize(
      const std::vector<napi::PodSandbox>& pods,
      const std::vector<napi::Container>& containers) override;
  napi::ConfigureRequest configuration() const;

 private:
  template <typename Request, typename Response>
  absl::StatusOr<Response> Answer(const char* name, const Handler<Request, Response>& member,
                                  const Request& request) {
    SeenCall call{name, request.pod(), {}, request.SerializeAsString()};
    if constexpr (requires { request.container(); }) call.container = request.container();
    Handler<Request, Response> handler;
    {
      absl::MutexLock lock(&mutex_);
      seen_.push_back(std::move(call));
      handler = member;
    }
    if (name == dies_in_) Cut();
    return handler ? handler(request) : Response();
  }

  const std::string index_;
  const std::string name_;
  std::vector<napi::Event> events_;
  std::string dies_in_;
  mutable absl::Mutex mutex_;
  std::vector<SeenCall> seen_ ABSL_GUARDED_BY(mutex_);
  napi::ConfigureRequest configuration_ ABSL_GUARDED_BY(mutex_);
  std::vector<napi::PodSandbox> pods_ ABSL_GUARDED_BY(mutex_);
  std::vector<napi::Container> containers_ ABSL_GUARDED_BY(mutex_);
  UniqueFd socket_;  // the connection's, once more
  std::unique_ptr<nri::Session> session_;
};

// Directories of pre-installed plugins, made before the daemon starts.
class NriDirectories {
 protected:
  // The section `nri` with these directories and `more` keys, each line indented by two spaces.
  std::string NriConfig(const std::string& more) const;
  // Installs a program as a plugin of that name, "10-logger".
  void Install(const std::string& name, const std::string& program) const;
  // Writes the plugin's configuration, as <name>.conf.
  void Configure(const std::string& name, const std::string& text) const;

  TestDir nri_files_;
};

class NriTest : private NriDirectories, public NodeTest {
 protected:
  // `nri`: more keys of the section nri; `config`: more sections, in which $FILES is the path of
  // nri_files_.
  explicit NriTest(const std::string& nri = "", const std::string& config = "")
      : NodeTest(NriConfig(nri) + absl::StrReplaceAll(config, {{"$FILES", nri_files_.path()}})) {}

  std::string NriSocket() const { return node_.run_directory() + "/nri/nri.sock"; }
  // Connects a plugin and waits until it has synchronised.
  void Join(TestPlugin& plugin);
  // The plugins of verbose Status, as JSON.
  std::string PluginsJson();
  grpc::Status UpdateShares(const std::string& container, int64_t shares);

  using NriDirectories::Configure;
  using NriDirectories::Install;
  using NriDirectories::nri_files_;
};

// An update of another container, for answers.
napi::ContainerUpdate SharesUpdate(const std::string& container, uint64_t shares);

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_NRI_H_
