// Pulls with a password, failing pulls, interrupted pulls; disk usage of images.
#include <sys/stat.h>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "conformance/image_test.h"

namespace plimsoll::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ImageFsTest : public ImageTest {
 protected:
  cri::ImageFsInfoResponse Info() {
    const auto info = client_.Ask<cri::ImageFsInfoResponse>(cri::ImageFsInfoRequest());
    EXPECT_OK(info) << "ImageFsInfo";
    return info.value_or(cri::ImageFsInfoResponse());
  }
  uint64_t Used() {
    const cri::ImageFsInfoResponse info = Info();
    uint64_t used = 0;
    for (const auto& fs : info.image_filesystems()) used += fs.used_bytes().value();
    return used;
  }
};

PROMISE_TEST(ImageFsTest, TellsWhereAndHowMuch,
             "ImageFsInfo names a directory of the file system that holds images, with the bytes "
             "and inodes that they take and the time at which that was so") {
  const cri::ImageFsInfoResponse info = Info();
  ASSERT_GE(info.image_filesystems_size(), 1);
  for (const cri::FilesystemUsage& usage : info.image_filesystems()) {
    struct stat directory = {};
    EXPECT_EQ(stat(usage.fs_id().mountpoint().c_str(), &directory), 0)
        << usage.fs_id().mountpoint();
    EXPECT_GT(usage.timestamp(), 0);
    EXPECT_LE(usage.timestamp(), absl::GetCurrentTimeNanos());
  }
  EXPECT_TRUE(Eventually([&] { return Used() > 0; }, absl::Seconds(40)));
}

PROMISE_TEST(
    ImageFsTest, GrowsAndShrinksWithTheImages,
    "What ImageFsInfo says is used grows with an image that is pulled and falls when it is "
    "removed, within a minute") {
  constexpr uint64_t kBytes = 8 << 20;
  // The remains of images removed earlier may go meanwhile.
  constexpr uint64_t kSeen = kBytes / 4 * 3;
  // Incompressible, and in no other image.
  std::string noise(kBytes, '\0');
  uint64_t state = static_cast<uint64_t>(absl::GetCurrentTimeNanos()) | 1;
  for (char& byte : noise) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<char>(state >> 32);
  }
  const std::string image = Push("large:v1", noise);
  const uint64_t before = Used();
  Pull(image);
  EXPECT_TRUE(Eventually([&] { return Used() >= before + kSeen; }, absl::Seconds(60)))
      << before << " and then " << Used();
  const uint64_t with = Used();
  ASSERT_OK(Remove(ImageStatus(image).id()));
  EXPECT_TRUE(Eventually([&] { return Used() + kSeen <= with; }, absl::Seconds(60)))
      << with << " and then " << Used();
}

class ImageAuthTest : public ImageTest {
 protected:
  // A private image in the registry with a password; empty if there can't be one.
  std::string PushPrivate(const std::string& name, RegistryKind kind = RegistryKind::kPassword) {
    Recipe recipe;
    recipe.files = {{"content", absl::StrCat("private ", name, "\n")}};
    return Publish(recipe, name, &why_, kind);
  }
  static cri::AuthConfig Password(const std::string& password) {
    cri::AuthConfig auth;
    auth.set_username(kRegistryUser);
    auth.set_password(password);
    return auth;
  }
  std::string why_;
};

PROMISE_TEST(ImageAuthTest, WithoutThePasswordItIsRefused,
             "A private image is refused without credentials and with wrong ones; the error holds "
             "no password, and no image is there") {
  const std::string image = PushPrivate("locked:v1");
  ASSERT_THAT(image, Not(IsEmpty())) << why_;
  EXPECT_FALSE(TryPull(image).ok());
  const auto wrong = TryPull(image, Password("wr0ng-pass"));
  EXPECT_FALSE(wrong.ok());
  EXPECT_THAT(std::string(wrong.status().message()), Not(HasSubstr("wr0ng-pass")));
  EXPECT_FALSE(IsThere(image));
}

