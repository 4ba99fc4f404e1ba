#include "image/skopeo_errors.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::image {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Fatal(const std::string& message) {
  return "time=\"t\" level=fatal msg=\"" + message + "\"\n";
}

TEST(TranslateSkopeoError, CodesByTheRegistrysAnswer) {
  const auto code = [](const std::string& text) {
    return TranslateSkopeoError(Fatal(text), "x:latest", {}).code();
  };
  EXPECT_EQ(code("reading manifest v2 in h/x: manifest unknown"), absl::StatusCode::kNotFound);
  EXPECT_EQ(code("requested access to the resource is denied"),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code("registry h is blocked in /etc/containers/registries.conf"),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code("dial tcp: lookup nowhere: no such host"), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code("received unexpected HTTP status: 503 Service Unavailable"),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(code("toomanyrequests: You have reached your limit"), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code("writing blob: happened during read: unexpected EOF"),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(code("writing blob: happened during read: Digest did not match, expected sha256:1"),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(code("Size mismatch when copying sha256:1, expected 3, got 4"),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(code("write /x: no space left on device"), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code("loading registries configuration \\\"f\\\": toml: line 1"),
            absl::StatusCode::kFailedPrecondition);
  // skopeo 1.18 and 1.22 of a blob, where 1.9 writes "status code 404".
  for (const auto& [status, expected] : {std::pair(401, absl::StatusCode::kPermissionDenied),
                                         {403, absl::StatusCode::kPermissionDenied},
                                         {404, absl::StatusCode::kNotFound},
                                         {418, absl::StatusCode::kUnavailable},
                                         {429, absl::StatusCode::kUnavailable},
                                         {503, absl::StatusCode::kUnavailable}}) {
    EXPECT_EQ(code(absl::StrCat("fetching blob: StatusCode: ", status, ", \"\"")), expected)
        << status;
    EXPECT_EQ(code(absl::StrCat("fetching blob: unexpected http status code ", status)), expected)
        << status;
  }
  EXPECT_EQ(code("something else"), absl::StatusCode::kInternal);
  EXPECT_EQ(TranslateSkopeoError("", "x", {}).code(), absl::StatusCode::kInternal);
}

TEST(TranslateSkopeoError, WhatNoRegistryAnswersIsTheRegistrysFault) {
  for (const char* text :
       {"reading manifest 1 in h/x: StatusCode: 418, ",
        "reading manifest 1 in h/x: unsupported: no",
        "Error fetching blob: invalid status code from registry 400 (Bad Request)",
        "Get \\\"file:///etc/passwd\\\": unsupported protocol scheme \\\"file\\\"",
        "Get \\\"/v2/\\\": stopped after 10 redirects", "gzip: invalid header",
        "Get \\\"http://h/v2/\\\": failed to parse Location header",
        "Requesting bearer token: invalid status code from registry 418 (I'm a teapot)",
        "missing realm in bearer auth challenge", "exceeded maximum allowed size of 1048576 bytes",
        "parse \\\"http://%zz\\\": invalid URL escape \\\"%zz\\\"",
        "invalid character '<' looking for beginning of value",
        "json: cannot unmarshal number into Go struct field bearerToken.token of type string"}) {
    const absl::Status status = TranslateSkopeoError(Fatal(text), "h/x:1", {});
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  }
}

TEST(TranslateSkopeoError, WithMirrorsTheRegistryItselfDecides) {
  const std::string mirrors =
      "(Mirrors also failed: [m:1/x: reading manifest 1 in m:1/x: manifest unknown]): ";
  EXPECT_TRUE(absl::IsUnavailable(
      TranslateSkopeoError(Fatal(mirrors + "h/x: dial tcp: connection refused"), "h/x", {})));
  EXPECT_TRUE(
      absl::IsNotFound(TranslateSkopeoError(Fatal(mirrors + "h/x: manifest unknown"), "h/x", {})));
}

TEST(TranslateSkopeoError, AMissingSignatureIsMarked) {
  for (const char* text :
       {"Source image rejected: A signature was required, but no signature exists",
        "Source image rejected: Running image docker://h/x is rejected by policy."}) {
    const absl::Status status = TranslateSkopeoError(Fatal(text), "h/x", {});
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(IsSignatureRefusal(status));
  }
  EXPECT_FALSE(IsSignatureRefusal(TranslateSkopeoError(Fatal("denied"), "h/x", {})));
  EXPECT_FALSE(IsSignatureRefusal(absl::OkStatus()));
}

TEST(TranslateSkopeoError, LastFatalMessageUnquotedAndWithoutPreamble) {
  EXPECT_EQ(TranslateSkopeoError("time=\"t\" level=warning msg=\"retrying\"\n" +
                                     Fatal("initializing source \\\"docker://x\\\": EOF"),
                                 "x:latest", {})
                .message(),
            "pull x:latest: initializing source \"docker://x\": EOF");
  EXPECT_EQ(TranslateSkopeoError(
                Fatal("Error parsing image name \\\"docker://h/x:1\\\": pinging registry h: EOF"),
                "h/x:1", {})
                .message(),
            "pull h/x:1: pinging registry h: EOF");
}

TEST(TranslateSkopeoError, AFailureForTlsSaysWhatToDo) {
  const auto message = [](const std::string& text) {
    return std::string(
        TranslateSkopeoError(Fatal(text), "other.example:5000/a:latest", {}).message());
  };
  EXPECT_THAT(message("Get \\\"https://other.example:5000/v2/\\\": http: server gave HTTP response "
                      "to HTTPS client"),
              EndsWith("; it speaks plain HTTP: if it may, list other.example:5000 under "
                       "registries.insecure in the daemon's configuration (read again on SIGHUP)"));
  EXPECT_THAT(message("tls: x509: certificate signed by unknown authority"),
              EndsWith("; add its authority to this machine's trusted ones, or list "
                       "other.example:5000 under registries.insecure in the daemon's "
                       "configuration (read again on SIGHUP)"));
  EXPECT_THAT(message("Get \\\"https://mirror:1/v2/\\\": http: server gave HTTP response to HTTPS "
                      "client"),
              EndsWith("; it speaks plain HTTP: if it may, set insecure = true for mirror:1 in "
                       "registries.conf"));
  EXPECT_THAT(message("connection refused"), EndsWith("connection refused"));
}

TEST(TranslateSkopeoError, WhatIsNoTlsAtAllIsPlainHttp) {
  const absl::Status status = TranslateSkopeoError(
      Fatal("Get \\\"https://localhost:5998/v2/\\\": tls: first record does not look like a TLS "
            "handshake"),
      "localhost:5998/a:latest", {});
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(SpeaksNoTls(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("it speaks plain HTTP: if it may, list localhost:5998 under "
                        "registries.insecure"));
}

TEST(OnPlainLoopback, AnotherHostIsNamed) {
  const std::string name = "localhost:5998/a:latest";
  const auto told = [&name](const std::string& text) {
    return OnPlainLoopback(TranslateSkopeoError(Fatal(text), name, {}), name);
  };
  const absl::Status away = told(
      "reading manifest latest in localhost:5998/a: Get \\\"http://10.0.0.1/x\\\": proxyconnect "
      "tcp: dial tcp 127.0.0.1:0: connect: connection refused");
  EXPECT_TRUE(absl::IsUnavailable(away)) << away;
  EXPECT_EQ(
      away.message(),
      "pull localhost:5998/a:latest: localhost:5998 leads to 10.0.0.1; a pull from a registry "
      "on this machine's loopback over plain HTTP reaches no other host. If it may, list "
      "localhost:5998 under registries.insecure in the daemon's configuration (read again on "
      "SIGHUP)");
  EXPECT_EQ(told("connection refused").message(),
            "pull localhost:5998/a:latest: connection refused");
}

TEST(OnPlainLoopback, ALoginMustBePermitted) {
  const std::string name = "localhost:5998/a:latest";
  const absl::Status status = OnPlainLoopback(
      TranslateSkopeoError(Fatal("unauthorized: authentication required"), name, {}), name);
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              EndsWith("it speaks plain HTTP: to log in there, list localhost:5998 under "
                       "registries.insecure in the daemon's configuration (read again on SIGHUP)"));
}

TEST(SkopeoHasEnded, WithoutAReasonOfItsOwnItMayBeTriedAgain) {
  const Credentials secrets = {"stoker", "hush", ""};
  const absl::Status killed = SkopeoHasEnded("killed by signal 9 (Killed)", "", "h/x:1", secrets);
  EXPECT_TRUE(absl::IsUnavailable(killed)) << killed;
  EXPECT_EQ(killed.message(),
            "pull h/x:1: the image tool skopeo has ended (killed by signal 9 (Killed)); the pull "
            "may be tried again");
  const absl::Status crashed =
      SkopeoHasEnded("exit code 2", "fatal error: out of hush memory\n", "h/x:1", secrets);
  EXPECT_TRUE(absl::IsUnavailable(crashed)) << crashed;
  EXPECT_THAT(std::string(crashed.message()),
              HasSubstr("(exit code 2): fatal error: out of [redacted] memory; "));
  EXPECT_TRUE(absl::IsPermissionDenied(
      SkopeoHasEnded("exit code 1", Fatal("requested access is denied"), "h/x:1", secrets)));
}

TEST(RetryAfter, IsTheRegistrysAndNoMirrors) {
  const auto debug = [](const std::string& words) {
    return "time=\"t\" level=debug msg=\"" + words + "\"\n";
  };
  const std::string mirror = debug("Trying to access \\\"m:1/x:1\\\"");
  const std::string itself = debug("Trying to access \\\"h/x:1\\\"");
  const std::string wish = debug("Detected 'Retry-After' header \\\"100000\\\"");
  const std::string date = debug("Detected 'Retry-After' header \\\"Wed, 21 Oct 2015\\\"");
  EXPECT_EQ(RetryAfter(itself + wish, "h/x"), absl::Seconds(100000));
  EXPECT_EQ(RetryAfter(mirror + wish, "h/x"), absl::ZeroDuration());
  EXPECT_EQ(RetryAfter(mirror + wish + itself, "h/x"), absl::ZeroDuration());
  EXPECT_EQ(RetryAfter(itself + date, "h/x"), absl::ZeroDuration());
  EXPECT_EQ(RetryAfter(itself, "h/x"), absl::ZeroDuration());
  EXPECT_EQ(RetryAfter("", "h/x"), absl::ZeroDuration());
}

TEST(TranslateSkopeoError, SecretsAreCutOutHoweverTheyAreWritten) {
  const Credentials secrets = {"stoker", "pa\"ss", "tok3n"};
  const absl::Status status = TranslateSkopeoError(
      "level=fatal msg=\"https://stoker:pa\\\"ss@h/ Basic c3Rva2VyOnBhInNz Bearer tok3n pa\"ss\"",
      "x", secrets);
  EXPECT_THAT(std::string(status.message()),
              AllOf(Not(HasSubstr("pa\"ss")), Not(HasSubstr("tok3n")),
                    Not(HasSubstr("c3Rva2VyOnBhInNz")), HasSubstr("[redacted]")));
}

}  // namespace
}  // namespace plimsoll::image
