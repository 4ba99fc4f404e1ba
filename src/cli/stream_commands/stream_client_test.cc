#include "cli/stream_commands/stream_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>
#include <string>

#include "absl/strings/str_replace.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "streaming/fake_backend_for_test.h"
#include "streaming/server.h"

namespace plimsoll::cli {
namespace {

using ::testing::HasSubstr;

TEST(ExitCodeOf, IsInTheStatus) {
  EXPECT_EQ(ExitCodeOf(R"({"status": "Success"})").value_or(-1), 0);
  EXPECT_EQ(ExitCodeOf(R"({"status": "Failure", "reason": "NonZeroExitCode",
                           "details": {"causes": [{"reason": "ExitCode", "message": "7"}]}})")
                .value_or(-1),
            7);
}

TEST(ExitCodeOf, IsAnErrorWhereThereIsNone) {
  EXPECT_THAT(std::string(ExitCodeOf(R"({"status": "Failure", "message": "no such container"})")
                              .status()
                              .message()),
              HasSubstr("no such container"));
  for (const char* text : {"", "garbage", "[]", R"({"reason": "NonZeroExitCode", "details": 1})"}) {
    EXPECT_FALSE(ExitCodeOf(text).ok()) << text;
  }
}

TEST(CarryCommand, RefusesOtherUrls) {
  EXPECT_TRUE(absl::IsInvalidArgument(CarryCommand("ftp://x/", {}).status()));
  EXPECT_TRUE(absl::IsUnavailable(CarryCommand("http://127.0.0.1:1/exec/a", {}).status()));
  EXPECT_TRUE(absl::IsUnavailable(CarryCommand("https://127.0.0.1:1/exec/a", {}).status()));
}

// A server with a self-signed certificate.
class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto made =
        RunChecked({.argv = {"/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                             "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                             "/CN=node", "-addext", "subjectAltName=IP:::ffff:127.0.0.1", "-keyout",
                             key_, "-out", certificate_}});
    ASSERT_TRUE(made.ok()) << made.status();
    auto server =
        streaming::Server::Start({.certificate = certificate_, .key = key_, .backend = &backend_});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  void TearDown() override { unsetenv("SSL_CERT_FILE"); }
  // The status of a command with exit code 3.
  std::string Url() {
    const auto url = server_->Admit({.kind = streaming::StreamKind::kExec,
                                     .id = "c",
                                     .argv = {"/bin/sh", "-c", "echo over TLS; exit 3"},
                                     .output = true,
                                     .errors = true});
    EXPECT_TRUE(url.ok()) << url.status();
    return url.value_or("");
  }
  // An address that leads to the same server and is no loopback one.
  std::string UrlFromElsewhere() {
    return absl::StrReplaceAll(Url(), {{"127.0.0.1", "[::ffff:127.0.0.1]"}});
  }

  const TestDir dir_;
  const std::string key_ = dir_.path() + "/key.pem";
  const std::string certificate_ = dir_.path() + "/certificate.pem";
  streaming::FakeBackend backend_;
  std::unique_ptr<streaming::Server> server_;
};

TEST_F(TlsTest, ALoopbackAddressNeedsNoAuthority) {
  ::testing::internal::CaptureStdout();
  const auto code = CarryCommand(Url(), {});
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "over TLS\n");
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, 3);
}

TEST_F(TlsTest, AnotherAddressNeedsOne) {
  const absl::Status refused = CarryCommand(UrlFromElsewhere(), {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("not trusted for ::ffff:127.0.0.1"));
  EXPECT_EQ(backend_.ended, 0) << "the command has run";
  setenv("SSL_CERT_FILE", certificate_.c_str(), 1);
  const auto code = CarryCommand(UrlFromElsewhere(), {});
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, 3);
}

}  // namespace
}  // namespace plimsoll::cli
