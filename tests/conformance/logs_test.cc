// Container logs: their form, partial lines, rotation.
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "conformance/cri_test.h"

namespace plimsoll::conformance {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LogTest : public CriTest {
 protected:
  absl::Status Reopen(const std::string& container) {
    cri::ReopenContainerLogRequest request;
    request.set_container_id(container);
    return client_.Ask<cri::ReopenContainerLogResponse>(request).status();
  }
  // Moves the log away, as kubelet does before it asks for a new one.
  static std::string Rotate(const std::string& path, int number) {
    std::string rotated = absl::StrCat(path, ".", number);
    EXPECT_EQ(std::rename(path.c_str(), rotated.c_str()), 0) << path;
    return rotated;
  }
  // The log's text without tags and times.
  static std::string TextOf(const std::string& log) {
    std::string text;
    for (const absl::string_view line : absl::StrSplit(log, '\n', absl::SkipEmpty())) {
      const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(' ', 3));
      EXPECT_EQ(fields.size(), 4u) << line;
      if (fields.size() != 4) continue;
      absl::StrAppend(&text, fields[3], fields[2] == "F" ? "\n" : "");
    }
    return text;
  }
};

PROMISE_TEST(LogTest, IsWhereTheConfigSays,
             "A container's log is log_path below its pod's log_directory, and status says so") {
  const cri::PodSandboxConfig pod = PodConfig();
  cri::ContainerConfig config = Shell("echo here");
  config.set_log_path("below/0.log");
  EXPECT_OK(
      session_.directory().MakeDirs(absl::StrCat("logs/", pod.metadata().name(), "/below"), 0755));
  const std::string id = Start(RunPod(pod), config);
  EXPECT_EQ(AwaitExit(id).log_path(), absl::StrCat(pod.log_directory(), "/below/0.log"));
  EXPECT_EQ(Output(id), "here\n");
}

PROMISE_TEST(LogTest, LinesHaveTimeStreamAndTag,
             "A line of the log is: a time of RFC 3339 with nanoseconds, stdout or stderr, the tag "
             "F, the text") {
  const std::string id = Start(RunPod(), Shell("echo 'to  out'; echo to err >&2"));
  AwaitExit(id);
  EXPECT_EQ(Output(id, "stdout"), "to  out\n");
  EXPECT_EQ(Output(id, "stderr"), "to err\n");
  const std::vector<LogLine> lines = Log(id);
  ASSERT_EQ(lines.size(), 2u);
  for (const LogLine& line : lines) {
    absl::Time time;
    std::string why;
    EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, line.time, &time, &why)) << line.time << why;
    EXPECT_THAT(line.time, HasSubstr("."));
    EXPECT_EQ(line.tag, "F");
  }
}

PROMISE_TEST(LogTest, AnEmptyLineIsALine, "A line without text is in the log") {
  const std::string id = Start(RunPod(), Shell("echo one; echo; echo three"));
  AwaitExit(id);
  EXPECT_EQ(Output(id), "one\n\nthree\n");
}

PROMISE_TEST(LogTest, AnUnfinishedLineIsPartial,
             "Text after which no newline comes has the tag P") {
  const std::string id = Start(RunPod(), Shell("echo whole; printf unfinished"));
  AwaitExit(id);
  const std::vector<LogLine> lines = Log(id);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].tag, "F");
  EXPECT_EQ(lines[1].tag, "P");
  EXPECT_EQ(lines[1].text, "unfinished");
}

PROMISE_TEST(LogTest, ALongLineIsPutTogetherFromItsParts,
             "A line longer than a line of the log is cut into parts with the tag P and a last one "
             "with F, which together are the line") {
  const std::string id =
      Start(RunPod(), Shell("head -c 100000 /dev/zero | tr '\\0' x; echo; echo next"));
  AwaitExit(id);
  const std::string expected = absl::StrCat(std::string(100000, 'x'), "\nnext\n");
  EXPECT_TRUE(Eventually([&] { return Output(id) == expected; })) << Output(id).size();
}

