// Commands whose output goes to a pipe that its reader closes, or to a full disk.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/watched_program.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kExitNoReader = 141;

// A `plimsoll` that prints into a pipe.
class Printing {
 public:
  explicit Printing(std::vector<std::string> argv) {
    Ends ends = OpenPipe();
    Command command;
    command.argv = std::move(argv);
    command.descriptors = {{ends.there.get(), 1}};
    reader_ = std::move(ends.here);
    auto child = Spawn(command);
    EXPECT_TRUE(child.ok()) << child.status();
    if (child.ok()) child_ = *std::move(child);
  }
  ~Printing() {
    if (child_.has_value()) child_->Signal(SIGKILL).IgnoreError();
  }

  // Like `head -c 1`, which then ends; this doesn't.
  bool AwaitOutput() {
    pollfd ready = {reader_.get(), POLLIN, 0};
    const absl::Duration limit = Patience(absl::Seconds(30));
    char first = 0;
    return poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(limit))) == 1 &&
           read(reader_.get(), &first, 1) == 1;
  }
  void LeaveIt() { reader_.Reset(); }
  // -1: it is still running.
  int ExitCode() {
    const auto exit = child_->Wait(absl::Now() + Patience(absl::Seconds(10)));
    return exit.ok() ? exit->code : -1;
  }

 private:
  UniqueFd reader_;
  std::optional<Child> child_;
};

class CliReadersTest : public NodeTest {
 protected:
  std::vector<std::string> Argv(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {ProgramPath("plimsoll"), "--address", node_.address()});
    return arguments;
  }
  // The exit code after its reader has left with the first byte.
  int AfterItsReader(std::vector<std::string> arguments) {
    Printing printing(Argv(std::move(arguments)));
    EXPECT_TRUE(printing.AwaitOutput());
    printing.LeaveIt();
    return printing.ExitCode();
  }
  // A container that has printed one line and prints no more.
  std::string Silent() {
    const std::string container = Start(RunPod(), Shell("echo here; sleep 1000"));
    EXPECT_TRUE(Eventually([&] { return absl::StrContains(Output(container), "here"); }));
    return container;
  }
};

TEST_F(CliReadersTest, AFollowerThatPrintsNothingEndsWithItsReader) {
  const std::string container = Silent();
  EXPECT_EQ(AfterItsReader({"logs", "-f", container}), kExitNoReader);
  EXPECT_EQ(AfterItsReader({"events", "-f"}), kExitNoReader);
  EXPECT_EQ(AfterItsReader({"topology", "-w"}), kExitNoReader);
  EXPECT_EQ(AfterItsReader({"top"}), kExitNoReader);
  EXPECT_EQ(AfterItsReader({"top", "-o", "json"}), kExitNoReader);
}

TEST_F(CliReadersTest, ALongLogEndsWithItsReader) {
  const std::string container =
      Start(RunPod(), Shell("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"));
  AwaitExit(container);
  EXPECT_EQ(AfterItsReader({"logs", container}), kExitNoReader);
}

TEST_F(CliReadersTest, AFollowerOfALogStopsAtAFullDisk) {
  const std::string container = Silent();
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full.valid());
  Ends errors = OpenPipe();
  Command command;
  command.argv = Argv({"logs", "-f", container});
  command.descriptors = {{full.get(), 1}, {errors.there.get(), 2}};
  auto child = Spawn(command);
  ASSERT_TRUE(child.ok()) << child.status();
  const auto exit = child->Wait(absl::Now() + Patience(absl::Seconds(10)));
  if (!exit.ok()) child->Signal(SIGKILL).IgnoreError();
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_EQ(exit->code, 1);
  char text[512];
  const ssize_t count = read(errors.here.get(), text, sizeof(text));
  EXPECT_THAT(std::string(text, static_cast<size_t>(std::max<ssize_t>(count, 0))),
              HasSubstr("No space left on device"));
}

// In packet mode a read returns one packet, that is one write of less than a page.
TEST_F(CliReadersTest, ALogIsWrittenInLargePieces) {
  const std::string container =
      Start(RunPod(), Shell("i=0; while [ $i -lt 5000 ]; do echo $i; i=$((i+1)); done; echo end"));
  AwaitExit(container);
  Ends ends = OpenPipe();
  ASSERT_EQ(fcntl(ends.there.get(), F_SETFL, O_DIRECT), 0);  // one write, one packet
  Command command;
  command.argv = Argv({"logs", container});
  command.descriptors = {{ends.there.get(), 1}};
  auto child = Spawn(command);
  ASSERT_TRUE(child.ok()) << child.status();
  ends.there.Reset();
  std::string all;
  int reads = 0;
  std::vector<char> buffer(65536);
  ssize_t count = 0;
  while ((count = read(ends.here.get(), buffer.data(), buffer.size())) > 0) {
    all.append(buffer.data(), static_cast<size_t>(count));
    ++reads;
  }
  ASSERT_TRUE(child->Wait(absl::Now() + Patience(absl::Seconds(10))).ok());
  EXPECT_TRUE(absl::EndsWith(all, "\n4999\nend\n"));
  EXPECT_LT(reads, 50);
}

}  // namespace
}  // namespace plimsoll::testing
