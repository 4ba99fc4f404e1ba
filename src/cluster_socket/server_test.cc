#include "cluster_socket/server.h"

#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "base/dir_for_test.h"
#include "base/unique_fd.h"
#include "base/wait_until_for_test.h"
#include "cri/runtime/v1/api.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "gtest/gtest.h"
#include "plimsoll/v1/cluster.grpc.pb.h"
#include "qos/fake_type_for_test.h"

namespace plimsoll::cluster {
namespace {

namespace wire = ::plimsoll::v1;
using ::testing::HasSubstr;

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

// A stream of WatchNode.
class Watcher {
 public:
  explicit Watcher(const std::string& socket)
      : stub_(wire::ClusterService::NewStub(ChannelTo(socket))),
        stream_(stub_->WatchNode(&context_, {})) {}
  ~Watcher() {
    context_.TryCancel();
    if (!finished_) Finish().error_code();
  }
  // The next report's version; "end" at the stream's.
  std::string Next() {
    wire::NodeReport report;
    return stream_->Read(&report) ? report.version() : "end";
  }
  grpc::Status Finish() {
    finished_ = true;
    return stream_->Finish();
  }
  void Cancel() { context_.TryCancel(); }

 private:
  const std::unique_ptr<wire::ClusterService::Stub> stub_;
  grpc::ClientContext context_;
  const std::unique_ptr<grpc::ClientReader<wire::NodeReport>> stream_;
  bool finished_ = false;
};

// A stream of WatchNode whose client lives and takes nothing.
class SilentWatcher final : private grpc::ClientReadReactor<wire::NodeReport> {
 public:
  explicit SilentWatcher(const std::string& socket)
      : stub_(wire::ClusterService::NewStub(ChannelTo(socket))) {
    stub_->async()->WatchNode(&context_, &request_, this);
    StartCall();
  }
  ~SilentWatcher() override {
    context_.TryCancel();
    done_.WaitForNotification();
  }

 private:
  void OnDone(const grpc::Status& /*status*/) override { done_.Notify(); }

  const std::unique_ptr<wire::ClusterService::Stub> stub_;
  grpc::ClientContext context_;
  const wire::WatchNodeRequest request_;
  absl::Notification done_;
};

class ClusterServerTest : public ::testing::Test {
 protected:
  ClusterServerTest() {
    std::vector<std::unique_ptr<qos::ClassType>> types;
    types.push_back(std::make_unique<qos::FakeType>(
        &kernel_, qos::FakeType::Options{.name = "lane", .level = qos::Level::kPod}));
    registry_ = *qos::Registry::Create(std::move(types));
    classes_ = std::make_unique<PodClasses>(PodClassesOptions{
        .directory = dir_.root(), .registry = registry_.get(), .held_by = [](const std::string&) {
          return std::nullopt;
        }});
  }
  ~ClusterServerTest() override { server_.reset(); }

  void Start(NodeWatchOptions watch = {.least_interval = absl::ZeroDuration()},
             GateOptions gate = {}) {
    watch_ = std::make_unique<NodeWatch>([this](Looks looks) { return Make(looks); }, watch);
    auto server = Server::Start({.socket = {.path = socket_},
                                 .host = *FsRoot::Open("/"),
                                 .watch = watch_.get(),
                                 .classes = classes_.get(),
                                 .gate = gate});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  // Changes the report, and wakes the watch.
  void Tell(const std::string& version, size_t bytes = 0) {
    {
      absl::MutexLock lock(&mutex_);
      report_.set_version(version);
      report_.clear_troubles();
      if (bytes > 0) report_.add_troubles()->set_message(std::string(bytes, 'x'));
    }
    watch_->Wake();
  }
  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (wire::ClusterService::Stub::*method)(grpc::ClientContext*,
                                                                       const Request&, Response*),
                    const Request& request, Response* response) {
    const auto stub = wire::ClusterService::NewStub(ChannelTo(socket_));
    grpc::ClientContext context;
    return (stub.get()->*method)(&context, request, response);
  }
  grpc::Status SetClass(const std::string& pod, const std::string& name) {
    wire::SetPodClassesRequest request;
    request.set_pod_uid(pod);
    request.set_claim_uid("claim-of-" + pod);
    (*request.mutable_classes())["lane"] = name;
    wire::SetPodClassesResponse response;
    return Call(&wire::ClusterService::Stub::SetPodClasses, request, &response);
  }

