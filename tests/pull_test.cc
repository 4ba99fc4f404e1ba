// `plimsoll image pull` from a real registry: progress for people and for files, texts of refusals,
// credentials, Ctrl-C.
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/metrics.h"
#include "harness/node.h"
#include "harness/pull_node.h"
#include "harness/watched_program.h"
#include "image/image_for_test.h"
#include "image/registry_for_test.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(ImagePullTest, ATerminalSeesABarAndTheImageRuns) {
  const std::string name = Push();
  WatchedProgram pull(Argv({"image", "pull", name}), OpenTerminal(160));
  EXPECT_EQ(pull.AwaitEnd(), 0) << pull.printed();
  const std::string& text = pull.printed();
  const std::string title = absl::StrCat("\r\x1b[Kpulling ", name, ": ");
  EXPECT_THAT(text, AllOf(HasSubstr(absl::StrCat(title, "resolving")),
                          HasSubstr(absl::StrCat(title, "unpacking layer 1 of 1"))));
  EXPECT_THAT(text, AllOf(HasSubstr("  [>   "), HasSubstr("]   0%  "))) << "a bar while copying";
  EXPECT_THAT(text.substr(text.rfind("\r\x1b[K") + 4), HasSubstr(name)) << "the bar has gone";
  ExpectNoWorkLeft();

  cri::ContainerConfig config = Shell("echo moored");
  config.mutable_image()->set_image(name);
  const std::string id = Start(RunPod(), config);
  EXPECT_EQ(AwaitExit(id).exit_code(), 0);
  EXPECT_EQ(Output(id), "moored\n");
}

TEST_F(ImagePullTest, AFileSeesALineForEachStepAndAProgramADocument) {
  const std::string name = Push();
  const RunResult pulled = Plimsoll({"image", "pull", name, "-o", "json"});
  ASSERT_EQ(pulled.exit.code, 0) << pulled.err;
  EXPECT_THAT(pulled.err, AllOf(HasSubstr(absl::StrCat("pulling ", name, ": resolving")),
                                HasSubstr("unpacking layer 1 of 1\n"), Not(HasSubstr("\x1b"))));
  const auto document = nlohmann::json::parse(pulled.out, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(document.is_object()) << pulled.out;
  EXPECT_THAT(Plimsoll({"image", "list"}).out, HasSubstr(registry_->Name("team/pulled")));
}

class CountedPullTest : public ImagePullTest {
 protected:
  CountedPullTest()
      : ImagePullTest(/*with_password=*/false, /*other_registry=*/"", MetricsConfig()) {}
};

TEST_F(CountedPullTest, PullsAreCountedWithTheirBytes) {
  cri::PullImageRequest request;
  request.mutable_image()->set_image(Push());
  for (const int pulls : {1, 2}) {
    grpc::ClientContext context;
    cri::PullImageResponse response;
    const grpc::Status pulled = node_.images().PullImage(&context, request, &response);
    ASSERT_TRUE(pulled.ok()) << pulled.error_message();
    EXPECT_EQ(MetricValue("plimsoll_image_pulls_total{code=\"OK\"}"), pulls);
    EXPECT_EQ(MetricValue("plimsoll_image_pull_duration_seconds_count"), pulls);
    EXPECT_GT(MetricValue("plimsoll_image_pull_duration_seconds_sum"), 0);
    EXPECT_EQ(MetricValue("plimsoll_image_pulls_running"), 0);
    EXPECT_EQ(MetricValue("plimsoll_image_pull_bytes_total"), static_cast<double>(blob_bytes_))
        << "pull " << pulls << ": the second finds it here";
    EXPECT_EQ(MetricValue("plimsoll_rpc_total{code=\"OK\",method=\"PullImage\",service="
                          "\"ImageService\"}"),
              pulls);
  }
}

TEST_F(ImagePullTest, WithoutTlsTheRefusalNamesTheList) {
  Push();
  // The same registry under a name that is not in the list, and credentials.
  const std::string other = absl::StrCat("localhost:", registry_->port());
  cri::PullImageRequest request;
  request.mutable_image()->set_image(absl::StrCat(other, "/team/pulled:v1"));
  request.mutable_auth()->set_username("stoker");
  request.mutable_auth()->set_password("s3cret-pass");
  grpc::ClientContext context;
  cri::PullImageResponse response;
  const grpc::Status refused = node_.images().PullImage(&context, request, &response);
  EXPECT_THAT(refused.error_message(),
              HasSubstr(absl::StrCat("it speaks plain HTTP: if it may, list ", other,
                                     " under registries.insecure")));
  const RunResult pulled = Plimsoll({"image", "pull", request.image().image()});
  EXPECT_EQ(pulled.exit.code, 0) << pulled.err;
  ExpectNoWorkLeft();
}

TEST_F(ImagePullTest, WhatIsNotThereIsNamedWithWhatToDo) {
  const std::string name = registry_->Name("team/none:v1");
  const RunResult refused = Plimsoll({"image", "pull", name});
  EXPECT_EQ(refused.exit.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(name), HasSubstr("plimsoll image import")));
  ExpectNoWorkLeft();
}

