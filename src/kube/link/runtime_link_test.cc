#include "kube/link/runtime_link.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plimsoll/v1/cluster.grpc.pb.h"

namespace plimsoll::kube {
namespace {

namespace wire = ::plimsoll::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(60);

// A plimsolld as a test wants it: a stream sends each report of `reports` once, then waits.
class Plimsolld final : public wire::ClusterService::Service {
 public:
  explicit Plimsolld(const std::string& socket) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Plimsolld() override { server_->Shutdown(std::chrono::system_clock::now()); }

  void Send(const wire::NodeReport& report) {
    absl::MutexLock lock(&mutex_);
    reports_.push_back(report);
  }
  // Ends the streams that are open.
  void EndStreams() {
    absl::MutexLock lock(&mutex_);
    ++ended_;
  }
  // Each call fails with it.
  void Refuse(grpc::Status status) {
    absl::MutexLock lock(&mutex_);
    refusal_ = std::move(status);
  }
  // Calls wait until their clients give up.
  void Hang() { hangs_ = true; }
  std::string log() const {
    absl::MutexLock lock(&mutex_);
    return log_;
  }

 private:
  grpc::Status WatchNode(grpc::ServerContext* context, const wire::WatchNodeRequest*,
                         grpc::ServerWriter<wire::NodeReport>* writer) override {
    absl::MutexLock lock(&mutex_);
    const int ended = ended_;
    for (size_t sent = 0; ended_ == ended && !context->IsCancelled();) {
      if (sent == reports_.size()) {
        mutex_.AwaitWithTimeout(absl::Condition(&never_), absl::Milliseconds(2));
        continue;
      }
      const wire::NodeReport report = reports_[sent++];
      mutex_.Unlock();
      const bool is_there = writer->Write(report);
      mutex_.Lock();
      if (!is_there) break;
    }
    return grpc::Status::OK;
  }
  grpc::Status Take(grpc::ServerContext* context, const std::string& call) {
    while (hangs_ && !context->IsCancelled()) absl::SleepFor(absl::Milliseconds(2));
    absl::MutexLock lock(&mutex_);
    absl::StrAppend(&log_, call, ";");
    return refusal_;
  }
  grpc::Status SetPodClasses(grpc::ServerContext* context,
                             const wire::SetPodClassesRequest* request,
                             wire::SetPodClassesResponse*) override {
    return Take(context, absl::StrCat("set ", request->pod_uid(), " ", request->claim_uid(), " ",
                                      request->classes().at("rdt")));
  }
  grpc::Status DropPodClasses(grpc::ServerContext* context,
                              const wire::DropPodClassesRequest* request,
                              wire::DropPodClassesResponse*) override {
    return Take(context, absl::StrCat("drop ", request->claim_uid()));
  }
  grpc::Status ListPodClasses(grpc::ServerContext* context, const wire::ListPodClassesRequest*,
                              wire::ListPodClassesResponse* response) override {
    wire::SetPodClassesRequest* pod = response->add_pods();
    pod->set_pod_uid("pod-1");
    pod->set_claim_uid("claim-1");
    (*pod->mutable_classes())["rdt"] = "gold";
    return Take(context, "list");
  }
  grpc::Status SetScheduled(grpc::ServerContext* context, const wire::SetScheduledRequest* request,
                            wire::SetScheduledResponse*) override {
    return Take(context, request->scheduled() ? "scheduled" : "not scheduled");
  }

