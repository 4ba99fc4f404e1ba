// A log rotated as kubelet does it, while the daemon is killed in the middle.
#include <fcntl.h>
#include <stdio.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

constexpr size_t kMaxLog = 512 << 20;

// kubelet's part (pkg/kubelet/logs/container_log_manager.go): moves the log away, asks for a new
// one, and moves the old one back on failure. kubelet overwrites any file at that place, which is
// only right if the new one was never opened. Here an opened one stays: this tests the runtime's
// part.
class Rotator {
 public:
  Rotator(Node* node, std::string container, std::string log)
      : node_(node), container_(std::move(container)), log_(std::move(log)) {}

  // Rotates until a rotation fails. A failure before `killed` fails the test.
  void RotateUntilCutOff(const std::atomic<bool>& killed) {
    while (true) {
      const grpc::Status status = RotateOnce();
      if (status.ok()) continue;
      EXPECT_TRUE(killed) << status.error_code() << " " << status.error_message();
      return;
    }
  }
  grpc::Status RotateOnce() {
    const std::string rotated = RotatedName(rotated_);
    EXPECT_EQ(rename(log_.c_str(), rotated.c_str()), 0) << log_;
    cri::ReopenContainerLogRequest request;
    request.set_container_id(container_);
    cri::ReopenContainerLogResponse response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         absl::ToChronoSeconds(Patience(absl::Seconds(30))));
    const grpc::Status status = node_->runtime().ReopenContainerLog(&context, request, &response);
    if (status.ok()) {
      EXPECT_TRUE(Host().Exists(log_)) << "the new log is there when the call returns";
      ++done_;
      ++rotated_;
    } else if (renameat2(AT_FDCWD, rotated.c_str(), AT_FDCWD, log_.c_str(), RENAME_NOREPLACE) !=
               0) {
      EXPECT_EQ(errno, EEXIST) << rotated;
      ++rotated_;
    }
    return status;
  }
  // Oldest first.
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (int i = 0; i < rotated_; ++i) files.push_back(RotatedName(i));
    files.push_back(log_);
    return files;
  }
  int done() const { return done_; }

 private:
  std::string RotatedName(int number) const { return absl::StrCat(log_, ".", number); }

  Node* const node_;
  const std::string container_;
  const std::string log_;
  int rotated_ = 0;  // logs moved away
  int done_ = 0;     // answered calls
};

class LogRotationTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    const char* given = std::getenv("PLIMSOLL_SEED");
    seed_ = given == nullptr ? std::random_device()() : std::strtoul(given, nullptr, 10);
    random_.seed(seed_);
    gate_ = node_.directory() + "/gate";
    EXPECT_TRUE(IsSkipped() || Host().MakeDirs(gate_, 0755).ok());
  }

  // "line 1", "line 2" and so on until the gate opens, then "end <last number>".
  cri::ContainerConfig Counter() {
    cri::ContainerConfig config = Shell(
        "i=0; until [ -e /gate/open ]; do n=0; while [ $n -lt 50 ]; do i=$((i+1)); n=$((n+1)); "
        "echo line $i; done; sleep 0.01; done; echo end $i");
    cri::Mount* const mount = config.add_mounts();
    mount->set_host_path(gate_);
    mount->set_container_path("/gate");
    return config;
  }
  // Each file must be whole, and together they must have all the lines.
  static void ExpectAllLines(const std::vector<std::string>& files) {
    int64_t next = 1;
    bool ended = false;
    for (const std::string& file : files) {
      const auto text = Host().Read(file, kMaxLog);
      ASSERT_TRUE(text.ok()) << text.status();
      ASSERT_TRUE(text->empty() || text->back() == '\n') << file << " ends within a line";
      for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
        ASSERT_FALSE(ended) << file << ": " << line;
        const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(' ', 3));
        ASSERT_EQ(fields.size(), 4u) << file << ": " << line;
        ASSERT_EQ(absl::StrCat(fields[1], " ", fields[2]), "stdout F") << file << ": " << line;
        absl::string_view rest = fields[3];
        ended = absl::ConsumePrefix(&rest, "end ");
        ASSERT_EQ(fields[3], ended ? absl::StrCat("end ", next - 1) : absl::StrCat("line ", next))
            << file;
        if (!ended) ++next;
      }
    }
    EXPECT_TRUE(ended) << "nothing after line " << next - 1;
  }

  std::string gate_;
  unsigned long seed_ = 0;
  std::minstd_rand random_;
};

TEST_F(LogRotationTest, NoLineIsLostOrTwiceThoughTheDaemonIsKilledInIt) {
  constexpr int kKills = 10;
  constexpr int kFewestKills = 3;
  constexpr absl::Duration kEnough = absl::Seconds(15);
  SCOPED_TRACE(::testing::Message() << "PLIMSOLL_SEED=" << seed_);
  const std::string container = Start(RunPod(), Counter());
  const std::string log = Status(container).log_path();
  ASSERT_TRUE(Eventually([&] { return !Host().Read(log, kMaxLog).value_or("").empty(); }));
  Rotator rotator(&node_, container, log);
  const absl::Time begin = absl::Now();
  int kills = 0;
  while (kills < kFewestKills || (kills < kKills && absl::Now() - begin < kEnough)) {
    std::atomic<bool> killed = false;
    std::thread client([&] { rotator.RotateUntilCutOff(killed); });
    absl::SleepFor(absl::Microseconds(static_cast<int64_t>(random_() % 60'000)));
    killed = true;
    node_.KillDaemon();
    ++kills;
    client.join();
    const absl::Status started = node_.StartDaemon();
    ASSERT_TRUE(started.ok()) << started;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(rotator.done(), 0) << "every rotation was cut off";
  GTEST_LOG_(INFO) << "seed " << seed_ << ": " << kills << " kills, " << rotator.done()
                   << " rotations";

  const grpc::Status last = rotator.RotateOnce();
  EXPECT_TRUE(last.ok()) << last.error_message();
  EXPECT_TRUE(Eventually([&] { return std::filesystem::file_size(log) > 0; }))
      << "the new file is written to";
  ASSERT_TRUE(Host().ReplaceFile(gate_ + "/open", "").ok());
  EXPECT_EQ(AwaitExit(container).exit_code(), 0);
  ExpectAllLines(rotator.Files());
  const std::string directory = std::filesystem::path(log).parent_path();
  EXPECT_EQ(Host().List(directory)->size(), rotator.Files().size()) << "files of nobody";
}

}  // namespace
}  // namespace plimsoll::testing
