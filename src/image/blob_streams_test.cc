#include "image/blob_streams.h"

#include <sched.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/image_for_test.h"
#include "image/lying_registry_for_test.h"
#include "image/tar_for_test.h"
#include "image/transport_skopeo.h"

namespace plimsoll::image {
namespace {

using ::testing::StartsWith;

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr absl::Duration kShort = absl::Milliseconds(500);
constexpr char kDigest[] = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

// Speaks the proxy's protocol, sends "hello" as every blob, and answers FinishPipe only before the
// next request.
constexpr char kLateProxy[] = R"(
import json, os, socket
s = socket.socket(fileno=3)
def say(value=None, pipe=0, fds=[]):
    reply = {"success": True, "value": value, "pipeid": pipe, "error": ""}
    socket.send_fds(s, [json.dumps(reply).encode()], fds)
owed = False
while text := s.recv(65536):
    method = json.loads(text)["method"]
    if owed:
        say()
        owed = False
    if method == "Initialize":
        say("0.2.4")
    elif method == "OpenImage":
        say(1)
    elif method == "GetBlob":
        out, end = os.pipe()
        os.write(end, b"hello")
        say(5, 1, [out])
        os.close(out)
    elif method == "FinishPipe":
        os.close(end)
        owed = True
)";

// Writes far too much to standard error, answers the first request, and is killed by the next. Its
// last word is the size of standard error.
constexpr char kLoudProxy[] = R"(
import json, os, signal, socket
s = socket.socket(fileno=3)
os.write(2, b"what comes first\n")
for i in range(200):
    try:
        os.write(2, b"x" * 65536)
    except PermissionError:
        pass
s.recv(65536)
s.send(json.dumps({"success": True, "value": "0.2.4", "pipeid": 0, "error": ""}).encode())
s.recv(65536)
os.pwrite(2, b"%8d\n" % os.fstat(2).st_size, 0)
os.kill(os.getpid(), signal.SIGKILL)
)";

SkopeoProxy::Waiting WaitingFor(absl::Duration stall_timeout) {
  SkopeoProxy::Waiting waiting;
  waiting.stall_timeout = stall_timeout;
  waiting.what = "pull test";
  waiting.registry = "test";
  waiting.translate = [](absl::string_view words) { return absl::UnknownError(words); };
  waiting.ended = [](absl::string_view how, absl::string_view words) {
    return absl::UnavailableError(absl::StrCat(how, ": ", words));
  };
  return waiting;
}

absl::StatusOr<std::unique_ptr<SkopeoProxy>> StartProgram(std::vector<std::string> argv,
                                                          absl::Duration stall_timeout) {
  Command command;
  command.argv = std::move(argv);
  return SkopeoProxy::Start(std::move(command), WaitingFor(stall_timeout));
}

// Lets this thread run only while its processor is idle; its children run as usual, on the same
// one.
void BeSlowerThanChildren() {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const struct sched_param none = {};
  ASSERT_EQ(sched_setscheduler(0, SCHED_IDLE | SCHED_RESET_ON_FORK, &none), 0);
}

TEST(SkopeoProxyTest, AProgramThatEndsBeforeItIsAskedGivesNoStreams) {
  std::thread slow([] {
    BeSlowerThanChildren();
    for (int i = 0; i < 20; ++i) {
      const auto proxy = StartProgram({"/bin/false"}, kPatience);
      ASSERT_TRUE(absl::IsUnimplemented(proxy.status())) << proxy.status();
    }
  });
  slow.join();
}

TEST(SkopeoProxyTest, AnotherAnswerGivesNoStreams) {
  const auto proxy =
      StartProgram({"/bin/sh", "-c", "head -c 1 <&3 >&2; echo no >&3; sleep 60"}, kPatience);
  EXPECT_TRUE(absl::IsUnimplemented(proxy.status())) << proxy.status();
}

