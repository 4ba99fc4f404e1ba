#include "cri/calls/redact.h"

#include <string>

#include "cri/calls/grpc_status.h"
#include "cri/messages/message_cache.h"
#include "cri/messages/registry_auth.h"
#include "cri/runtime/v1/api.pb.h"
#include "gmock/gmock.h"
#include "plimsoll/v1/node.pb.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using ::testing::HasSubstr;
using ::testing::Not;

void FillSecrets(v1::AuthConfig* auth) {
  auth->set_username("bob");
  auth->set_password("hunter2-password");
  auth->set_auth("hunter2-auth");
  auth->set_server_address("registry.local");
  auth->set_identity_token("hunter2-identity");
  auth->set_registry_token("hunter2-registry");
  auth->GetReflection()->MutableUnknownFields(auth)->AddLengthDelimited(99, "hunter2-unknown");
}

TEST(RedactTest, NoSecretOfAPullIsShown) {
  v1::PullImageRequest request;
  request.mutable_image()->set_image("registry.local/a");
  FillSecrets(request.mutable_auth());
  const std::string text = RedactedText(request);
  EXPECT_THAT(text, Not(HasSubstr("hunter2")));
  EXPECT_THAT(text, HasSubstr("registry.local/a"));
  EXPECT_THAT(text, HasSubstr("bob"));
  EXPECT_THAT(text, HasSubstr("<redacted>"));
  EXPECT_EQ(request.auth().password(), "hunter2-password") << "the request itself was changed";
}

TEST(RedactTest, NodeServicesPullToo) {
  ::plimsoll::v1::PullImageRequest request;
  FillSecrets(request.mutable_auth());
  EXPECT_THAT(RedactedText(request), Not(HasSubstr("hunter2")));
}

TEST(RedactTest, EnvironmentValuesAreNotShown) {
  v1::CreateContainerRequest request;
  v1::KeyValue* variable = request.mutable_config()->add_envs();
  variable->set_key("DB_PASSWORD");
  variable->set_value("hunter2");
  EXPECT_THAT(RedactedText(request), Not(HasSubstr("hunter2")));
  EXPECT_THAT(RedactedText(request), HasSubstr("DB_PASSWORD"));
}

// Fails when AuthConfig gains a field that redaction doesn't know.
TEST(RedactTest, KnowsEveryFieldOfAuthConfig) {
  EXPECT_EQ(v1::AuthConfig::descriptor()->field_count(), 6);
}

// Only a registry_token is refused (ErrorsHoldNoSecret): skopeo takes one on its command line
// alone, which every process can read.
TEST(CredentialsTest, TakesEveryFormButARegistryToken) {
  v1::AuthConfig auth;
  EXPECT_TRUE(CredentialsFrom(auth, "a")->empty());
  auth.set_auth("Ym9iOnBhc3M6d29yZA==");  // bob:pass:word
  EXPECT_EQ(CredentialsFrom(auth, "a")->username, "bob");
  EXPECT_EQ(CredentialsFrom(auth, "a")->password, "pass:word");
  auth.set_username("eve");
  auth.set_password("p");
  EXPECT_EQ(CredentialsFrom(auth, "a")->username, "eve");
  EXPECT_EQ(CredentialsFrom(auth, "a")->password, "p");
  auth.set_identity_token("t");
  EXPECT_EQ(CredentialsFrom(auth, "a")->identity_token, "t");
  EXPECT_EQ(CredentialsFrom(auth, "a")->password, "");
}

TEST(CredentialsTest, PaddingOfDockersFilesIsCut) {
  v1::AuthConfig auth;
  auth.set_auth("Ym9iOnBhc3MAAA==");  // bob:pass and two NULs
  EXPECT_EQ(CredentialsFrom(auth, "a")->password, "pass");
  auth.set_auth("Ym9iOg==");  // bob: and nothing
  EXPECT_EQ(CredentialsFrom(auth, "a")->password, "");
}

TEST(CredentialsTest, ErrorsHoldNoSecret) {
  v1::AuthConfig auth;
  auth.set_auth("hunter2!");
  EXPECT_TRUE(absl::IsInvalidArgument(CredentialsFrom(auth, "a").status()));
  EXPECT_THAT(std::string(CredentialsFrom(auth, "a").status().message()),
              Not(HasSubstr("hunter2")));
  auth.Clear();
  auth.set_registry_token("hunter2");
  EXPECT_TRUE(absl::IsUnimplemented(CredentialsFrom(auth, "a").status()));
  EXPECT_THAT(std::string(CredentialsFrom(auth, "a").status().message()),
              Not(HasSubstr("hunter2")));
  auth.Clear();
  auth.set_password("hunter2");
  EXPECT_TRUE(absl::IsInvalidArgument(CredentialsFrom(auth, "a").status()));
}