  TestDir dir_;
  const std::string socket_ = dir_.path() + "/cluster.sock";
  qos::FakeKernel kernel_;
  std::unique_ptr<qos::Registry> registry_;
  std::unique_ptr<PodClasses> classes_;
  std::unique_ptr<NodeWatch> watch_;
  std::unique_ptr<Server> server_;
  std::atomic<int> made_ = 0;  // reports
  std::atomic<int> drift_looks_ = 0;

 private:
  wire::NodeReport Make(Looks looks) {
    ++made_;
    if (looks.drift) ++drift_looks_;
    absl::MutexLock lock(&mutex_);
    return report_;
  }

  absl::Mutex mutex_;
  wire::NodeReport report_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(ClusterServerTest, AWatcherGetsTheNodeAtOnceAndAfterEachChange) {
  Start();
  Tell("1");
  Watcher watcher(socket_);
  EXPECT_EQ(watcher.Next(), "1");
  Tell("2");
  EXPECT_EQ(watcher.Next(), "2");
  Watcher second(socket_);
  EXPECT_EQ(second.Next(), "2");
  Tell("3");
  EXPECT_EQ(watcher.Next(), "3");
  EXPECT_EQ(second.Next(), "3");
  EXPECT_EQ(watch_->watchers(), 2u);
}

TEST_F(ClusterServerTest, TheSameReportIsNotSentAgain) {
  Start();
  Tell("1");
  Watcher watcher(socket_);
  EXPECT_EQ(watcher.Next(), "1");
  const int made = made_;
  watch_->Wake();
  ASSERT_TRUE(WaitUntil([&] { return made_ > made; }));
  Tell("2");
  EXPECT_EQ(watcher.Next(), "2");
  // A report is counted a moment after its reader has it.
  EXPECT_TRUE(WaitUntil([&] { return watch_->sent() >= 2; }));
  EXPECT_EQ(watch_->sent(), 2u);
}

TEST_F(ClusterServerTest, NothingIsLookedAtWhileNobodyWatches) {
  Start();
  Tell("1");
  EXPECT_EQ(made_, 0);
  {
    Watcher watcher(socket_);
    EXPECT_EQ(watcher.Next(), "1");
  }
  ASSERT_TRUE(WaitUntil([&] { return watch_->watchers() == 0; }));
  Tell("2");
  const int made = made_;
  Tell("3");
  // The next watcher gets no old report.
  Watcher watcher(socket_);
  EXPECT_EQ(watcher.Next(), "3");
  EXPECT_GT(made_, made);
}

TEST_F(ClusterServerTest, ASlowReaderGetsTheNewest) {
  Start();
  Tell("0", 1 << 20);
  Watcher slow(socket_);
  Watcher quick(socket_);
  EXPECT_EQ(quick.Next(), "0");
  // More than any buffer on the way takes.
  for (int i = 1; i <= 40; ++i) {
    Tell(absl::StrCat(i), 1 << 20);
    ASSERT_EQ(quick.Next(), absl::StrCat(i));
  }
  int read = 0;
  std::string version;
  while (version != "40") {
    version = slow.Next();
    ASSERT_NE(version, "end");
    ++read;
  }
  EXPECT_LT(read, 40);
}

TEST_F(ClusterServerTest, AReaderThatTakesNothingIsLetGo) {
  Start({.least_interval = absl::ZeroDuration(), .write_limit = absl::ZeroDuration()});
  Tell("0", 1 << 20);
  SilentWatcher stuck(socket_);
  ASSERT_TRUE(WaitUntil([&] { return watch_->watchers() == 1; }));
  int i = 0;
  // Each report looks for stuck streams.
  EXPECT_TRUE(WaitUntil([&] {
    Tell(absl::StrCat(++i), 1 << 20);
    return watch_->watchers() == 0;
  }));
}

TEST_F(ClusterServerTest, ThereIsALimitToWatchers) {
  Start({.most_streams = 2, .least_interval = absl::ZeroDuration()});
  Tell("1");
  Watcher first(socket_);
  auto second = std::make_unique<Watcher>(socket_);
  EXPECT_EQ(first.Next(), "1");
  EXPECT_EQ(second->Next(), "1");
  Watcher third(socket_);
  EXPECT_EQ(third.Next(), "end");
  const grpc::Status status = third.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("2 watchers already"));
  second.reset();
  ASSERT_TRUE(WaitUntil([&] { return watch_->watchers() == 1; }));
  Watcher fourth(socket_);
  EXPECT_EQ(fourth.Next(), "1");
}

TEST_F(ClusterServerTest, EndsWithOpenStreams) {
  Start();
  Tell("1");
  Watcher watcher(socket_);
  EXPECT_EQ(watcher.Next(), "1");
  server_.reset();
  EXPECT_EQ(watcher.Next(), "end");
  EXPECT_EQ(watch_->watchers(), 0u);
  EXPECT_NE(access(socket_.c_str(), F_OK), 0);
}

TEST_F(ClusterServerTest, TakesListsAndDropsClasses) {
  Start();
  EXPECT_TRUE(SetClass("pod-1", "gold").ok());
  EXPECT_EQ(SetClass("pod-1", "lead").error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(SetClass("pod 1", "gold").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  wire::ListPodClassesResponse list;
  ASSERT_TRUE(Call(&wire::ClusterService::Stub::ListPodClasses, {}, &list).ok());
  ASSERT_EQ(list.pods_size(), 1);
  EXPECT_EQ(list.pods(0).pod_uid(), "pod-1");
  EXPECT_EQ(list.pods(0).claim_uid(), "claim-of-pod-1");
  EXPECT_EQ(list.pods(0).classes().at("lane"), "gold");
  wire::DropPodClassesRequest drop;
  drop.set_claim_uid("claim-of-pod-1");
  wire::DropPodClassesResponse dropped;
  EXPECT_TRUE(Call(&wire::ClusterService::Stub::DropPodClasses, drop, &dropped).ok());
  EXPECT_EQ(classes_->size(), 0u);
  wire::SetScheduledRequest scheduled;
  scheduled.set_scheduled(true);
  wire::SetScheduledResponse set;
  EXPECT_TRUE(Call(&wire::ClusterService::Stub::SetScheduled, scheduled, &set).ok());
  EXPECT_TRUE(classes_->scheduled());
}

TEST_F(ClusterServerTest, ARequestHasALimit) {
  Start();
  EXPECT_EQ(SetClass(std::string(70'000, 'x'), "gold").error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(ClusterServerTest, HasNoCri) {
  Start();
  const auto stub = ::runtime::v1::RuntimeService::NewStub(ChannelTo(socket_));
  grpc::ClientContext context;
  ::runtime::v1::VersionResponse response;
  const grpc::Status status = stub->Version(&context, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(ClusterServerTest, TellsItsHealth) {
  Start();
  const auto stub = grpc::health::v1::Health::NewStub(ChannelTo(socket_));
  grpc::ClientContext context;
  grpc::health::v1::HealthCheckRequest request;
  request.set_service("plimsoll.v1.ClusterService");
  grpc::health::v1::HealthCheckResponse response;
  ASSERT_TRUE(stub->Check(&context, request, &response).ok());
  EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::SERVING);
}

TEST_F(ClusterServerTest, TheSocketIsForOwnerAndGroupAndComesBack) {
  Start();
  struct stat info = {};
  ASSERT_EQ(stat(socket_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0660u);
  ASSERT_EQ(unlink(socket_.c_str()), 0);
  ASSERT_TRUE(WaitUntil([&] { return stat(socket_.c_str(), &info) == 0; }));
  EXPECT_EQ(info.st_mode & 0777, 0660u);
  EXPECT_TRUE(SetClass("pod-1", "gold").ok());
}

// A difference counts once it is seen twice: the second look doesn't wait for its turn.
TEST_F(ClusterServerTest, NewDriftIsLookedForAgainSoon) {
  std::atomic<bool> is_new = true;
  NodeWatchOptions options{.least_interval = absl::ZeroDuration(),
                           .grants_every = absl::Hours(1),
                           .drift_every = absl::Hours(1),
                           .confirm_after = absl::Milliseconds(1)};
  options.has_new_drift = [&] { return is_new.exchange(false); };
  Start(options);
  Tell("1");
  Watcher watcher(socket_);
  EXPECT_EQ(watcher.Next(), "1");
  EXPECT_TRUE(WaitUntil([&] { return drift_looks_ == 2; }));
  Tell("2");
  EXPECT_EQ(watcher.Next(), "2");
  EXPECT_EQ(drift_looks_, 2) << "what is no longer new has its turn";
}

TEST_F(ClusterServerTest, TwoServersDoNotShareASocket) {
  Start();
  NodeWatch watch([](Looks) { return wire::NodeReport(); });
  const auto second = Server::Start({.socket = {.path = socket_},
                                     .host = *FsRoot::Open("/"),
                                     .watch = &watch,
                                     .classes = classes_.get()});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(SetClass("pod-1", "gold").ok());
}

TEST_F(ClusterServerTest, AThousandConnectionsDoNotPushAWatcherOut) {
  Start();
  Tell("1");
  Watcher watcher(socket_);
  EXPECT_EQ(watcher.Next(), "1");
  std::vector<UniqueFd> flood;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  socket_.copy(address.sun_path, sizeof(address.sun_path) - 1);
  for (int i = 0; i < 1000; ++i) {
    UniqueFd one(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(one.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    flood.push_back(std::move(one));
  }
  Tell("2");
  EXPECT_EQ(watcher.Next(), "2");
  // All are one user's, whose places are taken.
  EXPECT_EQ(SetClass("pod-1", "gold").error_code(), grpc::StatusCode::UNAVAILABLE);
  flood.clear();
  EXPECT_TRUE(SetClass("pod-1", "gold").ok());
}

int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t all = 0;
  int64_t resident = 0;
  statm >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// Sends `frame` again and again, and reads nothing, until the server takes no more.
UniqueFd Flood(const std::string& socket, const std::string& frame) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  socket.copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const struct timeval patience = {.tv_usec = 200'000};
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  std::string bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  bytes += std::string("\0\0\0\4\0\0\0\0\0", 9);
  for (int i = 0; i < 1000; ++i) bytes += frame;
  const std::string more = bytes.substr(33);
  for (int i = 0; i < 1000 && send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                                  static_cast<ssize_t>(bytes.size());
       ++i) {
    bytes = more;
  }
  return fd;
}

TEST_F(ClusterServerTest, ClientsThatReadNothingTakeNoMemory) {
  Start();
  const std::string ping = std::string("\0\0\10\6\0\0\0\0\0", 9) + "12345678";
  const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
  const int64_t before = ResidentBytes();
  std::vector<UniqueFd> floods;
  for (int i = 0; i < 12; ++i) floods.push_back(Flood(socket_, i % 2 == 0 ? ping : settings));
  EXPECT_LT(ResidentBytes() - before, 128 << 20);
  wire::ListPodClassesResponse response;
  EXPECT_TRUE(Call(&wire::ClusterService::Stub::ListPodClasses, {}, &response).ok());
}

}  // namespace
}  // namespace plimsoll::cluster