TEST(SkopeoProxyTest, OneThatIsKilledBeforeItsFirstAnswerMayGiveStreams) {
  const auto proxy = StartProgram({"/bin/sh", "-c", "head -c 1 <&3 >&2; kill -KILL $$"}, kPatience);
  EXPECT_TRUE(absl::IsUnavailable(proxy.status())) << proxy.status();
  EXPECT_THAT(std::string(proxy.status().message()), StartsWith("killed by signal 9 (Killed): "));
}

TEST(SkopeoProxyTest, ASilentProgramIsAStall) {
  const auto proxy = StartProgram({"/bin/sh", "-c", "sleep 60"}, kShort);
  EXPECT_TRUE(absl::IsUnavailable(proxy.status())) << proxy.status();
}

TEST(SkopeoProxyTest, WhatAProgramSaysIsBoundedAndToldWithItsEnd) {
  auto proxy = StartProgram({"/usr/bin/python3", "-c", kLoudProxy}, kPatience);
  ASSERT_TRUE(proxy.ok()) << proxy.status();
  const absl::Status ended = (*proxy)->OpenImage("docker://test");
  EXPECT_TRUE(absl::IsUnavailable(ended)) << ended;
  EXPECT_THAT(std::string(ended.message()),
              StartsWith("killed by signal 9 (Killed):    65536\ns first\nxxx"));
}

TEST(BlobStreamsTest, AProcessThatOwesAnAnswerGivesNoFurtherBlob) {
  TestDir dir;
  int started = 0;
  BlobStreams streams(
      [&started](const std::function<bool()>&) -> absl::StatusOr<std::unique_ptr<SkopeoProxy>> {
        ++started;
        auto proxy = StartProgram({"/usr/bin/python3", "-c", kLateProxy}, absl::Seconds(5));
        if (!proxy.ok()) return proxy;
        const absl::Status opened = (*proxy)->OpenImage("docker://test");
        if (!opened.ok()) return opened;
        return proxy;
      },
      dir.root(), nullptr);
  for (int i = 0; i < 2; ++i) {
    const auto text = streams.ReadAll(kDigest, 5);
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_EQ(*text, "hello");
  }
  EXPECT_EQ(started, 2);
}

TEST(BlobStreamsTest, TheRegistryGoesOnWhileKeptBytesAreRead) {
  if (!FindProgram("skopeo").ok()) GTEST_SKIP() << "no skopeo here: apt-get install skopeo";
  constexpr size_t kPart = size_t{2} << 20;  // four times the capacity of pipe and sockets
  TestDir dir;
  TestLayout layout;
  TestJson blob = layout.AddBlob(std::string(4 * kPart, 'x'), kOciLayerType);
  const TestJson image = layout.AddManifest("{}", {blob});
  LyingRegistry registry(layout, image, [](const std::string&, LyingRegistry::Answer*) {});
  const auto name = ParseReference(registry.Name("image:1"));
  ASSERT_TRUE(name.ok()) << name.status();
  TransportOptions options;
  options.insecure = true;
  const auto transport = SkopeoTransport::Open(*FsRoot::Open("/"), *name, options, dir.root());
  ASSERT_TRUE(transport.ok()) << transport.status();
  const auto found = (*transport)->Resolve();
  ASSERT_TRUE(found.ok()) << found.status();
  const auto streams = (*transport)->Stream(*found, nullptr, nullptr);
  ASSERT_TRUE(streams.ok()) << streams.status();
  const std::string digest = blob["digest"];
  const auto stream = (*streams)->OpenStream(DigestHex(digest), 4 * kPart);
  ASSERT_TRUE(stream.ok()) << stream.status();
  ASSERT_TRUE((*stream)->Await([&](absl::Duration) { return (*streams)->bytes() >= kPart; }).ok());
  const absl::Time deadline = absl::Now() + kPatience;
  size_t read = 0;
  for (; (*streams)->bytes() < 4 * kPart && absl::Now() < deadline; ++read) {
    char byte = 0;
    ASSERT_EQ((*stream)->Read(&byte, 1).value_or(0), 1u);
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_EQ((*streams)->bytes(), 4 * kPart);
  EXPECT_LT(read, kPart) << "the kept bytes have not all been read";
}

}  // namespace
}  // namespace plimsoll::image