  std::unique_ptr<grpc::Server> server_;
  std::atomic<bool> hangs_ = false;
  mutable absl::Mutex mutex_;
  bool never_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<wire::NodeReport> reports_ ABSL_GUARDED_BY(mutex_);
  int ended_ ABSL_GUARDED_BY(mutex_) = 0;
  grpc::Status refusal_ ABSL_GUARDED_BY(mutex_);
  std::string log_ ABSL_GUARDED_BY(mutex_);
};

wire::NodeReport Version(const std::string& version) {
  wire::NodeReport report;
  report.set_version(version);
  return report;
}

class RuntimeLinkTest : public ::testing::Test {
 protected:
  ~RuntimeLinkTest() override { link_.reset(); }
  void Open(LinkOptions options = {.patience = kLong}) {
    options.first_pause = absl::Milliseconds(1);
    options.longest_pause = absl::Milliseconds(20);
    options.rest = absl::ZeroDuration();
    link_ = RuntimeLink::Open(
        socket_, [this](const std::shared_ptr<const NodeReport>& report) { Hear(report); },
        options);
  }
  void Serve() { daemon_ = std::make_unique<Plimsolld>(socket_); }
  // The versions of the reports, in their order; "lost" for nullptr.
  std::vector<std::string> heard() {
    absl::MutexLock lock(&mutex_);
    return heard_;
  }
  bool HeardInTime(size_t count) {
    return WaitUntil([&] { return heard().size() >= count; });
  }

  TestDir dir_;
  const std::string socket_ = dir_.path() + "/cluster.sock";
  std::unique_ptr<Plimsolld> daemon_;
  std::unique_ptr<RuntimeLink> link_;

 private:
  void Hear(const std::shared_ptr<const NodeReport>& report) {
    absl::MutexLock lock(&mutex_);
    heard_.push_back(report == nullptr ? "lost" : report->runtime_version);
  }