TEST(CredentialsTest, GoToTheirRegistryOnly) {
  v1::AuthConfig auth;
  auth.set_username("bob");
  auth.set_server_address("https://Registry.local:5000/v2/");
  EXPECT_TRUE(CredentialsFrom(auth, "registry.local:5000/a:1").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(CredentialsFrom(auth, "evil.local/a").status()));
  auth.set_server_address("https://index.docker.io/v1/");
  EXPECT_TRUE(CredentialsFrom(auth, "busybox").ok());
  EXPECT_TRUE(CredentialsFrom(auth, "docker.io/library/busybox").ok());
  EXPECT_EQ(CredentialsFrom(auth, "busybox")->registry, "docker.io");
  // The pull finds out where a short name leads.
  auth.set_server_address("Registry.local:5000");
  EXPECT_EQ(CredentialsFrom(auth, "busybox")->registry, "registry.local:5000");
}

TEST(RegistryOfTest, FindsIt) {
  EXPECT_EQ(RegistryOf("busybox"), "docker.io");
  EXPECT_EQ(RegistryOf("busybox:1.36"), "docker.io");
  EXPECT_EQ(RegistryOf("library/busybox"), "docker.io");
  EXPECT_EQ(RegistryOf("localhost/a"), "localhost");
  EXPECT_EQ(RegistryOf("registry:5000/a"), "registry:5000");
  EXPECT_EQ(RegistryOf("quay.io/a/b@sha256:00"), "quay.io");
}

TEST(ObjectOfTest, NamesWhatARequestIsAbout) {
  v1::StopContainerRequest stop;
  stop.set_container_id("abc");
  EXPECT_EQ(ObjectOf(stop), "abc");
  v1::RunPodSandboxRequest run;
  run.mutable_config()->mutable_metadata()->set_name("web");
  run.mutable_config()->mutable_metadata()->set_namespace_("default");
  EXPECT_EQ(ObjectOf(run), "default/web");
  v1::CreateContainerRequest create;
  create.set_pod_sandbox_id("pod");
  create.mutable_config()->mutable_metadata()->set_name("main\n");
  EXPECT_EQ(ObjectOf(create), "pod/main\\n");
  v1::PullImageRequest pull;
  pull.mutable_image()->set_image("busybox");
  pull.mutable_auth()->set_password("secret");
  EXPECT_EQ(ObjectOf(pull), "busybox");
  EXPECT_EQ(ObjectOf(v1::VersionRequest()), "");
}

TEST(MessageCacheTest, ParsesOnceAndForgets) {
  MessageCache<v1::ContainerConfig> cache;
  v1::ContainerConfig config;
  config.set_log_path("x");
  EXPECT_EQ(cache.Find("a"), nullptr);
  const auto first = cache.Get("a", config.SerializeAsString());
  EXPECT_EQ(first->log_path(), "x");
  EXPECT_EQ(cache.Get("a", "").get(), first.get());
  EXPECT_EQ(cache.Find("a").get(), first.get());
  cache.Get("b", "");
  cache.Retain({"b"});
  EXPECT_EQ(cache.size(), 1u);
  cache.Forget("b");
  EXPECT_EQ(cache.size(), 0u);
}

TEST(MessageCacheTest, DamagedBytesGiveAnEmptyMessage) {
  MessageCache<v1::ContainerConfig> cache;
  EXPECT_EQ(cache.Get("a", "\x0a\xff")->ByteSizeLong(), 0u);
}

TEST(GrpcStatusTest, KeepsCodeAndMessage) {
  const grpc::Status status = ToGrpcStatus(absl::FailedPreconditionError("no"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "no");
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
  EXPECT_LT(ToGrpcStatus(absl::InternalError(std::string(1 << 20, 'x'))).error_message().size(),
            20000u);
  EXPECT_EQ(CodeName(grpc::StatusCode::UNAUTHENTICATED), "UNAUTHENTICATED");
  EXPECT_EQ(CodeName(grpc::StatusCode::INVALID_ARGUMENT), "INVALID_ARGUMENT");
}

}  // namespace
}  // namespace plimsoll::cri
