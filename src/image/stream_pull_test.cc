// Layers that are unpacked while they arrive, several at once.
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/blob_streams.h"
#include "image/catalog_for_test.h"
#include "image/image_for_test.h"
#include "image/image_service.h"
#include "image/lying_registry_for_test.h"
#include "image/tar_for_test.h"

namespace plimsoll::image {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr absl::Duration kStreamPatience = absl::Seconds(60);
using Answer = LyingRegistry::Answer;

// Bytes that don't compress.
std::string Noise(size_t size) {
  std::string noise;
  uint64_t state = 1;
  while (noise.size() < size) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    noise.push_back(static_cast<char>(state >> 56));
  }
  return noise;
}

class StreamPullTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!FindProgram("skopeo").ok()) GTEST_SKIP() << "no skopeo here: apt-get install skopeo";
    ASSERT_TRUE(dir_.root().MakeDirs("store").ok());
    ImageServiceOptions options{.host = *FsRoot::Open("/")};
    options.on_pull_end = [this](const FinishedPull& pull) { finished_bytes_ = pull.bytes; };
    auto service = ImageService::Open(*dir_.root().Sub("store"), &catalog_, options);
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }
  void TearDown() override {
    Let();
    if (pull_.joinable()) pull_.join();
    registry_.reset();  // its threads use the members below
  }
  // Serves an image of these layers; holds the lowest back until Let.
  void Serve(const std::vector<std::string>& tars, bool hold = true) {
    const TestJson image = layout_.AddImage(tars);
    const TestJson manifest =
        TestJson::parse(layout_.files.at(TestLayout::PathOf(image["digest"].get<std::string>())));
    upper_bytes_ = manifest["layers"].back()["size"];
    upper_ = manifest["layers"].back()["digest"];
    config_ = manifest["config"];
    const std::string held = hold ? manifest["layers"][0]["digest"].get<std::string>() : "";
    registry_.emplace(layout_, image, [this, held](const std::string& asked, Answer* answer) {
      if (asked == corrupt_) answer->body.back() ^= 1;
      if (asked != held) return;
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&let_));
    });
  }
  void Let() {
    absl::MutexLock lock(&mutex_);
    let_ = true;
  }
  void Start() {
    pull_ = std::thread([this] {
      image_ = Pull([this](const Progress& progress) {
        absl::MutexLock lock(&mutex_);
        steps_.push_back(progress.step);
        bytes_ = std::max(bytes_, progress.done_bytes);
      });
      absl::MutexLock lock(&mutex_);
      ended_ = true;
    });
  }
  bool AwaitEnd() {
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&ended_), kStreamPatience);
  }
  absl::StatusOr<Image> Pull(const ProgressFn& progress = nullptr) {
    return service_->Pull(registry_->Name("image:1"), {.insecure_registry = true}, progress);
  }
  bool AwaitStep(const std::string& step) {
    const auto is_there = [this, &step]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return std::find(steps_.begin(), steps_.end(), step) != steps_.end();
    };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&is_there), kStreamPatience);
  }
  bool AwaitBytes(uint64_t bytes) {
    const auto are_there = [this, bytes]()
                               ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return bytes_ >= bytes; };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&are_there), kStreamPatience);
  }
  // The processes that send this test's layers.
  std::vector<pid_t> Proxies() const {
    const FsRoot proc = *FsRoot::Open("/proc");
    std::vector<pid_t> proxies;
    const std::vector<std::string> names = *proc.List(".");
    for (const std::string& name : names) {
      pid_t pid = 0;
      if (!absl::SimpleAtoi(name, &pid)) continue;
      const std::string words = proc.Read(absl::StrCat(name, "/cmdline")).value_or("");
      if (absl::StrContains(words, "experimental-image-proxy") &&
          absl::StrContains(words, dir_.path())) {
        proxies.push_back(pid);
      }
    }
    return proxies;
  }
  void ExpectNothingLeft() {
    EXPECT_THAT(service_->List(), IsEmpty());
    for (const char* part : {"store/layers", "store/work", "store/blobs/sha256"}) {
      EXPECT_THAT(*dir_.root().List(part), IsEmpty()) << part;
    }
    EXPECT_THAT(Proxies(), IsEmpty());
  }
  struct stat StatIn(size_t layer, const std::string& path) {
    const auto lease = service_->Lease(image_->record.id);
    EXPECT_TRUE(lease.ok()) << lease.status();
    const struct stat none = {};
    return FsRoot::Open((*lease)->lower_directories()[layer])->Stat(path).value_or(none);
  }

  TestDir dir_;
  TestCatalog catalog_;
  TestLayout layout_;
  std::unique_ptr<ImageService> service_;
  uint64_t upper_bytes_ = 0;
  std::string upper_;
  TestJson config_;
  std::string corrupt_;  // this blob's content is changed; set before the first request
  uint64_t finished_bytes_ = 0;
  absl::Mutex mutex_;
  bool let_ = false;                // mutex_
  bool ended_ = false;              // mutex_
  std::vector<std::string> steps_;  // mutex_
  uint64_t bytes_ = 0;              // mutex_
  std::optional<LyingRegistry> registry_;
  absl::StatusOr<Image> image_;
  std::thread pull_;
};

