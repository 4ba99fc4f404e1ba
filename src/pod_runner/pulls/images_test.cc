#include "pod_runner/pulls/images.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/dir_for_test.h"
#include "cri/runtime/v1/api.grpc.pb.h"

namespace plimsoll::pod {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A daemon that has the images in `there`.
class ImageDaemon : public cri::ImageService::Service {
 public:
  grpc::Status ImageStatus(grpc::ServerContext*, const cri::ImageStatusRequest* request,
                           cri::ImageStatusResponse* response) override {
    const std::string& name = request->image().image();
    if (there.contains(name)) response->mutable_image()->set_id("id of " + name);
    return grpc::Status::OK;
  }

  std::set<std::string> there;
};

class PodImagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string address = "unix://" + dir_.path() + "/socket";
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&daemon_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    auto client = Client::Open({.address = address});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    images_ = std::make_unique<PodImages>(*client_, [this](const std::string& reference) {
      pulled_.push_back(reference);
      if (registry_has_it_) daemon_.there.insert(reference);
      return absl::OkStatus();
    });
  }
  absl::StatusOr<cri::Image> Ensure(const std::string& policy) {
    return images_->Ensure({"app:1", policy, "container app"});
  }

  TestDir dir_;
  ImageDaemon daemon_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Client> client_;
  std::vector<std::string> pulled_;
  bool registry_has_it_ = true;
  std::unique_ptr<PodImages> images_;
};

TEST_F(PodImagesTest, AMissingImageIsPulledOnce) {
  EXPECT_EQ(Ensure("IfNotPresent")->id(), "id of app:1");
  EXPECT_EQ(Ensure("IfNotPresent")->id(), "id of app:1");
  EXPECT_EQ(Ensure("Never")->id(), "id of app:1");
  EXPECT_THAT(pulled_, ElementsAre("app:1"));
}

TEST_F(PodImagesTest, AlwaysPullsOnceForAllContainers) {
  daemon_.there = {"app:1"};
  EXPECT_TRUE(Ensure("Always").ok());
  EXPECT_TRUE(Ensure("Always").ok());
  EXPECT_THAT(pulled_, ElementsAre("app:1"));
}

TEST_F(PodImagesTest, NeverIsAnErrorWithoutTheImage) {
  const absl::Status missing = Ensure("Never").status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_THAT(std::string(missing.message()), HasSubstr("container app: image app:1 is not here"));
  EXPECT_THAT(pulled_, IsEmpty());
}

TEST_F(PodImagesTest, APullWithoutAnImageIsAnError) {
  registry_has_it_ = false;
  EXPECT_TRUE(absl::IsInternal(Ensure("IfNotPresent").status()));
}

TEST(CheckNonRoot, WantsANumberAboveNought) {
  Manifest pod;
  pod.security.run_as_non_root = true;
  ContainerManifest container;
  container.name = "app";
  cri::Image image;
  EXPECT_THAT(std::string(CheckNonRoot(pod, container, image).message()),
              HasSubstr("the image runs as root"));
  image.set_username("www");
  EXPECT_THAT(std::string(CheckNonRoot(pod, container, image).message()),
              HasSubstr("\"www\" is no number"));
  image.mutable_uid()->set_value(0);
  EXPECT_FALSE(CheckNonRoot(pod, container, image).ok());
  image.mutable_uid()->set_value(1000);
  EXPECT_TRUE(CheckNonRoot(pod, container, image).ok());
  image.clear_uid();
  container.security.run_as_user = 5;
  EXPECT_TRUE(CheckNonRoot(pod, container, image).ok());
}

}  // namespace
}  // namespace plimsoll::pod