  absl::Mutex mutex_;
  std::vector<std::string> heard_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(RuntimeLinkTest, TellsEachReport) {
  Serve();
  daemon_->Send(Version("1"));
  daemon_->Send(Version("2"));
  Open();
  ASSERT_TRUE(HeardInTime(2));
  daemon_->Send(Version("3"));
  ASSERT_TRUE(HeardInTime(3));
  EXPECT_THAT(heard(), ElementsAre("1", "2", "3"));
}

TEST_F(RuntimeLinkTest, WaitsForADaemonAndSaysOnceThatThereIsNone) {
  Open();
  ASSERT_TRUE(HeardInTime(1));
  Serve();
  daemon_->Send(Version("1"));
  ASSERT_TRUE(HeardInTime(2));
  EXPECT_THAT(heard(), ElementsAre("lost", "1"));
}

TEST_F(RuntimeLinkTest, FindsTheNextDaemon) {
  Serve();
  daemon_->Send(Version("1"));
  Open();
  ASSERT_TRUE(HeardInTime(1));
  daemon_.reset();
  ASSERT_TRUE(HeardInTime(2));
  Serve();
  daemon_->Send(Version("2"));
  ASSERT_TRUE(HeardInTime(3));
  EXPECT_THAT(heard(), ElementsAre("1", "lost", "2"));
}

TEST_F(RuntimeLinkTest, AStreamThatEndsIsALostLink) {
  Serve();
  daemon_->Send(Version("1"));
  Open();
  ASSERT_TRUE(HeardInTime(1));
  daemon_->EndStreams();
  ASSERT_TRUE(HeardInTime(3));
  EXPECT_THAT(heard(), ElementsAre("1", "lost", "1"));
}

TEST_F(RuntimeLinkTest, ADaemonThatTellsNothingIsLost) {
  Serve();
  Open({.patience = absl::Milliseconds(20)});
  ASSERT_TRUE(HeardInTime(1));
  EXPECT_THAT(heard(), ElementsAre("lost"));
}

TEST_F(RuntimeLinkTest, AReportThatIsTooLargeIsALostLink) {
  Serve();
  daemon_->Send(Version(std::string(5 << 20, 'x')));
  Open();
  ASSERT_TRUE(HeardInTime(1));
  EXPECT_THAT(heard(), ElementsAre("lost"));
}

// An old plimsolld.
TEST_F(RuntimeLinkTest, ADaemonWithoutTheServiceIsLost) {
  wire::ClusterService::Service none;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket_, grpc::InsecureServerCredentials());
  builder.RegisterService(&none);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  Open();
  ASSERT_TRUE(HeardInTime(1));
  EXPECT_THAT(heard(), ElementsAre("lost"));
  EXPECT_EQ(link_->SetScheduled(true).code(), absl::StatusCode::kUnimplemented);
}

TEST_F(RuntimeLinkTest, CallsReachTheDaemon) {
  Serve();
  Open();
  const PodClasses pod{.pod_uid = "pod-1", .claim_uid = "claim-1", .classes = {{"rdt", "gold"}}};
  EXPECT_TRUE(link_->SetPodClasses(pod).ok());
  EXPECT_TRUE(link_->DropPodClasses("claim-1").ok());
  EXPECT_TRUE(link_->SetScheduled(true).ok());
  EXPECT_TRUE(link_->SetScheduled(false).ok());
  const auto pods = link_->ListPodClasses();
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_THAT(*pods, ElementsAre(pod));
  EXPECT_EQ(daemon_->log(), "set pod-1 claim-1 gold;drop claim-1;scheduled;not scheduled;list;");
}

TEST_F(RuntimeLinkTest, RefusalsKeepTheirCode) {
  Serve();
  daemon_->Refuse({grpc::StatusCode::NOT_FOUND, "class \"lead\"\x1b[2J is unknown"});
  Open();
  const absl::Status refused = link_->DropPodClasses("claim-1");
  EXPECT_EQ(refused, absl::NotFoundError("class \"lead\"\\x1b[2J is unknown"));
  EXPECT_EQ(link_->ListPodClasses().status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RuntimeLinkTest, LongRefusalsAreCut) {
  Serve();
  daemon_->Refuse({grpc::StatusCode::INTERNAL, std::string(5000, 'x')});
  Open();
  EXPECT_EQ(link_->DropPodClasses("claim-1").message().size(), 1024u);
}

TEST_F(RuntimeLinkTest, NoDaemonIsUnavailable) {
  Open();
  const absl::Status status = link_->SetScheduled(true);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr(absl::StrCat("doesn't answer at \"", socket_, "\"")));
}

TEST_F(RuntimeLinkTest, ADirectoryThatIsNotThereIsUnavailable) {
  link_ = RuntimeLink::Open(dir_.path() + "/no,ne/cluster.sock", [](const auto&) {});
  EXPECT_EQ(link_->SetScheduled(true).code(), absl::StatusCode::kUnavailable);
}

TEST_F(RuntimeLinkTest, ADaemonThatHangsIsUnavailable) {
  Serve();
  daemon_->Hang();
  Open({.patience = absl::Milliseconds(50)});
  EXPECT_EQ(link_->SetScheduled(true).code(), absl::StatusCode::kUnavailable);
}

TEST_F(RuntimeLinkTest, ACallbackMayCall) {
  Serve();
  daemon_->Send(Version("1"));
  absl::Notification opened, done;
  RuntimeLink* raw = nullptr;
  link_ = RuntimeLink::Open(socket_, [&](const std::shared_ptr<const NodeReport>& report) {
    opened.WaitForNotification();
    if (report != nullptr && !done.HasBeenNotified() && raw->SetScheduled(true).ok()) done.Notify();
  });
  raw = link_.get();
  opened.Notify();
  EXPECT_TRUE(WaitUntil([&] { return done.HasBeenNotified(); }));
  link_.reset();
}

TEST_F(RuntimeLinkTest, EndsDuringAWait) {
  Serve();
  for (int i = 0; i < 20; ++i) {
    Open();
    link_.reset();
  }
  daemon_->Send(Version("1"));
  Open();
  ASSERT_TRUE(WaitUntil([&] {
    const auto versions = heard();
    return !versions.empty() && versions.back() == "1";
  }));
  link_.reset();
}

}  // namespace
}  // namespace plimsoll::kube