PROMISE_TEST(ImageAuthTest, ByUserAndPassword,
             "A private image is pulled with username and password") {
  const std::string image = PushPrivate("password:v1");
  ASSERT_THAT(image, Not(IsEmpty())) << why_;
  ASSERT_OK(TryPull(image, Password(kRegistryPassword)));
  EXPECT_EQ(Content(image), "private password:v1\n");
}

PROMISE_TEST(ImageAuthTest, ByAuth, "A private image is pulled with auth, base64 of both") {
  const std::string image = PushPrivate("auth:v1");
  ASSERT_THAT(image, Not(IsEmpty())) << why_;
  cri::AuthConfig auth;
  auth.set_auth(absl::Base64Escape(absl::StrCat(kRegistryUser, ":", kRegistryPassword)));
  EXPECT_OK(TryPull(image, auth));
}

PROMISE_TEST(ImageAuthTest, ForTheServerThatTheyAreFor,
             "Credentials with a server_address are used for that registry") {
  const std::string image = PushPrivate("server:v1");
  ASSERT_THAT(image, Not(IsEmpty())) << why_;
  cri::AuthConfig auth = Password(kRegistryPassword);
  auth.set_server_address(absl::StrCat("http://", image.substr(0, image.find('/'))));
  EXPECT_OK(TryPull(image, auth));
}

PROMISE_TEST(ImageAuthTest, OverTls,
             "A private image is pulled over TLS from a registry whose certificate the runtime is "
             "told to trust") {
  const std::string image = PushPrivate("tls:v1", RegistryKind::kTls);
  if (image.empty()) GTEST_SKIP() << why_;
  EXPECT_FALSE(TryPull(image).ok());
  ASSERT_OK(TryPull(image, Password(kRegistryPassword)));
  EXPECT_EQ(Content(image), "private tls:v1\n");
}

PROMISE_TEST(ImageAuthTest, TheNextPullNeedsThemToo,
             "Credentials of one pull are not those of the next") {
  const std::string image = PushPrivate("forgotten:v1");
  ASSERT_THAT(image, Not(IsEmpty())) << why_;
  ASSERT_OK(TryPull(image, Password(kRegistryPassword)));
  ASSERT_OK(Remove(ImageStatus(image).id()));
  EXPECT_FALSE(TryPull(image).ok());
}

class ImageFaultTest : public ImageTest {};

PROMISE_TEST(ImageFaultTest, ARegistryThatIsNotThereIsAnError,
             "PullImage from a registry where nobody listens fails, with its address") {
  // Port 1 of the loopback device.
  const auto pulled = TryPull(absl::StrCat("127.0.0.1:1/none-of-", session_.run(), ":v1"));
  EXPECT_FALSE(pulled.ok());
  EXPECT_FALSE(absl::IsDeadlineExceeded(pulled.status())) << pulled.status();
  EXPECT_THAT(std::string(pulled.status().message()), HasSubstr("127.0.0.1:1"));
}

PROMISE_TEST(ImageFaultTest, TheClientsDeadlineEndsAPull,
             "A pull from a registry that doesn't answer ends with the client's deadline, and the "
             "same image can be pulled once it answers again") {
  const std::string image = Push("hung:v1", "hung\n");
  const auto registry = session_.GetRegistry(RegistryKind::kPlain);
  ASSERT_OK(registry);
  (*registry)->Hang();
  {
    const absl::Cleanup resume = [&] { (*registry)->Resume(); };
    cri::PullImageRequest request;
    request.mutable_image()->set_image(image);
    cri::PullImageResponse response;
    const absl::Status status = client_.Call(request, &response, absl::Seconds(2));
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    EXPECT_FALSE(IsThere(image));
  }
  Pull(image);
  EXPECT_EQ(Content(image), "hung\n");
}

PROMISE_TEST(ImageFaultTest, ANameThatIsNoneIsRefused,
             "PullImage of something that is no image name is refused with a message") {
  for (const char* name : {"", "127.0.0.1:1/UPPER case", "@sha256:", "a:b:c/d"}) {
    const auto pulled = TryPull(name);
    EXPECT_FALSE(pulled.ok()) << name;
    EXPECT_THAT(std::string(pulled.status().message()), Not(IsEmpty())) << name;
  }
}

}  // namespace
}  // namespace plimsoll::conformance