TEST_F(ImagePullTest, CtrlCEndsItWithAllItStarted) {
  const std::string name = Push();
  registry_->Hang();
  WatchedProgram pull(Argv({"image", "pull", name}), OpenTerminal(160));
  EXPECT_TRUE(pull.Await([](const std::string& printed) {
    return absl::StrContains(printed, "resolving");
  })) << pull.printed();
  EXPECT_EQ(pull.Interrupt(), 130) << pull.printed();
  EXPECT_TRUE(Eventually([&] {
    return Host().List(node_.state_directory() + "/images/work")->empty() &&
           ProcessesWith(node_.state_directory() + "/images/work").empty();
  }));
  EXPECT_THAT(Plimsoll({"image", "list"}).out, Not(HasSubstr("team/pulled")));
}

class WithoutSkopeoTest : public ImagePullTest {
 protected:
  void SetUp() override {
    const auto unshare = FindProgram("unshare");
    if (!unshare.ok()) GTEST_SKIP() << unshare.status();
    if (!FindProgram("skopeo").ok()) GTEST_SKIP() << "no skopeo to hide here";
    node_.StartBy({*unshare, "--mount", "--propagation", "slave", "/bin/sh", "-c",
                   "mount --bind /dev/null \"$(command -v skopeo)\" && exec \"$0\" \"$@\""});
    ImagePullTest::SetUp();
  }
};

TEST_F(WithoutSkopeoTest, ThePackageIsNamed) {
  const RunResult refused = Plimsoll({"image", "pull", registry_->Name("team/none:v1")});
  EXPECT_EQ(refused.exit.code, 1);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("no program skopeo"), HasSubstr("apt-get install skopeo"),
                    HasSubstr("plimsoll image import"), Not(HasSubstr("Check the name"))));
  ExpectNoWorkLeft();
}

class PrivateImagePullTest : public ImagePullTest {
 protected:
  PrivateImagePullTest() : ImagePullTest(/*with_password=*/true) {}
};

TEST_F(PrivateImagePullTest, ADockerLoginOpensIt) {
  const std::string name =
      Push({"--dest-creds", absl::StrCat(image::kUser, ":", image::kPassword)});
  const RunResult refused = Plimsoll({"image", "pull", name});
  EXPECT_EQ(refused.exit.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("authentication required"));
  const nlohmann::json login = {
      {"auths",
       {{registry_->host(),
         {{"auth", absl::Base64Escape(absl::StrCat(image::kUser, ":", image::kPassword))}}}}}};
  ASSERT_TRUE(directory_.root().ReplaceFile("login.json", login.dump(), 0600).ok());
  const RunResult pulled =
      Plimsoll({"image", "pull", "--authfile", directory_.root().PathOf("login.json"), name});
  EXPECT_EQ(pulled.exit.code, 0) << pulled.err;
  EXPECT_THAT(node_.Log(), Not(HasSubstr(image::kPassword)));
  ExpectNoWorkLeft();
}

}  // namespace
}  // namespace plimsoll::testing