TEST_F(StreamPullTest, LayersAreUnpackedBesideEachOther) {
  Serve({TarBuilder().File("a", "x").Build(),
         TarBuilder().Dir("./").Dir("etc").File("etc/b", "y").Build()});
  Start();
  EXPECT_TRUE(AwaitStep("unpacking layer 1 of 2")) << "the upper one, while the lower is held back";
  Let();
  pull_.join();
  ASSERT_TRUE(image_.ok()) << image_.status();
  EXPECT_EQ(steps_.back(), "unpacking layer 2 of 2");
}

TEST_F(StreamPullTest, OneThatNeedsTheLayerBelowTakesItsBytesMeanwhile) {
  // More than the capacity of pipe and sockets.
  Serve({TarBuilder().Dir("etc", {.mode = 0711, .uid = 5}).Build(),
         TarBuilder().File("etc/noise", Noise(16 << 20)).Build()});
  Start();
  EXPECT_TRUE(AwaitBytes(upper_bytes_));
  EXPECT_THAT(*dir_.root().List("store/layers"), IsEmpty());
  Let();
  pull_.join();
  ASSERT_TRUE(image_.ok()) << image_.status();
  EXPECT_EQ(StatIn(0, "etc").st_mode & 07777, 0711u) << "as the layer below has it";
  EXPECT_EQ(StatIn(0, "etc").st_uid, 5u);
  EXPECT_EQ(StatIn(0, "etc/noise").st_size, 16 << 20);
}

TEST_F(StreamPullTest, AProcessThatDiesEndsThePull) {
  Serve({TarBuilder().File("a", "x").Build(), TarBuilder().File("b", Noise(1 << 20)).Build()});
  Start();
  EXPECT_TRUE(AwaitBytes(upper_bytes_));
  for (const pid_t pid : Proxies()) kill(pid, SIGKILL);
  pull_.join();
  EXPECT_TRUE(absl::IsUnavailable(image_.status())) << image_.status();
  EXPECT_THAT(std::string(image_.status().message()),
              AllOf(HasSubstr("the image tool skopeo has ended (killed by signal 9 (Killed))"),
                    EndsWith("; the pull may be tried again")));
  ExpectNothingLeft();
}

TEST_F(StreamPullTest, ManyLayersTakeTurns) {
  std::vector<std::string> tars;
  for (int i = 0; i < 12; ++i) {
    tars.push_back(TarBuilder().File(absl::StrCat("d/", i), std::string(9000, 'x')).Build());
  }
  Serve(tars, /*hold=*/false);
  image_ = Pull();
  ASSERT_TRUE(image_.ok()) << image_.status();
  EXPECT_EQ(image_->record.chain_ids.size(), 12u);
  EXPECT_EQ(StatIn(0, "d/11").st_size, 9000);
  EXPECT_THAT(Proxies(), IsEmpty());
}

TEST_F(StreamPullTest, ACorruptLayerEndsThePullWhileAnotherIsHeldBack) {
  Serve({TarBuilder().File("a", "x").Build(), TarBuilder().Dir("./").File("b", "y").Build()});
  corrupt_ = upper_;
  Start();
  EXPECT_TRUE(AwaitEnd()) << "nothing comes of the lower layer";
  Let();
  pull_.join();
  EXPECT_TRUE(absl::IsDataLoss(image_.status())) << image_.status();
  EXPECT_THAT(std::string(image_.status().message()), HasSubstr("layer 2 of 2"));
  ExpectNothingLeft();
}

TEST_F(StreamPullTest, APullThatEndsWithItsConfigTellsWhatCame) {
  Serve({TarBuilder().File("a", "x").Build()}, /*hold=*/false);
  corrupt_ = config_["digest"];
  image_ = Pull();
  EXPECT_TRUE(absl::IsDataLoss(image_.status())) << image_.status();
  EXPECT_THAT(std::string(image_.status().message()), HasSubstr(corrupt_));
  EXPECT_EQ(finished_bytes_, config_["size"].get<uint64_t>());
}