PROMISE_TEST(LogTest, NothingIsLostOrOutOfOrder,
             "All that a container writes is in its log, in order, also what it wrote just before "
             "its end") {
  const std::string id = Start(RunPod(), Shell("seq 1 30000"));
  AwaitExit(id);
  std::string expected;
  for (int i = 1; i <= 30000; ++i) absl::StrAppend(&expected, i, "\n");
  // No moment is promised: a runtime may report the end before it has written the last lines.
  EXPECT_TRUE(Eventually([&] { return Output(id) == expected; }))
      << Output(id).size() << " bytes of " << expected.size();
}

PROMISE_TEST(LogTest, ATerminalsOutputIsStdout, "With tty, all output is in the log as stdout") {
  cri::ContainerConfig config = Shell("echo out; echo err >&2");
  config.set_tty(true);
  config.set_stdin(true);
  const std::string id = Start(RunPod(), config);
  AwaitExit(id);
  EXPECT_THAT(Output(id, "stdout"), HasSubstr("out"));
  EXPECT_THAT(Output(id, "stdout"), HasSubstr("err"));
  EXPECT_THAT(Output(id, "stderr"), IsEmpty());
}

PROMISE_TEST(LogTest, ReopenGoesOnInANewFile,
             "After the log was moved away, ReopenContainerLog makes a new one at its place, into "
             "which all goes from then on") {
  const std::string id = Start(
      RunPod(),
      Shell("trap 'echo second' USR1; echo first; touch /tmp/ready; while :; do sleep 0.05; done"));
  AwaitFile(id, "/tmp/ready");
  const std::string path = Status(id).log_path();
  EXPECT_TRUE(Eventually([&] { return Output(id) == "first\n" || HasFailure(); }));
  const std::string rotated = Rotate(path, 1);
  ASSERT_OK(Reopen(id));
  Exec(id, "kill -USR1 1");
  EXPECT_TRUE(Eventually([&] { return Output(id) == "second\n" || HasFailure(); }));
  EXPECT_EQ(TextOf(ReadHostFile(rotated)), "first\n");
}

PROMISE_TEST(LogTest, RotationLosesNothingUnderLoad,
             "Rotation while the container writes loses no line, doubles none and tears none") {
  constexpr int kRotations = 5;
  const std::string id =
      Start(RunPod(), Shell("i=0; while [ ! -e /tmp/enough ]; do i=$((i+1)); echo line $i; "
                            "[ $((i % 500)) -ne 0 ] || sleep 0.01; done; echo last $i"));
  const std::string path = Status(id).log_path();
  std::string all;
  for (int i = 1; i <= kRotations && !HasFailure(); ++i) {
    // By now there is something to lose.
    EXPECT_TRUE(Eventually([&] { return ReadHostFile(path).size() > 20000; }));
    Rotate(path, i);
    EXPECT_OK(Reopen(id));
  }
  Exec(id, "touch /tmp/enough");
  AwaitExit(id);
  for (int i = 1; i <= kRotations; ++i) {
    all += TextOf(ReadHostFile(absl::StrCat(path, ".", i)));
  }
  all += TextOf(ReadHostFile(path));
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(all, '\n', absl::SkipEmpty())) {
    if (line == absl::StrCat("last ", number)) continue;
    ++number;
    ASSERT_EQ(line, absl::StrCat("line ", number));
  }
  EXPECT_THAT(all, EndsWith(absl::StrCat("last ", number, "\n")));
}

PROMISE_TEST(
    LogTest, ReopenOfAnExitedOneIsAllOrNothing,
    "ReopenContainerLog of a container that has exited makes a new log, or is an error and "
    "makes none") {
  const std::string id = Start(RunPod(), Shell("echo words"));
  const std::string path = AwaitExit(id).log_path();
  const std::string rotated = Rotate(path, 1);
  const absl::Status status = Reopen(id);
  std::FILE* made = std::fopen(path.c_str(), "re");
  EXPECT_EQ(made != nullptr, status.ok()) << status;
  if (made != nullptr) std::fclose(made);
  EXPECT_EQ(TextOf(ReadHostFile(rotated)), "words\n");
}

PROMISE_TEST(LogTest, ReopenOfAnUnknownOneIsAnError,
             "ReopenContainerLog of a container that isn't there is an error") {
  EXPECT_FALSE(Reopen(std::string(64, '0')).ok());
}

}  // namespace
}  // namespace plimsoll::conformance
