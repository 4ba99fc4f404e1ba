#include "daemon/insecure_registries.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::daemon {
namespace {

using ::testing::_;
using ::testing::Field;
using ::testing::Return;

class MockImages : public image::ImageService {
 public:
  MOCK_METHOD(absl::StatusOr<image::Image>, Import,
              (const std::string&, absl::string_view, const image::ProgressFn&,
               const std::function<bool()>&),
              (override));
  MOCK_METHOD(absl::StatusOr<image::Image>, Pull,
              (absl::string_view, const image::PullOptions&, const image::ProgressFn&), (override));
  MOCK_METHOD(absl::StatusOr<image::Image>, Find, (absl::string_view), (const, override));
  MOCK_METHOD(std::vector<image::Image>, List, (), (const, override));
  MOCK_METHOD(absl::Status, Remove, (absl::string_view), (override));
  MOCK_METHOD(absl::StatusOr<std::shared_ptr<image::LayerLease>>, Lease, (absl::string_view),
              (override));
  MOCK_METHOD(absl::StatusOr<std::shared_ptr<image::LayerLease>>, LeaseChain,
              (const std::vector<std::string>&), (override));
  MOCK_METHOD(absl::Status, CollectGarbage, (), (override));
  MOCK_METHOD(absl::StatusOr<image::ImageUsage>, Usage, (), (const, override));
  MOCK_METHOD(std::string, directory, (), (const, override));
};

class InsecureRegistriesTest : public ::testing::Test {
 protected:
  void ExpectPull(const std::string& reference, bool insecure) {
    EXPECT_CALL(*mock_, Pull(absl::string_view(reference),
                             Field(&image::PullOptions::insecure_registry, insecure), _))
        .WillOnce(Return(absl::UnavailableError("mock")));
    EXPECT_TRUE(absl::IsUnavailable(images_.Pull(reference, {}, nullptr).status()));
  }

  MockImages* mock_ = new MockImages;
  InsecureRegistries images_{std::unique_ptr<image::ImageService>(mock_),
                             {"registry.local:5000", "plain.example"}};
};

TEST_F(InsecureRegistriesTest, OnlyTheRegistriesOfTheList) {
  ExpectPull("registry.local:5000/a:1", true);
  ExpectPull("plain.example/a", true);
  ExpectPull("registry.local:5001/a", false);
  ExpectPull("registry.local/a", false);
  ExpectPull("busybox", false);
  ExpectPull("sub.plain.example/a", false);
  ExpectPull("not a reference", false);
}

TEST_F(InsecureRegistriesTest, TheListCanBeReplaced) {
  images_.Replace({"docker.io"});
  ExpectPull("busybox", true);
  ExpectPull("plain.example/a", false);
}

TEST_F(InsecureRegistriesTest, AFailureForTlsNamesTheList) {
  const auto fail_with = [this](const char* words) {
    EXPECT_CALL(*mock_, Pull).WillOnce(Return(absl::UnavailableError(words)));
    return images_.Pull("other.example:5000/a", {}, nullptr).status();
  };
  EXPECT_EQ(fail_with("http: server gave HTTP response to HTTPS client"),
            absl::UnavailableError("http: server gave HTTP response to HTTPS client; it speaks "
                                   "plain HTTP: if it may, list other.example:5000 under "
                                   "registries.insecure in the daemon's configuration"));
  EXPECT_EQ(fail_with("x509: certificate signed by unknown authority"),
            absl::UnavailableError("x509: certificate signed by unknown authority; add its "
                                   "authority to this machine's trusted ones, or list "
                                   "other.example:5000 under registries.insecure in the daemon's "
                                   "configuration"));
  EXPECT_EQ(fail_with("connection refused"), absl::UnavailableError("connection refused"));
}

TEST_F(InsecureRegistriesTest, EverythingElseIsPassedOn) {
  EXPECT_CALL(*mock_, Remove(absl::string_view("a"))).WillOnce(Return(absl::NotFoundError("mock")));
  EXPECT_CALL(*mock_, directory()).WillOnce(Return("/images"));
  EXPECT_TRUE(absl::IsNotFound(images_.Remove("a")));
  EXPECT_EQ(images_.directory(), "/images");
}

}  // namespace
}  // namespace plimsoll::daemon