// Four pulls of three held-back layers each need twelve processes.
TEST_F(StreamPullTest, ProcessesOfAllPullsTogetherAreBounded) {
  constexpr size_t kPulls = 4;
  std::vector<std::string> names;
  TestJson image;
  for (size_t i = 0; i < kPulls; ++i) {
    std::vector<std::string> tars;
    for (const char* layer : {"a", "b", "c"}) {
      tars.push_back(TarBuilder().Dir("./").File(absl::StrCat(layer, i), "x").Build());
    }
    image = layout_.AddImage(tars);
    names.push_back(absl::StrCat("image@", image["digest"].get<std::string>()));
  }
  registry_.emplace(layout_, image, [this](const std::string&, Answer* answer) {
    if (answer->type != "application/octet-stream" || answer->body.front() == '{') return;
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&let_));
  });
  std::vector<std::thread> pulls;
  std::vector<absl::Status> ends(kPulls);
  for (size_t i = 0; i < kPulls; ++i) {
    pulls.emplace_back([this, &names, &ends, i] {
      ends[i] =
          service_->Pull(registry_->Name(names[i]), {.insecure_registry = true}, nullptr).status();
    });
  }
  constexpr size_t kMost = kPulls + BlobStreams::kMaxExtraProxies;
  const absl::Time deadline = absl::Now() + kStreamPatience;
  while (Proxies().size() < kMost && absl::Now() < deadline) absl::SleepFor(absl::Seconds(0.1));
  absl::SleepFor(absl::Seconds(1));  // further ones would show now
  EXPECT_EQ(Proxies().size(), kMost);
  Let();
  for (std::thread& pull : pulls) pull.join();
  for (const absl::Status& end : ends) EXPECT_TRUE(end.ok()) << end;
  EXPECT_THAT(Proxies(), IsEmpty());
}

// A directory for PATH whose skopeo runs `body` for streams, or for `command`, and otherwise the
// real one.
class OtherSkopeo {
 public:
  OtherSkopeo(const FsRoot& directory, absl::string_view body,
              absl::string_view command = "experimental-image-proxy")
      : path_(std::getenv("PATH")) {
    const std::string text = absl::StrCat(
        "#!/bin/sh\ncd ", directory.path(), "\necho \"$*\" >> asked\nfor word; do\n  if [ ",
        "\"$word\" = ", command, " ]; then\n    ", body, "\n  fi\ndone\n", "cd - >/dev/null\nexec ",
        *FindProgram("skopeo"), " \"$@\"\n");
    EXPECT_TRUE(directory.ReplaceFile("skopeo", text, 0755).ok());
    setenv("PATH", absl::StrCat(directory.path(), ":", path_).c_str(), 1);
  }
  ~OtherSkopeo() { setenv("PATH", path_.c_str(), 1); }

 private:
  const std::string path_;
};

TEST_F(StreamPullTest, ASecondSkopeoThatFailsBringsNoCopy) {
  const OtherSkopeo other(dir_.root(), "mkdir first || exit 1");
  Serve({TarBuilder().File("a", "x").Build(), TarBuilder().File("b", "y").Build()});
  Start();
  EXPECT_TRUE(AwaitEnd());
  Let();
  pull_.join();
  EXPECT_TRUE(absl::IsUnavailable(image_.status())) << image_.status();
  EXPECT_THAT(dir_.root().Read("asked").value_or(""), Not(HasSubstr(" copy ")));
  ExpectNothingLeft();
}

TEST_F(StreamPullTest, TheReasonIsFoundBehindMuchThatIsNone) {
  const OtherSkopeo other(
      dir_.root(),
      "i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); "
      "echo 'level=debug msg=\"of what the registry has made long and longer\"'; "
      "done >&2; echo 'level=fatal msg=\"requested access is denied\"' >&2; "
      "exit 1",
      "inspect");
  Serve({TarBuilder().File("a", "x").Build()});
  image_ = Pull();
  EXPECT_TRUE(absl::IsPermissionDenied(image_.status())) << image_.status();
}

TEST_F(StreamPullTest, OneThatIsKilledWhenItIsAskedForTheManifestIsNoErrorOfOurs) {
  const OtherSkopeo other(dir_.root(), "kill -KILL $$", "inspect");
  Serve({TarBuilder().File("a", "x").Build()});
  image_ = Pull();
  EXPECT_TRUE(absl::IsUnavailable(image_.status())) << image_.status();
  EXPECT_THAT(std::string(image_.status().message()), HasSubstr("killed by signal 9 (Killed)"));
}

TEST_F(StreamPullTest, ASkopeoWithoutStreamsCopies) {
  const OtherSkopeo other(dir_.root(), "echo >> streams; exit 1");
  Serve({TarBuilder().File("a", "x").Build(), TarBuilder().File("b", "y").Build()},
        /*hold=*/false);
  image_ = Pull();
  ASSERT_TRUE(image_.ok()) << image_.status();
  EXPECT_EQ(StatIn(0, "b").st_size, 1);
  EXPECT_EQ(dir_.root().Read("streams").value_or(""), "\n");
  EXPECT_THAT(dir_.root().Read("asked").value_or(""), HasSubstr(" copy "));
}

}  // namespace
}  // namespace plimsoll::image
